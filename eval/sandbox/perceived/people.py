"""Which of a world's entities is whom, and when each person was seen.

An entity is given to the person with whom most of its sightings lie: a sighting lies with the one whose true box, at the
nearest drawn moment, it overlaps most, by at least ``SAME_PLACE``; entities of which less than half lie with one person are
nobody's. Places decide who it is, times how well that person was seen: an entity counts with all of its stretches, also those
in which it lay on somebody else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world_api.build.truth import TrueTrack
from world_api.core.boxes import Box
from world_api.core.spans import TimeSpan
from world_api.world.tracks import Track

#: Intersection over union at which a sighting lies with a person.
SAME_PLACE = 0.3
#: Drawn moments follow one another by a step; a gap of so many steps ends a visit, and a moment farther than so many from a
#: sighting says nothing about it.
_VISIT_GAP, _SAME_TIME = 2.5, 0.75


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Where somebody or something was drawn: ``times`` (n, rising, seconds), ``boxes`` (n x 4 pixels).

    ``step`` is the time (seconds) from one drawn moment to the next.
    """

    name: str
    label: str
    category: str
    times: NDArray[np.float64]
    boxes: NDArray[np.float64]
    step: float

    @classmethod
    def of(cls, track: TrueTrack, step: float) -> Drawn:
        """The true track as arrays."""
        ordered = sorted(track.sightings, key=lambda sighting: sighting.time)
        return cls(
            name=track.track,
            label=track.label or track.track,
            category=track.category,
            times=np.array([sighting.time for sighting in ordered], dtype=np.float64),
            boxes=np.array([sighting.box for sighting in ordered], dtype=np.float64).reshape(-1, 4),
            step=step,
        )

    def visits(self) -> list[TimeSpan]:
        """The stretches in which it is drawn without a break."""
        if not len(self.times):
            return []
        breaks = np.flatnonzero(np.diff(self.times) > _VISIT_GAP * self.step) + 1
        parts = np.split(self.times, breaks)
        return [TimeSpan(start=float(part[0]), end=float(part[-1]) + self.step) for part in parts]

    def box_at(self, time: float) -> Box | None:
        """Where it is drawn at the moment nearest to a time, or None where that is too far."""
        if not len(self.times):
            return None
        place = int(np.searchsorted(self.times, time))
        near = min(
            (at for at in (place - 1, place) if 0 <= at < len(self.times)), key=lambda at: abs(self.times[at] - time)
        )
        if abs(self.times[near] - time) > _SAME_TIME * self.step:
            return None
        x1, y1, x2, y2 = (float(value) for value in self.boxes[near])
        return Box(x1=x1, y1=y1, x2=x2, y2=y2)


def step_of(tracks: Sequence[TrueTrack]) -> float:
    """Seconds from one drawn moment of a film to the next: the usual gap between the sightings of its tracks."""
    gaps = [np.diff(sorted(sighting.time for sighting in track.sightings)) for track in tracks]
    every = np.concatenate(gaps) if gaps else np.zeros(0)
    return float(np.median(every)) if len(every) else 1.0


def owner_of(track: Track, drawn: Sequence[Drawn]) -> str | None:
    """The one of the drawn with whom most of an entity's sightings lie, and at least half of them; None for nobody."""
    votes: Counter[str] = Counter()
    for place, time in enumerate(track.times):
        box = track.box(place)
        here = [(box.iou(other), one.name) for one in drawn if (other := one.box_at(float(time))) is not None]
        best = max(here, default=(0.0, ""))
        if best[0] >= SAME_PLACE:
            votes[best[1]] += 1
    if not votes:
        return None
    name, count = max(votes.items(), key=lambda item: (item[1], item[0]))
    return name if 2 * count >= len(track.times) else None


def owners(tracks: Sequence[Track], drawn: Sequence[Drawn]) -> Mapping[str, str | None]:
    """For each entity's track whose it is."""
    return {track.track_id: owner_of(track, drawn) for track in tracks}
