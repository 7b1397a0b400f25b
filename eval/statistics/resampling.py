"""Drawing levels of factors again: which rows count how often in each draw.

Rows are summed by cell first (a cluster, or a cluster crossed with seeds and library draws), so that a draw costs as many
steps as there are cells and not rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST_NUMBERS = 4_000_000  #: held at once, of each kind


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Sums and numbers of rows by cell.

    ``levels[f][c]`` is the level of factor ``f`` in cell ``c``; the first factor is the cluster.
    """

    sums: Floats
    sizes: Floats
    levels: tuple[Indices, ...]
    counts: tuple[int, ...]  #: levels that each factor has

    @property
    def mean(self) -> float:
        """Of all rows."""
        return float(self.sums.sum() / self.sizes.sum())


def cells_of(values: Floats, factors: Sequence[Sequence[Hashable]]) -> Cells:
    """Sum rows by cell. Levels are in the order of their names, so that the order of rows makes no difference."""
    coded = [_coded(labels) for labels in factors]
    counts = tuple(count for _, count in coded)
    keys = np.zeros(len(values), dtype=np.int64)
    for codes, count in coded:
        keys = keys * count + codes
    cells, place = np.unique(keys, return_inverse=True)
    levels = []
    for count in reversed(counts):
        cells, level = np.divmod(cells, count)
        levels.append(level)
    return Cells(
        sums=np.bincount(place, weights=values).astype(np.float64),
        sizes=np.bincount(place).astype(np.float64),
        levels=tuple(reversed(levels)),
        counts=counts,
    )


def drawn_means(cells: Cells, *, seed: int, draws: int, fewer: int = 1) -> Floats:
    """The mean in each draw: of every factor so many levels less ``fewer`` are drawn, with replacement.

    Drawing one level less than there are makes the spread of the draws that of the estimate (Rao and Wu 1988). A row counts
    as often as its levels were drawn, multiplied (Owen 2007). Draws in which no row is left are left out.
    """
    random = np.random.default_rng(seed)
    means = [
        _means(cells, [_levels(random, count, many, fewer) for count in cells.counts])
        for many in _portions(draws, max(len(cells.sums), *cells.counts))
    ]
    return np.concatenate(means)


def _levels(random: np.random.Generator, count: int, draws: int, fewer: int) -> Indices:
    return random.integers(0, count, size=(draws, max(count - fewer, 1)))


def _means(cells: Cells, drawn: Sequence[Indices]) -> Floats:
    if len(drawn) == 1:  # the sums of the clusters that were drawn, with no need to count them
        [only] = drawn
        means: Floats = cells.sums[only].sum(axis=1) / cells.sizes[only].sum(axis=1)
        return means
    weights = np.ones((len(drawn[0]), len(cells.sums)))
    for chosen, levels, count in zip(drawn, cells.levels, cells.counts, strict=True):
        weights *= _counted(chosen, count)[:, levels]
    sizes = weights @ cells.sizes
    kept = sizes > 0
    some: Floats = (weights[kept] @ cells.sums) / sizes[kept]
    return some


def _counted(chosen: Indices, count: int) -> Floats:
    """How often each level was drawn in each draw: draws x levels."""
    draws = len(chosen)
    at = (chosen + count * np.arange(draws)[:, None]).ravel()
    return np.bincount(at, minlength=draws * count).reshape(draws, count).astype(np.float64)


def _portions(draws: int, width: int) -> Iterator[int]:
    """So many draws at a time that memory stays bounded."""
    at_once = max(1, _MOST_NUMBERS // max(width, 1))
    while draws > 0:
        yield min(draws, at_once)
        draws -= at_once


def _coded(labels: Sequence[Hashable]) -> tuple[Indices, int]:
    names = _sorted(set(labels))
    places = {name: place for place, name in enumerate(names)}
    return np.fromiter((places[label] for label in labels), dtype=np.int64, count=len(labels)), len(names)


def _sorted(names: set[Hashable]) -> list[Hashable]:
    """Numbers by size, then all else by how it is written."""
    numbers = [name for name in names if isinstance(name, int)]
    return [*sorted(numbers), *sorted(names.difference(numbers), key=repr)]
