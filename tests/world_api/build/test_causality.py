"""No row knows the future: rows known by T are the same when nothing after T is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.support.building import made_clip, sampled_for
from world_api.build import (
    Cuts,
    KeyFrames,
    LookLinks,
    Looks,
    MovingThings,
    Records,
    RowStage,
    SceneCuts,
    ScreenTexts,
    Stage,
    Stitches,
)
from world_api.core import Box, DetectedObject, Image, TextLine
from world_api.media import Frame
from world_api.perception import ColourAppearance
from world_api.world import TRACK_LOOK_DIMENSION

pytestmark = pytest.mark.media

Rows = list[dict[str, Any]]
MADE = {"producer": "made/1"}


def made(stage: Stage, number: int, *, frames: Sequence[Frame] = (), stored: dict[str, Rows] | None = None) -> Records:
    if isinstance(stage, RowStage):
        return stage.make_rows(made_clip(number, stored))
    worker = stage.open(made_clip(number, stored))
    for frame in sampled_for(stage, frames):
        worker.see(frame)
    return worker.finish()


def known_by(records: Records, moment: float) -> dict[str, Rows]:
    return {table: [row for row in rows if row["known_at"] <= moment] for table, rows in records.items()}


def check_rows(stage: Stage, number: int, stored: dict[str, Rows]) -> None:
    """A stage on rows: for every moment at which something becomes known, and just before and after it."""
    whole = made(stage, number, stored=stored)
    known = {row["known_at"] for rows in [*stored.values(), *whole.values()] for row in rows}
    for moment in sorted({t + d for t in known for d in (-0.05, 0.0, 0.05)}):
        part = made(stage, number, stored=known_by(stored, moment))
        assert known_by(part, moment) == known_by(whole, moment), moment


def look(time: float, kind: int) -> dict[str, Any]:
    vector = [0.0] * 128
    vector[kind] = 1.0
    return {"time": time, "vector": vector, "known_at": time, **MADE}


def cut(time: float, known_at: float) -> dict[str, Any]:
    return {"time": time, "score": 1.0, "kind": "cut", "known_at": known_at, **MADE}


def sighting(track: str, time: float, x: float, known_at: float) -> dict[str, Any]:
    return {
        "track": track, "time": time, "x1": x, "y1": 10.0, "x2": x + 40, "y2": 90.0, "category": "person",
        "confidence": 0.5, "colours": [], "known_at": known_at, **MADE,
    }  # fmt: skip


@pytest.mark.parametrize(("returns", "scenes"), [(14, []), (18, [10.0])])
def test_a_scene_cut_is_not_known_before_the_old_picture_could_have_come_back(
    returns: int, scenes: list[float]
) -> None:
    looks = [look(float(t), 0 if t < 10 or t >= returns else 1) for t in range(24)]
    stored = {"looks": looks, "cuts": [cut(10.0, 10.2), cut(float(returns), returns + 0.2)]}
    rows = made(SceneCuts(), 0, stored=stored)["scene_cuts"]
    assert [row["time"] for row in rows] == scenes
    assert all(row["known_at"] >= 16.0 for row in rows)
    check_rows(SceneCuts(), 0, stored)


tenths = st.integers(min_value=0, max_value=330).map(lambda t: t / 10)
delays = st.integers(min_value=0, max_value=30).map(lambda t: t / 10)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2), min_size=33, max_size=33), st.dictionaries(tenths, delays, max_size=8))
def test_scene_cuts_know_no_future(kinds: list[int], cuts: dict[float, float]) -> None:
    stored = {
        "looks": [look(float(second), kind) for second, kind in enumerate(kinds)],
        "cuts": [cut(time, round(time + delay, 3)) for time, delay in sorted(cuts.items())],
    }
    check_rows(SceneCuts(), 0, stored)


def test_a_better_match_that_is_known_later_changes_no_link() -> None:
    stored = {
        "sightings": [
            sighting("t0000_01", 29.8, 100, 29.8),
            sighting("t0001_01", 30.0, 110, 30.0),
            sighting("t0001_02", 30.0, 101, 33.0),
        ]
    }
    (row,) = made(Stitches(), 1, stored=stored)["track_links"]
    assert (row["earlier"], row["later"], row["known_at"]) == ("t0000_01", "t0001_01", 30.0)
    check_rows(Stitches(), 1, stored)


seen = st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 80), delays)


@settings(max_examples=30)
@given(st.lists(seen, max_size=12), st.lists(seen, max_size=12))
def test_links_know_no_future(before: list[tuple[int, ...]], after: list[tuple[int, ...]]) -> None:
    rows = {
        (track, time): sighting(track, time, float(x), round(max(time, time + delay), 3))
        for join, clip_name, found in ((29.0, "t0000", before), (30.0, "t0001", after))
        for name, step, x, delay in found
        for track, time in [(f"{clip_name}_{name:02d}", join + step / 5)]
    }
    check_rows(Stitches(), 1, {"sightings": list(rows.values())})


def track_look(track: str, time: float, kind: int, known_at: float) -> dict[str, Any]:
    vector = np.ones(TRACK_LOOK_DIMENSION)
    vector[:kind] = 0.8
    vector /= np.linalg.norm(vector)
    return {"track": track, "time": time, "vector": vector.tolist(), "known_at": known_at, **MADE}


def stitch(earlier: str, later: str, known_at: float) -> dict[str, Any]:
    return {
        "earlier": earlier,
        "later": later,
        "time": 30.0,
        "kind": "stitch",
        "score": 1.0,
        "known_at": known_at,
        **MADE,
    }


looked_at = st.tuples(st.integers(0, 3), st.integers(0, 25), st.integers(0, 20), delays)


@settings(max_examples=30)
@given(st.lists(looked_at, max_size=14), st.lists(looked_at, min_size=4, max_size=14), st.lists(delays, max_size=2))
def test_likenesses_know_no_future(
    before: list[tuple[int, ...]], after: list[tuple[int, ...]], joined: list[float]
) -> None:
    rows = {
        (track, time): track_look(track, time, kind, round(time + delay, 3))
        for start, clip_name, found in ((0.0, "t0000", before), (30.0, "t0001", after))
        for name, step, kind, delay in found
        for track, time in [(f"{clip_name}_{name:02d}", start + step)]
    }
    links = [stitch(f"t0000_{n:02d}", f"t0001_{n:02d}", 30.0 + delay) for n, delay in enumerate(joined)]
    check_rows(LookLinks(), 1, {"track_looks": list(rows.values()), "track_links": links})


def test_a_likeness_is_known_when_both_were_looked_at() -> None:
    looks = [track_look("t0000_01", t, 0, t) for t in (1.0, 2.0, 3.0)]
    looks += [track_look("t0001_01", t, 0, t) for t in (40.0, 41.0)]
    (row,) = made(LookLinks(), 1, stored={"track_looks": looks})["look_links"]
    assert (row["earlier"], row["later"], row["score"]) == ("t0000_01", "t0001_01", 1.0)
    assert row["known_at"] == 46.0


class Reader:
    """Reads a line wherever a title stands."""

    producer = "made/1"

    def locate(self, image: Image) -> Sequence[Box]:
        return [Box(x1=0, y1=0, x2=40, y2=20)] if image[2, 2].min() > 200 else []

    def read(self, image: Image) -> Sequence[TextLine]:
        return [TextLine(text="TITLE", box=Box(x1=0, y1=0, x2=40, y2=20), confidence=0.9)]


class Judge:
    """Takes everything for a person."""

    producer = "made/1"

    def person_score(self, image: Image, box: Box) -> float:
        return 1.0

    def people(self, image: Image) -> Sequence[DetectedObject]:
        return [DetectedObject(category="person", box=Box(x1=40, y1=40, x2=80, y2=140), confidence=0.9)]


def stages_on_frames() -> list[Stage]:
    return [Cuts(), Looks(), KeyFrames(), ScreenTexts(Reader()), MovingThings(Judge(), ColourAppearance())]


@pytest.mark.parametrize("name", [stage.spec.name for stage in stages_on_frames()])
@pytest.mark.parametrize("end", [3.05, 5.95, 6.35, 6.65, 7.3, 9.25, 11.0, 13.55])
def test_what_is_made_of_frames_knows_no_future(
    name: str, end: float, make_frames: Callable[..., list[Frame]], empty_room: Image, draw_block: Callable[..., Image]
) -> None:
    (stage,) = [stage for stage in stages_on_frames() if stage.spec.name == name]
    other = np.ascontiguousarray(255 - empty_room[:, ::-1])
    noise = np.random.default_rng(3).integers(0, 40, (150, 180, 320, 1)).astype(np.uint8)

    def picture(time: float) -> Image:
        if 6.0 <= time < 6.4:
            return np.full_like(empty_room, 240)
        base = empty_room if time < 6.0 else other
        drawn = draw_block(base, 400 - 40 * time if time > 6 else 30 * time)
        if 3.0 <= time < 5.0:
            drawn[:40, :80] = 255
        return np.ascontiguousarray(np.maximum(drawn, noise[int(time * 10 + 0.5)] // (1 + int(time) % 4)))

    frames = make_frames(picture, start=0, end=14, rate=10)
    whole = made(stage, 0, frames=frames)
    assert any(whole.values())
    part = made(stage, 0, frames=[frame for frame in frames if frame.time <= end])
    assert plain(part, end) == plain(whole, end)


def plain(records: Records, end: float) -> list[Any]:
    """The rows known by then, arrays as bytes."""
    rows = [row for table in known_by(records, end).values() for row in table]
    return [[v.tobytes() if isinstance(v, np.ndarray) else v for v in row.values()] for row in rows]
