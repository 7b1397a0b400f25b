"""Which followed things look alike, put together from the links a causal cut lets through.

A likeness merges nothing: it says which other entity a thing may be, and how alike the two look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from world_api.world.tracks import Track

#: A thing is said to be alike so many others at most.
MOST = 3


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """Another entity that a thing may be. ``score`` in 0..1 orders likenesses and is not calibrated."""

    entity_id: str
    score: float


def likenesses(links: pa.Table, tracks: Sequence[Track], roots: Mapping[str, str]) -> dict[str, tuple[Likeness, ...]]:
    """By entity id, the entities of the same category that it looks like, the most alike first.

    ``links`` are rows of ``look_links``; ``roots`` names the first track of what each track goes on. Of two links
    between the same things the one that became known later holds, since more was seen by then.
    """
    by_id = {track.track_id: track for track in tracks}
    latest: dict[tuple[str, str], float] = {}
    for row in sorted(links.to_pylist(), key=lambda row: (row["known_at"], row["later"])):
        earlier, later = (by_id.get(roots.get(row[end], row[end])) for end in ("earlier", "later"))
        if earlier is None or later is None or earlier is later or earlier.category != later.category:
            continue
        first, second = sorted((earlier.entity_id, later.entity_id))
        latest[first, second] = round(float(row["score"]), 2)
    found: dict[str, list[Likeness]] = {}
    for (one, other), score in latest.items():
        found.setdefault(one, []).append(Likeness(entity_id=other, score=score))
        found.setdefault(other, []).append(Likeness(entity_id=one, score=score))
    return {
        entity: tuple(sorted(alike, key=lambda item: (-item.score, item.entity_id))[:MOST])
        for entity, alike in found.items()
    }
