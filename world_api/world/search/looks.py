"""How the picture looks, moment by moment: the descriptors that a view lets through."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Vectors
from world_api.core.spans import TimeSpan
from world_api.world.arrays.items import Positions
from world_api.world.disk.columns import matrix
from world_api.world.disk.tables import DESCRIPTOR_DIMENSION
from world_api.world.view import View


class Looks:
    """The described moments of a view. ``vectors`` (all rows x dimension) hold those behind the cut, too: see ``of``."""

    def __init__(self, view: View) -> None:
        rows = view.world.rows("looks")
        self.vectors: Vectors = matrix(rows.column("vector"), DESCRIPTOR_DIMENSION)
        self._times = rows.column("time").to_numpy()
        self._hidden = np.zeros(0) if view.complete else rows.column("known_at").to_numpy()
        self._as_of = view.duration

    def of(self, span: TimeSpan) -> Positions:
        """The visible rows of a stretch; where it has none, the one nearest to its middle."""
        first, end = np.searchsorted(self._times, [span.start, span.end]).tolist()
        inside = self._visible(np.arange(first, end))
        if len(inside) or len(self._times) == 0:
            return inside
        seen = self._visible(np.arange(len(self._times)))
        if len(seen) == 0:
            return seen
        nearest = int(np.argmin(np.abs(self._times[seen] - span.center)))
        return seen[nearest : nearest + 1]

    def means(self, starts: NDArray[np.float64], ends: NDArray[np.float64]) -> Vectors:
        """The mean look of each stretch, unit length; zero where no frame of it was described."""
        found = np.zeros((len(starts), DESCRIPTOR_DIMENSION), dtype=np.float32)
        firsts, lasts = np.searchsorted(self._times, starts), np.searchsorted(self._times, ends)
        for number in np.flatnonzero(lasts > firsts).tolist():
            rows = self._visible(np.arange(firsts[number], lasts[number]))
            if len(rows):
                found[number] = self.vectors[rows].mean(axis=0)
        return unit(found)

    def _visible(self, rows: Positions) -> Positions:
        return rows[self._hidden[rows] <= self._as_of] if len(self._hidden) else rows


def unit(vectors: NDArray[np.float32]) -> Vectors:
    """The same directions at unit length; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    same: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0).astype(np.float32)
    return same
