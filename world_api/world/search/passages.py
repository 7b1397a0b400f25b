"""What a stretch of video has to say: speech, screen text, captions and what is seen, as citable passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

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


class PassageIndex:
    """The passages of one view, sorted by start, so that a stretch finds its own without walking through all."""

    def __init__(self, view: View) -> None:
        self._passages = sorted(_passages(view), key=lambda passage: passage.span.start)
        self._starts = np.array([passage.span.start for passage in self._passages])
        self._ends = np.array([passage.span.end for passage in self._passages])

    def inside(self, span: TimeSpan) -> list[Passage]:
        """The passages of a stretch: speech first, then screen text, captions and what is seen, each in time order."""
        upto = int(np.searchsorted(self._starts, span.end))
        late = (self._ends[:upto] > span.start) | (self._starts[:upto] >= span.start)
        found = (self._passages[int(i)] for i in np.flatnonzero(late))
        return sorted((p for p in found if _belongs(p, span)), key=lambda p: _ORDER.index(p.source))


_ORDER: tuple[Source, ...] = ("speech", "screen_text", "caption", "tracker")
_INDEXES: WeakKeyDictionary[View, PassageIndex] = WeakKeyDictionary()


def passages_in(view: View, span: TimeSpan) -> list[Passage]:
    """The passages of one stretch of a view."""
    index = _INDEXES.get(view)
    if index is None:
        index = _INDEXES[view] = PassageIndex(view)
    return index.inside(span)


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
