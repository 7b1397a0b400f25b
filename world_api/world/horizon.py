"""How far back a causal cut changes what a world says: everything before can be taken over as it is.

A cut hides rows; near it, things also end earlier, and what was followed looks different as long as less of it was
seen. Before the earliest such change the visible part and the whole world say the same.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from world_api.world.items import Positions
from world_api.world.tracks import JoinedTracks, Tracks
from world_api.world.whole import BEGINS, Whole

#: The tables whose rows make up what segments say and look like, sightings apart.
_TABLES = tuple(name for name in BEGINS if name not in ("scene_cuts", "sightings"))


def settled_until(whole: Whole, tracks: Tracks, as_of: float) -> float:
    """The time before which the segments of a cut and of the whole world have the same content."""
    bound = min(as_of, *(whole.first_unseen(name, as_of) for name in _TABLES))
    cut = np.flatnonzero((whole.tracks.known_at > as_of) & (whole.tracks.start_times < bound))
    seen_whole = _said(whole.tracks, cut, bound)
    opened = tracks.open_tracks
    seen_cut = _said(opened, np.arange(opened.count), bound) if opened is not None else Counter()
    differing = (seen_whole - seen_cut) + (seen_cut - seen_whole)
    return min(bound, *(start for start, _, _ in differing)) if differing else bound


def _said(tracks: JoinedTracks, places: Positions, bound: float) -> Counter[tuple[float, float, str]]:
    """What tracks put into segments before a time: when they appear, and how they are described."""
    owners, starts, ends = tracks.appearances(places)
    early = np.flatnonzero(starts < bound)
    return Counter(
        (float(starts[i]), min(float(ends[i]), bound), tracks.described(int(places[owners[i]]))) for i in early
    )
