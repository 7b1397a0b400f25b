"""The pages on words and on structure: every box is there, every term is explained once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"```mermaid\n(.*?)```", ARCHITECTURE, re.DOTALL)


@pytest.mark.parametrize("picture", PICTURES)
def test_every_box_of_a_picture_is_a_module_and_there_are_at_most_a_dozen(picture: str) -> None:
    boxes = set(re.findall(r'\["([^"]+)"\]', picture))
    assert 2 <= len(boxes) <= 12
    assert [box for box in boxes if not (ROOT / box).exists()] == []


def test_there_is_a_picture_of_the_packages_of_a_question_and_of_a_frame() -> None:
    assert len(PICTURES) == 3


def test_every_file_of_the_table_of_places_is_there() -> None:
    rows = [line for line in ARCHITECTURE.splitlines() if line.startswith("| ")]
    named = re.findall(r"`([^`]+)`", "".join(rows))
    assert len(named) >= 20
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_term_is_explained_once() -> None:
    terms = [line.split("|")[1].strip() for line in GLOSSARY.splitlines() if line.startswith("| ")][2:]
    assert len(terms) >= 60
    assert len(set(terms)) == len(terms)
