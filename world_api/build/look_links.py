"""The stage ``look_links``: scores of how similar tracked things look.

A row compares two tracks; no tracks are merged. Each track of a clip is compared with earlier ones once: when it has
six descriptors, or when it has at least two and no further one has come for five seconds. Only what is known at that
time counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, EarlierRows, Record, Records, StageSpec
from world_api.core.ports import Vector
from world_api.core.spans import TimeSpan, known_time

#: A thing is judged once it has this many descriptors; with fewer (two at least) when none came for this long (seconds).
_OFTEN, _FEWEST, _GONE = 6, 2, 5.0
#: Two descriptors whose inner product is 1 minus this have a score of 1/e.
_SCALE = 0.03
#: The least score of a link, and the most links of one thing.
_FLOOR, _MOST = 0.5, 3


class LookLinks:
    """Links each tracked thing to the earlier ones that look most similar."""

    spec = StageSpec(
        name="look_links",
        version=1,
        tables=("look_links",),
        needs=("moving_things", "stitches"),
    )

    def __init__(self) -> None:
        self._things = EarlierRows(_things)
        self._stitches = EarlierRows(_stitches)

    def make_rows(self, clip: Clip) -> Records:
        """Return the links from the clip's tracks to earlier ones."""
        own = _things(clip, clip.span)
        things = [*self._things.before(clip), *own]
        stitches = [*self._stitches.before(clip), *_stitches(clip, clip.span)]
        moments = [(moment, thing) for thing in own if (moment := thing.judged_at()) is not None]
        rows = [
            {
                "earlier": name, "later": thing.track, "time": thing.at(moment).first, "score": round(score, 3),
                "known_at": known_time(moment),
            }
            for moment, thing in sorted(moments, key=lambda pair: (pair[0], pair[1].track))
            for name, score in _most_alike(thing, things, stitches, moment)
        ]  # fmt: skip
        return {"look_links": rows}


@dataclass(frozen=True, kw_only=True)
class _Look:
    """A thing's known descriptors: their median at length 1 (zeros if they are too few), the first and the last time (seconds)."""

    typical: Vector
    first: float
    last: float


@dataclass(frozen=True, kw_only=True)
class _Thing:
    """The descriptors of one track: their times, the times when they became known (ascending), and the vectors."""

    track: str
    times: NDArray[np.float64]
    known: NDArray[np.float64]
    vectors: NDArray[np.float32]
    looks: dict[int, _Look] = field(default_factory=dict)  #: by the number of descriptors known

    def at(self, moment: float) -> _Look:
        """Return the look of the thing as it was known at ``moment`` (seconds)."""
        count = int(np.searchsorted(self.known, moment, "right"))
        if count not in self.looks:
            typical = np.median(self.vectors[:count], axis=0) if count >= _FEWEST else np.zeros(self.vectors.shape[1])
            self.looks[count] = _Look(
                typical=(typical / max(float(np.linalg.norm(typical)), 1e-6)).astype(np.float32),
                first=float(self.times[:count].min(initial=np.inf)),
                last=float(self.times[:count].max(initial=-np.inf)),
            )
        return self.looks[count]

    def judged_at(self) -> float | None:
        """Return the time at which it is compared with earlier things; None if it never has enough descriptors."""
        for number, known in enumerate(self.known.tolist(), start=1):
            if number >= _OFTEN:
                return float(known)
            later = self.known[number:]
            if number >= _FEWEST and not (len(later) and later[0] <= known + _GONE):
                return float(known + _GONE)
        return None


def _most_alike(
    thing: _Thing, things: Sequence[_Thing], stitches: Sequence[Record], moment: float
) -> list[tuple[str, float]]:
    """Return up to three earlier things that look most like ``thing``: tracks and scores (0.5 to 1), the best first.

    Only what is known at ``moment`` counts. Things that are stitched together count as one, named by the first track. A
    thing that was still seen when ``thing`` began is a different one.
    """
    looks = [other.at(moment) for other in things]
    chain = _chains(things, [link for link in stitches if link["known_at"] <= moment])
    own = chain[things.index(thing)]
    begins = min(look.first for look, other in zip(looks, chain, strict=True) if other == own)
    alike, ends = np.full(len(things), -np.inf), np.full(len(things), -np.inf)
    np.maximum.at(alike, chain, np.stack([look.typical for look in looks]) @ thing.at(moment).typical)
    np.maximum.at(ends, chain, [look.last for look in looks])
    alike[(ends >= begins) | (np.arange(len(alike)) == own)] = -np.inf
    scores = np.exp(-np.maximum(0.0, 1.0 - alike) / _SCALE)
    order = np.argsort(-scores, kind="stable")[:_MOST]
    return [(things[int(i)].track, float(scores[i])) for i in order if scores[i] >= _FLOOR]


def _chains(things: Sequence[_Thing], stitches: Sequence[Record]) -> list[int]:
    """Return for each thing the index of the first thing in its chain of stitches, its own index if it has none."""
    number = {thing.track: index for index, thing in enumerate(things)}
    first = list(range(len(things)))

    def root(index: int) -> int:
        return index if first[index] == index else root(first[index])

    for link in sorted(stitches, key=lambda row: (row["known_at"], row["later"])):
        if link["earlier"] in number and link["later"] in number:
            first[root(number[link["later"]])] = root(number[link["earlier"]])
    return [root(index) for index in first]


def _things(clip: Clip, span: TimeSpan) -> list[_Thing]:
    """Return the tracks with descriptors in a span, ordered by name."""
    rows = clip.rows("track_looks", span).to_pylist()
    rows.sort(key=lambda row: (row["track"], row["known_at"], row["time"]))
    return [
        _Thing(
            track=track,
            times=np.array([row["time"] for row in looks]),
            known=np.array([row["known_at"] for row in looks]),
            vectors=np.array([row["vector"] for row in looks], dtype=np.float32),
        )
        for track, looks in ((track, list(group)) for track, group in groupby(rows, key=lambda row: str(row["track"])))
    ]


def _stitches(clip: Clip, span: TimeSpan) -> list[Record]:
    return [row for row in clip.rows("track_links", span).to_pylist() if row["kind"] == "stitch"]
