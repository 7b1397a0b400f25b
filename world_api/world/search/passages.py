"""What a stretch of video has to say: speech, screen text, captions and what is seen, as citable passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world_api.core.evidence import Source
from world_api.core.spans import TimeSpan
from world_api.world.arrays.items import Items, Positions, Times
from world_api.world.facts import Spoken
from world_api.world.gathered import FOLLOWED, ORDER, SCREEN, Gathered, lists_of
from world_api.world.once import made_once
from world_api.world.screen_texts import ScreenText
from world_api.world.search.texts import SPEAKING, Texts
from world_api.world.view import View, open_view

#: A line counts as spoken in a segment that holds at least this share of it (or it of the segment).
SPEECH_SHARE = 0.3
_SPEECH, _TRACKER = ORDER.index("speech"), ORDER.index("tracker")


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A citable piece of content.

    ``terms`` are further words it is found by (another language); ``speaker`` says it, where that is known.
    """

    span: TimeSpan
    text: str
    source: Source
    confidence: float | None
    frame_time: float
    terms: str = ""
    speaker: str = ""


class Passages(Items[Passage]):
    """The passages of one view, sorted by start.

    ``sources`` (n: place in ``ORDER``); ``texts`` (n): the number of what each is found by in ``Texts``, negative where
    the cut made the text anew.
    """

    def __init__(self, view: View) -> None:
        gathered = Gathered(view)
        self._view = view
        self._lists = lists_of(open_view(view.world, None))
        self._known = view.world.once(Texts)
        self._anew = gathered.anew
        self._hints: dict[int, str] = {}
        self._known_hints = gathered.whole.hints
        self._list, self._place, self.texts, self.sources = (gathered.numbers(which) for which in range(4))
        starts, ends = gathered.times()
        super().__init__(starts, ends, self._passage, like=(gathered.whole.reach, gathered.same))

    def inside(self, span: TimeSpan) -> list[Passage]:
        """The passages of a stretch: speech first, then screen text, captions and what is seen, each in time order."""
        return [self._passage(int(i)) for i in self.places_inside(span)]

    def places_inside(self, span: TimeSpan) -> Positions:
        """The same as positions."""
        found = self.touching(span)
        found = found[_belongs(self.sources[found], self.starts[found], self.ends[found], span.start, span.end)]
        ordered: Positions = found[np.argsort(self.sources[found], kind="stable")]
        return ordered

    def in_each(self, segments: Items[TimeSpan], first: int = 0) -> tuple[Positions, Positions]:
        """The passages inside each of some segments that tile time, from the ``first`` on: segment and passage, in order."""
        starts, ends = segments.starts[first:], segments.ends[first:]
        if len(starts) == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        # Of those that began before the first segment, only what reaches into it counts.
        since = int(np.searchsorted(self.reach.times, starts[0], side="right"))
        passages = np.arange(min(since, int(np.searchsorted(self.starts, starts[0]))), len(self))
        begin = np.searchsorted(ends, self.starts[passages], side="right")
        last = np.maximum(begin, np.searchsorted(starts, self.ends[passages]) - 1)
        counts = np.where(begin < len(starts), np.minimum(last, len(starts) - 1) - begin + 1, 0)
        passage = np.repeat(passages, counts)
        offset = np.arange(len(passage)) - np.repeat(np.cumsum(counts) - counts, counts)
        segment = np.repeat(begin, counts) + offset
        kept = _belongs(
            self.sources[passage], self.starts[passage], self.ends[passage], starts[segment], ends[segment]
        ) & ((self.ends[passage] > starts[segment]) | (self.starts[passage] >= starts[segment]))
        passage, segment = passage[kept], segment[kept]
        order = np.lexsort((passage, self.sources[passage], segment))
        return segment[order] + first, passage[order]

    @made_once
    def confidences(self) -> Times:
        """How sure each (n) is, 0 to 1, as it is told: to hundredths; NaN where its source does not say."""
        found = np.full(len(self), np.nan)
        lists, places = self._list.all(), self._place.all()
        for number, (part, table) in enumerate(zip(self._lists, SPEAKING, strict=True)):
            own = np.flatnonzero((lists == number) & (places >= 0))
            found[own] = self._known.confidences(table)[part.rows[places[own]]]
        for at in np.flatnonzero((lists == SCREEN) & (places < 0)).tolist():
            found[at] = self._passage(at).confidence
        seen = np.flatnonzero(lists == FOLLOWED)
        found[seen] = self._view.tracks.mean_confidences(places[seen])
        return np.round(found, 2)

    @property
    def made_anew(self) -> Sequence[str]:
        """The texts that the cut made anew: those of the numbers -1, -2 and so on."""
        return self._anew

    def text(self, number: int) -> str:
        """What a number of ``texts`` stands for."""
        return self._known.text(number) if number >= 0 else self._anew[-1 - number]

    def quoted(self, position: int) -> str:
        """What the passage at a position says, as it is quoted."""
        number = self.texts[position]
        if self.sources[position] != _TRACKER:
            return self.text(number)
        hints = self._hints if number < 0 else self._known_hints
        if number not in hints:  # things of one description have one hint
            hints[number] = self._passage(position).text
        return hints[number]

    def first_texts(self, near: Positions, span: TimeSpan, source: Source, count: int) -> list[str]:
        """The first so many different texts that one source gives for a stretch, as they are quoted.

        ``near``: what touches the stretch.
        """
        found: dict[str, None] = {}
        for i in self._of_source(near, span, ORDER.index(source)):
            found.setdefault(self.quoted(i))
            if len(found) == count:
                break
        return list(found)

    def _of_source(self, near: Positions, span: TimeSpan, source: int) -> Iterator[int]:
        """Positions of passages with texts not met before, in order; looked for in growing steps."""
        met: set[int] = set()
        step, at = 256, 0
        while at < len(near):
            part = near[at : at + step]
            part = part[self.sources[part] == source]
            part = part[_belongs(self.sources[part], self.starts[part], self.ends[part], span.start, span.end)]
            for i, text in zip(part.tolist(), self.texts[part].tolist(), strict=True):
                if text not in met:
                    met.add(text)
                    yield i
            at, step = at + step, step * 4

    @made_once
    def _shown_anew(self) -> list[ScreenText]:
        """The texts on screen that the cut made anew."""
        shown = self._view.screen_texts
        return shown[int(np.count_nonzero(shown.rows >= 0)) :]

    def _passage(self, position: int) -> Passage:
        number, place = self._list[position], self._place[position]
        span = TimeSpan(start=float(self.starts[position]), end=float(self.ends[position]))
        if number == FOLLOWED:
            track = self._view.tracks.of_origin(place)
            return Passage(
                span=span,
                text=track.hint,
                source="tracker",
                confidence=track.confidence,
                frame_time=float(track.times[track.nearest(span.center)]),
                terms=track.hint_in_chinese,
            )
        item = self._lists[number][place] if place >= 0 else self._shown_anew[-1 - place]
        return Passage(
            span=span,
            text=item.text,
            source=ORDER[self.sources[position]],
            confidence=item.confidence,
            frame_time=item.frame_time if isinstance(item, ScreenText) else span.center,
            speaker=item.speaker if isinstance(item, Spoken) else "",
        )


def passages_of(view: View) -> Passages:
    """The passages of a view; all views of a whole world share theirs."""
    return (open_view(view.world, None) if view.complete else view).once(Passages)


def passages_in(view: View, span: TimeSpan) -> list[Passage]:
    """The passages of one stretch of a view."""
    return passages_of(view).inside(span)


def _belongs(
    sources: Positions, starts: Times, ends: Times, first: Times | float, last: Times | float
) -> NDArray[np.bool_]:
    """Whether what touches a stretch also belongs to it: a line of speech by its share, all else as it is."""
    shared = np.maximum(0.0, np.minimum(ends, last) - np.maximum(starts, first))
    enough = shared >= SPEECH_SHARE * np.minimum(ends - starts, np.subtract(last, first))
    belongs: NDArray[np.bool_] = (sources != _SPEECH) | enough
    return belongs
