"""What the camera does, put together from the moments a causal cut lets through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from world_api.core.spans import TimeSpan
from world_api.world.arrays.items import Items, Positions, extended
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


class CameraRuns:
    """Runs of rows of ``camera`` of one kind, as movements in time order; stillness is none.

    Movements begin where their shots do at the earliest.
    """

    def __init__(self, rows: pa.Table, shots: Items[TimeSpan]) -> None:
        times, strengths = rows.column("time").to_numpy(), rows.column("strength").to_numpy().astype(np.float64)
        kinds = one(rows.column("kind")).dictionary_encode()
        kind = kinds.indices.to_numpy()
        begins = np.ones(len(times), dtype=np.bool_)
        begins[1:] = (kind[1:] != kind[:-1]) | (np.diff(times) > APART)
        firsts: Positions = np.flatnonzero(begins)
        self._firsts, self._begun = firsts, times[firsts]
        lasts = np.append(firsts[1:], len(times)) - 1
        counts = lasts - firsts + 1
        means = np.add.reduceat(strengths, firsts) / counts if len(firsts) else strengths
        words = kinds.dictionary.to_pylist()
        moving = np.array([word != "still" for word in words], dtype=np.bool_)[kind[firsts]]
        self._moving: Positions = np.flatnonzero(moving & ((counts > 1) | (means >= SURE_AT_ONCE)))
        firsts, lasts, means = firsts[self._moving], lasts[self._moving], means[self._moving]
        begun = shots.starts[np.maximum(0, np.searchsorted(shots.starts, times[firsts], side="right") - 1)]
        starts, ends = np.maximum(begun, times[firsts] - ROW_SECONDS), times[lasts]

        def make(i: int) -> CameraMovement:
            return CameraMovement(
                span=TimeSpan(start=float(starts[i]), end=float(ends[i])),
                kind=words[kind[firsts[i]]],
                strength=round(float(means[i]), 3),
            )

        self.movements: Items[CameraMovement] = Items(starts, ends, make)

    def until(self, rows: pa.Table, as_of: float, shots: Items[TimeSpan], seen: float) -> Items[CameraMovement]:
        """What a cut shows of them. ``rows`` are those these were made of; what begins before ``seen`` is all known."""
        # A run is over, whatever follows, where the next one begins with a row that is known.
        over = max(0, int(np.searchsorted(self._begun, seen)) - 1)
        since = int(self._firsts[over]) if len(self._firsts) else 0
        rest = rows.slice(since)
        rest = rest.take(pa.array(np.flatnonzero(rest.column("known_at").to_numpy() <= as_of)))
        same = int(np.searchsorted(self._moving, over))
        before, after = self.movements, CameraRuns(rest, shots).movements

        def make(i: int) -> CameraMovement:
            return before[i] if i < same else after[i - same]

        return Items(extended(before.starts[:same], after.starts), extended(before.ends[:same], after.ends), make)
