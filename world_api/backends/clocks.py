"""Clocks: the machine's, and a pair that records readings and plays them back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from world_api.core.faults import EpisodeFault
from world_api.core.ports import Clock

_DECIMALS = 6


class SystemClock:
    """The clock of this machine."""

    def now(self) -> str:
        """The wall clock as ISO 8601 in UTC, to the second."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def monotonic(self) -> float:
        """Seconds on a clock that never runs backwards."""
        return time.monotonic()


class RecordingClock:
    """Passes another clock on and keeps its readings; monotonic time begins at 0 with the first reading."""

    def __init__(self, clock: Clock) -> None:
        self.readings: list[str | float] = []
        self._clock = clock
        self._zero: float | None = None

    def now(self) -> str:
        """The other clock's wall time."""
        reading = self._clock.now()
        self.readings.append(reading)
        return reading

    def monotonic(self) -> float:
        """Seconds since the first call, to a microsecond."""
        reading = self._clock.monotonic()
        if self._zero is None:
            self._zero = reading
        elapsed = round(reading - self._zero, _DECIMALS)
        self.readings.append(elapsed)
        return elapsed


class ReplayClock:
    """Plays recorded readings, so that a replay sees the times of the recording."""

    def __init__(self, readings: Sequence[str | float]) -> None:
        self._readings = tuple(readings)
        self._next = 0

    @property
    def left(self) -> int:
        """Readings that nobody has asked for yet."""
        return len(self._readings) - self._next

    def now(self) -> str:
        """The recorded wall time.

        Raises:
            EpisodeFault: ``replay_mismatch``, when the recording read another clock here, or none.
        """
        reading = self._take()
        if not isinstance(reading, str):
            raise _mismatch()
        return reading

    def monotonic(self) -> float:
        """The recorded seconds.

        Raises:
            EpisodeFault: ``replay_mismatch``, when the recording read another clock here, or none.
        """
        reading = self._take()
        if isinstance(reading, str):
            raise _mismatch()
        return float(reading)

    def _take(self) -> str | float:
        if self._next >= len(self._readings):
            raise _mismatch()
        self._next += 1
        return self._readings[self._next - 1]


def _mismatch() -> EpisodeFault:
    return EpisodeFault(
        "replay_mismatch",
        "the replay reads the clock where the recording did not",
        hint="the recording was made by another version of the loop; run the question again",
    )
