"""The moments of an episode that a reader wants to see: what was cited, what the reference says, what tools saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from controller.episode import CallRecord, Episode
from eval.datasets.items import Item

Why = Literal["cited", "reference", "seen"]

_CITED, _REFERENCE, _SEEN = 6, 3, 6  #: most moments of each kind
_SAME = 0.051  #: seconds; moments are told to a tenth
_DEEPEST = 12  #: of a result that is searched
_MAX_BOXES = 12


@dataclass(frozen=True, kw_only=True)
class LabelledBox:
    """A box in pixels of the displayed frame, with what a tool took it for."""

    x1: float
    y1: float
    x2: float
    y2: float
    label: str

    def record(self) -> list[Any]:
        """The wire form."""
        return [self.x1, self.y1, self.x2, self.y2, self.label]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A moment of a video, to a tenth of a second. Any frame from ``start`` to ``end`` shows it; with boxes, only its own does."""

    video_id: str
    time: float
    why: Why
    start: float
    end: float
    boxes: tuple[LabelledBox, ...] = ()

    def is_shown_by(self, time: float) -> bool:
        """Whether a frame of that time shows it."""
        if self.boxes:
            return abs(time - self.time) < _SAME
        return self.start - _SAME < time < self.end + _SAME


@dataclass(frozen=True, kw_only=True)
class _Piece:
    """Evidence in a result: where a tool says that something can be seen."""

    time: float
    start: float
    end: float


def moments_of(episode: Episode, item: Item) -> list[Moment]:
    """The moments of an episode, those that matter most first, each time once."""
    boxes = {call.id: list(_boxes(call.result)) for call in episode.calls}
    found = [*_cited(episode, boxes), *_reference(item), *_seen(episode, boxes)]
    kept: list[Moment] = []
    for moment in found:
        if not any(moment.is_shown_by(other.time) and other.why == moment.why for other in kept):
            kept.append(moment)
    return kept


def _cited(episode: Episode, boxes: Mapping[str, list[tuple[float, LabelledBox]]]) -> Iterator[Moment]:
    """The frame in which a tool saw it, where one says; else the middle."""
    for span in episode.spans[:_CITED]:
        calls = [call for call in episode.calls if call.id in span.returned_by]
        boxed = [time for call in calls for time, _ in boxes[call.id] if span.start_time <= time <= span.end_time]
        told = [
            piece.time
            for call in calls
            for piece in _pieces(call)
            if span.start_time <= piece.time < max(span.end_time, span.start_time + _SAME)
        ]
        time = next(iter(boxed or told), (span.start_time + span.end_time) / 2)
        drawn = _at(time, (box for call in calls for box in boxes[call.id]))
        yield _moment(episode.task.video_id, time, "cited", span.start_time, span.end_time, drawn)


def _reference(item: Item) -> Iterator[Moment]:
    for span in item.spans[:_REFERENCE]:
        yield _moment(item.video_id, (span.start + span.end) / 2, "reference", span.start, span.end)


def _seen(episode: Episode, boxes: Mapping[str, list[tuple[float, LabelledBox]]]) -> Iterator[Moment]:
    number = 0
    video = episode.task.video_id
    for call in episode.calls:
        boxed = dict.fromkeys(time for time, _ in boxes[call.id])
        told = [(time, time, time) for time in boxed] + [(one.time, one.start, one.end) for one in _pieces(call)]
        for time, start, end in told[:2]:
            if number == _SEEN:
                return
            number += 1
            yield _moment(video, time, "seen", start, end, _at(time, boxes[call.id]))


def _moment(video: str, time: float, why: Why, start: float, end: float, boxes: tuple[LabelledBox, ...] = ()) -> Moment:
    return Moment(video_id=video, time=round(max(0.0, time), 1), why=why, start=start, end=end, boxes=boxes)


def _at(
    time: float, boxes: Iterator[tuple[float, LabelledBox]] | list[tuple[float, LabelledBox]]
) -> tuple[LabelledBox, ...]:
    near = [box for at, box in boxes if abs(at - time) < _SAME]
    return tuple(dict.fromkeys(near))[:_MAX_BOXES]


def _pieces(call: CallRecord) -> Iterator[_Piece]:
    evidence = call.result.get("evidence")
    for piece in evidence if isinstance(evidence, list) else ():
        if isinstance(piece, Mapping):
            times = [_number(piece.get(key)) for key in ("frame_time", "start_time", "end_time")]
            if times[0] is not None and times[1] is not None and times[2] is not None:
                yield _Piece(time=times[0], start=times[1], end=times[2])


def _boxes(value: Any, depth: int = 0) -> Iterator[tuple[float, LabelledBox]]:
    """Boxes with their times, wherever in a result they stand."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        box, time = value.get("bbox"), _number(value.get("timestamp"))
        if time is not None and isinstance(box, Sequence) and len(box) == 4:
            sides = [_number(side) for side in box]
            if all(side is not None for side in sides):
                x1, y1, x2, y2 = (side for side in sides if side is not None)
                label = str(value.get("entity_hint") or value.get("category") or "")[:80]
                yield time, LabelledBox(x1=x1, y1=y1, x2=x2, y2=y2, label=label)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _boxes(one, depth + 1)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
