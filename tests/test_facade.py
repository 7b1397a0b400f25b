"""The facade ``import videoworld as vw``: every name is there, and the README's example runs as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
