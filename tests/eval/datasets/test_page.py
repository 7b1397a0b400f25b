"""docs/datasets.md: its examples are what the program reads and writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eval.datasets import ADAPTERS, ENDINGS, OPTIONAL, REQUIRED, Described
from tests.support.command_line import Cli
from world_api.core.yaml_text import read_yaml

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "datasets.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    """A block of the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number]


def test_the_example_is_checked_as_the_page_says(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "dataset.json").write_text(block("json"))
    (folder / "questions.jsonl").write_text(block("jsonl"))
    (folder / "kitchen.mp4").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    shown, _, output = block("console").partition("\n")
    words = shown.removeprefix("$ videoworld ").split()
    assert words == ["eval", "check", "mine", "--store", "worlds"]
    assert cli(*words[:3], store=Path("worlds")).out == output


def test_the_keys_of_a_question_are_those_of_the_page() -> None:
    table = PAGE.partition("| key | holds |")[2].partition("\n\n")[0]
    keys = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert set(keys) == {*REQUIRED, *OPTIONAL}
    assert "The first six are required" in PAGE
    assert set(keys[:5]) | {"answer"} == set(REQUIRED)


def test_the_adapters_and_endings_are_those_of_the_page() -> None:
    table = PAGE.partition("| adapter | annotations | videos |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE) == list(ADAPTERS)
    assert " ".join(ENDINGS) in PAGE


def test_the_yaml_file_of_the_page_has_the_right_keys() -> None:
    value = read_yaml(block("yaml").encode(), "page").value
    assert Described.model_validate(value).adapter in ADAPTERS
    table = PAGE.rpartition("| key | holds |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == set(Described.model_fields)
