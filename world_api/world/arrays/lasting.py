"""Rows that last (speech, captions, actions): those of a whole world, and what a causal cut shows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from world_api.world.arrays.items import Positions, Reach, Times, extended


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """n rows that last, in order of their start. The first ``same`` are those of the whole world as they are.

    ``starts``, ``ends`` (n, seconds) lie inside what is visible; ``rows`` (n): their places in the table.
    """

    starts: Times
    ends: Times
    rows: Positions
    same: int


class LastingRows:
    """All rows of a table that has ``start`` and ``end``, in a video of that ``duration`` (seconds)."""

    def __init__(self, table: pa.Table, duration: float) -> None:
        starts, known_at = table.column("start").to_numpy(), table.column("known_at").to_numpy()
        ends = np.maximum(starts, table.column("end").to_numpy())
        rows = np.flatnonzero((starts < duration) & (ends > 0.0))
        self.whole = Lasting(
            starts=np.maximum(starts[rows], 0.0), ends=np.minimum(ends[rows], duration), rows=rows, same=len(rows)
        )
        self.reach = Reach(self.whole.ends)
        self._starts, self._known_at = starts[rows], known_at[rows]
        #: The earliest cut (n, seconds) that shows each as it is.
        self.settled_at = np.maximum(self._known_at, np.maximum(ends[rows], np.nextafter(self._starts, np.inf)))
        #: The earliest cut that shows each, and all before it, as they are.
        self._all_settled = np.maximum.accumulate(self.settled_at) if len(rows) else self.settled_at

    def until(self, as_of: float) -> Lasting:
        """What a cut inside the video shows."""
        whole = self.whole
        same = int(np.searchsorted(self._all_settled, as_of, side="right"))
        end = int(np.searchsorted(self._starts, as_of))
        rest = np.flatnonzero(self._known_at[same:end] <= as_of) + same
        return Lasting(
            starts=extended(whole.starts[:same], whole.starts[rest]),
            ends=extended(whole.ends[:same], np.minimum(whole.ends[rest], as_of)),
            rows=extended(whole.rows[:same], whole.rows[rest]),
            same=same,
        )

    def shortened(self, as_of: float) -> Positions:
        """Which of all a cut shows and lets end earlier."""
        same = int(np.searchsorted(self._all_settled, as_of, side="right"))
        end = int(np.searchsorted(self._starts, as_of))
        cut = (self._known_at[same:end] <= as_of) & (self.whole.ends[same:end] > as_of)
        found: Positions = np.flatnonzero(cut) + same
        return found
