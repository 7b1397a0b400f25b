"""The stages ``stitches`` (tracks that are one thing) and ``look_links`` (tracks that look alike).

``stitches`` links tracks across the join of two clips, and people who stood still for so long that tracking lost them. A background
model takes a person who does not move for background. That the person stayed is inferred when something begins to move where a
person was last seen, in the same shot, in front of a still camera, and looks like that person; it is known only then.

A row of ``look_links`` says how similar two things look and merges nothing. Every tracked thing is judged once in each clip, at a
time that depends only on what is known by then: once it has enough descriptors, or no further one has come for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record, Records, StageSpec, box_of
from world_api.core.ports import Vector
from world_api.core.spans import Box, TimeSpan, known_time, round_time
from world_api.world.tables import TRACK_LOOK_DIMENSION

#: The shortest and the longest stay (seconds). Within the first of these every sighting is known.
_SHORTEST, _LONGEST = 5.0, 600.0
#: A person stood still if for this long (seconds) all boxes overlapped the last one this much.
_STILL, _SAME = 3.0, 0.8
#: A person who moves off is first seen in the old box enlarged by this much on each side (share of its width and height), with
#: this share of the new box, since only the leading side is visible at first. Soon (seconds) the heights differ by a smaller factor.
_AROUND, _WITHIN, _SOON, _TALLER = (0.5, 0.1), 0.5, 5.0, 1.6
#: A thing that begins this soon (seconds) after another ended in that place may be the same.
_JUST_GONE = 1.5
#: Both look alike: two of their descriptors have at least this product.
_ALIKE = 0.8
#: A box this near to the picture's edge (share of its side) may be cut off by it.
_EDGE = 0.01
#: Seconds between two sightings of a person who stays.
_STEP = 1.0
#: The last and the first sighting are this near to the join (seconds), and their boxes overlap at least this much.
_NEAR, _OVERLAP = 1.0, 0.4
#: A thing that ended this long (seconds) before the first sighting after the join does not continue.
_ENDED = 1.5
#: The number of sightings that give the speed at the join, and for how long (seconds) it holds.
_STEPS, _LONGEST_WAY = 3, 0.5


@dataclass(kw_only=True)
class _StitchHistory:
    """The rows of earlier clips that can still matter: the last sightings of each track, and links."""

    clip: int = -1
    end: float = 0.0
    ends: dict[str, list[Record]] = field(default_factory=dict)
    links: list[Record] = field(default_factory=list)

    def read_up_to(self, clip: Clip, producer: str) -> None:
        """Read the rows between the last clip that was read and this one."""
        start = clip.span.start
        oldest = max(0.0, start - _LONGEST - 2 * _STILL)
        if clip.number <= self.clip:
            self.end, self.ends, self.links = 0.0, {}, []
        gap = TimeSpan(start=max(self.end, oldest), end=start)
        if gap.duration > 0:
            _add_ends(self.ends, _sightings(clip, gap, producer))
            self.links.extend(clip.rows("track_links", gap).to_pylist())
        self.ends = {track: rows for track, rows in self.ends.items() if rows[-1]["time"] >= oldest}
        self.links = [link for link in self.links if link["time"] >= oldest]
        self.clip, self.end = clip.number, start


def _sightings(clip: Clip, span: TimeSpan, producer: str) -> list[Record]:
    """The sightings of a span in order of time, without those that ``producer`` added."""
    rows = [row for row in clip.rows("sightings", span).to_pylist() if row["producer"] != producer]
    return sorted(rows, key=lambda row: (row["time"], row["track"]))


def _add_ends(ends: dict[str, list[Record]], rows: Iterable[Record]) -> None:
    """Keep the last sightings of each track."""
    for row in rows:
        own = ends.setdefault(row["track"], [])
        own.append(row)
        while own[0]["time"] < row["time"] - 2 * _STILL:
            own.pop(0)


def _by_track(rows: Iterable[Record]) -> dict[str, list[Record]]:
    tracks: dict[str, list[Record]] = {}
    for row in rows:
        tracks.setdefault(row["track"], []).append(row)
    return tracks


def _known(rows: Iterable[Record], moment: float) -> list[Record]:
    return [row for row in rows if row["known_at"] <= moment]


class Stitches:
    """Links the tracks of a clip to those of the clip before it, by the stored boxes on both sides of the join.

    A person who stood still and moves off in the clip is linked, too, and gets sightings for the time between, which may be in
    earlier clips.
    """

    spec = StageSpec(
        name="stitches",
        version=3,
        tables=("track_links", "sightings"),
        parameters={"near": _NEAR, "overlap": _OVERLAP},
        needs=("moving_things", "cuts"),
        libraries=("pyarrow", "numpy"),
        modules=("world_api.build.links", "world_api.core.spans"),
    )

    def __init__(self) -> None:
        self._history = _StitchHistory()

    def make_rows(self, clip: Clip) -> Records:
        """The links, each track in at most one over the join, and the sightings of people who stayed."""
        producer = self.spec.producer
        self._history.read_up_to(clip, producer)
        own = _sightings(clip, clip.span, producer)
        links = self._over_join(clip, own)
        stays, seen = _Stays(clip, self._history, own, links, producer).find()
        return {"track_links": [*links, *stays], "sightings": seen}

    def _over_join(self, clip: Clip, own: Sequence[Record]) -> list[Record]:
        """Links over the join, each track in at most one.

        Links are made in the order in which sightings became known, the best overlaps of a moment first. They are never removed:
        what becomes known later only adds links.
        """
        join = clip.span.start
        if join == 0:
            return []
        before = _sightings(clip, TimeSpan(start=join - _NEAR, end=join), self.spec.producer)
        after = [row for row in own if row["time"] < join + _NEAR]
        rows: list[Record] = []
        linked: set[str] = set()
        for moment in sorted({row["known_at"] for row in [*before, *after]}):
            for overlap, earlier, later, time in _overlaps(_known(before, moment), _known(after, moment)):
                if overlap < _OVERLAP or earlier in linked or later in linked:
                    continue
                linked |= {earlier, later}
                rows.append(_stitch(earlier, later, time, overlap, moment, self.spec.producer))
        return rows


def _stitch(earlier: str, later: str, time: float, score: float, moment: float, producer: str) -> Record:
    return {
        "earlier": earlier, "later": later, "time": time, "kind": "stitch", "score": round(score, 3),
        "known_at": known_time(moment), "producer": producer,
    }  # fmt: skip


def _overlaps(before: list[Record], after: list[Record]) -> list[tuple[float, str, str, float]]:
    """Overlaps of the end of each track before the join with the beginning of each track after it, best first."""
    ends, beginnings = _by_track(before), _by_track(after)
    pairs = [
        (_overlap(ends[one], beginnings[other]), one, other, beginnings[other][0]["time"])
        for one in ends
        for other in beginnings
    ]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))


def _overlap(before: list[Record], after: list[Record]) -> float:
    """Overlap of the last and the first box; the last one is also moved at the speed before and at the speed after the join."""
    elapsed = after[0]["time"] - before[-1]["time"]
    if elapsed > _ENDED:
        return 0.0
    last, first = box_of(before[-1]), box_of(after[0])
    ways = ((0.0, 0.0), _way(before[-_STEPS:], elapsed), _way(after[:_STEPS], elapsed))
    moved = [Box(x1=last.x1 + x, y1=last.y1 + y, x2=last.x2 + x, y2=last.y2 + y) for x, y in ways]
    return max(box.iou(first) for box in moved)


def _way(rows: list[Record], elapsed: float) -> tuple[float, float]:
    """The movement (pixels) of a thing in ``elapsed`` seconds at its speed in some sightings."""
    seconds = rows[-1]["time"] - rows[0]["time"]
    if seconds <= 0.0:
        return 0.0, 0.0
    (x, y), (was_x, was_y) = box_of(rows[-1]).center, box_of(rows[0]).center
    share = min(elapsed, _LONGEST_WAY) / seconds
    return share * (x - was_x), share * (y - was_y)


class _Stays:
    """Finds people who stayed, among the tracks that begin in one clip."""

    def __init__(
        self, clip: Clip, history: _StitchHistory, own: Sequence[Record], links: Sequence[Record], producer: str
    ) -> None:
        self._clip = clip
        self._producer = producer
        self._own = own
        self._links = [*history.links, *links]
        self._ends = {track: list(rows) for track, rows in history.ends.items()}
        self._known_before = set(history.ends)
        self._ended: set[str] = set()
        self._begun: set[str] = set()

    def find(self) -> tuple[list[Record], list[Record]]:
        """Links from people who stood still to tracks that move off, and sightings between."""
        tracks = _by_track(self._own)
        _add_ends(self._ends, self._own)
        starting = {
            track: rows
            for track, rows in tracks.items()
            if track not in self._known_before and not self._is_cut_off(rows[0]) and self._has_candidate(rows[0])
        }
        links: list[Record] = []
        filled: list[Record] = []
        if not starting:
            return links, filled
        looks = self._looks(self._clip.span)
        moments = sorted({(look["known_at"], track) for track in starting for look in looks.get(track, [])})
        for moment, track in moments:
            rows = _known(starting[track], moment)
            if track in self._begun or not rows or moment - rows[0]["time"] > _SOON:
                continue
            best = self._best(rows, [look["vector"] for look in _known(looks[track], moment)], moment)
            if best is not None:
                link, between = self._stayed(best[0], best[1], rows[0], moment)
                links.append(link)
                filled.extend(between)
        return links, filled

    def _has_candidate(self, first: Record) -> bool:
        """Whether any track ended in that place; checked before anything more expensive."""
        return any(_is_before(rows[-1], first) and _is_within(rows[-1], first) for rows in self._ends.values())

    def _best(self, rows: Sequence[Record], seen: Sequence[Vector], moment: float) -> tuple[Record, float] | None:
        """The last sighting of the person who most likely moves off, and the similarity of both; None if there is none."""
        first = rows[0]
        linked = {(link["earlier"], link["later"]) for link in _known(self._links, moment)}
        if any(later == first["track"] for _, later in linked) or self._continues_another(first, moment):
            return None
        continued = {earlier for earlier, _ in linked} | self._ended
        found: list[tuple[float, str, Record]] = []
        for track, sightings in self._ends.items():
            ended = _known(sightings, moment)
            if track in continued or not ended or not self._stood_still(ended, first):
                continue
            last = ended[-1]
            if _is_as_tall(rows, last) and self._is_one_view(last["time"], first["time"], moment):
                span = TimeSpan(start=max(0.0, last["time"] - _LONGEST / 10), end=last["time"] + 1e-3)
                own = [look["vector"] for look in _known(self._looks(span).get(track, []), moment)]
                alike = max((float(np.dot(one, other)) for one in own for other in seen), default=0.0)
                found.append((alike, track, last))
        best = max(found, default=None, key=lambda item: (item[0], item[1]))
        return (best[2], best[0]) if best is not None and best[0] >= _ALIKE else None

    def _continues_another(self, first: Record, moment: float) -> bool:
        """Whether a moving thing was lost just there."""
        ended = [rows[-1] for known in self._ends.values() if (rows := _known(known, moment))]
        return any(0.0 < first["time"] - last["time"] <= _JUST_GONE and _is_within(last, first) for last in ended)

    def _stood_still(self, ended: Sequence[Record], first: Record) -> bool:
        """Whether a person had stood still inside the picture when last seen, in the place of a first sighting."""
        last = ended[-1]
        if last["category"] != "person" or not (_is_before(last, first) and _is_within(last, first)):
            return False
        lately = [row for row in ended if row["time"] >= last["time"] - _STILL]
        still = all(box_of(row).iou(box_of(last)) >= _SAME for row in lately)
        return still and bool(ended[0]["time"] <= last["time"] - _STILL) and not self._is_cut_off(last)

    def _is_one_view(self, start: float, end: float, moment: float) -> bool:
        """Whether, as far as is known, there was no cut and no camera motion between two times."""
        span = TimeSpan(start=start, end=end + 1e-3)
        moved = [row for row in self._clip.rows("camera", span).to_pylist() if row["kind"] != "still"]
        cuts = self._clip.rows("cuts", span).to_pylist()
        return not _known([*moved, *cuts], moment)

    def _stayed(self, last: Record, alike: float, first: Record, moment: float) -> tuple[Record, list[Record]]:
        self._ended.add(last["track"])
        self._begun.add(first["track"])
        link = _stitch(last["track"], first["track"], first["time"], min(1.0, alike), moment, self._producer)
        stamp = {"known_at": known_time(moment), "producer": self._producer}
        times = np.arange(last["time"] + _STEP, first["time"] - _STEP / 4, _STEP)
        return link, [{**last, "time": round_time(float(time)), **stamp} for time in times]

    def _looks(self, span: TimeSpan) -> dict[str, list[Record]]:
        return _by_track(self._clip.rows("track_looks", span).to_pylist())

    def _is_cut_off(self, row: Record) -> bool:
        width, height = self._clip.source.width, self._clip.source.height
        across, down = _EDGE * width, _EDGE * height
        inside = row["x1"] > across and row["x2"] < width - across and row["y1"] > down and row["y2"] < height - down
        return not inside


def _is_before(last: Record, first: Record) -> bool:
    return bool(_SHORTEST <= first["time"] - last["time"] <= _LONGEST)


def _is_within(last: Record, first: Record) -> bool:
    """Whether most of a box is inside another, or close to it."""
    place, box = box_of(last), box_of(first)
    across, down = _AROUND[0] * place.width, _AROUND[1] * place.height
    width = min(place.x2 + across, box.x2) - max(place.x1 - across, box.x1)
    height = min(place.y2 + down, box.y2) - max(place.y1 - down, box.y1)
    return width > 0 and height > 0 and width * height >= _WITHIN * box.area


def _is_as_tall(rows: Sequence[Record], last: Record) -> bool:
    tall = box_of(last).height
    soon = [box_of(row).height for row in rows if row["time"] <= rows[0]["time"] + _SOON]
    return any(tall / _TALLER <= height <= tall * _TALLER for height in soon)


#: A thing is judged once it has this many descriptors; with fewer (two at least) when none came for this long (seconds).
_OFTEN, _FEWEST, _GONE = 6, 2, 5.0
#: Two descriptors whose Bhattacharyya coefficient is 1 less this have a score of 1/e.
_SCALE = 0.03
#: The least score of a link, and the most links of one thing.
_FLOOR, _MOST = 0.5, 3


class LookLinks:
    """Links each tracked thing to the earlier ones that look most similar."""

    spec = StageSpec(
        name="look_links",
        version=1,
        tables=("look_links",),
        parameters={"often": _OFTEN, "gone": _GONE, "scale": _SCALE, "floor": _FLOOR, "most": _MOST},
        needs=("moving_things", "stitches"),
        libraries=("numpy", "pyarrow"),
        modules=("world_api.build.links",),
    )

    def __init__(self) -> None:
        self._history = _LookHistory()

    def make_rows(self, clip: Clip) -> Records:
        """The links of the clip's tracks."""
        if clip.number <= self._history.clip:
            self._history = _LookHistory()
        earlier = self._history
        earlier.read_up_to(clip)
        own = _things(clip, clip.span)
        moments = [(moment, thing) for thing in own if (moment := thing.judged_at()) is not None]
        rows: list[Record] = []
        gallery = _Gallery([*earlier.things, *own], [*earlier.links, *_links(clip, clip.span)]) if moments else None
        for moment, thing in sorted(moments, key=lambda pair: (pair[0], pair[1].track)):
            seen = thing.seen(moment)
            if seen is None or gallery is None:
                continue
            stamp = {
                "later": thing.track, "time": seen.start, "known_at": known_time(moment), "producer": self.spec.producer,
            }  # fmt: skip
            for name, score in gallery.most_alike(thing, moment):
                rows.append({"earlier": name, "score": round(score, 3), **stamp})
        return {"look_links": rows}


@dataclass(frozen=True, kw_only=True)
class _Thing:
    """The descriptors of one track of one clip, in the order in which they became known."""

    track: str
    times: NDArray[np.float64]
    known: NDArray[np.float64]
    vectors: NDArray[np.float32]

    def typical(self, moment: float) -> Vector | None:
        """The median of the descriptors known by a moment, unit length; None for too few."""
        vectors = self.vectors[: int(np.searchsorted(self.known, moment, side="right"))]
        if len(vectors) < _FEWEST:
            return None
        middle = np.median(vectors, axis=0)
        typical: Vector = (middle / max(float(np.linalg.norm(middle)), 1e-6)).astype(np.float32)
        return typical

    @cached_property
    def summary(self) -> tuple[Vector, float, float, float]:
        """The final typical descriptor (zeros for too few), the first and last times, and when all were known."""
        typical = self.typical(np.inf)
        if typical is None:
            typical = np.zeros(TRACK_LOOK_DIMENSION, dtype=np.float32)
        return typical, float(self.times.min()), float(self.times.max()), float(self.known.max())

    def seen(self, moment: float) -> TimeSpan | None:
        """From the first to the last of the descriptors known by a moment; None for none."""
        times = self.times[: int(np.searchsorted(self.known, moment, side="right"))]
        return TimeSpan(start=float(times.min()), end=float(times.max())) if len(times) else None

    def judged_at(self) -> float | None:
        """The time at which it is compared with earlier things."""
        for number, known in enumerate(self.known.tolist(), start=1):
            if number >= _OFTEN:
                return float(known)
            later = self.known[number:]
            if number >= _FEWEST and not (len(later) and later[0] <= known + _GONE):
                return float(known + _GONE)
        return None


@dataclass(kw_only=True)
class _LookHistory:
    """The things and links of earlier clips. Stored rows do not change any more, so they are read once."""

    clip: int = -1
    end: float = 0.0
    things: list[_Thing] = field(default_factory=list)
    links: list[Record] = field(default_factory=list)

    def read_up_to(self, clip: Clip) -> None:
        """Read the rows between the last clip that was read and this one."""
        gap = TimeSpan(start=self.end, end=clip.span.start)
        if gap.duration > 0:
            self.things.extend(_things(clip, gap))
            self.links.extend(_links(clip, gap))
        self.clip, self.end = clip.number, clip.span.start


class _Gallery:
    """All tracked things; queried at rising moments."""

    def __init__(self, things: Sequence[_Thing], links: Sequence[Record]) -> None:
        self._things = things
        self._number = {thing.track: number for number, thing in enumerate(things)}
        self._links = sorted(links, key=lambda row: (row["known_at"], row["later"]))
        self._joined = 0
        self._chain = np.arange(len(things))  # for each thing, the number of the first thing of its chain
        typical, first, last, complete = zip(*(thing.summary for thing in things), strict=True)
        self._typical = np.stack(typical)
        self._first, self._last, self._complete = np.array(first), np.array(last), np.array(complete)

    def most_alike(self, thing: _Thing, moment: float) -> list[tuple[str, float]]:
        """The names and scores of the earlier things most similar to one, by what is known at a moment, the best first.

        Things linked across joins of clips count as one, under their first name. Things seen at the same time are two.
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

    def _at(self, moment: float, vector: Vector) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The similarity of each thing, and the times of its first and last descriptor, by what is known at a moment."""
        likeness, first, last = self._typical @ vector, self._first.copy(), self._last.copy()
        for number in np.flatnonzero(self._complete > moment).tolist():
            thing = self._things[number]
            known, seen = thing.typical(moment), thing.seen(moment)
            likeness[number] = 0.0 if known is None else float(known @ vector)
            first[number], last[number] = (seen.start, seen.end) if seen else (np.inf, -np.inf)
        return likeness, first, last


def _things(clip: Clip, span: TimeSpan) -> list[_Thing]:
    """The tracks with descriptors in a span, in order of name."""
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


def _links(clip: Clip, span: TimeSpan) -> list[Record]:
    return [row for row in clip.rows("track_links", span).to_pylist() if row["kind"] == "stitch"]
