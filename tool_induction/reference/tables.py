"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; bars inside cells are escaped."""
    lines = [_row(head), _row(["---"] * len(head))]
    return [*lines, *(_row(row) for row in rows), ""]


def code(text: str) -> str:
    """A text as code."""
    return f"`{text}`" if text else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
