"""The facade ``import videoworld as vw``: every name is there, the README's example runs as it is printed, the wheel is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import videoworld
from tests.support.numbered_film import encode

ROOT = Path(__file__).resolve().parents[1]


def test_every_name_of_the_facade_is_there() -> None:
    assert [name for name in videoworld.__all__ if not hasattr(videoworld, name)] == []


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        videoworld.nothing  # noqa: B018


def example_in(page: str) -> str:
    [example] = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return str(example)


def test_both_languages_show_the_same_example() -> None:
    assert example_in("README.md") == example_in("README.zh-CN.md")


@pytest.mark.media
def test_the_example_in_python_runs_as_it_is_printed(tmp_path: Path) -> None:
    encode(tmp_path / "my.mp4")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", example_in("README.md")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout.split()[0]) >= 1


#: What a user may write; ``mypy --strict`` must know every type of it.
USER = """
import videoworld as vw

async def ask(path: str) -> str | None:
    world: vw.World = await vw.abuild(path, profile="classical")
    rows: list[dict[str, object]] = list(world.search("a person in red", top_k=3))
    episode = await world.aask("Who comes?", tools="hand_A", kind="count")
    made = vw.induce("A_locate_count", model="m", out=path)
    run = vw.run_experiment("ablation.yaml", yes=True)
    print(len(rows), world.frame(1.5, boxes=True).size, made.library.name, run.folder.name)
    return episode.answer

vw.open("my", as_of="three")
"""


@pytest.mark.nightly
def test_the_wheel_opens_worlds_and_gives_its_types_to_users(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")
    source, site = tmp_path / "source", tmp_path / "venv"
    source.mkdir()
    for name in ("videoworld", "world_api", "tool_induction", "controller", "eval", "toollibs"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    given: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True}
    wheel = [
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "--wheel-dir",
        str(tmp_path),
        str(source),
    ]
    built = subprocess.run([sys.executable, *wheel], check=False, **given)
    assert built.returncode == 0, built.stderr
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(site)], check=False, **given)
    [packages] = site.glob("lib/python*/site-packages")
    zipfile.ZipFile(next(tmp_path.glob("*.whl"))).extractall(packages)
    program = (
        "import videoworld as vw\nprint(vw.__file__)\ntry:\n    vw.open('my')\nexcept vw.VideoWorldError as fault:\n"
        "    print(fault.code)\nprint(vw.load_library('hand_A').name)\n"
        "from world_api.page.notebook import Card\nprint(Card(title='<').html())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    tried = subprocess.run(
        [sys.executable, "-c", program], env=environment | {"PYTHONPATH": str(packages)}, check=False, **given
    )
    assert tried.returncode == 0, tried.stderr
    place, code, library, *card = tried.stdout.splitlines()
    assert Path(place).is_relative_to(packages)
    assert (code, library, "&lt;" in "".join(card)) == ("no_such_world", "hand_A", True)
    (tmp_path / "user.py").write_text(USER)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(site / "bin" / "python"), "user.py"],
        check=False,
        **given,
    )
    faults = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert len(faults) == 1, checked.stdout
    assert '"as_of"' in faults[0]
