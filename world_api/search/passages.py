"""Passages: what a view says, as citable pieces.

All different texts of a world, numbered, and the terms of each: what the rows say and how tracks are described.

Texts repeat (labels, descriptions, captions on screen), and what a segment says is made of them; so each is cut into
words once.

All that is said, shown, described and followed, as arrays in order of its start: of a whole world, and behind a cut.

A cut takes over what it leaves as it is. What it shortens or makes anew is little, and is put in between.

What a stretch of video has to say: speech, screen text, captions and what is seen, as citable passages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.core.evidence import Source
from world_api.core.spans import TimeSpan
from world_api.search.lexical import index_terms
from world_api.world.items import Chained, Items, Positions, Reach, Times, extended
from world_api.world.once import made_once
from world_api.world.screen_texts import ScreenText
from world_api.world.store import World
from world_api.world.tables import one
from world_api.world.timeline import Said, Spoken
from world_api.world.track_joining import coded
from world_api.world.tracks import JoinedTracks, hint_in_chinese, hint_in_words
from world_api.world.view import View, Whole, open_view

#: The tables whose rows say something, with the column that does; texts on screen are counted by stretches.
SPEAKING = {"speech": "text", "screen_texts": "text", "captions": "text", "actions": "label"}

_TERMS = pa.schema([("term", pa.string())])
_ENDS = pa.schema([("end", pa.int64())])
_BAGS = pa.schema([("term", pa.int32()), ("count", pa.int32())])
_TEXTS = pa.schema([("text", pa.string())])
_NUMBERS = pa.schema([("number", pa.int64())])


class Texts:
    """The texts of a whole world. A number stands for a text; the same text has one number."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read_all(self) -> None:
        """Read or make all that is kept beside the world."""
        _ = (self._texts, self._numbers, self.terms, self.bags)

    def text(self, number: int) -> str:
        """A text by its number."""
        found: str = self._texts[number].as_py()
        return found

    def of_rows(self, table: str) -> Positions:
        """The numbers of what the rows of a table of ``SPEAKING`` say."""
        return self._numbers[table]

    def confidences(self, table: str) -> NDArray[np.float64]:
        """How sure the rows of a table of ``SPEAKING`` are, 0 to 1."""
        found: NDArray[np.float64] = self._rows(table).column("confidence").to_numpy().astype(np.float64)
        return found

    def holding(self, term: str) -> Positions:
        """The numbers of the texts that hold a term, rising."""
        number = self._number_of.get(term)
        if number is None:
            return np.zeros(0, dtype=np.int64)
        ends, texts = self._by_term
        return texts[int(ends[number - 1]) if number else 0 : int(ends[number])]

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def of_tracks(self) -> Positions:
        """The numbers of the descriptions of all tracks."""
        return self._numbers["tracks"]

    @made_once
    def terms(self) -> pa.ChunkedArray:
        """The different terms of all texts; concepts begin with ``#``."""
        return self._world.derived.table("terms", lambda: self._bags[0], schema=_TERMS).column("term")

    @made_once
    def bags(self) -> tuple[Positions, NDArray[np.int32], NDArray[np.int32]]:
        """The terms of each text: where its own end (after those of the texts before it), term numbers, how often."""
        ends = self._world.derived.table("texts.ends", lambda: self._bags[1], schema=_ENDS)
        content = self._world.derived.table("texts.terms", lambda: self._bags[2], schema=_BAGS)
        return ends.column("end").to_numpy(), content.column("term").to_numpy(), content.column("count").to_numpy()

    @made_once
    def _number_of(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.terms.to_pylist())}

    @made_once
    def _by_term(self) -> tuple[Positions, Positions]:
        """The texts of each term: where its own end (after those of the terms before it), text numbers."""
        ends, terms, _ = self.bags
        texts = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        order = np.argsort(terms, kind="stable")
        return np.searchsorted(terms[order], np.arange(len(self._number_of)), side="right"), texts[order]

    @made_once
    def _texts(self) -> pa.ChunkedArray:
        return self._world.derived.table("texts", lambda: self._made[0], schema=_TEXTS).column("text")

    @made_once
    def _numbers(self) -> dict[str, Positions]:
        numbers = (
            self._world.derived.table("texts.numbers", lambda: self._made[1], schema=_NUMBERS)
            .column("number")
            .to_numpy()
        )
        lengths = [self._rows(table).num_rows for table in SPEAKING]
        parts = np.split(numbers, list(accumulate(lengths)))
        return dict(zip((*SPEAKING, "tracks"), parts, strict=True))

    @made_once
    def _made(self) -> tuple[pa.Table, pa.Table]:
        said = [one(self._rows(table).column(column)) for table, column in SPEAKING.items()]
        encoded = pa.concat_arrays([*said, _descriptions(self._world.once(Whole).tracks)]).dictionary_encode()
        numbers = encoded.indices.cast(pa.int64())
        return pa.table({"text": encoded.dictionary}), pa.table({"number": numbers})

    def _rows(self, table: str) -> pa.Table:
        return self._world.once(Whole).readings if table == "screen_texts" else self._world.rows(table)

    @made_once
    def _bags(self) -> tuple[pa.Table, pa.Table, pa.Table]:
        numbers: dict[str, int] = {}
        ends: list[int] = []
        terms: list[int] = []
        counts: list[int] = []
        for text in self._texts.to_pylist():
            for term, count in Counter(index_terms(text)).items():
                terms.append(numbers.setdefault(term, len(numbers)))
                counts.append(count)
            ends.append(len(terms))
        return (
            pa.table({"term": list(numbers)}, schema=_TERMS),
            pa.table({"end": ends}, schema=_ENDS),
            pa.table({"term": terms, "count": counts}, schema=_BAGS),
        )


def _descriptions(tracks: JoinedTracks) -> pa.Array:
    """What each track is described by, in both languages; made once for all tracks that look alike."""
    looks = pa.array([",".join(colours) for colours in tracks.colours.to_pylist()], pa.string())
    kinds, kind = coded(tracks.categories)
    colours, colour = coded(looks)
    pairs, inverse = np.unique(kind * max(1, len(colours)) + colour, return_inverse=True)
    described = []
    for pair in pairs.tolist():
        category = kinds[pair // len(colours)].as_py()
        named = [word for word in colours[pair % len(colours)].as_py().split(",") if word]
        described.append(f"{hint_in_words(category, named)} {hint_in_chinese(category, named)}".strip())
    return pa.array(described, pa.string()).take(pa.array(inverse))


#: What is gathered: the tables of ``SPEAKING``, in their order, then what was followed.
LISTS = tuple(SPEAKING)
#: The order in which a stretch is told: speech first.
ORDER: tuple[Source, ...] = ("speech", "screen_text", "caption", "tracker")
SCREEN, FOLLOWED = LISTS.index("screen_texts"), len(LISTS)
#: The source of each list: its place in ``ORDER``.
_SOURCES = (0, 1, 2, 2, 3)
_ROWS = tuple(number for number in range(len(LISTS)) if number != SCREEN)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Times and numbers of n things.

    ``times`` (2 x n, seconds): from when to when each lasts. ``numbers`` (4 x n): which list it is of, its place there, the
    number of its text, and its source (its place in ``ORDER``). Places count the list of the whole world, or from -1 down
    what the cut made anew; of what was followed they are the origins in ``Tracks``. Texts are numbered as in ``Texts``, from
    -1 down where the cut made them anew.
    """

    times: Times
    numbers: Positions

    @property
    def starts(self) -> Times:
        """From when each lasts (n, seconds)."""
        found: Times = self.times[0]
        return found

    @property
    def lists(self) -> Positions:
        """Which list each is of (n)."""
        found: Positions = self.numbers[0]
        return found

    @property
    def places(self) -> Positions:
        """Which one of its list each is (n)."""
        found: Positions = self.numbers[1]
        return found

    def some(self, chosen: slice | Positions) -> Columns:
        """Some of them."""
        return Columns(times=self.times[:, chosen], numbers=self.numbers[:, chosen])


def lists_of(view: View) -> Sequence[Items[Spoken] | Items[ScreenText] | Items[Said]]:
    """The lists of a view, in the order of ``LISTS``."""
    return (view.speech, view.screen_texts, view.captions, view.actions)


class WholeGathered:
    """All of a whole world. ``reach``: how far everything up to each reaches.

    ``hints``: how things of a description, by its number, are called; filled by those who ask.
    """

    def __init__(self, world: World) -> None:
        whole, known, view = world.once(Whole), world.once(Texts), open_view(world, None)
        owners, starts, ends = whole.tracks.all_appearances
        parts = [
            _columns(part.starts, part.ends, number, np.arange(len(part)), known.of_rows(table)[part.rows])
            for number, (part, table) in enumerate(zip(lists_of(view), LISTS, strict=True))
        ]
        parts.append(_columns(starts, ends, FOLLOWED, owners, known.of_tracks[owners]))
        settled_at = [
            np.full(len(part), -np.inf) if table == "screen_texts" else whole.lasting(table).settled_at
            for part, table in zip(lists_of(view), LISTS, strict=True)
        ]
        columns = Columns(
            times=np.concatenate([part.times for part in parts], axis=1),
            numbers=np.concatenate([part.numbers for part in parts], axis=1),
        )
        self.hints: dict[int, str] = {}
        order = np.argsort(columns.starts, kind="stable")
        self.columns = columns.some(order)
        self.reach = Reach(self.columns.times[1])
        # Texts on screen are taken over by their number; see ``changed``.
        self.settled_at: Times = np.concatenate([*settled_at, whole.tracks.known_at[owners]])[order]
        self._all_settled = np.maximum.accumulate(self.settled_at) if len(order) else self.settled_at
        self._screen: Positions = np.flatnonzero(self.columns.lists == SCREEN)

    def changed(self, as_of: float, texts: int) -> int:
        """The first that a cut changes which leaves the first so many texts on screen as they are."""
        first = int(np.searchsorted(self._all_settled, as_of, side="right"))
        return min(first, int(self._screen[texts])) if texts < len(self._screen) else first


class Gathered:
    """All of a view: the first ``same`` of ``whole``, then ``rest``.

    ``anew``: the texts that the cut made anew, in the order of their numbers -1, -2 and so on.
    """

    def __init__(self, view: View) -> None:
        self.whole = view.world.once(WholeGathered)
        self.anew: list[str] = []
        self.same = len(self.whole.columns.starts)
        self.rest = self.whole.columns.some(slice(self.same, None))
        if not view.complete:
            self._cut(view)

    def times(self) -> tuple[Times, Times]:
        """From when to when each lasts (n, seconds)."""
        starts, ends = extended(self.whole.columns.times[:, : self.same], self.rest.times)
        return starts, ends

    def numbers(self, which: int) -> Chained:
        """A row of the numbers of all columns."""
        return Chained(self.whole.columns.numbers[which, : self.same], self.rest.numbers[which])

    def _cut(self, view: View) -> None:
        whole, kept = self.whole, int(np.count_nonzero(view.screen_texts.rows >= 0))
        parts = list(self._made_anew(view, kept))
        added = Columns(
            times=np.concatenate([part.times for part in parts], axis=1),
            numbers=np.concatenate([part.numbers for part in parts], axis=1),
        )
        same = whole.changed(view.duration, kept)
        if len(added.starts):
            same = min(same, int(np.searchsorted(whole.columns.starts, added.starts.min())))
        rest = whole.columns.some(slice(same, None))
        settled = (whole.settled_at[same:] <= view.duration) & ((rest.lists != SCREEN) | (rest.places < kept))
        self.same, self.rest = same, _in_order(view, rest.some(np.flatnonzero(settled)), added, kept)

    def _made_anew(self, view: View, kept: int) -> Iterator[Columns]:
        """What the cut shortens, the texts on screen that it made anew, and what was followed differently."""
        whole, known = view.world.once(Whole), view.world.once(Texts)
        for number in _ROWS:
            rows = whole.lasting(LISTS[number])
            cut = rows.shortened(view.duration)
            texts = known.of_rows(LISTS[number])[rows.whole.rows[cut]]
            yield _columns(rows.whole.starts[cut], np.full(len(cut), view.duration), number, cut, texts)
        shown = view.screen_texts[kept:]
        yield _columns(
            np.array([text.span.start for text in shown], dtype=np.float64),
            np.array([text.span.end for text in shown], dtype=np.float64),
            SCREEN,
            -1 - np.arange(len(shown)),
            self._numbered([text.text for text in shown]),
        )
        if (opened := view.tracks.open_tracks) is not None:
            owners, starts, ends = opened.all_appearances
            texts = self._numbered([opened.described(place) for place in owners.tolist()])
            yield _columns(starts, ends, FOLLOWED, -1 - owners, texts)

    def _numbered(self, texts: Sequence[str]) -> Positions:
        """The numbers of some texts, each different one with its own."""
        numbers = {text: -1 - number for number, text in enumerate(self.anew)}
        for text in texts:
            if numbers.setdefault(text, -1 - len(self.anew)) == -1 - len(self.anew):
                self.anew.append(text)
        return np.array([numbers[text] for text in texts], dtype=np.int64)


def gathered_of(view: View) -> Gathered:
    """What a view gathers; all views of a whole world share it."""
    return (open_view(view.world, None) if view.complete else view).once(Gathered)


def _in_order(view: View, kept: Columns, added: Columns, texts: int) -> Columns:
    """Both in order of their start; what begins at once is in order of the lists, and in that of its own list.

    ``texts``: how many texts on screen the cut keeps.
    """
    if len(added.starts) == 0:
        return kept
    ranks = _ranks(view, added, texts)
    order = np.lexsort((ranks, added.starts))
    added, ranks = added.some(order), ranks[order]
    at = np.searchsorted(kept.starts, added.starts)
    ends = np.searchsorted(kept.starts, added.starts, side="right")
    for i in np.flatnonzero(ends > at).tolist():
        tied = _ranks(view, kept.some(slice(int(at[i]), int(ends[i]))), texts)
        at[i] += int(np.count_nonzero(tied < ranks[i]))
    return Columns(
        times=np.insert(kept.times, at, added.times, axis=1), numbers=np.insert(kept.numbers, at, added.numbers, axis=1)
    )


def _ranks(view: View, columns: Columns, texts: int) -> NDArray[np.int64]:
    """What orders things that begin at once: their lists, then their places in the view's own lists."""
    places = np.where((columns.lists == SCREEN) & (columns.places < 0), texts - 1 - columns.places, columns.places)
    followed = columns.lists == FOLLOWED
    places[followed] = view.tracks.positions(columns.places[followed])
    ranks: NDArray[np.int64] = (columns.lists << 40) + places
    return ranks


def _columns(starts: Times, ends: Times, number: int, places: Positions, texts: Positions) -> Columns:
    """Columns of one list."""
    numbers = np.stack([np.full(len(places), number), places, texts, np.full(len(places), _SOURCES[number])])
    return Columns(times=np.stack([starts, ends]), numbers=numbers.astype(np.int64))


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
