"""Helpers of operations: checks of times, evidence and hits in results, and looks of the vision model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

import numpy as np

from world_api.core.faults import OperationFault
from world_api.core.identifiers import segment_id
from world_api.core.ports import Source
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.schema import Candidates, EvidenceItem, Hit, Interval, MatchingLine, TimeRange
from world_api.search.passages import Passage
from world_api.search.searcher import MatchingPassage, SegmentHit
from world_api.session.session import Registration, Session
from world_api.session.vision import MAX_SPOTS, LookSpot
from world_api.session.vision_cache import CachedLook
from world_api.world.tracks import Track


def moment(session: Session, video_id: str, timestamp: float) -> float:
    """Check that a moment is visible and return it, in seconds. The end of the visible part itself is not visible.

    Raises OperationFault: ``wrong_video``, ``not_yet``, ``time_out_of_range``.
    """
    session.check_video(video_id)
    if timestamp >= session.view.duration:
        raise beyond(session, timestamp)
    return float(timestamp)


def interval(session: Session, video_id: str, start_time: float, end_time: float) -> TimeSpan:
    """Return an interval with its end clipped to the visible part, rounded to milliseconds.

    Raises OperationFault: ``wrong_video``, ``bad_time_range`` (no millisecond is left), ``not_yet``,
    ``time_out_of_range``.
    """
    session.check_video(video_id)
    if end_time <= start_time:
        raise OperationFault(
            "bad_time_range",
            f"end_time ({end_time:g}) must be after start_time ({start_time:g})",
            hint="stretches are half-open, in seconds: start_time < end_time",
        )
    if start_time >= session.view.duration:
        raise beyond(session, start_time)
    start, end = round_time(start_time), round_time(min(end_time, session.view.duration))
    if end <= start:
        raise OperationFault(
            "bad_time_range",
            f"the stretch from {start_time:g} to {end_time:g} s holds less than a millisecond of what is visible",
            hint="give a longer stretch",
        )
    return TimeSpan(start=start, end=end)


def optional_interval(session: Session, video_id: str, time_range: TimeRange | None) -> TimeSpan | None:
    """Return the ``interval`` of a range; None if there is no range. The video's id is checked in both cases.

    Raises OperationFault: ``wrong_video``, and the other faults of ``interval``.
    """
    session.check_video(video_id)
    return None if time_range is None else interval(session, video_id, time_range.start_time, time_range.end_time)


def beyond(session: Session, time: float) -> OperationFault:
    """Return the fault for a time that is not visible: ``not_yet`` behind a causal cut, else ``time_out_of_range``.

    Behind a cut it does not reveal the video's length.
    """
    if not session.view.complete:
        return OperationFault(
            "not_yet",
            f"{time:g} s has not been seen yet: this session sees the video up to {session.view.duration:g} s",
            hint=f"ask about times before {session.view.duration:g} s",
        )
    return OperationFault(
        "time_out_of_range",
        f"{time:g} s is not in the video, which ends at {session.view.duration:g} s",
        hint=f"use times from 0 to just before {session.view.duration:g} s; stretches are half-open, so their end may be it",
    )


#: Pieces of evidence of a description at most; a list has one for each entry.
MAX_EVIDENCE = 60
#: Matching lines of a hit at most.
MAX_LINES = 12
SNIPPET_CHARACTERS = 200


class Times(TypedDict):
    """Start, end and centre of an interval in a result, in seconds."""

    start_time: float
    end_time: float
    center_time: float


def times(span: TimeSpan) -> Times:
    """Return ``start_time``, ``end_time`` and ``center_time`` of an interval, in seconds rounded to milliseconds."""
    return {
        "start_time": round_time(span.start),
        "end_time": round_time(span.end),
        "center_time": round_time(span.center),
    }


def interval_of(item: Interval) -> TimeSpan:
    """Return the interval of an entry of a result."""
    return TimeSpan(start=item.start_time, end=item.end_time)


def evidence(
    session: Session, span: TimeSpan, source: Source, confidence: float | None, frame_time: float | None = None
) -> EvidenceItem:
    """Return a piece of evidence for the part of a span that is visible. Its frame is by default the one in the middle.

    A ``frame_time`` at or after the end becomes the time of the last frame before the end.
    """
    visible = span.clamp(session.view.span)
    shown = visible.center if frame_time is None else max(frame_time, visible.start)
    if shown >= visible.end:
        shown = max(visible.start, visible.end - session.view.world.manifest.video.frame_seconds)
    return EvidenceItem(
        video_id=session.video_id,
        start_time=round_time(visible.start),
        end_time=round_time(visible.end),
        source=source,
        confidence=confidence,
        frame_time=round_time(shown),
    )


def cite_passage(session: Session, passage: Passage, inside: TimeSpan | None = None) -> EvidenceItem:
    """Return evidence for a passage, or for the part of it in the interval ``inside``."""
    span = passage.span if inside is None else passage.span.clamp(inside)
    shown = passage.frame_time if span.contains(passage.frame_time) else None
    return evidence(session, span, passage.source, passage.confidence, shown)


def cite_passages(session: Session, passages: Iterable[Passage], inside: TimeSpan | None = None) -> list[EvidenceItem]:
    """Return evidence for passages, or for their parts in the interval ``inside``, without repetitions."""
    found: dict[tuple[float, float, str], EvidenceItem] = {}
    for passage in passages:
        item = cite_passage(session, passage, inside)
        found.setdefault((item.start_time, item.end_time, item.source), item)
    return list(found.values())


def segment_hit(
    session: Session,
    span: TimeSpan,
    passage: Passage | None,
    *,
    score: float = 0.0,
    snippet: str = "",
    confidence: float | None = None,
    lines: Sequence[MatchingPassage] = (),
) -> Hit:
    """Return the hit for a segment, as results list it.

    ``passage`` is the best match. If there is none, ``snippet`` describes the segment, and the hit's source is
    ``look``.
    """
    return Hit(
        **times(span),
        segment_id=segment_id(span),
        score=score,
        snippet=shorten(passage.text) if passage else snippet,
        source=passage.source if passage else "look",
        confidence=confidence,
        matching_lines=[
            MatchingLine(
                **times(line.passage.span),
                text=shorten(line.passage.text),
                source=line.passage.source,
                as_given=line.as_given,
                evidence=[cite_passage(session, line.passage, span)],
            )
            for line in lines
        ],
    )


def hits(session: Session, found: Sequence[SegmentHit]) -> list[Hit]:
    """Return search hits as results list them, each with at most ``MAX_LINES`` matching lines."""
    return [segment_hit(session, hit.span, hit.passage, score=hit.score, lines=hit.lines[:MAX_LINES]) for hit in found]


def candidates(session: Session, found: Sequence[SegmentHit]) -> Candidates:
    """Return the result of a search for words or meaning, with its evidence and hint."""
    more = any(len(hit.lines) > MAX_LINES for hit in found)
    return Candidates(
        candidates=hits(session, found),
        evidence=cite_hits(session, found),
        truncated=more,
        hint=f"of a segment the first {MAX_LINES} matching lines are told" if more else nothing_found(found),
    )


def cite_hits(session: Session, found: Sequence[SegmentHit]) -> list[EvidenceItem]:
    """Return one piece of evidence for each hit, in the same order and inside the hit's interval."""
    return [
        evidence(session, hit.span, "look", None)
        if hit.passage is None
        else cite_passage(session, hit.passage, hit.span)
        for hit in found
    ]


def nothing_found(found: Sequence[object]) -> str:
    """Return the hint for a search without results; an empty text if something was found."""
    return "" if found else "nothing matched; use fewer or other words, or list_scenes for an overview"


def shorten(text: str, limit: int = SNIPPET_CHARACTERS) -> str:
    """Return a text on one line, cut to ``limit`` characters, the last of which is then an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def seen_in(session: Session, span: TimeSpan) -> CachedLook | None:
    """Return the vision model's caption of an interval; None if the session has no vision model.

    Raises MediaFault: ``source_missing``, ``undecodable``; BackendFault: the faults of the model.
    """
    seeing = session.backends.seeing
    return None if seeing is None else seeing.caption(span, until=session.view.duration)


def said_of(session: Session, example: TimeSpan) -> list[str]:
    """Return captions of an example interval, for a search for captions of similar meaning.

    If it has none, the vision model captions it. Empty if the session cannot compare captions, or if no other part of
    the video has any.

    Raises MediaFault: ``source_missing``, ``undecodable``; BackendFault: the faults of the model.
    """
    if session.backends.meanings is None or not session.captions.passages:
        return []
    own = [passage.text for passage in session.captions.inside(example)]
    if len(own) == len(session.captions.passages):
        return []
    if own:
        return own
    seen = seen_in(session, example)
    return [] if seen is None else [seen.text]


def look_evidence(session: Session, look: CachedLook, span: TimeSpan) -> EvidenceItem:
    """Return evidence for a look at an interval, with the time of the middle one of its frames."""
    shown = look.frame_times[len(look.frame_times) // 2]
    return evidence(session, span, "caption", look.confidence, shown)


def look_note(look: CachedLook) -> str:
    """Return a note for a result's hint: the model, the frames it saw, and what it was not certain of."""
    first, last = look.frame_times[0], look.frame_times[-1]
    count = len(look.frame_times)
    where = f"1 frame at {first:g} s" if count == 1 else f"{count} frames from {first:g} to {last:g} s"
    note = f"seen by {look.producer} in {where}, nothing between them was looked at"
    return f"{note}; not certain: {look.uncertain}" if look.uncertain else note


def spots_of(entity: Track | Registration, at: float, span: TimeSpan) -> list[LookSpot]:
    """Return up to ``MAX_SPOTS`` times and boxes at which a vision model looks at an entity, in time order.

    These are the sighting nearest to ``at`` and others spread over ``span``; empty if there is none. Sightings of which
    the picture's edge leaves little are avoided. A registration without a track has one.
    """
    if isinstance(entity, Registration):
        return [LookSpot(time=entity.time, box=entity.place)]
    part = entity.during(span)
    inside = np.arange(part.start, part.stop)
    near = inside[~entity.slivers[part]] if not entity.slivers[part].all() else inside
    if len(near) == 0:
        return []
    away = np.abs(entity.times - at)
    nearest = int(near[away[near].argmin()])
    spread = near[np.linspace(0, len(near) - 1, num=min(MAX_SPOTS, len(near))).round().astype(int)]
    others = sorted({*spread.tolist()} - {nearest}, key=lambda position: (-away[position], -position))
    chosen = sorted([nearest, *others[: MAX_SPOTS - 1]])
    return [LookSpot(time=float(entity.times[position]), box=entity.box(position)) for position in chosen]
