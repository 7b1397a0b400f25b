"""Indexes: BM25 over texts in English or Chinese, exact vector search (FAISS), exact quotes, and rankings from scores.

Statistics are those of the visible texts only, so nothing after a causal cut influences a search. Source: Robertson and
Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009); k1 = 1.2, b = 0.75.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Vectors
from world_api.core.spans import TimeSpan, without_spans
from world_api.core.vocabulary import concepts, content_words, words
from world_api.world.tables import DESCRIPTOR_DIMENSION, matrix
from world_api.world.timeline import Positions
from world_api.world.view import View

_K1, _B = 1.2, 0.75


#: Words that replace each other in nearly every sentence. A Chinese word has two characters, a unit of the index.
_SYNONYMS = (
    "fridge refrigerator 冰箱", "sofa couch settee 沙发", "tv television telly 电视", "cupboard cabinet 柜子 橱柜",
    "phone telephone cellphone smartphone 手机 电话", "rubbish garbage trash 垃圾", "bicycle bike 单车", "cup mug 杯子",
    "picture photo photograph 照片 相片", "spectacles eyeglasses 眼镜", "backpack rucksack 背包", "parcel package 包裹",
    "stairs staircase stairway 楼梯", "lift elevator 电梯", "flashlight torch 手电", "trousers pants 裤子", "film movie 电影",
    "jumper sweater pullover 毛衣", "shop store 商店", "baby infant 婴儿", "doctor physician 医生 大夫", "rug carpet 地毯",
    "mother mum mom 妈妈 母亲", "father dad 爸爸 父亲", "corridor hallway 走廊 过道", "kitchen 厨房", "bedroom 卧室",
    "open 打开", "begin start 开始", "leave depart 离开", "chat converse 聊天", "throw toss 抛出", "shout yell scream",
    "cry weep 哭泣", "buy purchase 购买", "repair fix mend 修理", "jump leap 跳跃", "hide conceal 隐藏",
)  # fmt: skip


@lru_cache(maxsize=1)
def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for group in _SYNONYMS:
        units = frozenset(unit for word in group.split() for unit in words(word)[-1:])
        for unit in units:
            groups[unit] = groups.get(unit, frozenset()) | units
    return groups


def synonyms(unit: str) -> frozenset[str]:
    """Return a unit of a text (as ``words`` gives them) and the units of the words that mean the same."""
    return _groups().get(unit, frozenset()) | {unit}


def index_terms(text: str) -> list[str]:
    """Return the terms of a text: its words (stems), and the colours and categories they name, marked ``#``."""
    return words(text) + sorted(f"#{concept}" for concept in concepts(text))


def query_terms(query: str) -> list[str]:
    """Return the terms of a query: as ``index_terms`` does, but with synonyms and without stop words."""
    own = [other for unit in content_words(query) for other in (unit, *sorted(synonyms(unit) - {unit}))]
    return own + sorted(f"#{concept}" for concept in concepts(query))


class Postings(Protocol):
    """An inverted index: the documents that contain each term."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of terms in each document, shape (n,)."""

    def find(self, term: str) -> tuple[Positions, Positions]:
        """Return the documents that contain a term, in rising order, and how often each contains it."""


class TextPostings:
    """The postings of a list of texts, in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        postings: dict[str, tuple[list[int], list[int]]] = {}
        lengths = np.zeros(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            counts = _counted(text)
            lengths[number] = sum(count for _, count in counts)
            for term, count in counts:
                documents, frequencies = postings.setdefault(term, ([], []))
                documents.append(number)
                frequencies.append(count)
        self.lengths = lengths
        self._postings = postings

    def find(self, term: str) -> tuple[Positions, Positions]:
        """Return the documents that contain a term, in rising order, and how often each contains it."""
        documents, frequencies = self._postings.get(term, ([], []))
        return np.array(documents, dtype=np.int64), np.array(frequencies, dtype=np.int64)


@lru_cache(maxsize=4096)
def _counted(text: str) -> tuple[tuple[str, int], ...]:
    """Return the terms of a text, each with its count; cached, because memories are searched repeatedly."""
    return tuple(Counter(index_terms(text)).items())


class LexicalIndex:
    """A BM25 index of several parts ``(postings, count)``: the first ``count`` documents of each, one after another."""

    def __init__(self, *parts: tuple[Postings, int]) -> None:
        self._parts = parts
        self._count = sum(count for _, count in parts)

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> LexicalIndex:
        """Return an index of a list of texts."""
        return cls((TextPostings(texts), len(texts)))

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the BM25 score of every document, shape (n,); 0 if no term matches."""
        return self._scores(query)[0]

    def shares(self, query: str) -> NDArray[np.float64]:
        """Return the BM25 score of every document as a share of the greatest possible one, 0 to 1, shape (n,).

        Terms that no document contains count as well: a query that shares only common words with a document has a small share.
        """
        scores, most = self._scores(query)
        return scores / most if most else scores

    def _scores(self, query: str) -> tuple[NDArray[np.float64], float]:
        total, most = np.zeros(self._count, dtype=np.float64), 0.0
        for term in dict.fromkeys(query_terms(query)):
            documents, frequencies = self._find(term)
            rarity = float(np.log1p((self._count - len(documents) + 0.5) / (len(documents) + 0.5)))
            most += rarity * (_K1 + 1)
            if len(documents) == 0:
                continue
            norm = _K1 * (1 - _B + _B * self._lengths[documents] / self._mean)
            total[documents] += rarity * frequencies * (_K1 + 1) / (frequencies + norm)
        return total, most

    def holding(self, terms: Iterable[str]) -> NDArray[np.bool_]:
        """Return whether each document contains one of these terms, shape (n,)."""
        found = np.zeros(self._count, dtype=np.bool_)
        for term in terms:
            found[self._find(term)[0]] = True
        return found

    def _find(self, term: str) -> tuple[Positions, Positions]:
        found, first = [], 0
        for postings, count in self._parts:
            documents, frequencies = postings.find(term)
            end = int(np.searchsorted(documents, count))
            found.append((documents[:end] + first, frequencies[:end]))
            first += count
        return np.concatenate([d for d, _ in found]), np.concatenate([f for _, f in found])

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        return np.concatenate([postings.lengths[:count] for postings, count in self._parts]).astype(np.float64)

    @cached_property
    def _mean(self) -> float:
        return float(self._lengths.mean()) if self._lengths.any() else 1.0


def holds_words(text: str, words: str) -> bool:
    """Whether a text contains the words as a phrase, ignoring case and punctuation.

    In scripts that separate words, only whole words count: ``hell`` is not in ``hello``.
    """
    sought, found = _bare(words), _bare(text)
    at = found.find(sought) if sought else -1
    while at >= 0:
        end = at + len(sought)
        if not (_goes_on(found[at - 1 : at], sought[:1]) or _goes_on(sought[-1:], found[end : end + 1])):
            return True
        at = found.find(sought, at + 1)
    return False


def _goes_on(before: str, after: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    return bool(before) and bool(after) and _tells_words(before) and _tells_words(after)


def _tells_words(character: str) -> bool:
    return character.isdecimal() or character.lower() != character.upper()


@lru_cache(maxsize=16384)
def _bare(text: str) -> str:
    """Return the letters, marks and digits of a text in lower case, with one space for everything between them."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    return " ".join("".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in folded).split())


def best_first(scores: NDArray[np.float64] | NDArray[np.float32], count: int | None = None) -> NDArray[np.int64]:
    """Return positions by falling score, equal scores in rising order: only positive scores, at most ``count``."""
    found = np.flatnonzero(scores > 0)
    if count is not None and len(found) > count:
        own = scores[found]
        least = np.partition(own, len(own) - count)[len(own) - count]
        above, equal = found[own > least], found[own == least]
        found = np.sort(np.concatenate([above, equal[: count - len(above)]]))
    return found[np.argsort(-scores[found], kind="stable")]


def fuse(rankings: Sequence[NDArray[np.int64]], count: int, *, k: int = 60) -> NDArray[np.float64]:
    """Score ``count`` items by reciprocal rank fusion (Cormack et al. 2009): 1 / (k + rank) per ranking, best first."""
    fused = np.zeros(count, dtype=np.float64)
    for ranking in rankings:
        fused[ranking] += 1.0 / (k + 1 + np.arange(len(ranking)))
    return fused


#: Weight and exponent of the share of words beside an inner product.
_WORDS, _RISE = 4.0, 1.5


def words_and_meaning(shares: NDArray[np.float64], near: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores from shares of words (``LexicalIndex.shares``) and inner products with a sentence encoder's query vector.

    Both are measures of the match itself. Ranks are not: the best of some texts that share a common word with a paraphrase
    would count as much as the line that means the same. The constants were chosen on questions to dialogues, which repeat words,
    and on paraphrases, which do not (docs/decisions/050).
    """
    return _WORDS * shares**_RISE + near


#: A query with at most this share of non-zero dimensions is answered from their columns.
SPARSE = 0.2


class VectorIndex:
    """n vectors of unit length (or zero), searched exactly.

    ``columns`` (dimension x n) holds them dimension by dimension: a query with few non-zero dimensions, such as hashed
    words, reads only those. For other queries a FAISS index is built when it is first needed.
    """

    def __init__(self, columns: Vectors) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return int(self._columns.shape[1])

    @cached_property
    def _index(self) -> Any:
        import faiss

        index: Any = faiss.IndexFlatIP(self._columns.shape[0])
        index.add(np.ascontiguousarray(self._columns.T))
        return index

    def nearest(
        self, query: Vectors, count: int, *, first: int = 0, end: int | None = None, above: float = 0.0
    ) -> tuple[Positions, NDArray[np.float64]]:
        """Return positions and scores of the best ``count`` rows in ``[first, end)``, best first, ties by position.

        ``query`` is one row; scores are inner products. Rows that do not score more than ``above`` (0 or more) are left
        out.
        """
        end = len(self) if end is None else min(end, len(self))
        count = min(count, end - first)
        if count <= 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        query = np.ascontiguousarray(query, dtype=np.float32)
        used = np.flatnonzero(query[0])
        if len(used) <= SPARSE * query.shape[1]:
            return self._by_column(query[0], used, count, first, end, above)
        import faiss

        among: Any = faiss.SearchParameters  # its stub lacks the argument
        among = among(sel=faiss.IDSelectorRange(first, end))
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # for this thread: to distribute one query costs more than it saves
        try:
            best, _ = self._index.search(query, count, params=among)
            # Among equal scores the first positions come first, so all rows as good as the last one are found.
            least = max(np.float32(above), np.nextafter(best[0, -1], np.float32(-np.inf)))
            _, scores, positions = self._index.range_search(query, float(least), params=among)
        finally:
            faiss.omp_set_num_threads(threads)
        order = np.lexsort((positions, -scores))[:count]
        return positions[order].astype(np.int64), scores[order].astype(np.float64)

    def _by_column(
        self, query: NDArray[np.float32], used: Positions, count: int, first: int, end: int, above: float
    ) -> tuple[Positions, NDArray[np.float64]]:
        """Return what ``nearest`` does; adds the ``used`` (non-zero) dimensions in order, so scores do not depend on the range."""
        scores = np.zeros(end - first, dtype=np.float32)
        for dimension in used.tolist():
            scores += query[dimension] * self._columns[dimension, first:end]
        found = best_first(np.where(scores > np.float32(above), scores, np.float32(0)), count)
        return found + first, scores[found].astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The first ``count`` rows of an index. In an index of several parts they are numbered from ``offset`` on."""

    index: VectorIndex
    count: int
    offset: int

    def nearest(
        self, query: Vectors, count: int, first: int, end: int, above: float
    ) -> tuple[Positions, NDArray[np.float64]]:
        """Return the rows nearest to a query among those numbered ``[first, end)``, as ``VectorIndex.nearest`` does."""
        own_first, own_end = max(0, first - self.offset), min(self.count, end - self.offset)
        found, scores = self.index.nearest(query, count, first=own_first, end=own_end, above=above)
        return found + self.offset, scores


def nearest_of(
    parts: Sequence[Rows], query: Vectors, count: int, among: Sequence[tuple[int, int]], above: float = 0.0
) -> tuple[Positions, NDArray[np.float64]]:
    """Return numbers and scores of the ``count`` rows of several parts nearest to a query, best first.

    ``among``: half-open ranges of numbers in which they have to be. ``above``: as in ``VectorIndex.nearest``.
    """
    found = [part.nearest(query, count, first, end, above) for part in parts for first, end in among]
    positions = np.concatenate([positions for positions, _ in found])
    scores = np.concatenate([scores for _, scores in found])
    order = np.lexsort((positions, -scores))[:count]
    return positions[order], scores[order]


class VisualDescriptors:
    """The visual descriptors of a view. ``vectors`` (all rows x dimension) include rows that the cut hides."""

    def __init__(self, view: View) -> None:
        rows = view.world.rows("looks")
        self.vectors: Vectors = matrix(rows.column("vector"), DESCRIPTOR_DIMENSION)
        self._times = rows.column("time").to_numpy()
        self._visible = view.cut.visible(rows)
        self._holes = view.holes

    def of(self, span: TimeSpan) -> Positions:
        """Return the positions of the visible rows in an interval; if there are none, of the one nearest to its middle.

        The middle is that of the first part that was decoded. If no part was, there are none.
        """
        first, end = np.searchsorted(self._times, [span.start, span.end]).tolist()
        inside: Positions = np.flatnonzero(self._visible[first:end]) + first
        if len(inside) or len(self._times) == 0:
            return inside
        seen: Positions = np.flatnonzero(self._visible)
        decoded = without_spans(span, self._holes)
        if len(seen) == 0 or not decoded:
            return seen[:0]
        nearest = int(np.argmin(np.abs(self._times[seen] - decoded[0].center)))
        return seen[nearest : nearest + 1]

    def means(self, starts: NDArray[np.float64], ends: NDArray[np.float64]) -> Vectors:
        """Return the mean descriptor of each interval, unit length, shape (n, dimension); zero without visible rows."""
        found = np.zeros((len(starts), DESCRIPTOR_DIMENSION), dtype=np.float32)
        firsts, lasts = np.searchsorted(self._times, starts), np.searchsorted(self._times, ends)
        for number in np.flatnonzero(lasts > firsts).tolist():
            rows = np.flatnonzero(self._visible[firsts[number] : lasts[number]]) + firsts[number]
            if len(rows):
                found[number] = self.vectors[rows].mean(axis=0)
        return unit(found)


def unit(vectors: NDArray[np.float32]) -> Vectors:
    """Return the vectors (rows) scaled to unit length; a zero vector remains zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    same: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0).astype(np.float32)
    return same
