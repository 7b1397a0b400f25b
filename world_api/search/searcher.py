"""Search over the visible segments: words (BM25), meaning (dense), looks (descriptors); and exhaustive scans for words.

The text of each segment is one document; postings and vectors of the whole world are computed once, and ``prepare`` stores
them ahead of time. Vectors are searched exactly, by inner product, in FAISS indexes in memory. Behind a causal cut a search
uses the first rows of the whole world's index, which the cut does not change, and a small index of the rest. A scan
finds all matches and does not rank them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from importlib import import_module
from inspect import getsource
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.core.canonical import content_hash
from world_api.core.execution import OnceEach
from world_api.core.faults import StoreFault
from world_api.core.ports import ImageTextEncoder, TextEmbedder, Vectors
from world_api.core.spans import TimeSpan
from world_api.core.vocabulary import concepts, required_terms, words
from world_api.search.indexes import (
    LexicalIndex,
    Rows,
    TextPostings,
    VectorIndex,
    VisualDescriptors,
    best_first,
    fuse,
    holds_words,
    index_terms,
    nearest_of,
    query_terms,
    unit,
)
from world_api.search.passages import (
    CaptionIndex,
    Meanings,
    Passage,
    Passages,
    Texts,
    by_meaning,
    passages_of,
    segments_of,
    unchanged_segments,
)
from world_api.search.pictures import picture_rankings, pictures_of
from world_api.world.storage import read_manifest
from world_api.world.store import Derived, World, derived_folder, derived_lock, list_worlds, world_folder
from world_api.world.tables import SESSION_TABLES, TABLES, matrix
from world_api.world.timeline import Positions, ranges, shared_prefix
from world_api.world.view import View, WholeView

# --- indexes --------------------------------------------------------------------------------------------------------


class WholeDocuments:
    """The indexed documents (texts of the segments) of a world without a causal cut; all its sessions share them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._view = world.once(WholeView)
        self._texts = world.once(Texts)
        self._vectors: OnceEach[str, VectorIndex] = OnceEach()

    def read_all(self, embedder: TextEmbedder) -> None:
        """Load the stored vectors of the segments' texts and looks; compute those that are missing."""
        _ = (self.look_index, self.text_vectors(embedder))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of terms in each document, shape (n,)."""
        return self._postings[3]

    def find(self, term: str) -> tuple[Positions, Positions]:
        """Return the documents that contain a term, in rising order, and how often each contains it."""
        terms, documents, frequencies, _ = self._postings
        number = self._texts.number_of.get(term, -1)
        part = slice(*np.searchsorted(terms, [number, number + 1]).tolist())
        return documents[part], frequencies[part]

    def text_vectors(self, embedder: TextEmbedder) -> VectorIndex:
        """Return the index of the documents' vectors."""

        def make() -> pa.Table:
            passages = passages_of(self._view)
            return _kept(
                embedder.embed(document_texts(passages, *passages.in_each(self._view.segments), count=self._count))
            )

        name = f"vectors.{embedder_key(embedder)}"
        return self._vectors.get(name, lambda: self._index(name, make, rows=embedder.dimension))

    @cached_property
    def look_index(self) -> VectorIndex:
        """The index of the mean look of each segment; a zero vector if no frame of the segment was described."""
        segments = self._view.segments
        return self._index(
            "looks.segments", lambda: _kept(VisualDescriptors(self._view).means(segments.starts, segments.ends))
        )

    def _index(self, name: str, make: Callable[[], pa.Table], rows: int | None = None) -> VectorIndex:
        """Return the index of a table of vectors (a row per dimension), stored or made by ``make``; see ``Derived.table``."""
        schema = pa.schema([("values", pa.list_(pa.float32(), self._count))])
        table = self._world.derived.table(name, make, schema=schema, rows=rows)
        return VectorIndex(matrix(table.column("values"), self._count))

    @property
    def _count(self) -> int:
        return len(self._view.segments)

    @cached_property
    def _postings(self) -> tuple[Positions, Positions, Positions, Positions]:
        """The postings in order of terms: term numbers, documents and frequencies; then the length of each document."""
        passages, texts, count = passages_of(self._view), self._texts, self._count
        segment, passage = passages.in_each(self._view.segments)
        bag_ends, bag_terms, bag_counts = texts.bags
        number = passages.texts[passage]
        firsts = np.concatenate([[0], bag_ends])[number]
        lasts = np.concatenate([[0], bag_ends])[number + 1]
        places = ranges(firsts, lasts)
        keys = bag_terms[places].astype(np.int64) * max(1, count) + np.repeat(segment, lasts - firsts)
        keys, inverse = np.unique(keys, return_inverse=True)
        frequencies = np.bincount(inverse, weights=bag_counts[places], minlength=len(keys)).astype(np.int64)
        term, document = keys // max(1, count), keys % max(1, count)
        # A concept counts once in a document, however many of its texts name it.
        concept = np.array([word.startswith("#") for word in texts.terms.to_pylist()], dtype=np.bool_)
        frequencies = np.where(concept[term], 1, frequencies)
        lengths = np.bincount(document, weights=frequencies, minlength=count).astype(np.int64)
        return term, document, frequencies, lengths


def document_texts(
    passages: Passages, segment: Positions, passage: Positions, *, count: int, first: int = 0, quoted: bool = False
) -> list[str]:
    """Return the text of each of ``count`` segments from position ``first`` on: its passages, one per line.

    ``segment`` and ``passage`` are the pairs of ``Passages.in_each``. ``quoted``: the texts as users see them, without
    the additional words for search (in another language).
    """
    numbers = passages.texts[passage].tolist()
    texts = map(passages.quoted, passage.tolist()) if quoted else map(passages.text, numbers)
    lines: list[list[str]] = [[] for _ in range(count)]
    for at, text in zip((segment - first).tolist(), texts, strict=True):
        lines[at].append(text)
    return ["\n".join(own) for own in lines]


def embedder_key(embedder: TextEmbedder) -> str:
    """Return a hash of what vectors depend on besides the texts: the embedder and the source code of its module."""
    try:
        source = getsource(import_module(type(embedder).__module__))
    except (OSError, TypeError, ImportError):
        source = ""  # a class defined interactively has none; its producer has to identify it
    return content_hash([embedder.producer, embedder.dimension, type(embedder).__qualname__, source])[:16]


def _kept(vectors: Vectors) -> pa.Table:
    """Return vectors (n x dimension) as a table with one row per dimension: a search reads only those that it needs."""
    flat = pa.array(np.ascontiguousarray(vectors.T).reshape(-1))
    return pa.table({"values": pa.FixedSizeListArray.from_arrays(flat, len(vectors))})


#: The tables that answers come from, except those that sessions write.
READ = tuple(name for name in TABLES if name not in (*SESSION_TABLES, "key_frames", "track_looks", "person_looks"))

_WORLDS_OWN = ("world_damaged", "no_such_world", "other_schema_version", "bad_video_id")


def prepare(store: Path, video_id: str, embedder: TextEmbedder, *, rebuild: bool = False) -> None:
    """Compute a world's tables, tracks, segments and search indexes, and store them beside it.

    Stored ones are computed again only with ``rebuild``; if all are stored, the store may be read-only. The call waits
    while another process does the same.

    Raises StoreFault: ``no_such_world``, ``world_damaged``, ``store_not_writable``, ``disk_full``.
    """
    folder = world_folder(store, video_id)
    read_manifest(folder)  # a missing world leaves no trace
    try:
        with derived_lock(store, video_id):
            _read_all(folder, embedder, rebuild=rebuild).finish()
    except StoreFault as fault:
        if rebuild or fault.code != "store_not_writable":
            raise
        _read_all(folder, embedder)  # the first missing table raises the fault, with its path


def _read_all(folder: Path, embedder: TextEmbedder, *, rebuild: bool = False) -> Derived:
    """Load or compute all derived tables of a world, whose id is the folder's name: the folder may be a copy of another."""
    manifest = read_manifest(folder).model_copy(update={"video_id": folder.name})
    derived = Derived(derived_folder(folder.parent, manifest), keep=True, rebuild=rebuild)
    world = World(folder, manifest, derived=derived)
    for table in READ:
        world.rows(table)
    world.once(WholeView).read_all()
    world.once(Texts).read_all()
    world.once(WholeDocuments).read_all(embedder)
    return derived


def prepare_all(store: Path, embedder: TextEmbedder, *, rebuild: bool = False) -> None:
    """Prepare every world of a store; worlds that cannot be read are skipped.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    for video_id in list_worlds(store):
        try:
            prepare(store, video_id, embedder, rebuild=rebuild)
        except StoreFault as fault:
            # `videoworld worlds` and `videoworld inspect --check` report what is wrong with a world.
            if fault.code not in _WORLDS_OWN:
                raise


# --- search ---------------------------------------------------------------------------------------------------------

#: Length of each ranking that is fused.
FUSED = 400


@dataclass(frozen=True, kw_only=True)
class MatchingPassage:
    """A passage that shares words with a query; ``as_given``: it contains the query word for word."""

    passage: Passage
    as_given: bool


@dataclass(frozen=True, kw_only=True)
class SegmentHit:
    """A segment that a search found. ``score`` is for ordering only; ``passage``: the best match, None in ``by_look``.

    ``lines`` are the passages of speech and screen text that share as much with the query as ``passage``, in time
    order; empty if it shares no word. ``inside`` are all passages of the segment, empty in ``by_look``.
    """

    span: TimeSpan
    score: float
    passage: Passage | None
    lines: tuple[MatchingPassage, ...] = ()
    inside: tuple[Passage, ...] = ()


class Searcher:
    """Searches the segments of one view. Indexes are loaded or made when they are first used.

    Segments that the causal cut does not change use the indexes of the whole world; the rest is indexed here.
    """

    def __init__(
        self,
        view: View,
        embedder: TextEmbedder,
        *,
        captions: CaptionIndex | None = None,
        meanings: Meanings | None = None,
        encoder: ImageTextEncoder | None = None,
    ) -> None:
        self._view = view
        self._encoder = encoder
        self._embedder = embedder
        self._whole = view.world.once(WholeDocuments)
        self._captions = captions or CaptionIndex()
        self._meanings = meanings

    def by_text(self, query: str, top_k: int) -> list[SegmentHit]:
        """Return segments by words and meaning, the best first; the rankings are fused by reciprocal rank.

        What pictures may show (tags, and the vectors of an image-text model) is ranked as well.
        """
        dense, _ = self._dense(query, FUSED, (0, len(self._view.segments)))
        shown = picture_rankings(self._view, query, self._encoder)
        return self._fused([best_first(self.lexical.scores(query), FUSED), dense, *shown], top_k, query)

    def by_meaning(self, query: str, top_k: int, within: TimeSpan | None) -> list[SegmentHit]:
        """Return segments by meaning, the best first; with ``within`` only those whose middle is inside it."""
        among = (0, len(self._view.segments))
        if within is not None:
            centers = (self._view.segments.starts + self._view.segments.ends) / 2
            first, end = np.searchsorted(centers, [within.start, within.end]).tolist()
            among = (first, end)
        others = list(picture_rankings(self._view, query, self._encoder))
        if self._meanings is not None and self._captions.passages:
            queries = self._meanings.of_query(query)
            others.insert(0, by_meaning(self._captions, self._meanings, queries, self._view.segments))
        if not others:
            found, scores = self._dense(query, top_k, among)
            return self._hits(found, scores, query)
        inside = [near[(near >= among[0]) & (near < among[1])] for near in others]
        return self._fused([*inside, self._dense(query, FUSED, among)[0]], top_k, query)

    def by_example(self, example: TimeSpan, said: Sequence[str], top_k: int) -> list[SegmentHit]:
        """Return segments similar to an example interval in look, in vectors of key frames or in captions, the best first.

        Segments that overlap the example are excluded. ``said`` are the captions of the example; without them, or
        without a model that embeds captions, only looks count.
        """
        others = [alike] if len(alike := pictures_of(self._view).by_example(example)) else []
        if self._meanings is not None and said:
            near = by_meaning(self._captions, self._meanings, self._meanings.of_captions(said), self._view.segments)
            segments = self._view.segments
            others.append(near[(segments.ends[near] <= example.start) | (segments.starts[near] >= example.end)])
        if not others:
            return self.by_look(example, min(top_k, FUSED))
        looks = self.by_look(example, FUSED)
        places = np.searchsorted(self._view.segments.starts, [hit.span.start for hit in looks]).astype(np.int64)
        return self._fused([*others, places], top_k, " ".join(said))

    def _fused(self, rankings: Sequence[Positions], top_k: int, query: str) -> list[SegmentHit]:
        """Return the best hits of rankings of segments, fused by reciprocal rank; ``query`` chooses their passages."""
        fused = fuse(rankings, len(self._view.segments))
        best = best_first(fused, top_k)
        return self._hits(best, fused[best], query)

    def by_look(self, example: TimeSpan, top_k: int) -> list[SegmentHit]:
        """Return segments that look like an example interval, the best first, without those that overlap it."""
        places = self._looks.of(example)
        if len(places) == 0:
            return []
        example_look = unit(self._looks.vectors[places].mean(axis=0, keepdims=True))
        first = int(np.searchsorted(self._view.segments.ends, example.start, side="right"))
        end = int(np.searchsorted(self._view.segments.starts, example.end))
        among = ((0, first), (max(first, end), len(self._view.segments)))
        found, scores = nearest_of(self._look_rows, example_look, top_k, among)
        return [
            SegmentHit(span=self._view.segments[place], score=round(score, 4), passage=None)
            for place, score in zip(found.tolist(), scores.tolist(), strict=True)
        ]

    @property
    def _same(self) -> int:
        """The number of first segments that use the whole world's index; 0 if captions of models are searched."""
        return 0 if self._captions.passages else unchanged_segments(self._view)

    @cached_property
    def _captioned(self) -> list[list[int]]:
        return self._captions.in_each(self._view.segments)

    @cached_property
    def _rest(self) -> list[str]:
        """The texts of the segments after the first ``_same``, with the captions of models."""
        passages, count = passages_of(self._view), len(self._view.segments) - self._same
        inside = passages.in_each(self._view.segments, self._same)
        texts = document_texts(passages, *inside, count=count, first=self._same)
        if self._captions.passages:
            said = [[self._captions.passages[number].text for number in own] for own in self._captioned]
            texts = ["\n".join(filter(None, [text, *own])) for text, own in zip(texts, said, strict=True)]
        return texts

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The BM25 index of all segments."""
        return LexicalIndex((self._whole, self._same), (TextPostings(self._rest), len(self._rest)))

    @cached_property
    def _text_rows(self) -> list[Rows]:
        rest = VectorIndex(self._embedder.embed(self._rest).T)
        return _rows(self._whole.text_vectors(self._embedder), rest, self._same)

    @cached_property
    def _look_rows(self) -> list[Rows]:
        segments, looks, view = self._view.segments, self._looks, self._view
        same, _ = shared_prefix(segments, view.whole.segments)
        same = min(same, int(np.searchsorted(segments.ends, view.first_hidden("looks"), side="right")))
        rest = looks.means(segments.starts[same:], segments.ends[same:])
        return _rows(self._whole.look_index, VectorIndex(rest.T), same)

    @cached_property
    def _looks(self) -> VisualDescriptors:
        return VisualDescriptors(self._view)

    def _dense(self, query: str, count: int, among: tuple[int, int]) -> tuple[Positions, NDArray[np.float64]]:
        vector = self._embedder.embed([query])
        return nearest_of(self._text_rows, vector, count, [among], above=self._embedder.noise_floor)

    def _hits(self, found: Positions, scores: NDArray[np.float64], query: str) -> list[SegmentHit]:
        passages, wanted, hits = passages_of(self._view), QueryMatcher(query), []
        for place, score in zip(found.tolist(), scores.tolist(), strict=True):
            span = self._view.segments[place]
            numbers = self._captioned[place] if self._captions.passages else []
            inside = (*passages.inside(span), *(self._captions.passages[number] for number in numbers))
            shown = pictures_of(self._view).passage(span)
            best = wanted.best((*inside, *([] if shown is None else [shown])))
            passage, lines = best[0] if best else None, wanted.lines(best)
            hits.append(SegmentHit(span=span, score=round(score, 4), passage=passage, lines=lines, inside=inside))
        return hits


def _rows(whole: VectorIndex, rest: VectorIndex, same: int) -> list[Rows]:
    """Return the first ``same`` rows of one index and all rows of another as one sequence."""
    return [Rows(index=whole, count=same, offset=0), Rows(index=rest, count=len(rest), offset=same)]


class QueryMatcher:
    """Compares passages with a query."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._terms = frozenset(query_terms(query))
        self._words = frozenset(words(query))

    def best(self, passages: Sequence[Passage]) -> list[Passage]:
        """Return the passages that match the query best, the shortest first, which is the snippet of a hit.

        What pictures may show comes last.

                What counts is whether they contain it word for word, then how many of its content words, then of all its words.
        """
        shared = [self._shared(passage) for passage in passages]
        most = max(shared, default=None)
        best = [passage for passage, share in zip(passages, shared, strict=True) if share == most]
        return sorted(best, key=lambda passage: (passage.source == "look", len(words(passage.text))))

    def lines(self, best: Sequence[Passage]) -> tuple[MatchingPassage, ...]:
        """Return those best passages of speech or screen text that contain the query or a content word of it, in time order."""
        lines = [(p, *self._shared(p)) for p in best if p.source in ("speech", "screen_text")]
        lines.sort(key=lambda item: (item[0].span.start, item[0].span.end))
        return tuple(
            MatchingPassage(passage=passage, as_given=as_given)
            for passage, as_given, content, _ in lines
            if as_given or content
        )

    def _shared(self, passage: Passage) -> tuple[bool, int, int]:
        terms = terms_of(passage.text, passage.terms)
        return holds_words(passage.text, self._query), len(self._terms & terms), len(self._words & terms)


@lru_cache(maxsize=65536)
def terms_of(text: str, more: str) -> frozenset[str]:
    """Return a passage's terms, concepts of ``more`` included. ``more``: words for search."""
    return frozenset(words(text)) | {f"#{concept}" for concept in concepts(f"{text} {more}")}


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Result of a scan of the segments ``first`` to ``end`` (positions, half-open).

    ``matching``: positions of the segments that match, rising. ``segments`` and ``passages`` (n): which passage matched
    in which segment, segment after segment; ``captions``: matching captions of models, by segment. Without a query
    these three are empty.
    """

    first: int
    end: int
    matching: Positions
    segments: Positions
    passages: Positions
    captions: Mapping[int, Sequence[Passage]]

    def found_in(self, segment: int, passages: Passages) -> list[Passage]:
        """Return the passages and the captions that matched in a segment."""
        first, end = np.searchsorted(self.segments, [segment, segment + 1]).tolist()
        return [*(passages[place] for place in self.passages[first:end].tolist()), *self.captions.get(segment, ())]


class Scanner:
    """Scans every visible segment. The passages of each segment are found once for all scans of a view."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._passages = passages_of(view)
        self._texts = view.world.once(Texts)
        self._in_segment, self._inside = self._passages.in_each(view.segments)

    def scan(self, query: str | None, captions: CaptionIndex, *, within: TimeSpan | None, least: float | None) -> Scan:
        """Find the segments that overlap ``within`` and have a passage overlapping it that contains all required query terms.

        ``captions`` are additional passages, from models. ``least`` is the confidence that a passage needs if its
        source gives one. Without a query all segments match.
        """
        segments = self._view.segments
        first, end = 0, len(segments)
        if within:
            touched = segments.touching(within)
            touched = touched[segments.ends[touched] > within.start]
            first, end = (int(touched[0]), int(touched[-1]) + 1) if len(touched) else (0, 0)
        none = np.zeros(0, dtype=np.int64)
        if query is None:
            return Scan(first=first, end=end, matching=np.arange(first, end), segments=none, passages=none, captions={})
        low, high = np.searchsorted(self._in_segment, [first, end]).tolist()
        inside = self._inside[low:high]
        terms = required_terms(query)
        chosen = self._fits(inside, terms, within, least)
        matched, passages = self._in_segment[low:high][chosen], inside[chosen]
        said: dict[int, list[Passage]] = {}
        for caption in captions.holding(frozenset(terms)):
            if within is None or caption.span.overlap(within) > 0:
                for segment in segments_of(caption, segments):
                    if first <= segment < end:
                        said.setdefault(segment, []).append(caption)
        matching = np.union1d(matched, np.array(sorted(said), dtype=np.int64))
        return Scan(first=first, end=end, matching=matching, segments=matched, passages=passages, captions=said)

    def _fits(
        self, passages: Positions, terms: list[str], within: TimeSpan | None, least: float | None
    ) -> NDArray[np.bool_]:
        numbers = self._passages.texts[passages]
        fits: NDArray[np.bool_] = np.isin(numbers, self._holding(terms))
        if within is not None:
            starts, ends = self._passages.starts[passages], self._passages.ends[passages]
            fits &= (starts < within.end) & ((ends > within.start) | (starts >= within.start))
        if least is not None:
            found = np.flatnonzero(fits)
            sure = (self._passages[place].confidence for place in passages[found].tolist())
            fits[found] = [confidence is None or confidence >= least for confidence in sure]
        return fits

    def _holding(self, terms: list[str]) -> Positions:
        """Return the numbers of the texts that contain all terms; none if there are no terms.

        Negative numbers are of texts that are not in the whole world, but only in the view that this cut leaves.
        """
        if not terms:
            return np.zeros(0, dtype=np.int64)
        known = reduce(np.intersect1d, map(self._texts.holding, terms))
        new = [number for text, number in self._passages.new_texts.items() if set(terms) <= set(index_terms(text))]
        return np.concatenate([known, np.array(new, dtype=np.int64)])
