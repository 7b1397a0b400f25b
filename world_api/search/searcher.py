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
from typing import TYPE_CHECKING

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
    words_and_meaning,
)
from world_api.search.passages import (
    CaptionIndex,
    Meanings,
    Passage,
    Passages,
    SegmentTexts,
    Texts,
    TextsBySource,
    by_meaning,
    passages_of,
    segments_of,
    texts_by_source,
    unchanged_segments,
)
from world_api.search.pictures import picture_rankings, pictures_of
from world_api.world.storage import read_manifest
from world_api.world.store import Derived, World, derived_folder, derived_lock, list_worlds, world_folder
from world_api.world.tables import SESSION_TABLES, TABLES, matrix
from world_api.world.timeline import Positions, ranges, shared_prefix
from world_api.world.view import View, WholeView

if TYPE_CHECKING:
    from world_api.search.text_vectors import LinesAbout, TextScores, TextVectors

# --- indexes --------------------------------------------------------------------------------------------------------


class WholeDocuments:
    """The indexed documents (texts of the segments) of a world without a causal cut; all its sessions share them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._view = world.once(WholeView)
        self._texts = world.once(Texts)
        self._vectors: OnceEach[str, VectorIndex] = OnceEach()
        self._meanings: OnceEach[str, TextVectors] = OnceEach()

    def read_all(self, embedder: TextEmbedder) -> None:
        """Load the stored vectors of the texts and of the segments' looks; compute those that are missing."""
        _ = self.look_index
        if embedder.understands:
            self.meanings(embedder).read_all()
        else:
            self.text_vectors(embedder)

    def meanings(self, embedder: TextEmbedder) -> TextVectors:
        """Return the vectors of all texts by a sentence encoder."""
        from world_api.search.text_vectors import TextVectors

        key = embedder_key(embedder)
        return self._meanings.get(key, lambda: TextVectors(self._world, embedder, key))

    @cached_property
    def segment_texts(self) -> TextsBySource:
        """The texts of all segments."""
        return texts_by_source(passages_of(self._view), self._view.segments)

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
#: Weight of rankings of what is said if looks are asked for: two of them at their best stay below another one at its end.
_AFTER = 1 / 20


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
        self._texts = view.world.once(Texts)
        #: The query and positions of segments of the last search by meaning, and its scores.
        self._kept_scores: tuple[tuple[str, tuple[int, int]], TextScores] | None = None

    def by_text(self, query: str, top_k: int, *, of_looks: bool = False) -> list[SegmentHit]:
        """Return segments by words and meaning, the best first.

        With a sentence encoder their scores are added, without one rankings are fused by reciprocal rank; so is what pictures
        may show (tags, and the vectors of an image-text model). ``of_looks``: the query is about how something looks, so that
        what is said comes after all that is seen.
        """
        every = (0, len(self._view.segments))
        dense, near = self._dense(query, FUSED, every)
        shown = picture_rankings(self._view, query, self._encoder)
        if self._meanings_of_texts is None:
            rankings = [best_first(self.lexical.scores(query), FUSED), dense]
        else:
            nearness = np.zeros(len(self._view.segments))
            nearness[dense] = near
            both = words_and_meaning(self.lexical.shares(query), nearness)
            rankings = [best_first(both, FUSED)]
            if not shown and not of_looks:
                return self._hits(rankings[0][:top_k], both[rankings[0][:top_k]], query, every)
        if of_looks:
            return self._seen_first(query, top_k, every, shown, rankings)
        return self._fused([*rankings, *shown], top_k, query, every)

    def by_meaning(
        self, query: str, top_k: int, within: TimeSpan | None, *, of_looks: bool = False
    ) -> list[SegmentHit]:
        """Return segments by meaning, the best first; with ``within`` only those whose middle is inside it.

        ``of_looks``: as in ``by_text``.
        """
        among = (0, len(self._view.segments))
        if within is not None:
            centers = (self._view.segments.starts + self._view.segments.ends) / 2
            first, end = np.searchsorted(centers, [within.start, within.end]).tolist()
            among = (first, end)
        others = list(picture_rankings(self._view, query, self._encoder))
        if self._meanings is not None and self._captions.passages:
            queries = self._meanings.of_query(query)
            others.insert(0, by_meaning(self._captions, self._meanings, queries, self._view.segments))
        inside = [near[(near >= among[0]) & (near < among[1])] for near in others]
        if of_looks:
            return self._seen_first(query, top_k, among, inside, [self._dense(query, FUSED, among)[0]])
        if not others:
            found, scores = self._dense(query, top_k, among)
            return self._hits(found, scores, query, among)
        return self._fused([*inside, self._dense(query, FUSED, among)[0]], top_k, query, among)

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

    def _fused(
        self, rankings: Sequence[Positions], top_k: int, query: str, among: tuple[int, int] | None = None
    ) -> list[SegmentHit]:
        """Return the best hits of rankings of segments, fused by reciprocal rank; ``query`` chooses their passages."""
        fused = fuse(rankings, len(self._view.segments))
        best = best_first(fused, top_k)
        return self._hits(best, fused[best], query, among)

    def _seen_first(
        self,
        query: str,
        top_k: int,
        among: tuple[int, int],
        shown: Sequence[Positions],
        others: Sequence[Positions],
    ) -> list[SegmentHit]:
        """Return hits by what is seen, fused; after all of these the hits of the other rankings."""
        seen = self._segment_texts.seen.among(*among)
        rankings = [seen.ranked(self._word_scores(query, seen), FUSED)[0], *shown]
        if self._meanings_of_texts is not None:
            rankings.append(seen.ranked(self._scores(query, among).seen, FUSED)[0])
        count = len(self._view.segments)
        fused = fuse(rankings, count) + _AFTER * fuse(others, count)
        best = best_first(fused, top_k)
        return self._hits(best, fused[best], query, among, of_looks=True)

    def _word_scores(self, query: str, among: SegmentTexts) -> NDArray[np.float64]:
        """Return for each text the sum of the inverse document frequencies of the query's terms in it, among some texts."""
        known = len(self._texts)
        here = np.zeros(known + len(self._other_texts), dtype=np.bool_)
        here[among.texts] = True
        count, scores = int(here.sum()), np.zeros(len(here))
        others = [frozenset(index_terms(text)) for text in self._other_texts]
        for term in dict.fromkeys(query_terms(query)):
            more = [known + place for place, terms in enumerate(others) if term in terms]
            holding = np.concatenate([self._texts.holding(term), np.array(more, dtype=np.int64)])
            holding = holding[here[holding]]
            scores[holding] += np.log1p((count - len(holding) + 0.5) / (len(holding) + 0.5))
        return scores

    def lines_about(self, query: str) -> LinesAbout | None:
        """Return whether anything said or written here is about a query; None without a calibrated encoder, or without lines."""
        if self._meanings_of_texts is None or self._lines == 0:
            return None
        best = float(self._scores(query, (0, len(self._view.segments))).lines.max())
        return self._meanings_of_texts.verdict(best, self._lines)

    def scores_of(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a score for each of some texts that are no passages, such as memories; 0 if nothing in it matches."""
        lexical = LexicalIndex.of_texts(texts)
        if self._meanings_of_texts is None or not texts:
            return lexical.scores(query)
        near = self._meanings_of_texts.of(texts) @ self._embedder.embed_query(query)[0]
        above = np.where(near > self._embedder.noise_floor, near, 0.0)
        return words_and_meaning(lexical.shares(query), above)

    @property
    def ranks_by_meaning(self) -> bool:
        """Whether a sentence encoder ranks the texts."""
        return self._meanings_of_texts is not None

    @property
    def is_unprepared(self) -> bool:
        """Whether there is a sentence encoder, and this world is too large to embed its texts now."""
        return self._embedder.understands and self._meanings_of_texts is None

    @cached_property
    def _meanings_of_texts(self) -> TextVectors | None:
        if not self._embedder.understands:
            return None
        found = self._whole.meanings(self._embedder)
        if found.are_all_ready:
            return found
        # What is after a cut must not decide how a query before it is answered.
        visible = np.concatenate([own.texts for own in self._segment_texts])
        return found if found.can_make(len(np.unique(visible))) else None

    @cached_property
    def _other_texts(self) -> list[str]:
        """Texts beside those of the whole world: those that only this cut has, and the captions of models."""
        return [*passages_of(self._view).new_texts, *(caption.text for caption in self._captions.passages)]

    @cached_property
    def _lines(self) -> int:
        """The number of distinct texts that are said or written."""
        return len(np.unique(self._segment_texts.lines.texts))

    def _rows_of(self, numbers: Positions) -> Positions:
        """Return the places of texts in scores: first those of the whole world, then ``_other_texts``."""
        return np.where(numbers >= 0, numbers, len(self._texts) - 1 - numbers)

    def _row_of_caption(self, number: int) -> int:
        return len(self._texts) + len(passages_of(self._view).new_texts) + number

    @cached_property
    def _segment_texts(self) -> TextsBySource:
        """The texts of the visible segments, by their places in scores."""
        own = texts_by_source(passages_of(self._view), self._view.segments, self._same)
        lines, seen = (
            whole.before(self._same).joined(SegmentTexts(segments=rest.segments, texts=self._rows_of(rest.texts)))
            for whole, rest in zip(self._whole.segment_texts, own, strict=True)
        )
        if self._captions.passages:
            pairs = [(at, self._row_of_caption(number)) for at, own_ in enumerate(self._captioned) for number in own_]
            segments, texts = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            joined = seen.joined(SegmentTexts(segments=segments, texts=texts))
            order = np.argsort(joined.segments, kind="stable")
            seen = SegmentTexts(segments=joined.segments[order], texts=joined.texts[order])
        return TextsBySource(lines=lines, seen=seen)

    @cached_property
    def _other_vectors(self) -> Vectors:
        return self._whole.meanings(self._embedder).of(self._other_texts)

    def _scores(self, query: str, among: tuple[int, int]) -> TextScores:
        """Return the inner products above the noise floor of a query and the texts of the segments ``among``; 0 for other texts.

        The last ones are kept, since one search needs them several times.
        """
        kept = self._kept_scores
        if kept is None or kept[0] != (query, among):
            vectors = self._whole.meanings(self._embedder)
            masks = []
            for own in self._segment_texts:
                mask = np.zeros(len(vectors) + len(self._other_texts), dtype=np.bool_)
                mask[own.among(*among).texts] = True
                masks.append(mask)
            scores = vectors.scores(query, masks[0], masks[1], others=self._other_vectors)
            kept = self._kept_scores = ((query, among), scores)
        return kept[1]

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
        if self._meanings_of_texts is not None:
            pairs = zip(self._segment_texts, self._scores(query, among), strict=True)
            ranked = [own.among(*among).ranked(scores, count) for own, scores in pairs]
            found, scores = np.concatenate([one[0] for one in ranked]), np.concatenate([one[1] for one in ranked])
            order = np.lexsort((found, -scores))
            _, firsts = np.unique(found[order], return_index=True)
            best = order[np.sort(firsts)[:count]]
            return found[best], scores[best]
        if self._embedder.understands:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        vector = self._embedder.embed([query])
        return nearest_of(self._text_rows, vector, count, [among], above=self._embedder.noise_floor)

    def _hits(
        self,
        found: Positions,
        scores: NDArray[np.float64],
        query: str,
        among: tuple[int, int] | None = None,
        *,
        of_looks: bool = False,
    ) -> list[SegmentHit]:
        """Return hits with the passages that fit the query best; ``among``: the segments that were searched by meaning, if any."""
        passages, wanted, hits = passages_of(self._view), QueryMatcher(query, of_looks=of_looks), []
        by_text = None
        if among is not None and self._meanings_of_texts is not None:
            by_text = np.maximum(*self._scores(query, among))
        for place, score in zip(found.tolist(), scores.tolist(), strict=True):
            span = self._view.segments[place]
            numbers = self._captioned[place] if self._captions.passages else []
            places = passages.places_inside(span)
            inside = (
                *(passages[at] for at in places.tolist()), *(self._captions.passages[number] for number in numbers)
            )  # fmt: skip
            shown = pictures_of(self._view).passage(span)
            near = None
            if by_text is not None:
                rows = [*self._rows_of(passages.texts[places]).tolist(), *map(self._row_of_caption, numbers)]
                near = by_text[rows].tolist()
            best = wanted.best((*inside, *([] if shown is None else [shown])), near)
            means = near is not None and any(one > 0 and own in best for one, own in zip(near, inside, strict=True))
            passage, lines = best[0] if best else None, wanted.lines(best, means=means)
            hits.append(SegmentHit(span=span, score=round(score, 4), passage=passage, lines=lines, inside=inside))
        return _repeats_last(hits)


def _repeats_last(hits: Sequence[SegmentHit]) -> list[SegmentHit]:
    """Return hits in their order, but those last that quote the same line or caption as an earlier one."""
    quoted: set[Passage] = set()
    first: list[SegmentHit] = []
    repeats: list[SegmentHit] = []
    for hit in hits:
        repeated = hit.passage in quoted
        if hit.passage is not None and hit.passage.source != "tracker":
            quoted.add(hit.passage)
        (repeats if repeated else first).append(hit)
    return [*first, *repeats]


def _rows(whole: VectorIndex, rest: VectorIndex, same: int) -> list[Rows]:
    """Return the first ``same`` rows of one index and all rows of another as one sequence."""
    return [Rows(index=whole, count=same, offset=0), Rows(index=rest, count=len(rest), offset=same)]


class QueryMatcher:
    """Compares passages with a query. ``of_looks``: what is said or written is not what it is about."""

    def __init__(self, query: str, *, of_looks: bool = False) -> None:
        self._query, self._of_looks = query, of_looks
        self._terms = frozenset(query_terms(query))
        self._words = frozenset(words(query))

    def best(self, passages: Sequence[Passage], near: Sequence[float] | None = None) -> list[Passage]:
        """Return the passages that match the query best, the shortest first, which is the snippet of a hit.

        What pictures may show comes last. What counts is whether they contain it word for word, then how many of its content
        words, then of all its words. With ``near``, the inner products of the first passages with the query, these count
        as much as the share of the content words.
        """
        shared = [self._shared(passage) for passage in passages]
        keys: list[tuple[bool, bool, float, int]] = []
        for place, (passage, (as_given, content, all_words)) in enumerate(zip(passages, shared, strict=True)):
            worth: float = content
            if near is not None:
                worth = content / max(1, len(self._terms)) + (near[place] if place < len(near) else 0.0)
            keys.append((self._of_looks and not _is_line(passage), as_given, worth, all_words))
        most = max(keys, default=None)
        best = [passage for passage, key in zip(passages, keys, strict=True) if key == most]
        return sorted(best, key=lambda passage: (passage.source == "look", len(words(passage.text))))

    def lines(self, best: Sequence[Passage], *, means: bool = False) -> tuple[MatchingPassage, ...]:
        """Return those best passages of speech or screen text that contain the query or a content word of it, in time order.

        ``means``: they are the best by their meaning, so that they need not share a word.
        """
        lines = [(p, *self._shared(p)) for p in best if _is_line(p)]
        lines.sort(key=lambda item: (item[0].span.start, item[0].span.end))
        return tuple(
            MatchingPassage(passage=passage, as_given=as_given)
            for passage, as_given, content, _ in lines
            if as_given or content or means
        )

    def _shared(self, passage: Passage) -> tuple[bool, int, int]:
        terms = terms_of(passage.text, passage.terms)
        return holds_words(passage.text, self._query), len(self._terms & terms), len(self._words & terms)


def _is_line(passage: Passage) -> bool:
    return passage.source in ("speech", "screen_text")


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
