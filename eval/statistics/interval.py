"""A mean with its interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

#: Intervals over fewer clusters than this are said to be rough.
FEW_CLUSTERS = 10

#: ``one_cluster``: no interval can be made. ``no_spread``: all clusters say the same, and the interval is a point.
#: ``few_clusters``: fewer than ``FEW_CLUSTERS``.
Caution = Literal["one_cluster", "no_spread", "few_clusters"]

_SAID: dict[str, str] = {
    "one_cluster": "one cluster only: no interval",
    "no_spread": "all clusters say the same: the interval tells nothing of other clusters",
    "few_clusters": f"fewer than {FEW_CLUSTERS} clusters: a rough interval",
}


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate and the ends of its interval at ``level``; both are None where there is none.

    ``rows`` values in ``clusters`` clusters were drawn again ``draws`` times, by ``method``.
    """

    estimate: float
    low: float | None
    high: float | None
    level: float
    clusters: int
    rows: int
    draws: int
    method: str
    caution: Caution | None = None

    @property
    def note(self) -> str:
        """What to say beside the interval; empty where there is nothing to say."""
        return _SAID[self.caution] if self.caution else ""

    def covers(self, value: float) -> bool:
        """Whether a value lies in the interval; one that is not there rules nothing out."""
        return self.low is None or self.high is None or self.low <= value <= self.high

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {**asdict(self), "note": self.note}
