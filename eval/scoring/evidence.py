"""Whether the stretches that an answer cites are those that show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from controller.evidence import CitedSpan
from world_api.core.spans import TimeSpan, merge_spans


@dataclass(frozen=True, kw_only=True)
class EvidenceScore:
    """The cited stretches together against the true ones together, by seconds.

    ``precision`` is the share of what is cited that is true, ``recall`` the share of what is true that is cited; moments
    without length count by number where only moments are cited, or true.
    """

    iou: float
    precision: float
    recall: float

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return asdict(self)


def evidence_score(cited: Iterable[TimeSpan | CitedSpan], true: Iterable[TimeSpan]) -> EvidenceScore | None:
    """The score of cited stretches; None where nobody knows what shows the answer. Nothing cited scores zero."""
    given = [_span(span) for span in cited]
    known = list(true)
    if not known:
        return None
    shared = _shared(given, known)
    union = _length(given) + _length(known) - shared
    return EvidenceScore(
        iou=round(shared / union, 6) if union > 0 else float(bool(_met(given, known))),
        precision=round(shared / _length(given) if _length(given) > 0 else _share(given, known), 6),
        recall=round(shared / _length(known) if _length(known) > 0 else _share(known, given), 6),
    )


def _shared(first: list[TimeSpan], second: list[TimeSpan]) -> float:
    """Seconds in both, going once through each."""
    one, other = merge_spans(first), merge_spans(second)
    total, i, j = 0.0, 0, 0
    while i < len(one) and j < len(other):
        total += one[i].overlap(other[j])
        if one[i].end <= other[j].end:
            i += 1
        else:
            j += 1
    return total


def _length(spans: list[TimeSpan]) -> float:
    return sum(span.duration for span in merge_spans(spans))


def _share(spans: list[TimeSpan], others: list[TimeSpan]) -> float:
    return len(_met(spans, others)) / len(spans) if spans else 0.0


def _met(spans: list[TimeSpan], others: list[TimeSpan]) -> list[TimeSpan]:
    """Those that touch one of the others."""
    return [span for span in spans if any(span.start <= other.end and other.start <= span.end for other in others)]


def _span(cited: TimeSpan | CitedSpan) -> TimeSpan:
    return cited if isinstance(cited, TimeSpan) else TimeSpan(start=cited.start_time, end=cited.end_time)
