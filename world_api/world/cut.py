"""The causal cut: which rows a session may know. All comparisons with ``known_at`` by readers are in this module."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cut:
    """Hides what became known after ``as_of`` (seconds); None hides nothing."""

    as_of: float | None

    def shows(self, known_at: float) -> bool:
        """Whether a fact that became known at a time (seconds) is visible."""
        return self.as_of is None or known_at <= self.as_of

    def shows_each(self, known_at: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which of n facts are visible, from the times at which they became known; shape (n,)."""
        return np.ones(len(known_at), dtype=np.bool_) if self.as_of is None else known_at <= self.as_of

    def visible(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Return which rows of a table with a column ``known_at`` are visible, shape (n,)."""
        return self.shows_each(rows.column("known_at").to_numpy())

    def visible_rows(self, rows: pa.Table) -> pa.Table:
        """Return the visible rows of a table with a column ``known_at``."""
        return rows if self.as_of is None else rows.filter(pa.array(self.visible(rows)))
