"""The links that tracks are joined by, found by the tracks that hang together through them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from world_api.world.arrays.items import Positions, ranges
from world_api.world.disk.columns import one


class Links:
    """The rows of ``track_links`` that join tracks. No link leads from one group to another, whatever a cut hides."""

    def __init__(self, links: pa.Table, tracks: pa.Array) -> None:
        """Take all links of a world and the names of its joined tracks."""
        links = links.filter(pc.equal(links.column("kind"), "stitch"))
        earlier, later = one(links.column("earlier")), one(links.column("later"))
        names = pa.concat_arrays([earlier, later]).unique()
        older, younger = pc.index_in(earlier, names).to_numpy(), pc.index_in(later, names).to_numpy()
        groups = _groups(len(names), older, younger)
        order = np.argsort(groups[older], kind="stable")
        self._links = links
        self._rows, self._group_of_row = order, groups[older][order]
        place = pc.index_in(tracks, names).fill_null(-1).to_numpy()
        self._group_of_track: Positions = np.where(place >= 0, groups[place], -1) if len(names) else place

    def of_tracks(self, tracks: Positions, as_of: float) -> pa.Table:
        """The links known by then of the groups that some tracks (their places) belong to, in the order of the table."""
        groups = np.unique(self._group_of_track[tracks])
        firsts = np.searchsorted(self._group_of_row, groups)
        ends = np.searchsorted(self._group_of_row, groups, side="right")
        found = self._links.take(pa.array(np.sort(self._rows[ranges(firsts, ends)])))
        return found.filter(pc.less_equal(found.column("known_at"), as_of))


def _groups(count: int, one_end: Positions, other_end: Positions) -> Positions:
    """Of so many names the group of each, where links join two of them: its lowest member."""
    groups = np.arange(count)
    while True:
        lowest = np.minimum(groups[one_end], groups[other_end])
        joined = groups.copy()
        for ends in (one_end, other_end):
            np.minimum.at(joined, groups[ends], lowest)
            np.minimum.at(joined, ends, lowest)
        while not np.array_equal(joined, joined[joined]):
            joined = joined[joined]
        if np.array_equal(joined, groups):
            return groups
        groups = joined
