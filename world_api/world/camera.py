"""What the camera does, put together from the moments a causal cut lets through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from world_api.core.spans import TimeSpan

#: A row speaks of so many seconds before it; rows further apart than this belong to two movements.
ROW_SECONDS, APART = 1.0, 1.7
#: A movement told by a single row must be this strong (picture widths a second) to be one.
SURE_AT_ONCE = 0.05

WORDS = {
    "pan_left": "pans left",
    "pan_right": "pans right",
    "tilt_up": "tilts up",
    "tilt_down": "tilts down",
    "zoom_in": "zooms in",
    "zoom_out": "zooms out",
    "turn": "turns",
    "shake": "shakes",
}


@dataclass(frozen=True, kw_only=True)
class CameraMovement:
    """A movement of the camera. ``strength``: how far the picture goes, in picture widths a second."""

    span: TimeSpan
    kind: str
    strength: float

    @property
    def label(self) -> str:
        """In words: ``the camera pans left``."""
        return f"the camera {WORDS.get(self.kind, self.kind)}"


def camera_movements(rows: pa.Table, shots: Sequence[TimeSpan]) -> list[CameraMovement]:
    """The movements in time order, from rows of ``camera``; they end where their shots do, and stillness is none."""
    moments = sorted(rows.to_pylist(), key=lambda row: float(row["time"]))
    run = 0
    numbers = [0] * len(moments)
    for place, (before, after) in enumerate(pairwise(moments), start=1):
        run += before["kind"] != after["kind"] or after["time"] - before["time"] > APART
        numbers[place] = run
    found = []
    for _, group in groupby(zip(numbers, moments, strict=True), key=lambda pair: pair[0]):
        movement = _movement([row for _, row in group], shots)
        if movement is not None:
            found.append(movement)
    return found


def _movement(rows: Sequence[dict[str, Any]], shots: Sequence[TimeSpan]) -> CameraMovement | None:
    kind, strength = str(rows[0]["kind"]), float(np.mean([row["strength"] for row in rows]))
    if kind == "still" or (len(rows) == 1 and strength < SURE_AT_ONCE):
        return None
    start, end = float(rows[0]["time"]), float(rows[-1]["time"])
    begun = next((shot.start for shot in reversed(shots) if shot.start <= start), 0.0)
    return CameraMovement(
        span=TimeSpan(start=max(begun, start - ROW_SECONDS), end=end), kind=kind, strength=round(strength, 3)
    )
