"""Whether a request is tried again, and when: after as long as the server asks for, else later each time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from world_api.core.ports import Clock

_FIRST_WAIT = 0.5  #: seconds before the second try; doubled each time
_LONGEST_WAIT = 30.0
_SPREAD = 0.25  #: of a wait
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SPENT = "insufficient_quota"  #: a 429 that waiting does not mend


def passes(status: int, code: str | None) -> bool:
    """Whether a refusal may be gone when the request is made again."""
    return status in _WORTH_ANOTHER_TRY and code != _SPENT


def own_wait(tries: int) -> float:
    """Seconds to wait after so many tries where the server does not say."""
    return float(min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(tries, 16)))


def spread(seconds: float, chance: float, *, left: float) -> float:
    """A wait made up to a quarter longer, so that clients that failed together do not come back together.

    Where that would take longer than the time ``left``, it stays as it was.
    """
    longer = seconds * (1 + _SPREAD * chance)
    return longer if longer < left else seconds


def asked_wait(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, or ``Retry-After`` as a number or a date (RFC 9110, 10.2.3)."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return max(0.0, seconds / divisor)
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, (then - datetime.fromisoformat(clock.now())).total_seconds())
    except (ValueError, TypeError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
