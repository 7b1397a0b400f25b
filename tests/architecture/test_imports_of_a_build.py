"""A build, which runs in three processes, loads in each what that one needs: every other import would be paid each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What no process of a build without screen text and speech needs.
NEVER = {
    "PIL",
    "faiss",
    "faster_whisper",
    "httpx2",
    "jinja2",
    "jsonschema",
    "lancedb",
    "mcp",
    "onnxruntime",
    "openai",
    "pandas",
    "rapidocr",
    "scipy",
    "sqlite3",
    "torch",
    "yaml",
}
#: What only a command with people before it needs, and only the process that stores rows.
COMMAND = {"pydantic", "rich", "typer"}
#: What PySceneDetect brings along, for the process that finds cuts.
SHOTS = {"asyncio", "multiprocessing", "scenedetect", "ssl", "tqdm", "xml"}
STORE = {"filelock", "importlib.metadata", "pyarrow", "snowballstemmer"}

_BUILD = """
import json, subprocess, sys
before = []
class Noting(subprocess.Popen):
    def __init__(self, *arguments, **options):
        if sys.executable in arguments[0]:  # PySceneDetect asks for ffmpeg when it is imported
            before.append(sorted(sys.modules))
        super().__init__(*arguments, **options)
subprocess.Popen = Noting
from videoworld import main
try:
    main(["build", sys.argv[1], "--store", sys.argv[2], "--without", "screen_texts", "--speech", "off"])
except SystemExit as leaving:
    assert not leaving.code, leaving.code
print("FOUND " + json.dumps({"loaded": sorted(sys.modules), "before each process": before}))
"""
_DECODING = """
import json, sys
import world_api.media.process
import world_api.media.decoder_server
print("FOUND " + json.dumps({"loaded": sorted(sys.modules)}))
"""
_FOLLOWING = """
import json, sys
import world_api.build.stage_process
import world_api.media.process
from world_api.recipes import moving_things
moving_things()
print("FOUND " + json.dumps({"loaded": sorted(sys.modules)}))
"""


def _found(program: str, *arguments: str) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.rsplit("FOUND ", 1)[1])
    return found


@pytest.fixture(scope="module")
def building(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a build of a short video loaded."""
    folder = tmp_path_factory.mktemp("build")
    with av.open(folder / "film.mp4", "w") as film:
        stream = film.add_stream("mpeg4", rate=5)
        stream.width, stream.height = 160, 96
        for number in range(20):
            picture = np.full((96, 160, 3), 10 * number, dtype=np.uint8)
            film.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        film.mux(stream.encode())
    return _found(_BUILD, str(folder / "film.mp4"), str(folder / "store"))


def test_a_build_loads_nothing_that_it_does_not_need(building: dict[str, Any]) -> None:
    assert sorted(set(building["loaded"]) & (NEVER | {"rich"})) == []


def test_the_process_that_decodes_loads_nothing_that_it_does_not_need() -> None:
    loaded = set(_found(_DECODING)["loaded"])
    assert sorted(loaded & (NEVER | COMMAND | SHOTS | STORE | {"cv2"})) == []


def test_the_process_that_follows_loads_nothing_that_it_does_not_need() -> None:
    loaded = set(_found(_FOLLOWING)["loaded"])
    assert sorted(loaded & (NEVER | COMMAND | SHOTS | STORE | {"av"})) == []


def test_the_processes_beside_a_build_start_before_it_loads_what_it_needs(building: dict[str, Any]) -> None:
    loaded = [set(modules) for modules in building["before each process"]]
    assert len(loaded) >= 1
    late = {
        "numpy",
        "scenedetect",
        "pyarrow",
        "world_api.build.builder",
        "world_api.search.searcher",
        "world_api.build.shots",
    }
    assert [sorted(modules & late) for modules in loaded] == [[] for _ in loaded]
