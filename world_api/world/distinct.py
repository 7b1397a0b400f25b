"""Which entities surely are different things, where a detector found them.

A detector's track ends where the thing is hidden, so that a later one may be the same thing again. Those that are seen at
the same time are different; so are people whose bodies or faces were compared and found different.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from world_api.world.tracks import Track
from world_api.world.view import View


class DistinctTracks:
    """The tracks of a view that surely are different things; of each category as many as can be shown.

    ``may_repeat``: the names of all others, each of which may show the same thing as another track of its category. There
    are none where no detector drew the boxes.
    """

    def __init__(self, view: View) -> None:
        of_category: defaultdict[str, list[Track]] = defaultdict(list)
        for track in view.tracks if view.world.manifest.detected_categories else ():
            of_category[track.category].append(track)
        compared = [_compared(view, part) for part in ("body", "face")] if "person" in of_category else []
        apart: set[str] = set()
        for category, tracks in of_category.items():
            found: list[Sequence[str]] = [_most_at_once(tracks)]
            if category == "person":
                found += [_unlike_earlier(view, tracks, names) for names in compared]
            largest: Sequence[str] = max(found, key=len)
            apart.update(largest)
        self.may_repeat = frozenset(one.track_id for own in of_category.values() for one in own) - apart


def _compared(view: View, part: str) -> frozenset[str]:
    """Return the names of the tracks of people of which a vector of a part is known."""
    rows = view.rows("person_looks")
    has_vector = pc.greater(pc.list_value_length(rows.column("vector")), 0)
    rows = rows.filter(pc.and_(pc.equal(rows.column("part"), pa.scalar(part)), has_vector))
    tracks = (view.tracks.of_part(name) for name in rows.column("track").unique().to_pylist())
    return frozenset(track.track_id for track in tracks if track is not None)


def _unlike_earlier(view: View, tracks: Sequence[Track], compared: frozenset[str]) -> list[str]:
    """Return the names of the compared tracks that do not look like an earlier one; ``tracks`` are in order of time."""
    earlier: set[str] = set()
    found = []
    for track in tracks:
        if track.track_id in compared and earlier.isdisjoint(one.entity_id for one in view.may_be(track.entity_id)):
            found.append(track.track_id)
        earlier.add(track.entity_id)
    return found


def _most_at_once(tracks: Sequence[Track]) -> list[str]:
    """Return the names of the tracks that are seen at the first moment at which most of them are."""
    starts = [(span.start, 1, track.track_id) for track in tracks for span in track.appearances]
    ends = [(span.end, 0, track.track_id) for track in tracks for span in track.appearances]
    seen: list[str] = []
    most: list[str] = []
    for _, is_start, name in sorted([*starts, *ends]):
        seen = [*seen, name] if is_start else [other for other in seen if other != name]
        most = seen if len(seen) > len(most) else most
    return most
