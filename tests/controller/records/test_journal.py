"""Damaged journals are named as such; they are never repaired and never crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.records.conditions import Conditions
from controller.records.journal import Journal
from world_api.core.canonical import json_line, parse_json
from world_api.core.faults import EpisodeFault

CONDITIONS = Conditions(system="flat")


@pytest.fixture
def kept(hold: Any, replies: Any, tmp_path: Path) -> Path:
    """A journal with one finished episode."""
    recording = Journal(tmp_path).begin("one")
    recording.finish(
        hold(replies.finds(), replies.submits()).episode, CONDITIONS, [0.0, "2026-01-01T00:00:00+00:00", 1]
    )
    return tmp_path


def damage(path: Path, change: dict[str, Any]) -> None:
    path.write_text(json_line(parse_json(path.read_text()) | change) + "\n")


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("episodes", {"episode": 5}),
        ("episodes", {"episode": None}),
        ("episodes", {"name": ["one"]}),
        ("episodes", {"name": None}),
        ("timings", {"clock": None}),
        ("timings", {"clock": {"a": 1}}),
        ("timings", {"clock": [None]}),
        ("timings", {"clock": [True]}),
        ("timings", {"name": []}),
        ("timings", {"name": {"a": 1}}),
    ],
)
def test_a_line_that_is_not_whole_is_named(kept: Path, file: str, change: dict[str, Any]) -> None:
    damage(kept / f"{file}.jsonl", change)
    with pytest.raises(EpisodeFault, match="recording_damaged") as caught:
        list(Journal(kept).entries())
    assert f"line 1 of {file}.jsonl is not whole" in caught.value.message


@pytest.mark.parametrize("field", ["task", "budget", "messages", "rounds", "calls", "outcome", "spans", "tools"])
@pytest.mark.parametrize("value", [5, None, [[]], {"a": 1}])
def test_an_episode_that_is_not_whole_is_named(kept: Path, field: str, value: Any) -> None:
    path = kept / "episodes.jsonl"
    damage(path, {"episode": parse_json(path.read_text())["episode"] | {field: value}})
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        list(Journal(kept).entries())


def test_what_was_kept_reads_back(kept: Path) -> None:
    [entry] = Journal(kept).entries()
    assert (entry.name, entry.readings) == ("one", (0.0, "2026-01-01T00:00:00+00:00", 1))
