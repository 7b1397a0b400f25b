"""Exact vector search in memory, by inner product, over the rows of one view (FAISS)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Vectors


class VectorIndex:
    """n vectors of unit length (or zero), searched exactly. The index is built when first searched."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float32)

    @cached_property
    def _index(self) -> Any:
        import faiss

        index: Any = faiss.IndexFlatIP(self._vectors.shape[1])
        index.add(self._vectors)
        return index

    def nearest(
        self, query: Vectors, count: int, *, allowed: NDArray[np.bool_] | None = None, above: float = 0.0
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions and scores of the nearest rows, best first (equal scores in their own order).

        ``query`` is one row; only rows that are ``allowed`` (n) and score more than ``above`` are found.
        """
        total = len(self._vectors)
        if total == 0 or count <= 0 or (allowed is not None and not allowed.any()):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        import faiss

        chosen = None
        if allowed is not None:
            parameters: Any = faiss.SearchParameters  # its stub lacks the argument
            chosen = parameters(sel=faiss.IDSelectorBatch(np.flatnonzero(allowed).astype(np.int64)))
        query = np.ascontiguousarray(query, dtype=np.float32)
        scores, positions = self._index.search(query, min(count, total), params=chosen)
        kept = (positions[0] >= 0) & (scores[0] > above)
        found, values = positions[0][kept].astype(np.int64), scores[0][kept].astype(np.float64)
        order = np.lexsort((found, -values))
        return found[order], values[order]
