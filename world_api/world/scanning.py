"""Every segment against some words: which hold all of them. Nothing is ranked, so nothing is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world_api.core.lexicon import required_terms
from world_api.core.spans import TimeSpan
from world_api.world.arrays.items import Positions
from world_api.world.search.captions import Captions, segments_of
from world_api.world.search.lexical import index_terms
from world_api.world.search.passages import Passage, Passages, passages_of
from world_api.world.search.texts import Texts
from world_api.world.view import View


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What looking at the segments ``first`` to ``end`` (positions, half-open) gave.

    ``matching``: positions of the segments that match, rising. ``segments`` and ``passages`` (n): which passage matched in
    which segment, segment after segment; ``captions``: which of those that a model gave. None where every segment was asked
    for.
    """

    first: int
    end: int
    matching: Positions
    segments: Positions
    passages: Positions
    captions: Mapping[int, Sequence[Passage]]

    def found_in(self, segment: int, passages: Passages) -> list[Passage]:
        """What matched in a segment."""
        first, end = np.searchsorted(self.segments, [segment, segment + 1]).tolist()
        return [*(passages[place] for place in self.passages[first:end].tolist()), *self.captions.get(segment, ())]


class Scanner:
    """Looks at every visible segment. What lies in which segment is found out once for all scans of a view."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._passages = passages_of(view)
        self._texts = view.world.once(Texts)
        self._in_segment, self._inside = self._passages.in_each(view.segments)

    def scan(self, query: str | None, captions: Captions, *, within: TimeSpan | None, least: float | None) -> Scan:
        """The segments that share time with a stretch and in which one passage holds every required term of the query.

        ``captions`` are passages too, those that a model gave. ``least`` is a confidence that a passage must have, where its
        source tells any. Without a query all match.
        """
        segments = self._view.segments
        touched = segments.touching(within) if within else np.arange(len(segments))
        if within:
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
        known, anew = self._holding(terms)
        fits: NDArray[np.bool_] = np.isin(numbers, np.concatenate([known, anew]))
        if within is not None:
            starts, ends = self._passages.starts[passages], self._passages.ends[passages]
            fits &= (starts < within.end) & ((ends > within.start) | (starts >= within.start))
        if least is not None:
            sure = self._passages.confidences[passages]
            fits &= np.isnan(sure) | (sure >= least)
        return fits

    def _holding(self, terms: list[str]) -> tuple[Positions, Positions]:
        """The numbers of the texts that hold all terms: those of the whole world, and those that the cut made anew."""
        if not terms:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        known = self._texts.holding(terms[0])
        for term in terms[1:]:
            known = np.intersect1d(known, self._texts.holding(term), assume_unique=True)
        wanted = set(terms)
        anew = [
            -1 - place for place, text in enumerate(self._passages.made_anew) if wanted <= frozenset(index_terms(text))
        ]
        return known, np.array(anew, dtype=np.int64)


def scanner_of(view: View) -> Scanner:
    """The scanner of a view."""
    return view.once(Scanner)
