"""Who stood still for so long that following lost them, and is then seen to move off from that very place, was there all the time.

A background model takes what does not move for background: at once where a clip's window begins with it, else after a
while. Nothing in the picture tells then that somebody is there. It is told afterwards: when something begins to move inside
the picture, where a person was last seen, in the same shot, before a camera that stood still, and looks like that person. Then, and
not before, it becomes known that the person stayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.boxes import Box
from world_api.core.ports import Vector
from world_api.core.spans import TimeSpan, known_time, round_time
from world_api.world.tables import TRACK_LOOK_DIMENSION

#: Somebody stays for at least and at most so long (seconds). Within the first of these every sighting is known.
_SHORTEST, _LONGEST = 5.0, 600.0
#: Stood still: for so long (seconds) all boxes overlapped the last one so much.
_STILL, _SAME = 3.0, 0.8
#: Who moves off is seen at first in the place of the other grown by so much to each side (share of its width and height): with
#: this share of the box, as the side that comes out first is seen alone. Soon (seconds) they are as tall, but for such a factor.
_AROUND, _WITHIN, _SOON, _TALLER = (0.5, 0.1), 0.5, 5.0, 1.6
#: What begins so soon (seconds) after another thing ended in that place may be that one.
_JUST_GONE = 1.5
#: Both look alike: two of their looks have this product at least.
_ALIKE = 0.8
#: A box that comes as near to the picture's edge as that (share of its side) may be cut off by it.
_EDGE = 0.01
#: Seconds between two sightings of who stays.
_STEP = 1.0


@dataclass(kw_only=True)
class Before:
    """What was read of the clips before the one at work: stored rows only, and no more than can still matter."""

    clip: int = -1
    end: float = 0.0
    ends: dict[str, list[Record]] = field(default_factory=dict)  #: the last sightings of each track
    links: list[Record] = field(default_factory=list)

    def read_up_to(self, clip: Clip, producer: str) -> None:
        """Read what lies between the last clip that was read and this one."""
        start = clip.span.start
        oldest = max(0.0, start - _LONGEST - 2 * _STILL)
        if clip.number <= self.clip:
            self.end, self.ends, self.links = 0.0, {}, []
        gap = TimeSpan(start=max(self.end, oldest), end=start)
        if gap.duration > 0:
            add_ends(self.ends, sightings(clip, gap, producer))
            self.links.extend(clip.rows("track_links", gap).to_pylist())
        self.ends = {track: rows for track, rows in self.ends.items() if rows[-1]["time"] >= oldest}
        self.links = [link for link in self.links if link["time"] >= oldest]
        self.clip, self.end = clip.number, start


def sightings(clip: Clip, span: TimeSpan, producer: str) -> list[Record]:
    """What was seen in a span, in order of time; not what ``producer`` itself added."""
    rows = [row for row in clip.rows("sightings", span).to_pylist() if row["producer"] != producer]
    return sorted(rows, key=lambda row: (row["time"], row["track"]))


def add_ends(ends: dict[str, list[Record]], rows: Iterable[Record]) -> None:
    """Keep the last sightings of each track."""
    for row in rows:
        own = ends.setdefault(row["track"], [])
        own.append(row)
        while own[0]["time"] < row["time"] - 2 * _STILL:
            own.pop(0)


class Stays:
    """Finds who stayed, of those that move off in one clip."""

    def __init__(
        self, clip: Clip, before: Before, own: Sequence[Record], links: Sequence[Record], producer: str
    ) -> None:
        self._clip = clip
        self._producer = producer
        self._own = own
        self._links = [*before.links, *links]
        self._ends = {track: list(rows) for track, rows in before.ends.items()}
        self._known_before = set(before.ends)
        self._ended: set[str] = set()
        self._begun: set[str] = set()

    def find(self) -> tuple[list[Record], list[Record]]:
        """Links from who stood still to who moves off, and sightings in between."""
        tracks: dict[str, list[Record]] = {}
        for row in self._own:
            tracks.setdefault(row["track"], []).append(row)
        add_ends(self._ends, self._own)
        starting = {
            track: rows
            for track, rows in tracks.items()
            if track not in self._known_before and not self._is_cut_off(rows[0]) and self._might_be(rows[0])
        }
        links: list[Record] = []
        filled: list[Record] = []
        if not starting:
            return links, filled
        looks = self._looks(self._clip.span)
        moments = sorted({(look["known_at"], track) for track in starting for look in looks.get(track, [])})
        for moment, track in moments:
            rows = [row for row in starting[track] if row["known_at"] <= moment]
            if track in self._begun or not rows or moment - rows[0]["time"] > _SOON:
                continue
            seen = [look["vector"] for look in looks[track] if look["known_at"] <= moment]
            best = self._best(rows, seen, moment)
            if best is not None:
                link, between = self._stayed(best[0], best[1], rows[0], moment)
                links.append(link)
                filled.extend(between)
        return links, filled

    def _might_be(self, first: Record) -> bool:
        """Whether anybody ended in that place, before it is looked at closely."""
        return any(_is_before(rows[-1], first) and _is_within(rows[-1], first) for rows in self._ends.values())

    def _best(self, rows: Sequence[Record], seen: Sequence[Vector], moment: float) -> tuple[Record, float] | None:
        """The last sighting of who most likely moves off, and how alike both look; None for nobody."""
        first = rows[0]
        linked = {(link["earlier"], link["later"]) for link in self._links if link["known_at"] <= moment}
        if any(later == first["track"] for _, later in linked) or self._goes_on_from_another(first, moment):
            return None
        gone_on = {earlier for earlier, _ in linked} | self._ended
        found: list[tuple[float, str, Record]] = []
        for track, known in self._ends.items():
            ended = [row for row in known if row["known_at"] <= moment]
            if track in gone_on or not ended or not self._is_asleep(ended, first):
                continue
            last = ended[-1]
            if _is_as_tall(rows, last) and self._is_one_view(last["time"], first["time"], moment):
                span = TimeSpan(start=max(0.0, last["time"] - _LONGEST / 10), end=last["time"] + 1e-3)
                own = [look["vector"] for look in self._looks(span).get(track, []) if look["known_at"] <= moment]
                alike = max((float(np.dot(one, other)) for one in own for other in seen), default=0.0)
                found.append((alike, track, last))
        best = max(found, default=None, key=lambda item: (item[0], item[1]))
        return (best[2], best[0]) if best is not None and best[0] >= _ALIKE else None

    def _goes_on_from_another(self, first: Record, moment: float) -> bool:
        """Whether something that moved was lost just there."""
        for known in self._ends.values():
            rows = [row for row in known if row["known_at"] <= moment]
            if rows and 0.0 < first["time"] - rows[-1]["time"] <= _JUST_GONE and _is_within(rows[-1], first):
                return True
        return False

    def _is_asleep(self, ended: Sequence[Record], first: Record) -> bool:
        """Whether somebody had stood still inside the picture when they were last seen, where another is first seen."""
        last = ended[-1]
        if last["category"] != "person" or not (_is_before(last, first) and _is_within(last, first)):
            return False
        lately = [row for row in ended if row["time"] >= last["time"] - _STILL]
        still = all(_box(row).iou(_box(last)) >= _SAME for row in lately)
        long = ended[0]["time"] <= last["time"] - _STILL
        return still and long and not self._is_cut_off(last)

    def _is_one_view(self, start: float, end: float, moment: float) -> bool:
        """Whether, as far as is known, no cut came and the camera stood still between two times."""
        span = TimeSpan(start=start, end=end + 1e-3)
        moved = [row for row in self._clip.rows("camera", span).to_pylist() if row["kind"] != "still"]
        cuts = self._clip.rows("cuts", span).to_pylist()
        return not any(row["known_at"] <= moment for row in [*moved, *cuts])

    def _stayed(self, last: Record, alike: float, first: Record, moment: float) -> tuple[Record, list[Record]]:
        self._ended.add(last["track"])
        self._begun.add(first["track"])
        stamp = {"known_at": known_time(moment), "producer": self._producer}
        link = {
            "earlier": last["track"],
            "later": first["track"],
            "time": first["time"],
            "kind": "stitch",
            "score": round(min(1.0, alike), 3),
            **stamp,
        }
        times = np.arange(last["time"] + _STEP, first["time"] - _STEP / 4, _STEP)
        return link, [{**last, "time": round_time(float(time)), **stamp} for time in times]

    def _looks(self, span: TimeSpan) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for row in self._clip.rows("track_looks", span).to_pylist():
            found.setdefault(row["track"], []).append(row)
        return found

    def _is_cut_off(self, row: Record) -> bool:
        width, height = self._clip.source.width, self._clip.source.height
        across, down = _EDGE * width, _EDGE * height
        inside = row["x1"] > across and row["x2"] < width - across and row["y1"] > down and row["y2"] < height - down
        return not inside


def _is_before(last: Record, first: Record) -> bool:
    return bool(_SHORTEST <= first["time"] - last["time"] <= _LONGEST)


def _is_within(last: Record, first: Record) -> bool:
    """Whether most of a box lies in the place of another, or close to it."""
    place, box = _box(last), _box(first)
    across, down = _AROUND[0] * place.width, _AROUND[1] * place.height
    width = min(place.x2 + across, box.x2) - max(place.x1 - across, box.x1)
    height = min(place.y2 + down, box.y2) - max(place.y1 - down, box.y1)
    return width > 0 and height > 0 and width * height >= _WITHIN * box.area


def _is_as_tall(rows: Sequence[Record], last: Record) -> bool:
    tall = _box(last).height
    soon = [_box(row).height for row in rows if row["time"] <= rows[0]["time"] + _SOON]
    return any(tall / _TALLER <= height <= tall * _TALLER for height in soon)


def _box(row: Record) -> Box:
    return Box(x1=row["x1"], y1=row["y1"], x2=row["x2"], y2=row["y2"])


#: How far from the join (seconds) the last and the first sighting may lie, and how much their boxes must overlap.
_NEAR, _OVERLAP = 1.0, 0.4
_GONE_BEFORE = 0.5
#: The speed at the join is that of so many sightings, and holds for so long (seconds).
_STEPS, _LONGEST_WAY = 3, 0.5


class Stitches:
    """Links the tracks of a clip to those of the clip before it, by the stored boxes on both sides of the join.

    Who stood still and moves off in the clip is linked, too, and ``sightings`` are added for the time in between, which may
    reach back into earlier clips.
    """

    spec = StageSpec(
        name="stitches",
        version=3,
        tables=("track_links", "sightings"),
        parameters={"near": _NEAR, "overlap": _OVERLAP},
        needs=("moving_things", "cuts"),
        libraries=("pyarrow", "numpy"),
        modules=("world_api.build.links", "world_api.core.boxes"),
    )

    def __init__(self) -> None:
        self._before = Before()

    def make_rows(self, clip: Clip) -> Records:
        """The links, each track in at most one over the join, and sightings of who stayed."""
        producer = self.spec.producer
        self._before.read_up_to(clip, producer)
        own = sightings(clip, clip.span, producer)
        links = self._over_join(clip, own)
        stays, seen = Stays(clip, self._before, own, links, producer).find()
        return {"track_links": [*links, *stays], "sightings": seen}

    def _over_join(self, clip: Clip, own: Sequence[Record]) -> list[Record]:
        """Links over the join, each track in at most one.

        Links are made in the order in which sightings became known, the best overlaps of a moment first, and never taken
        back: what becomes known later adds links and changes none.
        """
        join = clip.span.start
        if join == 0:
            return []
        before = sightings(clip, TimeSpan(start=join - _NEAR, end=join), self.spec.producer)
        after = [row for row in own if row["time"] < join + _NEAR]
        rows: list[Record] = []
        linked: set[str] = set()
        for moment in sorted({row["known_at"] for row in [*before, *after]}):
            for overlap, earlier, later, time in _pairs(_known(before, moment), _known(after, moment)):
                if overlap < _OVERLAP or earlier in linked or later in linked:
                    continue
                linked |= {earlier, later}
                rows.append(
                    {
                        "earlier": earlier,
                        "later": later,
                        "time": time,
                        "kind": "stitch",
                        "score": round(overlap, 3),
                        "known_at": known_time(moment),
                        "producer": self.spec.producer,
                    }
                )
        return rows


def _known(rows: list[Record], moment: float) -> list[Record]:
    return [row for row in rows if row["known_at"] <= moment]


def _pairs(before: list[Record], after: list[Record]) -> list[tuple[float, str, str, float]]:
    """Overlaps of the end of each track before the join with the beginning of each track after it, best first."""
    ends, beginnings = _by_track(before), _by_track(after)
    return sorted(
        (
            (_overlap(ends[one], beginnings[other]), one, other, beginnings[other][0]["time"])
            for one in ends
            for other in beginnings
        ),
        key=lambda pair: (-pair[0], pair[1], pair[2]),
    )


def _by_track(rows: list[Record]) -> dict[str, list[Record]]:
    tracks: dict[str, list[Record]] = {}
    for row in rows:
        tracks.setdefault(row["track"], []).append(row)
    return tracks


def _overlap(before: list[Record], after: list[Record]) -> float:
    """Overlap of the last and the first box, the one carried on to the time of the other at the speed before or after.

    A thing that ended well before the join does not go on.
    """
    elapsed = after[0]["time"] - before[-1]["time"]
    if elapsed > _GONE_BEFORE + 1.0:
        return 0.0
    last, first = _box(before[-1]), _box(after[0])
    ways = ((0.0, 0.0), _way(before[-_STEPS:], elapsed), _way(after[:_STEPS], elapsed))
    return max(_moved(last, way).iou(first) for way in ways)


def _way(rows: list[Record], elapsed: float) -> tuple[float, float]:
    """How far (pixels) a thing goes in so many seconds at its speed in some sightings."""
    seconds = rows[-1]["time"] - rows[0]["time"]
    if seconds <= 0.0:
        return 0.0, 0.0
    (x, y), (was_x, was_y) = _box(rows[-1]).center, _box(rows[0]).center
    share = min(elapsed, _LONGEST_WAY) / seconds
    return share * (x - was_x), share * (y - was_y)


def _moved(box: Box, way: tuple[float, float]) -> Box:
    return Box(x1=box.x1 + way[0], y1=box.y1 + way[1], x2=box.x2 + way[0], y2=box.y2 + way[1])


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
        modules=("world_api.build.links",),
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
