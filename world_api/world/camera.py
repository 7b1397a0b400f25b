"""What the camera does, put together from the moments a causal cut lets through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from world_api.core.spans import TimeSpan
from world_api.world.arrays.items import Items
from world_api.world.disk.columns import one

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


def camera_movements(rows: pa.Table, shots: Items[TimeSpan]) -> Items[CameraMovement]:
    """The movements in time order, from rows of ``camera``; they end where their shots do, and stillness is none."""
    times, strengths = rows.column("time").to_numpy(), rows.column("strength").to_numpy().astype(np.float64)
    kinds = one(rows.column("kind")).dictionary_encode()
    kind = kinds.indices.to_numpy()
    begins = np.ones(len(times), dtype=np.bool_)
    begins[1:] = (kind[1:] != kind[:-1]) | (np.diff(times) > APART)
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(times)) - 1
    counts = lasts - firsts + 1
    means = np.add.reduceat(strengths, firsts) / counts if len(firsts) else strengths
    words = kinds.dictionary.to_pylist()
    moving = np.array([word != "still" for word in words], dtype=np.bool_)[kind[firsts]]
    kept = moving & ((counts > 1) | (means >= SURE_AT_ONCE))
    firsts, lasts, means = firsts[kept], lasts[kept], means[kept]
    begun = shots.starts[np.maximum(0, np.searchsorted(shots.starts, times[firsts], side="right") - 1)]
    starts, ends = np.maximum(begun, times[firsts] - ROW_SECONDS), times[lasts]

    def make(i: int) -> CameraMovement:
        return CameraMovement(
            span=TimeSpan(start=float(starts[i]), end=float(ends[i])),
            kind=words[kind[firsts[i]]],
            strength=round(float(means[i]), 3),
        )

    return Items(starts, ends, make)
