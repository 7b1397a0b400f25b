"""Passages: speech, screen text, captions, sounds and descriptions of tracks, as citable pieces of content; search in captions.

Texts repeat (labels, descriptions), so the distinct texts of a world are numbered and each is split into terms once
(``Texts``). A view's ``Passages`` are arrays that refer to them. Captions of a vision model are searched by words, and by
meaning if the session has a model that embeds texts.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from world_api.core.canonical import content_hash
from world_api.core.cost import Spent, charge
from world_api.core.faults import BackendFault, StoreFault
from world_api.core.files import exclusive, write_atomically
from world_api.core.outfits import Outfit
from world_api.core.ports import EmbeddingModel, Source, Vectors
from world_api.core.spans import TimeSpan
from world_api.search.indexes import index_terms
from world_api.world.store import World
from world_api.world.tables import one
from world_api.world.timeline import (
    MAX_SECONDS,
    Items,
    Positions,
    Said,
    ScreenText,
    Spoken,
    Times,
    shared_prefix,
    spans,
)
from world_api.world.tracks import JoinedTracks, hint_in_chinese, hint_in_words
from world_api.world.view import View, WholeView

# --- passages of a world --------------------------------------------------------------------------------------------

#: The tables with texts and their text column; texts on screen and sounds are the joined ones.
SPEAKING = {"speech": "text", "screen_texts": "text", "captions": "text", "actions": "label", "sounds": "label"}

#: The distinct texts, where the terms of each end, the texts of all rows and tracks, the distinct terms, and those of each text.
_TABLES = {
    "texts": pa.schema([("text", pa.string()), ("end", pa.int64())]),
    "texts.numbers": pa.schema([("number", pa.int64())]),
    "terms": pa.schema([("term", pa.string())]),
    "texts.terms": pa.schema([("term", pa.int32()), ("count", pa.int32())]),
}


class Texts:
    """The distinct texts of a whole world, each with a number, and the terms in them."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read_all(self) -> None:
        """Load the stored tables of texts and terms; compute those that are missing."""
        _ = self._tables

    def __len__(self) -> int:
        return len(self._texts)

    def text(self, number: int) -> str:
        """Return the text that has this number."""
        found: str = self._texts[number].as_py()
        return found

    @cached_property
    def number_of_text(self) -> dict[str, int]:
        """The number of each text, by the text."""
        return {text: number for number, text in enumerate(self._texts.to_pylist())}

    def of_rows(self, table: str) -> Positions:
        """Return the text number of each row of a table with texts (in ``SPEAKING``); for ``tracks``, of each track's description."""
        return self._numbers[table]

    def holding(self, term: str) -> Positions:
        """Return the numbers of the texts that contain a term, in rising order."""
        ends, terms, _ = self.bags
        return np.searchsorted(ends, np.flatnonzero(terms == self.number_of.get(term, -1)), side="right")

    @property
    def terms(self) -> pa.ChunkedArray:
        """The distinct terms of all texts; concepts (colours and categories) begin with ``#``."""
        return self._tables[2].column("term")

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each term, by the term."""
        return {term: number for number, term in enumerate(self.terms.to_pylist())}

    @cached_property
    def bags(self) -> tuple[Positions, NDArray[np.int32], NDArray[np.int32]]:
        """The terms of all texts, text after text: the end of each text (in the other two arrays), term numbers, term counts."""
        texts, _, _, content = self._tables
        return texts.column("end").to_numpy(), content.column("term").to_numpy(), content.column("count").to_numpy()

    @property
    def _texts(self) -> pa.ChunkedArray:
        return self._tables[0].column("text")

    @cached_property
    def _numbers(self) -> dict[str, Positions]:
        lengths = [self._rows(table).num_rows for table in SPEAKING]
        parts = np.split(self._tables[1].column("number").to_numpy(), list(accumulate(lengths)))
        return dict(zip((*SPEAKING, "tracks"), parts, strict=True))

    @cached_property
    def _tables(self) -> list[pa.Table]:
        return self._world.derived.tables(_TABLES, self._make_tables)

    def _make_tables(self) -> list[pa.Table]:
        said = [one(self._rows(table).column(column)) for table, column in SPEAKING.items()]
        encoded = pa.concat_arrays([*said, _descriptions(self._world.once(WholeView).joined)]).dictionary_encode()
        numbers: dict[str, int] = {}
        ends, terms, counts = [], [], []
        for text in encoded.dictionary.to_pylist():
            for term, count in Counter(index_terms(text)).items():
                terms.append(numbers.setdefault(term, len(numbers)))
                counts.append(count)
            ends.append(len(terms))
        texts, rows = {"text": encoded.dictionary, "end": ends}, {"number": encoded.indices.cast(pa.int64())}
        columns = (texts, rows, {"term": list(numbers)}, {"term": terms, "count": counts})
        return [pa.table(part, schema=schema) for part, schema in zip(columns, _TABLES.values(), strict=True)]

    def _rows(self, table: str) -> pa.Table:
        joined = {"screen_texts": "readings", "sounds": "heard"}
        return getattr(self._world.once(WholeView), joined[table]) if table in joined else self._world.rows(table)


def _descriptions(tracks: JoinedTracks) -> pa.Array:
    """Return the description of each track, in English and Chinese."""
    looks = zip(tracks.categories.to_pylist(), tracks.colours, tracks.outfits, strict=True)
    return pa.array([_description(category, colours, outfit) for category, colours, outfit in looks], pa.string())


@lru_cache(maxsize=4096)
def _description(category: str, colours: tuple[str, ...], outfit: Outfit) -> str:
    return f"{hint_in_words(category, colours, outfit)} {hint_in_chinese(category, colours, outfit)}".strip()


#: A spoken line belongs to a segment if they share at least this part of the shorter of the two.
SPEECH_SHARE = 0.3
#: The order in which the sources of an interval are listed.
ORDER: tuple[Source, ...] = ("speech", "screen_text", "caption", "tracker", "detector")
#: The source of passages that are sounds: a model detected them.
SOUND: Source = "detector"
_LINES = [ORDER.index("speech"), ORDER.index("screen_text")]
_SPEECH, _TRACKER = ORDER.index("speech"), ORDER.index("tracker")
#: The source of each list of a view, its place in ``ORDER``: those of ``SPEAKING``, then tracks.
_SOURCES = np.array([0, 1, 2, 2, 4, 3])
_TRACKS = len(SPEAKING)


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A citable piece of content.

    ``terms`` are additional words for search (in another language). ``speaker`` is the name of who speaks, ``voice`` the id of
    the voice; each is empty if it is not known. ``subject`` is the track that does an action, or that is seen; ``entities`` are
    those that a caption of a vision model names.
    """

    span: TimeSpan
    text: str
    source: Source
    confidence: float | None
    frame_time: float
    terms: str = ""
    speaker: str = ""
    voice: str = ""
    subject: str = ""
    entities: tuple[str, ...] = ()


class Passages(Items[Passage]):
    """The passages of one view, sorted by start; passages with the same start keep the order of the view's lists.

    Attributes:
        sources: The source of each passage, as its position in ``ORDER``, shape (n,).
        texts: The number of each passage's text in ``Texts``, shape (n,); negative for a text that only this cut has.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._known = view.world.once(Texts)
        #: Texts that only the cut has, with their numbers: -1, -2 and so on.
        self.new_texts: dict[str, int] = {}
        self._hints: dict[int, str] = {}
        self._lists: tuple[Items[Spoken] | Items[ScreenText] | Items[Said], ...] = (
            view.speech, view.screen_texts, view.captions, view.actions, view.sounds,
        )  # fmt: skip
        positions, starts, ends = view.tracks.appearances
        parts = [(part.starts, part.ends, np.arange(len(part))) for part in self._lists]
        parts.append((starts, ends, positions))
        numbers = [self._numbers(table, self._lists[number]) for number, table in enumerate(SPEAKING)]
        reopened = self._numbered(_descriptions(view.tracks.reopened).to_pylist())
        numbers.append(view.tracks.each(self._known.of_rows("tracks"), reopened)[positions])
        starts, ends = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        order = np.argsort(starts, kind="stable")
        self._list = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])[order]
        self._place = np.concatenate([part[2] for part in parts])[order]
        self.texts: Positions = np.concatenate(numbers)[order]
        self.sources: Positions = _SOURCES[self._list]
        #: Makes the passage at a position; recent ones are cached, because searches often find the same segments.
        self._passage = lru_cache(4096)(self._make_passage)
        super().__init__(starts[order], ends[order], self._passage)

    def ending_by(self, time: float) -> Items[TimeSpan]:
        """Return the spans of the passages, ended at ``time`` at the latest, except those of speech.

        The length of a spoken line decides to which segments it belongs, so it is not changed.
        """
        return spans(self.starts, np.where(self.sources == _SPEECH, self.ends, np.minimum(self.ends, time)))

    def _numbers(self, table: str, items: Items[Spoken] | Items[ScreenText] | Items[Said]) -> Positions:
        """Return the text number of each item of a list; items whose ``rows`` are -1 were computed for this cut."""
        kept = items.rows >= 0
        found: Positions = np.empty(len(items), dtype=np.int64)
        found[kept] = self._known.of_rows(table)[items.rows[kept]]
        found[~kept] = self._numbered([items[at].text for at in np.flatnonzero(~kept).tolist()])
        return found

    def _numbered(self, texts: Sequence[str]) -> Positions:
        """Return the numbers of texts: those of the whole world, so that views compare equal, or new negative ones."""
        known, new = self._known.number_of_text if texts else {}, self.new_texts
        numbers = [known[text] if text in known else new.setdefault(text, -1 - len(new)) for text in texts]
        return np.array(numbers, dtype=np.int64)

    def inside(self, span: TimeSpan) -> list[Passage]:
        """Return the passages that belong to an interval: speech, screen text, captions, tracks; each in time order."""
        return [self._passage(place) for place in self.places_inside(span).tolist()]

    def places_inside(self, span: TimeSpan) -> Positions:
        """Return the positions of the passages that ``inside`` returns, in the same order."""
        found = self.touching(span)
        found = found[_belongs(self.sources[found], self.starts[found], self.ends[found], span.start, span.end)]
        return found[np.argsort(self.sources[found], kind="stable")]

    def in_each(self, segments: Items[TimeSpan], first: int = 0) -> tuple[Positions, Positions]:
        """Return pairs of a segment and a passage that belongs to it, as two arrays of positions, segment by segment.

        ``segments`` follow one another without gaps; those before position ``first`` are left out.
        """
        starts, ends = segments.starts[first:], segments.ends[first:]
        if len(starts) == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        # Of those that began before the first segment, only those that overlap it count.
        since = int(np.searchsorted(self.max_ends, starts[0], side="right"))
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

    def text(self, number: int) -> str:
        """Return the text that has this number in ``texts``, which is negative for a text that only this cut has."""
        return self._known.text(number) if number >= 0 else list(self.new_texts)[-1 - number]

    def quoted(self, position: int) -> str:
        """Return the text of the passage at a position as results quote it: without the additional words for search."""
        number = int(self.texts[position])
        if self.sources[position] != _TRACKER:
            return self.text(number)
        if number not in self._hints:  # things of one description have one hint
            self._hints[number] = self._passage(position).text
        return self._hints[number]

    def first_texts(self, near: Positions, span: TimeSpan, source: Source, count: int) -> list[str]:
        """Return the first ``count`` distinct texts of one source in an interval, as results quote them.

        ``near``: positions of the passages that touch the interval.
        """
        own = near[self.sources[near] == ORDER.index(source)]
        if source == "speech":
            own = own[_belongs(self.sources[own], self.starts[own], self.ends[own], span.start, span.end)]
        texts = self.texts[own]
        distinct = pc.unique(pa.array(texts))[:count].to_pylist()  # in order of first occurrence
        return [self.quoted(int(own[np.argmax(texts == number)])) for number in distinct]

    def _make_passage(self, position: int) -> Passage:
        number, place = int(self._list[position]), int(self._place[position])
        span = TimeSpan(start=float(self.starts[position]), end=float(self.ends[position]))
        if number == _TRACKS:
            track = self._view.tracks[place]
            return Passage(
                span=span,
                text=track.hint,
                source="tracker",
                confidence=track.confidence,
                frame_time=float(track.times[track.nearest(span.center)]),
                terms=hint_in_chinese(track.category, track.colours, track.outfit),
                subject=track.track_id,
            )
        item = self._lists[number][place]
        return Passage(
            span=span,
            text=item.text,
            source=ORDER[int(self.sources[position])],
            confidence=item.confidence,
            frame_time=item.frame_time if isinstance(item, ScreenText) else span.center,
            speaker=item.speaker if isinstance(item, Spoken) else "",
            voice=item.voice if isinstance(item, Spoken) else "",
            subject=item.subject if isinstance(item, Said) else "",
        )


@dataclass(frozen=True, kw_only=True)
class SegmentTexts:
    """The texts of segments: pairs of a segment's position and a text's number, in order of segments, shape (n,) each."""

    segments: Positions
    texts: Positions

    def before(self, segment: int) -> SegmentTexts:
        """Return the pairs of the segments before a position."""
        return self.among(0, segment)

    def among(self, first: int, end: int) -> SegmentTexts:
        """Return the pairs of the segments from ``first`` to before ``end``."""
        low, high = np.searchsorted(self.segments, [first, end]).tolist()
        return SegmentTexts(segments=self.segments[low:high], texts=self.texts[low:high])

    def joined(self, other: SegmentTexts) -> SegmentTexts:
        """Return these pairs and those of later segments."""
        return SegmentTexts(
            segments=np.concatenate([self.segments, other.segments]), texts=np.concatenate([self.texts, other.texts])
        )

    def ranked(self, values: NDArray[np.float64], count: int) -> tuple[Positions, NDArray[np.float64]]:
        """Return the best segments and their scores by their best text; ``values``: the score of each text, 0 for none."""
        scores = values[self.texts]
        found = np.flatnonzero(scores > 0)
        order = found[np.argsort(-scores[found], kind="stable")]
        _, firsts = np.unique(self.segments[order], return_index=True)
        best = order[np.sort(firsts)[:count]]
        return self.segments[best], scores[best]


class TextsBySource(NamedTuple):
    """The texts of segments: those that are said or written, and those of what is seen or heard."""

    lines: SegmentTexts
    seen: SegmentTexts


def texts_by_source(passages: Passages, segments: Items[TimeSpan], first: int = 0) -> TextsBySource:
    """Return the texts of the segments from the position ``first`` on."""
    segment, passage = passages.in_each(segments, first)
    texts, is_line = passages.texts[passage], np.isin(passages.sources[passage], _LINES)
    return TextsBySource(
        lines=SegmentTexts(segments=segment[is_line], texts=texts[is_line]),
        seen=SegmentTexts(segments=segment[~is_line], texts=texts[~is_line]),
    )


def passages_of(view: View) -> Passages:
    """Return the passages of a view, computed once; views that see the whole world share theirs."""
    return (view.whole if view.complete else view).once(Passages)


def unchanged_segments(view: View) -> int:
    """Return how many of the first segments, with all their passages, are the same as without the cut."""
    if view.complete:
        return len(view.segments)
    whole = view.whole
    same, _ = shared_prefix(view.segments, whole.segments)
    if same == 0:
        return 0
    last = float(view.segments.ends[same - 1])
    own, others = passages_of(view), passages_of(whole)
    _, changed = shared_prefix(own.ending_by(last), others.ending_by(last), (own.texts, others.texts))
    return min(same, int(np.searchsorted(view.segments.ends, changed, side="right")))


def _belongs(
    sources: Positions, starts: Times, ends: Times, first: Times | float, last: Times | float
) -> NDArray[np.bool_]:
    """Return which passages belong to the interval ``first`` to ``last``, which all touch: not speech that shares too little."""
    shared = np.maximum(0.0, np.minimum(ends, last) - np.maximum(starts, first))
    enough = shared >= SPEECH_SHARE * np.minimum(ends - starts, np.subtract(last, first))
    belongs: NDArray[np.bool_] = (sources != _SPEECH) | enough
    return belongs


# --- captions -------------------------------------------------------------------------------------------------------

#: Seconds; a caption of a longer interval is too general to find a part of it.
LONGEST_CAPTION = 3 * MAX_SECONDS
#: A caption belongs to a segment if they share at least this part of the shorter of the two.
CAPTION_SHARE = 0.3
#: Texts embedded per request.
_BATCH = 64
#: Tolerance of the length of a unit vector of 32-bit floats.
_OFF_UNIT = 1e-3


class CaptionIndex:
    """The captions that a session searches, fixed while it is open. ``digest`` is a hash of them, empty for none."""

    def __init__(self, said: Sequence[tuple[TimeSpan, str, float, tuple[str, ...]]] = ()) -> None:
        """Index captions, in any order as (interval, text, time of a frame, entities); those of long intervals are left out."""
        kept = sorted(
            (item for item in said if item[0].duration <= LONGEST_CAPTION), key=lambda item: (item[0], item[1])
        )
        self.passages = tuple(
            Passage(span=span, text=text, source="caption", confidence=None, frame_time=shown, entities=entities)
            for span, text, shown, entities in kept
        )
        content = [[p.span.start, p.span.end, p.text] for p in self.passages]
        self.digest = content_hash(content)[:32] if content else ""

    def in_each(self, segments: Items[TimeSpan]) -> list[list[int]]:
        """Return for each segment the captions that belong to it, as rising positions in ``passages``."""
        found: list[list[int]] = [[] for _ in range(len(segments))]
        for number, passage in enumerate(self.passages):
            for at in segments_of(passage, segments):
                found[at].append(number)
        return found

    def holding(self, terms: frozenset[str]) -> list[Passage]:
        """Return the captions that contain all of ``terms``, in time order; none if there are no terms."""
        return [passage for passage, own in zip(self.passages, self._terms, strict=True) if terms and terms <= own]

    @cached_property
    def _terms(self) -> list[frozenset[str]]:
        return [frozenset(index_terms(passage.text)) for passage in self.passages]

    def inside(self, span: TimeSpan) -> list[Passage]:
        """Return the captions that overlap an interval, in time order."""
        return [passage for passage in self.passages if passage.span.overlap(span) > 0]


def segments_of(caption: Passage, segments: Items[TimeSpan]) -> list[int]:
    """Return the positions of the segments that a caption belongs to: those that share enough time with it."""
    found = []
    for at in segments.touching(caption.span).tolist():
        shared = segments[at].overlap(caption.span)
        if shared > 0 and shared >= CAPTION_SHARE * min(segments[at].duration, caption.span.duration):
            found.append(at)
    return found


class _KeptVector(BaseModel, extra="forbid", frozen=True):
    schema_version: Literal[2] = 2
    digest: str = ""  #: hash of the other fields
    text: str
    tokens: int = Field(ge=0)
    estimated: bool
    vector: str  #: 32-bit floats, little endian, in base 64

    def sealed(self) -> _KeptVector:
        """Return a copy in which ``digest`` is the hash of the other fields."""
        return self.model_copy(update={"digest": self._content()})

    @property
    def is_sound(self) -> bool:
        """Whether ``digest`` matches the content and the vector has unit length (or is all zero)."""
        values = self.values().astype(np.float64)
        length = float(np.linalg.norm(values))
        return self.digest == self._content() and values.size > 0 and (length == 0 or abs(length - 1) <= _OFF_UNIT)

    def _content(self) -> str:
        return content_hash(self.model_dump(mode="json", exclude={"digest"}))

    def values(self) -> Vectors:
        """Return the vector as 32-bit floats, shape (dimension,)."""
        return np.frombuffer(base64.b64decode(self.vector, validate=True), dtype="<f4").astype(np.float32)


class Meanings:
    """A cache of text vectors from a paid model, in a folder; in memory if the folder cannot be written.

    A caption is charged only when its vector is requested from the model; a query is charged each time, even if it is
    cached.
    """

    def __init__(self, embedder: EmbeddingModel, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder / content_hash(embedder.producer)[:16]
        self._memory: dict[str, _KeptVector] = {}
        self.producer = embedder.producer

    def of_captions(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape (n, dimension).

        Raises BackendFault: the faults of the model; ``embedding_changed`` if cached vectors have another length.
        """
        self._fill(texts)
        vectors = [self._vector(text) for text in texts]
        if len({len(vector) for vector in vectors}) != 1:
            raise self._changed()
        return np.stack(vectors)

    def of_query(self, text: str) -> Vectors:
        """Return the vector of a query, shape (1, dimension).

        Raises BackendFault: the faults of the model.
        """
        if not self._fill([text]):
            name = self._name(text)
            kept = self._memory[name]
            charge(
                Spent(
                    purpose="perception", model=self._embedder.name, request=name, prompt=kept.tokens, completion=0,
                    estimated=kept.estimated, physical=False,
                )
            )  # fmt: skip
        return self._vector(text)[np.newaxis]

    def likeness(self, texts: Sequence[str], queries: Vectors) -> Vectors:
        """Return for each text the cosine with the nearest of the query vectors, shape (n,).

        Raises BackendFault: the faults of the model; ``embedding_changed`` if vectors differ in length.
        """
        vectors = self.of_captions(texts)
        if vectors.shape[1] != queries.shape[1]:
            raise self._changed()
        near: Vectors = (vectors @ queries.T).max(axis=1)
        return near

    def _changed(self) -> BackendFault:
        return BackendFault(
            "embedding_changed",
            f"{self._embedder.name} makes vectors of another length than those kept from it",
            hint="another model is served under its name; delete .on-demand/meanings in the store",
        )

    def _fill(self, texts: Sequence[str]) -> bool:
        """Request the missing vectors from the model; return whether any were missing."""
        if not self.missing(texts):
            return False
        with exclusive(self._folder, "meanings"):
            missing = self.missing(texts)
            for first in range(0, len(missing), _BATCH):
                self._ask(missing[first : first + _BATCH])
        return bool(missing)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Return the distinct texts that have no cached vector."""
        return [text for text in dict.fromkeys(texts) if self._find(text) is None]

    def _ask(self, texts: list[str]) -> None:
        name = self._name(texts[0]) if len(texts) == 1 else content_hash([self.producer, texts])[:32]
        embedded = self._embedder.embed_texts(texts, name)
        share, rest = divmod(embedded.spent.prompt, len(texts))
        for place, (text, vector) in enumerate(zip(texts, embedded.vectors, strict=True)):
            packed = base64.b64encode(vector.astype("<f4").tobytes()).decode()
            tokens = share + (place < rest)
            kept = _KeptVector(text=text, tokens=tokens, estimated=embedded.spent.estimated, vector=packed).sealed()
            self._memory[self._name(text)] = kept
            with suppress(StoreFault):  # a read-only store can still be queried
                write_atomically(self._folder / f"{self._name(text)}.json", kept.model_dump_json().encode())

    def _find(self, text: str) -> _KeptVector | None:
        name = self._name(text)
        if name not in self._memory:
            with suppress(OSError, ValueError):  # ValueError: not such a record, or no numbers in it
                kept = _KeptVector.model_validate_json((self._folder / f"{name}.json").read_bytes())
                if kept.text == text and kept.is_sound:
                    self._memory[name] = kept
        return self._memory.get(name)

    def _vector(self, text: str) -> Vectors:
        return self._memory[self._name(text)].values()

    def _name(self, text: str) -> str:
        return content_hash([self.producer, text])[:32]


def by_meaning(captions: CaptionIndex, meanings: Meanings, queries: Vectors, segments: Items[TimeSpan]) -> Positions:
    """Return the positions of the segments that have a caption, ranked by their caption nearest to a query vector."""
    own = captions.in_each(segments)
    said = [at for at, numbers in enumerate(own) if numbers]
    if not said:
        return np.zeros(0, dtype=np.int64)
    near = meanings.likeness([p.text for p in captions.passages], queries)
    scores = np.array([max(near[number] for number in own[at]) for at in said])
    return np.array(said, dtype=np.int64)[np.argsort(-scores, kind="stable")]
