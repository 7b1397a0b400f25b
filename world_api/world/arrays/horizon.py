"""How far back a causal cut changes what a world says: everything before can be taken over as it is.

A cut hides rows; near it, things also end earlier, and what was followed looks different as long as less of it was
seen. Before the earliest such change the visible part and the whole world say the same.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from world_api.world.arrays.followed import JoinedTracks, Tracks
from world_api.world.arrays.items import Items, Positions
from world_api.world.arrays.whole import BEGINS, Whole
from world_api.world.screen_texts import ScreenText

#: From when to when something is said, and what.
Said = Counter[tuple[float, float, str]]

#: The tables whose rows make up what segments say and look like, sightings apart. The camera's movements are no part of them.
_TABLES = tuple(name for name in BEGINS if name not in ("scene_cuts", "sightings", "camera"))


def settled_until(whole: Whole, tracks: Tracks, texts: Items[ScreenText], as_of: float) -> float:
    """The time before which the segments of a cut and of the whole world have the same content."""
    bound = whole.all_seen_until(as_of, *_TABLES)
    return min(
        bound,
        _first_difference(*_followed(whole, tracks, as_of, bound)),
        _first_difference(*_read(whole, texts, bound)),
    )


def _first_difference(one: Said, other: Said) -> float:
    return min((start for start, _, _ in (one - other) + (other - one)), default=math.inf)


def _followed(whole: Whole, tracks: Tracks, as_of: float, bound: float) -> tuple[Said, Said]:
    """What tracks that the cut changes put into segments before a time, in the whole world and behind the cut."""

    def said(joined: JoinedTracks, places: Positions) -> Said:
        owners, starts, ends = joined.appearances(places)
        early = np.flatnonzero(starts < bound)
        return Counter(
            (float(starts[i]), min(float(ends[i]), bound), joined.described(int(places[owners[i]]))) for i in early
        )

    changed = np.flatnonzero((whole.tracks.known_at > as_of) & (whole.tracks.start_times < bound))
    opened = tracks.open_tracks
    return said(whole.tracks, changed), said(opened, np.arange(opened.count)) if opened is not None else Counter()


def _read(whole: Whole, texts: Items[ScreenText], bound: float) -> tuple[Said, Said]:
    """The same of the texts on screen that the cut made anew."""

    def said(stretches: Items[ScreenText], first: int) -> Said:
        end = int(np.searchsorted(stretches.starts, bound))
        return Counter((text.span.start, min(text.span.end, bound), text.text) for text in stretches[first:end])

    kept = int(np.count_nonzero(texts.rows >= 0))
    return said(whole.screen_texts, kept), said(texts, kept)
