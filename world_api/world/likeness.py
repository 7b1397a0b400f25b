"""Which followed things look alike, put together from the links a causal cut lets through.

A likeness merges nothing: it says which other entity a thing may be, and how alike the two look.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from world_api.world.arrays.followed import Tracks
from world_api.world.arrays.items import Positions
from world_api.world.disk.columns import one
from world_api.world.disk.stored import World
from world_api.world.tracks import Track

#: A thing is said to be alike so many others at most.
MOST = 3


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """Another entity that a thing may be. ``score`` in 0..1 orders likenesses and is not calibrated."""

    entity_id: str
    score: float


class Likenesses:
    """The links of a whole world between things that look alike, found by the track they name."""

    def __init__(self, world: World) -> None:
        rows = world.rows("look_links").sort_by([("known_at", "ascending"), ("later", "ascending")])
        self._earlier, self._later = one(rows.column("earlier")), one(rows.column("later"))
        self._scores, self._known_at = rows.column("score").to_numpy(), rows.column("known_at").to_numpy()
        # Both ends of every link, in order of the track they name: a track's links lie one beside the other.
        ends = pa.concat_arrays([self._earlier, self._later])
        order = pc.sort_indices(ends)
        self._names = ends.take(order)
        self._links: Positions = order.to_numpy().astype(np.int64) % max(1, rows.num_rows)

    def of(self, track: Track, tracks: Tracks, as_of: float | None) -> tuple[Likeness, ...]:
        """The tracks of the same category that one looks like, as far as a cut lets links through; the most alike first.

        Of two links between the same things the one that became known later holds, since more was seen by then.
        """
        latest: dict[str, float] = {}
        for number in sorted({number for part in tracks.parts(track) for number in self._links_of(part)}):
            if as_of is not None and self._known_at[number] > as_of:
                continue
            for name in (self._earlier[number].as_py(), self._later[number].as_py()):
                other = tracks.of_part(name)
                if other is not None and other.track_id != track.track_id and other.category == track.category:
                    latest[other.entity_id] = round(float(self._scores[number]), 2)
        found = [Likeness(entity_id=entity_id, score=alike) for entity_id, alike in latest.items()]
        return tuple(sorted(found, key=lambda item: (-item.score, item.entity_id))[:MOST])

    def _links_of(self, name: str) -> list[int]:
        """The links that name a track."""
        first = bisect_left(self._names, name, key=_text)
        end = first
        while end < len(self._names) and _text(self._names[end]) == name:
            end += 1
        numbers: list[int] = self._links[first:end].tolist()
        return numbers


def _text(value: pa.StringScalar) -> str:
    text: str = value.as_py()
    return text
