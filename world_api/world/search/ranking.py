"""From scores to rankings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def best_first(scores: NDArray[np.float64] | NDArray[np.float32], count: int | None = None) -> NDArray[np.int64]:
    """Positions by falling score, equal scores in their own order; only positive scores, the first ``count`` of them."""
    found = np.flatnonzero(scores > 0)
    if count is not None and len(found) > count:
        own = scores[found]
        least = np.partition(own, len(own) - count)[len(own) - count]
        above, equal = found[own > least], found[own == least]
        found = np.sort(np.concatenate([above, equal[: count - len(above)]]))
    order: NDArray[np.int64] = found[np.argsort(-scores[found], kind="stable")]
    return order


def fuse(rankings: Sequence[NDArray[np.int64]], count: int, *, k: int = 60) -> NDArray[np.float64]:
    """Reciprocal rank fusion (Cormack et al. 2009): the fused score of each of ``count`` items; 0 for unranked ones."""
    fused = np.zeros(count, dtype=np.float64)
    for ranking in rankings:
        fused[ranking] += 1.0 / (k + 1 + np.arange(len(ranking)))
    return fused
