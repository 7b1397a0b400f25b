"""Chapters: many scenes listed as few entries, and opened again by time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from benchmarks.made_worlds import Plan, write_world
from world_api.api import open_session
from world_api.operations import run
from world_api.operations.navigation import MAX_ENTRIES, group_into_chapters


@given(st.lists(st.tuples(st.floats(0.5, 500.0), st.floats(0.0, 1.0)), min_size=1, max_size=300), st.integers(2, 60))
def test_chapters_tile_the_scenes_and_are_few(scenes: list[tuple[float, float]], limit: int) -> None:
    ends = np.cumsum([length for length, _ in scenes])
    starts = np.concatenate([[0.0], ends[:-1]])
    chapters = group_into_chapters(starts, ends, np.array([strength for _, strength in scenes]), limit)
    assert len(chapters) <= limit
    assert chapters[0][0] == 0
    assert chapters[-1][1] == len(scenes)
    assert all(a[1] == b[0] for a, b in pairwise(chapters))
    assert all(first < end for first, end in chapters)
    if len(scenes) <= limit:
        assert len(chapters) == len(scenes)


def one_boundary_after_the_other(
    starts: list[float], ends: list[float], strengths: list[float], limit: int
) -> list[tuple[int, int]]:
    """The rule as it reads: the strongest first, those far enough from all that were taken, then closer ones."""
    strongest = sorted(range(1, len(starts)), key=lambda i: (-strengths[i], starts[i]))
    chosen = [0]
    mean = (ends[-1] - starts[0]) / limit
    for share in (1.0, 0.5, 0.25):
        for i in strongest:
            taken = [starts[other] for other in chosen] + [ends[-1]]
            if len(chosen) < limit and min(abs(starts[i] - time) for time in taken) >= share * mean:
                chosen.append(i)
    return list(pairwise([*sorted(chosen), len(starts)]))


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(0, 9)), min_size=3, max_size=200),
    st.integers(2, 30),
)
def test_chapters_begin_where_the_rule_says(scenes: list[tuple[int, int]], limit: int) -> None:
    ends = np.cumsum([length for length, _ in scenes], dtype=np.float64)
    starts = np.concatenate([[0.0], ends[:-1]])
    strengths = np.array([strength / 9 for _, strength in scenes])
    if len(scenes) > limit:
        expected = one_boundary_after_the_other(starts.tolist(), ends.tolist(), strengths.tolist(), limit)
        assert group_into_chapters(starts, ends, strengths, limit) == expected


def test_a_restless_quarter_of_an_hour_leaves_chapters_for_the_rest() -> None:
    calm, restless = np.arange(0.0, 32400.0, 120.0), 32400.0 + np.arange(0.0, 900.0, 5.0)
    starts = np.concatenate([calm, restless])
    ends = np.append(starts[1:], 33300.0)
    strengths = np.concatenate([np.full(len(calm), 0.4), np.full(len(restless), 0.9)])
    chapters = group_into_chapters(starts, ends, strengths, 60)
    assert max(ends[end - 1] - starts[first] for first, end in chapters) < 3600.0


def test_the_strongest_boundary_begins_a_chapter() -> None:
    starts = np.arange(0.0, 1000.0, 10.0)
    strengths = np.where(starts == 430.0, 1.0, 0.5)
    chapters = group_into_chapters(starts, starts + 10.0, strengths, 5)
    assert 43 in [first for first, _ in chapters]


@pytest.mark.parametrize("as_of", [None, 20_000.0])
def test_ten_hours_are_listed_in_sixty_entries_and_every_scene_can_be_reached(
    tmp_path: Path, as_of: float | None
) -> None:
    write_world(tmp_path, "day", Plan(seed=2, duration=36_000.0, file_seconds=3600.0, tracks_a_second=0.01))
    session = open_session(tmp_path, "day", as_of=as_of, name=None)
    reached: set[str] = set()

    def walk(entries: list[dict[str, Any]], depth: int) -> None:
        assert len(entries) <= MAX_ENTRIES
        assert depth < 5
        for entry in entries:
            if entry["kind"] == "scene":
                reached.add(entry["scene_id"])
            else:
                inside = {"start_time": entry["start_time"], "end_time": entry["end_time"]}
                walk(run(session, "list_scenes", {"video_id": "day", "time_range": inside})["scenes"], depth + 1)

    walk(run(session, "list_scenes", {"video_id": "day"})["scenes"], 0)
    assert reached == {scene.scene_id for scene in session.view.scenes}
