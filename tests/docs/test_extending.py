"""The recipes of docs/extending.md, applied to a copy of the project and run there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
PRODUCT = ("videoworld", "world_api", "tool_induction", "controller", "eval", "toollibs")
SECTIONS = {
    title.strip(): body
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
}
BLOCK = re.compile(r"^```(python|diff|json|console)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The files that a section adds or changes, and the commands that try it."""

    blocks: list[tuple[str, str, str]]  #: kind, path, text
    commands: list[str]


def recipe_of(body: str) -> Recipe:
    blocks, commands = [], []
    for kind, text in BLOCK.findall(body):
        if kind == "console":
            commands += [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
        else:
            first, _, rest = text.partition("\n")
            blocks.append((kind, first.removeprefix("# "), rest))
    return Recipe(blocks=blocks, commands=commands)


RECIPES = {title: recipe_of(body) for title, body in SECTIONS.items()}


def change(path: Path, difference: str) -> None:
    """Apply a difference whose parts are separated by ``@@``; each part must be found exactly once."""
    text = path.read_text(encoding="utf-8")
    for part in difference.split("@@\n"):
        lines = part.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
        assert text.count(old) == 1, f"{path.name} does not hold once:\n{old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with every recipe applied, and a video with two black seconds in the middle."""
    folder = tmp_path_factory.mktemp("extended")
    for name in PRODUCT:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder / "pyproject.toml")
    for recipe in RECIPES.values():
        for kind, name, text in recipe.blocks:
            path = folder / name
            if kind == "diff":
                change(path, text)
            else:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    with av.open(folder / "sample.mp4", "w") as film:
        stream = film.add_stream("mpeg4", rate=5)
        stream.width, stream.height = 160, 96
        for number in range(40):
            level = 0 if 15 <= number < 25 else 120 + 2 * number
            picture = np.full((96, 160, 3), level, dtype=np.uint8)
            film.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        film.mux(stream.encode())
    return folder


def videoworld(project: Path, command: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "videoworld"
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "videoworld", *arguments],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def outputs(project: Path) -> dict[str, list[str]]:
    """What every command of every recipe printed; the video is built first."""
    ordered = sorted(RECIPES, key=lambda title: "stage" not in title)
    return {title: [videoworld(project, command) for command in RECIPES[title].commands] for title in ordered}


def test_there_are_six_doors() -> None:
    assert len(RECIPES) == 6
    assert all(recipe.commands for recipe in RECIPES.values())


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_touches_at_most_two_files_of_the_product(title: str) -> None:
    touched = {name for _, name, _ in RECIPES[title].blocks if name.split("/")[0] in PRODUCT}
    assert 1 <= len(touched) <= 2


@pytest.mark.media
def test_an_operation_can_be_called(outputs: dict[str, list[str]]) -> None:
    assert json.loads(outputs["An operation"][0])["shots"] >= 1


@pytest.mark.media
def test_an_adapter_is_used(outputs: dict[str, list[str]]) -> None:
    assert "candidates" in outputs["A perception adapter"][0]


@pytest.mark.media
def test_a_stage_writes_its_rows(outputs: dict[str, list[str]], project: Path) -> None:
    assert "the picture is black" in outputs["A build stage"][1]
    found = videoworld(
        project, 'videoworld call search_segments_by_text --video sample query="the picture is black" top_k=1'
    )
    first = json.loads(found)["candidates"][0]
    assert first["start_time"] <= 4.0 <= first["end_time"]


@pytest.mark.media
def test_an_aggregate_runs_in_a_tool(outputs: dict[str, list[str]]) -> None:
    assert '"start": 0' in outputs["An aggregate"][1]


@pytest.mark.media
def test_a_system_answers_and_replays(outputs: dict[str, list[str]]) -> None:
    assert "identical" in outputs["A system"][1] or "same" in outputs["A system"][1]


SCORED = """
from pathlib import Path
from eval.datasets.loading import load_dataset
from eval.scoring.scorers import score_value
dataset = load_dataset(".")
answers = ("A bright room, then nothing", "nothing, then a bright room")
print([score_value(dataset.items[0], text, text, protocol=dataset.protocol).correct for text in answers])
"""


@pytest.mark.media
def test_a_dataset_is_scored_by_the_new_scorer(outputs: dict[str, list[str]], project: Path) -> None:
    assert "mine: 1 question" in outputs["A scorer or a dataset"][0]
    ended = subprocess.run(
        [sys.executable, "-c", SCORED], cwd=project, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.stdout.strip() == "[True, False]", ended.stderr
