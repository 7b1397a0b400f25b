"""Who stood still for so long that following lost them, and is then seen to move off from that very place, was there all the time.

A background model takes what does not move for background: at once where a clip's window begins with it, else after a
while. Nothing in the picture tells then that somebody is there. It is told afterwards: when something begins to move inside
the picture, where a person was last seen, in the same shot, before a camera that stood still, and looks like that person. Then, and
not before, it becomes known that the person stayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.ports import Vector
from world_api.core.spans import Box, TimeSpan, known_time, round_time

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
        modules=("world_api.build.track_links", "world_api.core.spans"),
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
