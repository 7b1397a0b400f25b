"""Stretches of the video: intersection over union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.questions import span_of
from eval.datasets.items import Item
from eval.scoring.kinds.expected import accepted_values, given_value
from eval.scoring.port import Context
from eval.scoring.score import Score
from world_api.core.spans import TimeSpan

RECALL = "recall_1_at_"  #: before the threshold, in the details of a score


@dataclass(frozen=True, kw_only=True)
class IntervalSettings:
    """``correct_at``: the IoU from which an answer is correct. ``thresholds`` of recall@1.

    ``least_seconds``: shorter stretches, given or accepted, are widened to this about their middle before they are compared, so that
    a moment can be met; 0, the default, leaves them as they are.
    """

    correct_at: float = 0.5
    thresholds: tuple[float, ...] = (0.3, 0.5, 0.7)
    least_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 < value <= 1 for value in (self.correct_at, *self.thresholds)) or self.least_seconds < 0:
            raise ValueError("an IoU threshold lies above 0 and at most at 1, and least_seconds is not negative")


def score_interval(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """The best IoU with an accepted stretch; recall@1 at each threshold is whether it is reached."""
    settings = context.read(IntervalSettings)
    accepted = [span_of(one) for one in accepted_values(item)]
    typed = given_value(item, value)
    if typed is None:
        return context.wrong("no_answer", iou=0.0, **{_name(at): False for at in settings.thresholds})
    given = span_of(typed)
    best, iou = max(
        ((one, overlap(given, one, least_seconds=settings.least_seconds)) for one in accepted), key=lambda pair: pair[1]
    )
    return context.scored(
        correct=iou >= settings.correct_at,
        score=iou,
        iou=round(iou, 6),
        **{_name(at): iou >= at for at in settings.thresholds},
        start_error=round(given.start - best.start, 3),
        end_error=round(given.end - best.end, 3),
    )


def overlap(given: TimeSpan, accepted: TimeSpan, *, least_seconds: float = 0.0) -> float:
    """IoU of two stretches; two equal moments without length have 1."""
    if given == accepted:
        return 1.0
    return _widened(given, least_seconds).iou(_widened(accepted, least_seconds))


def _widened(span: TimeSpan, seconds: float) -> TimeSpan:
    if span.duration >= seconds:
        return span
    return TimeSpan(start=span.center - seconds / 2, end=span.center + seconds / 2)


def _name(threshold: float) -> str:
    return f"{RECALL}{threshold:g}"
