"""Which entities surely are different things, where a detector found them: those that are seen at the same time.

A track ends where its thing is hidden or leaves, so that a later one may show the same thing again. How it looks decides
nothing: from far away, cut off or in other light, vectors of one person are as unlike as those of two people
(docs/perception.md, "Who is who").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from world_api.world.tracks import Track
from world_api.world.view import View


class DistinctTracks:
    """The tracks of a view that surely are different things; of each category as many as can be shown.

    ``may_repeat``: the names of all others, each of which may show the same thing as another track of its category. There
    are none where no detector drew the boxes: there ``may_be`` names who may be the same.
    """

    def __init__(self, view: View) -> None:
        of_category: defaultdict[str, list[Track]] = defaultdict(list)
        for track in view.tracks if view.world.manifest.detected_categories else ():
            of_category[track.category].append(track)
        apart = {name for tracks in of_category.values() for name in _most_at_once(tracks)}
        self.may_repeat = frozenset(one.track_id for own in of_category.values() for one in own) - apart


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
