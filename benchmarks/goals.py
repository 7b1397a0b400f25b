"""Goals, and whether figures meet them: said beside any figures."""

from __future__ import annotations

#: A build without screen text and speech takes at most this many times the seconds of PySceneDetect's command.
BUILD_RATIO = 1.5
#: Building all of a long video takes at most so much more memory than building its first minutes (per cent).
MEMORY_GROWTH = 15.0
#: A warm call takes at most this many milliseconds at the 95th percentile.
WARM_MS = 20.0
#: Opening a world and answering the first question takes at most this many seconds.
OPEN_S = 1.0
#: Running a tool costs at most this many microseconds a step more than the same calls made from Python.
STEP_US = 50.0
#: Calls made at a time speed a loop over slow operations up by at least this share of their number.
SPEED_UP_SHARE = 0.8
#: Checking and compiling one tool takes at most this many milliseconds.
COMPILE_MS = 5.0
#: A round of an episode costs at most this many milliseconds beside its model and its tools.
ROUND_MS = 5.0


def verdict(value: float, limit: float) -> str:
    """``met`` or ``missed``: whether a value is at most its limit."""
    return "met" if value <= limit else "missed"
