"""The front door opens at once: help needs none of the heavy packages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from videoworld.command import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "av",
    "cv2",
    "faiss",
    "lancedb",
    "mcp",
    "numpy",
    "openai",
    "onnxruntime",
    "PIL",
    "pyarrow",
    "rapidocr",
    "torch",
)

_PROGRAM = """
import json, sys
from videoworld import main
try:
    main(json.loads(sys.argv[1]))
except SystemExit as leaving:
    assert not leaving.code, leaving.code
print("IMPORTED " + json.dumps(sorted(sys.modules)))
"""


def _imported_by(*arguments: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps(arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stdout.rsplit("IMPORTED ", 1)[1]))


def test_help_imports_no_heavy_package() -> None:
    assert sorted(_imported_by("--help") & set(HEAVY)) == []


def test_the_python_interface_is_imported_without_the_command_line() -> None:
    program = "import sys, videoworld; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(set(ended.stdout.split()) & {*HEAVY, "typer", "rich", "asyncio", "pydantic"}) == []


def test_help_loads_no_sub_command() -> None:
    loaded = _imported_by("--help")
    assert sorted(room.module for room in COMMANDS.values() if room.module in loaded) == []


@pytest.mark.parametrize("command", ["build", "sample", "worlds"])
def test_the_help_of_a_sub_command_decodes_and_draws_nothing(command: str) -> None:
    assert sorted(_imported_by(command, "--help") & {"av", "cv2", "faiss", "lancedb", "rapidocr", "torch"}) == []


def test_the_help_of_a_build_loads_neither_pictures_nor_rows() -> None:
    """NumPy among them: a build loads it by itself, with fewer threads."""
    assert sorted(_imported_by("build", "--help") & (set(HEAVY) | {"asyncio", "scenedetect"})) == []
