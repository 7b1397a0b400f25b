"""Worlds as profile neural makes them, from a few rows made by hand: what a detector found, and how people look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from world_api.world import StageFacts

Rows = dict[str, list[dict[str, Any]]]
#: Sightings that the detector of these worlds missed where this was measured, of how many, and their least height as a share of
#: the picture's longer side.
MISSED = {"person": [3, 207, 0.125], "bottle": [2, 50, 0.1]}
_OF_DETECTOR = {"categories": ["bottle", "chair", "person"], "missed": MISSED}
STAGES = [
    StageFacts(name="detections", version="1", key="k", parameters=_OF_DETECTOR, tables=["sightings"]),
    *(
        StageFacts(name=name, version="1", key="k", parameters={}, tables=["person_looks"])
        for name in ("clothes", "faces", "bodies")
    ),
]


def seen(
    track: str, start: float, end: float, *, category: str = "person", colours: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Two sightings a second of a thing that stays in its place."""
    box = {"x1": 100.0, "y1": 60.0, "x2": 160.0, "y2": 260.0}
    times = [start + number / 2 for number in range(int((end - start) * 2) + 1)]
    facts = {"category": category, "confidence": 0.8, "colours": list(colours), "producer": "detections/1"}
    return [{"track": track, "time": time, "known_at": time, **box, **facts} for time in times]


def looks(track: str, start: float, parts: Mapping[str, Sequence[str]], frames: int = 5) -> list[dict[str, Any]]:
    """What was judged of a person in some frames: words by part."""
    times = [start + number / 2 for number in range(frames)]
    rest = {"vector": [], "score": 1.0, "producer": "clothes/2"}
    return [
        {"track": track, "time": time, "known_at": time, "part": part, "words": list(words), **rest}
        for time in times
        for part, words in parts.items()
    ]


def body(track: str, time: float) -> dict[str, Any]:
    """A vector of a person's figure, so that the person was compared with earlier ones."""
    return {
        "track": track, "time": time, "known_at": time, "part": "body", "words": [], "vector": [1.0, 0.0], "score": 1.0,
        "producer": "bodies/1",
    }  # fmt: skip
