"""From the clock of a file to the time of the project, where the file's clock is broken.

Recordings that were joined without care start their clock anew in the middle; a damaged stamp may name a moment in a
thousand years. Where the clock leaps, the time goes on from the last frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: A clock that goes back by more than this (seconds) was started anew; by less, frames are out of order or there twice.
_STEP_BACK = 1.0
#: A frame so long (seconds) after the one before was not meant: no picture stands still that long.
_LEAP = 3600.0
_SAME = 1e-6


@dataclass(kw_only=True)
class Timeline:
    """Takes the frames' own times in order; afterwards knows how often the clock leapt, and what was left out.

    ``offset`` is what is added to the file's own times (seconds) at present; ``start`` is the first frame's own time.
    """

    start: float
    offset: float = 0.0
    left_out: int = 0
    leaps: int = 0
    first_leap: float | None = None
    first_left_out: float | None = None
    _last: float | None = None

    def place(self, own_time: float, *, step: float) -> float | None:
        """The project's time of the next frame, or None where the frame is to be left out.

        ``step`` is how long (seconds) the frame before is shown, for where the clock says nothing.
        """
        time = own_time - self.start + self.offset
        last = self._last
        if last is None:
            self._last = max(0.0, time)
            return self._last
        if time < last - _STEP_BACK or time > last + _LEAP:
            self.leaps += 1
            self.first_leap = last if self.first_leap is None else self.first_leap
            self.offset += last + step - time
            time = last + step
        if time <= last + _SAME:
            self.left_out += 1
            self.first_left_out = last if self.first_left_out is None else self.first_left_out
            return None
        self._last = time
        return time

    def record(self) -> dict[str, Any]:
        """Where it stands, as JSON can hold it."""
        return {
            "offset": self.offset, "left_out": self.left_out, "leaps": self.leaps, "first_leap": self.first_leap,
            "first_left_out": self.first_left_out, "last": self._last,
        }  # fmt: skip

    @classmethod
    def restored(cls, start: float, record: dict[str, Any]) -> Timeline:
        """One that stands where :meth:`record` was taken."""
        facts = {**record}
        last = facts.pop("last")
        return cls(start=start, _last=last, **facts)

    def sound_step(self, seconds: float) -> bool:
        """Whether a frame may be shown that long."""
        return 0.0 < seconds <= _LEAP
