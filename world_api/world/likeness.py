"""Which followed things look alike, put together from the links a causal cut lets through.

A likeness merges nothing: it says which other entity a thing may be, and how alike the two look.
"""

from __future__ import annotations

from dataclasses import dataclass

from world_api.world.arrays.followed import Tracks
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
        self._links = [rows.column(name).to_pylist() for name in ("earlier", "later", "score", "known_at")]
        self._by_track: dict[str, list[int]] = {}
        for number, ends in enumerate(zip(*self._links[:2], strict=True)):
            for name in ends:
                self._by_track.setdefault(name, []).append(number)

    def of(self, track: Track, tracks: Tracks, as_of: float | None) -> tuple[Likeness, ...]:
        """The tracks of the same category that one looks like, as far as a cut lets links through; the most alike first.

        Of two links between the same things the one that became known later holds, since more was seen by then.
        """
        earlier, later, score, known_at = self._links
        numbers = {number for part in tracks.parts(track) for number in self._by_track.get(part, ())}
        latest: dict[str, float] = {}
        for number in sorted(numbers):
            if as_of is not None and known_at[number] > as_of:
                continue
            for name in (earlier[number], later[number]):
                other = tracks.of_part(name)
                if other is not None and other.track_id != track.track_id and other.category == track.category:
                    latest[other.entity_id] = round(float(score[number]), 2)
        found = [Likeness(entity_id=entity_id, score=alike) for entity_id, alike in latest.items()]
        return tuple(sorted(found, key=lambda item: (-item.score, item.entity_id))[:MOST])
