"""What a stretch of video has to say: speech, screen text, captions and what is seen, as citable passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from world_api.core.evidence import Source
from world_api.core.spans import TimeSpan
from world_api.world.view import View

#: A line counts as spoken in a segment that holds at least this share of it (or it of the segment).
SPEECH_SHARE = 0.3


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A citable piece of content. ``terms`` are further words it is found by (another language)."""

    span: TimeSpan
    text: str
    source: Source
    confidence: float | None
    frame_time: float
    terms: str = ""


def passages_by_segment(view: View, segments: Sequence[TimeSpan]) -> list[list[Passage]]:
    """For each segment, its passages: speech, screen text, captions and actions, then what is seen."""
    found: list[list[Passage]] = [[] for _ in segments]
    starts = [segment.start for segment in segments]
    for passage in _passages(view):
        for number in _overlapping(segments, starts, passage.span):
            if _belongs(passage, segments[number]):
                found[number].append(passage)
    return found


def passages_in(view: View, span: TimeSpan) -> list[Passage]:
    """The passages of one stretch."""
    return [passage for passage in _passages(view) if passage.span.overlaps(span) and _belongs(passage, span)]


def _passages(view: View) -> Iterator[Passage]:
    for line in view.speech:
        yield _passage(line.span, line.text, "speech", line.confidence)
    for text in view.screen_texts:
        yield Passage(
            span=text.span, text=text.text, source="screen_text", confidence=text.confidence, frame_time=text.frame_time
        )
    for caption in view.captions:
        yield _passage(caption.span, caption.text, "caption", caption.confidence)
    for action in view.actions:
        yield _passage(action.span, action.text, "caption", action.confidence)
    for track in view.tracks:
        for appearance in track.appearances:
            yield Passage(
                span=appearance,
                text=track.hint,
                source="tracker",
                confidence=track.confidence,
                frame_time=float(track.times[track.nearest(appearance.center)]),
                terms=track.hint_in_chinese,
            )


def _passage(span: TimeSpan, text: str, source: Source, confidence: float) -> Passage:
    return Passage(span=span, text=text, source=source, confidence=confidence, frame_time=span.center)


def _belongs(passage: Passage, segment: TimeSpan) -> bool:
    if passage.source != "speech":
        return True
    shared = passage.span.overlap(segment)
    return shared >= SPEECH_SHARE * min(passage.span.duration, segment.duration)


def _overlapping(segments: Sequence[TimeSpan], starts: Sequence[float], span: TimeSpan) -> range:
    """The segments, which tile time in order, that share a stretch (or the moment) with a span."""
    from bisect import bisect_left, bisect_right

    first = max(0, bisect_right(starts, span.start) - 1)
    last = max(first + 1, bisect_left(starts, span.end))
    return range(first, min(last, len(segments)))
