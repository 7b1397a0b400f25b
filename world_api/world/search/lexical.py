"""Lexical search: BM25 over the visible texts, in English, Chinese or both.

Statistics are those of the texts given, so an index built behind a causal cut knows nothing of what comes after it.
Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009); k1 = 1.2, b = 0.75.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from world_api.core.lexicon import concepts, content_words, words

_K1, _B = 1.2, 0.75


def index_terms(text: str) -> list[str]:
    """The terms a text is found by: its words, and the concepts they name (marked ``#``)."""
    return words(text) + sorted(f"#{concept}" for concept in concepts(text))


def query_terms(query: str) -> list[str]:
    """The terms a query looks for."""
    return content_words(query) + sorted(f"#{concept}" for concept in concepts(query))


class LexicalIndex:
    """Postings of n texts as arrays; a query touches only the postings of its own terms."""

    def __init__(self, texts: Sequence[str]) -> None:
        postings: dict[str, tuple[list[int], list[int]]] = {}
        lengths = np.zeros(len(texts), dtype=np.float64)
        for number, text in enumerate(texts):
            counts = Counter(index_terms(text))
            lengths[number] = sum(counts.values())
            for term, count in counts.items():
                documents, frequencies = postings.setdefault(term, ([], []))
                documents.append(number)
                frequencies.append(count)
        mean = float(lengths.mean()) if len(texts) and lengths.any() else 1.0
        self._count = len(texts)
        self._norm = _K1 * (1 - _B + _B * lengths / mean)
        self._postings = {
            term: (np.asarray(documents, dtype=np.int64), np.asarray(frequencies, dtype=np.float64))
            for term, (documents, frequencies) in postings.items()
        }

    def scores(self, query: str) -> NDArray[np.float64]:
        """BM25 score of every text (length n); 0 where no term matches."""
        total = np.zeros(self._count, dtype=np.float64)
        for term in dict.fromkeys(query_terms(query)):
            found = self._postings.get(term)
            if found is None:
                continue
            documents, frequencies = found
            rarity = np.log1p((self._count - len(documents) + 0.5) / (len(documents) + 0.5))
            total[documents] += rarity * frequencies * (_K1 + 1) / (frequencies + self._norm[documents])
        return total


def best_first(scores: NDArray[np.float64] | NDArray[np.float32]) -> NDArray[np.int64]:
    """Positions by falling score, equal scores in their own order; only positive scores."""
    order = np.argsort(-scores, kind="stable")
    return order[scores[order] > 0].astype(np.int64)


def fuse(rankings: Sequence[NDArray[np.int64]], count: int, *, k: int = 60) -> NDArray[np.float64]:
    """Reciprocal rank fusion (Cormack et al. 2009): the fused score of each of ``count`` items; 0 for unranked ones."""
    fused = np.zeros(count, dtype=np.float64)
    for ranking in rankings:
        fused[ranking] += 1.0 / (k + 1 + np.arange(len(ranking)))
    return fused
