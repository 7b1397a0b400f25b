"""What the picture's edge leaves of somebody who comes or goes is a sliver, at every side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from world_api.world import View, join_tracks, rows_from_records

WIDTH, HEIGHT = 640, 360
WHOLE = (200.0, 100.0, 260.0, 220.0)
#: Of each side: a box at its edge and one, just as thin, that stops short of it.
SIDES = {
    "left": ((0.0, 100.0, 20.0, 220.0), (30.0, 100.0, 50.0, 220.0)),
    "right": ((620.0, 100.0, 640.0, 220.0), (590.0, 100.0, 610.0, 220.0)),
    "top": ((200.0, 0.0, 260.0, 40.0), (200.0, 30.0, 260.0, 70.0)),
    "bottom": ((200.0, 320.0, 260.0, 360.0), (200.0, 290.0, 260.0, 330.0)),
}


def slivers(*boxes: tuple[float, float, float, float]) -> list[bool]:
    """Which sightings of one track, a second apart, are slivers."""
    records = [
        {"track": "t0000_01", "time": float(n), "x1": x1, "y1": y1, "x2": x2, "y2": y2, "category": "person",
         "confidence": 0.8, "colours": ["black"], "known_at": float(n), "producer": "made/1"}
        for n, (x1, y1, x2, y2) in enumerate(boxes)
    ]  # fmt: skip
    joined = join_tracks(
        rows_from_records("sightings", records), rows_from_records("track_links", []), width=WIDTH, height=HEIGHT
    )
    found: list[bool] = np.asarray(joined.sightings.column("sliver")).tolist()
    return found


@pytest.mark.parametrize("side", SIDES)
def test_a_thin_box_at_an_edge_is_a_sliver_and_one_off_it_is_none(side: str) -> None:
    at_edge, off_edge = SIDES[side]
    assert slivers(at_edge, WHOLE, WHOLE, WHOLE, off_edge) == [True, False, False, False, False]


def test_a_whole_box_at_an_edge_is_no_sliver() -> None:
    assert slivers((0.0, 100.0, 55.0, 220.0), WHOLE, WHOLE, WHOLE) == [False] * 4


@pytest.mark.parametrize("side", SIDES)
def test_an_appearance_begins_and_ends_without_its_slivers(make_world: Any, side: str) -> None:
    boxes = [SIDES[side][0], *[WHOLE] * 6, SIDES[side][0]]
    rows = [
        {"track": "t0000_01", "time": float(n), "x1": x1, "y1": y1, "x2": x2, "y2": y2, "category": "person",
         "confidence": 0.8, "colours": ["black"], "known_at": float(n), "producer": "made/1"}
        for n, (x1, y1, x2, y2) in enumerate(boxes)
    ]  # fmt: skip
    (track,) = View(make_world({"sightings": rows}), None).tracks
    assert [(span.start, span.end) for span in track.appearances] == [(1.0, 6.0)]
