"""Which frames somebody wants to look at; of all others only the time is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from world_api.build.media.frames import PixelFormat


def is_sampled(fps: float | None, time: float, previous: float | None) -> bool:
    """Whether a frame is the first one in its step of ``1 / fps`` seconds; without a rate every frame is."""
    if fps is None or previous is None:
        return True
    return math.floor(time * fps + 1e-6) > math.floor(previous * fps + 1e-6)


@dataclass(frozen=True, kw_only=True)
class Want:
    """Frames at a rate (a second; None for every frame) inside spans of time (seconds, half-open, in order).

    With ``picture`` (longest side in pixels, pixel format) nothing but that picture of them is looked at.
    """

    fps: float | None
    spans: tuple[tuple[float, float], ...]
    picture: tuple[int, PixelFormat] | None = None

    def takes(self, time: float, previous: float | None) -> bool:
        """Whether a frame is wanted."""
        # Asked of every frame: a generator costs more than what it goes through.
        for start, end in self.spans:
            if start <= time < end:
                return is_sampled(self.fps, time, previous)
        return False

    def record(self) -> dict[str, Any]:
        """As JSON can hold it; a span without an end has None there."""
        spans = [[start, end if math.isfinite(end) else None] for start, end in self.spans]
        return {"fps": self.fps, "spans": spans, "picture": self.picture}

    @classmethod
    def restored(cls, record: dict[str, Any]) -> Want:
        """The inverse of :meth:`record`."""
        spans = tuple((start, math.inf if end is None else end) for start, end in record["spans"])
        picture = record["picture"]
        return cls(fps=record["fps"], spans=spans, picture=None if picture is None else (picture[0], picture[1]))


def last_end(wants: Sequence[Want]) -> float:
    """When nobody wants any frame any more (seconds)."""
    return max((span[1] for want in wants for span in want.spans), default=0.0)
