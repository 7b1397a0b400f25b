"""The generated pages are up to date and say everything."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from world_api.operations import EVERY_OPERATION

DOCS = Path(__file__).resolve().parents[3] / "docs"
_PAGE = runpy.run_path(str(DOCS / "write_operations.py"))
operations_page, type_text = _PAGE["operations_page"], _PAGE["type_text"]


def test_the_page_of_operations_is_up_to_date() -> None:
    written = (DOCS / "operations.md").read_text(encoding="utf-8")
    assert written == operations_page(), "docs/operations.md is out of date: run `make docs`"


@pytest.mark.parametrize("name", EVERY_OPERATION)
def test_the_page_describes_every_operation_and_parameter(name: str) -> None:
    section = operations_page().split(f"### `{name}`")[1].split("\n### ")[0]
    assert EVERY_OPERATION[name].description in section
    assert all(f"`{parameter}`" in section for parameter in EVERY_OPERATION[name].parameters.model_fields)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "number", "minimum": 0}, "number >= 0"),
        ({"type": "integer", "minimum": 1, "maximum": 20_000}, "integer 1 to 20,000"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"enum": ["a", "b"], "type": "string"}, "`a` / `b`"),
        ({"type": "array", "items": {"type": "number"}}, "list of number"),
        ({}, "any"),
    ],
)
def test_types_are_told_in_few_words(schema: dict[str, object], text: str) -> None:
    assert type_text(schema) == text
