"""Editing records in tests: as a careless person would, and as one who computes the checksums again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from controller.records import sealed
from world_api.core import content_hash, json_line, parse_json

Change = Callable[[dict[str, Any]], object]


def edit_lines(path: Path, change: Change) -> None:
    """Change the objects of a file of lines."""
    lines = [parse_json(line) for line in path.read_text().splitlines()]
    for line in lines:
        change(line)
    path.write_text("".join(json_line(line) + "\n" for line in lines))


def forge(folder: Path, change: Change, **sums: str) -> None:
    """Change the lines of the episodes and compute their checksums again."""

    def forged(line: dict[str, Any]) -> None:
        change(line)
        parts = {key: value for key, value in line["sums"].items() if key != "line"} | sums
        parts |= {"episode": content_hash(line["episode"]), "conditions": content_hash(line["conditions"])}
        line["sums"] = sealed(line, parts)

    edit_lines(folder / "episodes.jsonl", forged)
