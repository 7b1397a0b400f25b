"""Search over the visible segments: words (BM25), meaning (dense), looks (descriptors).

Vectors are searched exactly, by inner product, in a FAISS index in memory that is built from the visible rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from world_api.core.lexicon import concepts, content_words, words
from world_api.core.ports import TextEmbedder, Vectors
from world_api.core.spans import TimeSpan
from world_api.world.disk.tables import DESCRIPTOR_DIMENSION
from world_api.world.search.lexical import LexicalIndex, best_first, fuse
from world_api.world.search.passages import Passage, passages_in
from world_api.world.search.vectors import VectorIndex
from world_api.world.view import View

#: How many of each ranking are fused.
FUSED = 400


@dataclass(frozen=True, kw_only=True)
class SegmentHit:
    """A segment found. ``score`` only orders; ``passage`` is what matched, None for a match of looks."""

    span: TimeSpan
    score: float
    passage: Passage | None


class Searcher:
    """The searches of one view; indexes are built when first needed."""

    def __init__(self, view: View, embedder: TextEmbedder) -> None:
        self._view = view
        self._embedder = embedder

    def by_text(self, query: str, top_k: int) -> list[SegmentHit]:
        """Words and meaning, fused by reciprocal rank."""
        dense, _ = self._dense(query, FUSED)
        fused = fuse([best_first(self._lexical.scores(query))[:FUSED], dense], len(self._segments))
        best = best_first(fused)[:top_k]
        return self._hits(best, fused[best], query)

    def by_meaning(self, query: str, top_k: int, within: TimeSpan | None) -> list[SegmentHit]:
        """Dense search, if wanted only among segments whose middle lies inside a stretch."""
        centers = np.array([segment.center for segment in self._segments])
        allowed = None if within is None else (centers >= within.start) & (centers < within.end)
        found, scores = self._dense(query, top_k, allowed)
        return self._hits(found, scores, query)

    def by_look(self, example: TimeSpan, top_k: int) -> list[SegmentHit]:
        """Segments that look like an example stretch, without those that overlap it."""
        times, vectors = self._looks
        inside = (times >= example.start) & (times < example.end)
        if not inside.any() and len(times):
            inside = np.arange(len(times)) == np.argmin(np.abs(times - example.center))
        if not inside.any():
            return []
        example_look = _unit(vectors[inside].mean(axis=0, keepdims=True))
        apart = np.array([not segment.overlaps(example) for segment in self._segments])
        found, scores = self._look_index.nearest(example_look, top_k, allowed=apart)
        return [
            SegmentHit(span=self._segments[i], score=_score(score), passage=None)
            for i, score in zip(found, scores, strict=True)
        ]

    @property
    def _segments(self) -> Sequence[TimeSpan]:
        return self._view.segments

    @cached_property
    def _passages(self) -> list[list[Passage]]:
        return [passages_in(self._view, segment) for segment in self._segments]

    @cached_property
    def _texts(self) -> list[str]:
        return ["\n".join(f"{p.text} {p.terms}".strip() for p in passages) for passages in self._passages]

    @cached_property
    def _lexical(self) -> LexicalIndex:
        return LexicalIndex(self._texts)

    @cached_property
    def _text_index(self) -> VectorIndex:
        return VectorIndex(self._embedder.embed(self._texts))

    @cached_property
    def _look_index(self) -> VectorIndex:
        return VectorIndex(self._segment_looks)

    @cached_property
    def _looks(self) -> tuple[NDArray[np.float64], Vectors]:
        rows = self._view.rows("looks")
        flat = rows.column("vector").combine_chunks().flatten().to_numpy()
        return rows.column("time").to_numpy(), flat.reshape(-1, DESCRIPTOR_DIMENSION)

    @cached_property
    def _segment_looks(self) -> Vectors:
        """The mean look of each segment, unit length; zero where no frame of it was described."""
        times, vectors = self._looks
        found = np.zeros((len(self._segments), DESCRIPTOR_DIMENSION), dtype=np.float32)
        for number, segment in enumerate(self._segments):
            first, end = np.searchsorted(times, [segment.start, segment.end])
            if end > first:
                found[number] = vectors[first:end].mean(axis=0)
        return _unit(found)

    def _dense(
        self, query: str, count: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        vector = self._embedder.embed([query])
        return self._text_index.nearest(vector, count, allowed=allowed, above=self._embedder.noise_floor)

    def _hits(self, found: NDArray[np.int64], scores: NDArray[np.float64], query: str) -> list[SegmentHit]:
        return [
            SegmentHit(span=self._segments[i], score=_score(score), passage=best_passage(self._passages[i], query))
            for i, score in zip(found, scores, strict=True)
        ]


def best_passage(passages: Sequence[Passage], query: str) -> Passage | None:
    """The passage that shares most with a query: the snippet of a hit."""
    wanted = set(content_words(query)) | {f"#{concept}" for concept in concepts(query)}

    def shared(passage: Passage) -> tuple[int, int]:
        own = words(passage.text)
        terms = set(own) | {f"#{concept}" for concept in concepts(f"{passage.text} {passage.terms}")}
        return len(wanted & terms), -len(own)

    return max(passages, key=shared) if passages else None


def _unit(vectors: NDArray[np.float32]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0).astype(np.float32)
    return unit


def _score(value: float) -> float:
    return round(float(value), 4)
