"""Which frames somebody wants to look at; of all others only the time is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


def is_sampled(fps: float | None, time: float, previous: float | None) -> bool:
    """Whether a frame is the first one in its step of ``1 / fps`` seconds; without a rate every frame is."""
    if fps is None or previous is None:
        return True
    return math.floor(time * fps + 1e-6) > math.floor(previous * fps + 1e-6)


@dataclass(frozen=True, kw_only=True)
class Want:
    """Frames at a rate (a second; None for every frame) inside spans of time (seconds, half-open, in order)."""

    fps: float | None
    spans: tuple[tuple[float, float], ...]

    def takes(self, time: float, previous: float | None) -> bool:
        """Whether a frame is wanted."""
        return is_sampled(self.fps, time, previous) and any(start <= time < end for start, end in self.spans)

    def record(self) -> dict[str, Any]:
        """As JSON can hold it; a span without an end has None there."""
        return {"fps": self.fps, "spans": [[start, end if math.isfinite(end) else None] for start, end in self.spans]}

    @classmethod
    def restored(cls, record: dict[str, Any]) -> Want:
        """The inverse of :meth:`record`."""
        spans = tuple((start, math.inf if end is None else end) for start, end in record["spans"])
        return cls(fps=record["fps"], spans=spans)


def last_end(wants: Sequence[Want]) -> float:
    """When nobody wants any frame any more (seconds)."""
    return max((span[1] for want in wants for span in want.spans), default=0.0)
