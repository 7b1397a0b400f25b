"""The stage that writes ``track_links``: tracks that go on over the join of two clips, or after somebody stood still for long."""

from __future__ import annotations

from collections.abc import Sequence

from world_api.build.linking.stays import Before, Stays, sightings
from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.boxes import Box
from world_api.core.spans import TimeSpan, known_time

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
        modules=(
            "world_api.build.linking.stitches",
            "world_api.build.linking.stays",
            "world_api.core.boxes",
        ),
    )

    def __init__(self) -> None:
        self._before = Before()

    def open(self, clip: Clip) -> StitchesWorker:
        """A fresh worker."""
        self._before.read_up_to(clip, self.spec.producer)
        return StitchesWorker(clip, self._before, self.spec.producer)


class StitchesWorker:
    """Works on the join at the start of one clip, and on who moves off in it."""

    def __init__(self, clip: Clip, before: Before, producer: str) -> None:
        self._clip = clip
        self._before = before
        self._producer = producer

    def see(self, frame: Frame) -> None:
        """No frames are needed."""

    def finish(self) -> Records:
        """The links, each track in at most one over the join, and sightings of who stayed."""
        own = sightings(self._clip, self._clip.span, self._producer)
        links = self._over_join(own)
        stays, seen = Stays(self._clip, self._before, own, links, self._producer).find()
        return {"track_links": [*links, *stays], "sightings": seen}

    def _over_join(self, own: Sequence[Record]) -> list[Record]:
        """Links over the join, each track in at most one.

        Links are made in the order in which sightings became known, the best overlaps of a moment first, and never taken
        back: what becomes known later adds links and changes none.
        """
        join = self._clip.span.start
        if join == 0:
            return []
        before = sightings(self._clip, TimeSpan(start=join - _NEAR, end=join), self._producer)
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
                        "producer": self._producer,
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


def _box(row: Record) -> Box:
    return Box(x1=row["x1"], y1=row["y1"], x2=row["x2"], y2=row["y2"])
