"""The stage that writes ``look_links``: followed things that look like things that were followed earlier.

A link says how alike two things look and merges nothing. Every followed thing is judged once in each clip, at a moment
fixed by what is known by then: when it has been looked at often enough, or when no further look has come for a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.ports import Vector
from world_api.core.spans import TimeSpan, known_time
from world_api.world.tables import TRACK_LOOK_DIMENSION

#: A thing is judged once it has been looked at this often; with fewer looks (two at least) when none came for so long (s).
_OFTEN, _FEWEST, _GONE = 6, 2, 5.0
#: Two looks whose Bhattacharyya coefficient lacks this much of 1 are given a score of 1/e.
_SCALE = 0.03
#: Links below this score are not kept, nor more than so many of one thing.
_FLOOR, _MOST = 0.5, 3


class LookLinks:
    """Links each followed thing to the earlier ones that it looks most like."""

    spec = StageSpec(
        name="look_links",
        version=1,
        tables=("look_links",),
        parameters={"often": _OFTEN, "gone": _GONE, "scale": _SCALE, "floor": _FLOOR, "most": _MOST},
        needs=("moving_things", "stitches"),
        libraries=("numpy", "pyarrow"),
        modules=("world_api.build.look_links",),
    )

    def __init__(self) -> None:
        self._earlier = _Earlier()

    def make_rows(self, clip: Clip) -> Records:
        """The links of the clip's tracks."""
        if clip.number <= self._earlier.clip:
            self._earlier = _Earlier()
        earlier = self._earlier
        earlier.read_up_to(clip)
        own = _things(clip, clip.span)
        moments = [(moment, thing) for thing in own if (moment := thing.judged_at()) is not None]
        if not moments:
            return {"look_links": []}
        gallery = _Gallery([*earlier.things, *own], [*earlier.links, *_links(clip, clip.span)])
        rows: list[Record] = []
        for moment, thing in sorted(moments, key=lambda pair: (pair[0], pair[1].track)):
            seen = thing.seen(moment)
            if seen is None:
                continue
            stamp = {
                "later": thing.track, "time": seen.start, "known_at": known_time(moment), "producer": self.spec.producer,
            }  # fmt: skip
            for name, score in gallery.most_alike(thing, moment):
                rows.append({"earlier": name, "score": round(score, 3), **stamp})
        return {"look_links": rows}


@dataclass(frozen=True, kw_only=True)
class _Thing:
    """The looks of one track of one clip, in the order in which they became known."""

    track: str
    times: NDArray[np.float64]
    known: NDArray[np.float64]
    vectors: NDArray[np.float32]

    def typical(self, moment: float) -> Vector | None:
        """The median of the looks known by a moment, unit length; None for too few."""
        vectors = self.vectors[: int(np.searchsorted(self.known, moment, side="right"))]
        if len(vectors) < _FEWEST:
            return None
        middle = np.median(vectors, axis=0)
        typical: Vector = (middle / max(float(np.linalg.norm(middle)), 1e-6)).astype(np.float32)
        return typical

    @cached_property
    def summary(self) -> tuple[Vector, float, float, float]:
        """Once all looks are known: the typical one (zeros for too few), the first and last times, and when that was."""
        typical = self.typical(np.inf)
        if typical is None:
            typical = np.zeros(TRACK_LOOK_DIMENSION, dtype=np.float32)
        return typical, float(self.times.min()), float(self.times.max()), float(self.known.max())

    def seen(self, moment: float) -> TimeSpan | None:
        """From the first to the last of the looks known by a moment; None for none."""
        times = self.times[: int(np.searchsorted(self.known, moment, side="right"))]
        return TimeSpan(start=float(times.min()), end=float(times.max())) if len(times) else None

    def judged_at(self) -> float | None:
        """The moment at which it is compared with what was seen earlier."""
        for number, known in enumerate(self.known.tolist(), start=1):
            if number >= _OFTEN:
                return float(known)
            later = self.known[number:]
            if number >= _FEWEST and not (len(later) and later[0] <= known + _GONE):
                return float(known + _GONE)
        return None


@dataclass(kw_only=True)
class _Earlier:
    """What was read of the clips before the one at work. A memory of stored rows only: they do not change any more."""

    clip: int = -1
    end: float = 0.0
    things: list[_Thing] = field(default_factory=list)
    links: list[Record] = field(default_factory=list)

    def read_up_to(self, clip: Clip) -> None:
        """Read what lies between the last clip that was read and this one."""
        gap = TimeSpan(start=self.end, end=clip.span.start)
        if gap.duration > 0:
            self.things.extend(_things(clip, gap))
            self.links.extend(_links(clip, gap))
        self.clip, self.end = clip.number, clip.span.start


class _Gallery:
    """Everything that was followed, asked at rising moments."""

    def __init__(self, things: Sequence[_Thing], links: Sequence[Record]) -> None:
        self._things = things
        self._number = {thing.track: number for number, thing in enumerate(things)}
        self._links = sorted(links, key=lambda row: (row["known_at"], row["later"]))
        self._joined = 0
        self._chain = np.arange(len(things))  # the number of the first thing of the chain that each one belongs to
        typical, first, last, complete = zip(*(thing.summary for thing in things), strict=True)
        self._typical = np.stack(typical)
        self._first, self._last, self._complete = np.array(first), np.array(last), np.array(complete)

    def most_alike(self, thing: _Thing, moment: float) -> list[tuple[str, float]]:
        """The earlier things that look most like one, by what is known at a moment: names and scores, the best first.

        What goes on over joins of clips counts as one thing, under its first name. Things that were seen at the same
        time are two.
        """
        self._join(moment)
        vector = thing.typical(moment)
        if vector is None:
            return []
        likeness, first, last = self._at(moment, vector)
        chain = self._chain[self._number[thing.track]]
        begins = float(first[self._chain == chain].min())
        alike, ends = np.full(len(self._things), -np.inf), np.full(len(self._things), -np.inf)
        np.maximum.at(alike, self._chain, likeness)
        np.maximum.at(ends, self._chain, last)
        alike[(ends >= begins) | (np.arange(len(alike)) == chain)] = -np.inf
        scores = np.exp(-np.maximum(0.0, 1.0 - alike) / _SCALE)
        order = np.argsort(-scores, kind="stable")[:_MOST]
        return [(self._things[int(i)].track, float(scores[i])) for i in order if scores[i] >= _FLOOR]

    def _join(self, moment: float) -> None:
        while self._joined < len(self._links) and self._links[self._joined]["known_at"] <= moment:
            link = self._links[self._joined]
            self._joined += 1
            earlier, later = self._number.get(link["earlier"]), self._number.get(link["later"])
            if earlier is not None and later is not None:
                self._chain[self._chain == self._chain[later]] = self._chain[earlier]

    def _at(
        self, moment: float, vector: Vector
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
        """How alike each thing is, and the times of its first and last look, by what is known at a moment."""
        likeness, first, last = self._typical @ vector, self._first.copy(), self._last.copy()
        for number in np.flatnonzero(self._complete > moment).tolist():
            thing = self._things[number]
            known, seen = thing.typical(moment), thing.seen(moment)
            likeness[number] = 0.0 if known is None else float(known @ vector)
            first[number], last[number] = (seen.start, seen.end) if seen else (np.inf, -np.inf)
        return likeness, first, last


def _things(clip: Clip, span: TimeSpan) -> list[_Thing]:
    """The tracks with looks in a span, in order of name."""
    rows = clip.rows("track_looks", span).to_pylist()
    rows.sort(key=lambda row: (row["track"], row["known_at"], row["time"]))
    found = []
    for track, group in groupby(rows, key=lambda row: str(row["track"])):
        looks = list(group)
        found.append(
            _Thing(
                track=track,
                times=np.array([row["time"] for row in looks]),
                known=np.array([row["known_at"] for row in looks]),
                vectors=np.array([row["vector"] for row in looks], dtype=np.float32),
            )
        )
    return found


def _links(clip: Clip, span: TimeSpan) -> list[Record]:
    return [row for row in clip.rows("track_links", span).to_pylist() if row["kind"] == "stitch"]
