"""The stage ``stitches``: links between tracks of the same thing.

Tracks are linked across the boundary (join) of two clips, and over the time in which a person stood still for so long
that the track ended: a background model makes a person who does not move a part of the background. That the person
remained is inferred when something begins to move where a person was last seen, in the same shot, in front of a still
camera, and looks like that person; it is known only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from world_api.build.stage import Clip, EarlierRows, Record, Records, StageSpec, box_of
from world_api.core.ports import Vector
from world_api.core.spans import Box, TimeSpan, known_time, round_time

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
#: The category of a thing of which no category was recognised.
UNRECOGNISED = "moving_object"
#: The number of sightings that give the speed at the join, and for how long (seconds) it holds.
_STEPS, _LONGEST_WAY = 3, 0.5


def _by_track(rows: Iterable[Record]) -> dict[str, list[Record]]:
    tracks: dict[str, list[Record]] = {}
    for row in rows:
        tracks.setdefault(row["track"], []).append(row)
    return tracks


def _known(rows: Iterable[Record], moment: float) -> list[Record]:
    return [row for row in rows if row["known_at"] <= moment]


class Stitches:
    """Links the tracks of a clip to those of the clip before it, by the stored boxes on both sides of the join.

    A person who stood still and moves again in the clip is linked, too, and gets sightings for the time between, which
    may be in earlier clips. ``tracks``: the stage that makes the tracks.
    """

    def __init__(self, tracks: str = "moving_things") -> None:
        self.spec = StageSpec(name="stitches", version=4, tables=("track_links", "sightings"), needs=(tracks, "cuts"))
        self._sightings = EarlierRows(self._read)
        self._links = EarlierRows(self._read_links)

    def make_rows(self, clip: Clip) -> Records:
        """Return the links, and sightings for the time in which people stood still."""
        oldest = max(0.0, clip.span.start - _LONGEST - 2 * _STILL)
        sightings, known_links = (rows.before(clip, oldest=oldest) for rows in (self._sightings, self._links))
        for rows in (sightings, known_links):
            rows[:] = [row for row in rows if row["time"] >= oldest]
        own = self._read(clip, clip.span)
        links = self._over_join(clip, own)
        stays, seen = _Stays(clip, sightings, own, [*known_links, *links]).find()
        return {"track_links": [*links, *stays], "sightings": seen}

    def _read(self, clip: Clip, span: TimeSpan) -> list[Record]:
        """Return the sightings of a span in order of time, without those that this stage added."""
        rows = [row for row in clip.rows("sightings", span).to_pylist() if row["producer"] != self.spec.producer]
        return sorted(rows, key=lambda row: (row["time"], row["track"]))

    def _read_links(self, clip: Clip, span: TimeSpan) -> list[Record]:
        """Return the links of a span that this stage made; stages after it may or may not have added theirs yet."""
        return [row for row in clip.rows("track_links", span).to_pylist() if row["kind"] == "stitch"]

    def _over_join(self, clip: Clip, own: Sequence[Record]) -> list[Record]:
        """Return links over the join at the clip's start, at most one for each track; ``own``: the clip's sightings.

        Links are made in the order in which sightings became known, the best overlaps of a moment first. They are never
        removed: what becomes known later only adds links.
        """
        join = clip.span.start
        if join == 0:
            return []
        before = self._read(clip, TimeSpan(start=join - _NEAR, end=join))
        after = [row for row in own if row["time"] < join + _NEAR]
        ends = {row["track"]: row["time"] for row in before}
        rows: list[Record] = []
        linked: set[str] = set()
        for moment in sorted({row["known_at"] for row in [*before, *after]}):
            for overlap, earlier, later, time in _overlaps(_known(before, moment), _known(after, moment)):
                if overlap < _OVERLAP or earlier in linked or later in linked:
                    continue
                if any(hole.overlaps(TimeSpan(start=ends[earlier], end=time)) for hole in clip.holes):
                    continue
                linked |= {earlier, later}
                rows.append(_stitch(earlier, later, time, overlap, moment))
        return rows


def _stitch(earlier: str, later: str, time: float, score: float, moment: float) -> Record:
    return {
        "earlier": earlier, "later": later, "time": time, "kind": "stitch", "score": round(score, 3),
        "known_at": known_time(moment),
    }  # fmt: skip


def _overlaps(before: list[Record], after: list[Record]) -> list[tuple[float, str, str, float]]:
    """Return (overlap, earlier track, later track, time) for each pair of tracks at a join, the best overlap first."""
    ends, beginnings = _by_track(before), _by_track(after)
    pairs = [
        (_overlap(ends[one], beginnings[other]), one, other, beginnings[other][0]["time"])
        for one in ends
        for other in beginnings
        if _may_be_one(ends[one][-1], beginnings[other][0])
    ]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))


def _may_be_one(before: Record, after: Record) -> bool:
    """Whether two sightings may be of one thing by their categories; one that was not recognised may be anything."""
    categories = {before["category"], after["category"]}
    return len(categories) == 1 or UNRECOGNISED in categories


def _overlap(before: list[Record], after: list[Record]) -> float:
    """Return the overlap (IoU) of the last box of ``before`` and the first of ``after``; 0 if more than 1.5 s apart.

    The last box is also moved at the speed before and at the speed after the join; the best overlap counts.
    """
    elapsed = after[0]["time"] - before[-1]["time"]
    if elapsed > _ENDED:
        return 0.0
    last, first = box_of(before[-1]), box_of(after[0])
    ways = ((0.0, 0.0), _way(before[-_STEPS:], elapsed), _way(after[:_STEPS], elapsed))
    return max(last.moved(*way).iou(first) for way in ways)


def _way(rows: list[Record], elapsed: float) -> tuple[float, float]:
    """Return the movement (right, down; pixels) in ``elapsed`` seconds, at most 0.5, at the mean speed in ``rows``."""
    seconds = rows[-1]["time"] - rows[0]["time"]
    if seconds <= 0.0:
        return 0.0, 0.0
    (x, y), (was_x, was_y) = box_of(rows[-1]).center, box_of(rows[0]).center
    share = min(elapsed, _LONGEST_WAY) / seconds
    return share * (x - was_x), share * (y - was_y)


class _Stays:
    """Finds people who stood still so long that their track ended, among the tracks that begin in one clip."""

    def __init__(self, clip: Clip, earlier: Sequence[Record], own: Sequence[Record], links: Sequence[Record]) -> None:
        self._clip = clip
        self._own = own
        self._links = links
        # The last sightings of each track.
        self._tracks = {
            track: [row for row in rows if row["time"] >= rows[-1]["time"] - 2 * _STILL]
            for track, rows in _by_track([*earlier, *own]).items()
        }
        self._ended: set[str] = set()
        self._begun: set[str] = set()

    def find(self) -> tuple[list[Record], list[Record]]:
        """Return links from people who stood still to tracks that begin in the clip, and sightings for the gaps."""
        starting = {
            track: rows
            for track, rows in _by_track(self._own).items()
            if not self._is_cut_off(rows[0])
            # Whether any track ended in that place; checked before anything more expensive.
            and any(
                _is_before(ended[-1], rows[0]) and _is_within(ended[-1], rows[0]) for ended in self._tracks.values()
            )
        }
        links: list[Record] = []
        filled: list[Record] = []
        looks = self._looks(self._clip.span) if starting else {}
        moments = sorted({(look["known_at"], track) for track in starting for look in looks.get(track, [])})
        for moment, track in moments:
            rows = _known(starting[track], moment)
            if track in self._begun or not rows or moment - rows[0]["time"] > _SOON:
                continue
            best = self._best(rows, [look["vector"] for look in _known(looks[track], moment)], moment)
            if best is not None:
                last, alike = best
                self._ended.add(last["track"])
                self._begun.add(track)
                links.append(_stitch(last["track"], track, rows[0]["time"], min(1.0, alike), moment))
                times = np.arange(last["time"] + _STEP, rows[0]["time"] - _STEP / 4, _STEP)
                known = known_time(moment)
                filled.extend({**last, "time": round_time(float(time)), "known_at": known} for time in times)
        return links, filled

    def _best(self, rows: Sequence[Record], seen: Sequence[Vector], moment: float) -> tuple[Record, float] | None:
        """Return the last sighting of the person whom a new track most likely shows, and how alike they look (cosine); or None.

        ``rows``, ``seen``: the sightings and descriptors of the new track that are known at ``moment``.
        """
        first = rows[0]
        linked = {(link["earlier"], link["later"]) for link in _known(self._links, moment)}
        ends = [rows[-1] for known in self._tracks.values() if (rows := _known(known, moment))]
        # Whether a moving thing was lost just there.
        is_another = any(0.0 < first["time"] - end["time"] <= _JUST_GONE and _is_within(end, first) for end in ends)
        if is_another or any(later == first["track"] for _, later in linked):
            return None
        continued = {earlier for earlier, _ in linked} | self._ended
        found: list[tuple[float, str, Record]] = []
        for track, sightings in self._tracks.items():
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

    def _stood_still(self, ended: Sequence[Record], first: Record) -> bool:
        """Whether ``ended``, a track's last sightings, are of a person who stood still in the place of ``first``."""
        last = ended[-1]
        if last["category"] != "person" or not (_is_before(last, first) and _is_within(last, first)):
            return False
        lately = [row for row in ended if row["time"] >= last["time"] - _STILL]
        still = all(box_of(row).iou(box_of(last)) >= _SAME for row in lately)
        return still and bool(ended[0]["time"] <= last["time"] - _STILL) and not self._is_cut_off(last)

    def _is_one_view(self, start: float, end: float, moment: float) -> bool:
        """Whether no cut and no camera motion between two times is known at ``moment``, and every frame was decoded."""
        span = TimeSpan(start=start, end=end + 1e-3)
        if any(hole.overlaps(span) for hole in self._clip.holes):
            return False
        moved = [row for row in self._clip.rows("camera", span).to_pylist() if row["kind"] != "still"]
        cuts = self._clip.rows("cuts", span).to_pylist()
        return not _known([*moved, *cuts], moment)

    def _looks(self, span: TimeSpan) -> dict[str, list[Record]]:
        return _by_track(self._clip.rows("track_looks", span).to_pylist())

    def _is_cut_off(self, row: Record) -> bool:
        width, height = self._clip.source.width, self._clip.source.height
        inner = Box(x1=0, y1=0, x2=width, y2=height).enlarged(-_EDGE)
        return not (inner.x1 < row["x1"] and row["x2"] < inner.x2 and inner.y1 < row["y1"] and row["y2"] < inner.y2)


def _is_before(last: Record, first: Record) -> bool:
    return bool(_SHORTEST <= first["time"] - last["time"] <= _LONGEST)


def _is_within(last: Record, first: Record) -> bool:
    """Whether at least half of the box of ``first`` is in the enlarged box of ``last``."""
    box = box_of(first)
    shared = box_of(last).enlarged(*_AROUND).common_area(box)
    return shared > 0.0 and shared >= _WITHIN * box.area


def _is_as_tall(rows: Sequence[Record], last: Record) -> bool:
    tall = box_of(last).height
    soon = [box_of(row).height for row in rows if row["time"] <= rows[0]["time"] + _SOON]
    return any(tall / _TALLER <= height <= tall * _TALLER for height in soon)
