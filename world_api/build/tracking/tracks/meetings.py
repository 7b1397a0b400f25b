"""Things that meet, are one blob for a while, and part again.

While real things share a blob, each is kept, with a box of its own size inside it. When the blob comes apart, its parts are
given back by looks, size and place, at least one thing to each. This is the occlusion group of the tracking literature
(McKenna et al., "Tracking groups of people", 2000).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Protocol

from world_api.build.tracking.blobs import Blob, unite
from world_api.build.tracking.tracks.candidates import Candidate, common, cover
from world_api.core.boxes import Box
from world_api.core.ports import Vector

Claims = dict[int, list[Blob]]  #: the blobs of each track, by its number
Meeting = tuple[
    list[Candidate], list[Blob]
]  #: things that share blobs, the one that was followed first before the others

#: A real thing without a blob is in another's when this share of where it should be lies in it, and it is no mere scrap of it.
_WITHIN, _SCRAP = 0.5, 0.25
#: A shared blob holds more than one thing for sure when it is larger than the largest of them by this factor.
_MORE_THAN_ONE = 1.25
#: Who cannot be seen to be there for this long (seconds) has gone.
_HIDDEN = 4.0
#: Part of a shared blob is a thing by itself when it has this share of the smallest one's size; blobs above one another, their
#: columns shared to such an extent, are parts of one.
_LARGE, _COLUMN = 0.4, 0.5
#: A blob comes of a shared one when one of them covers so much of the other.
_INSIDE_REGION = 0.4
#: A blob is an outsider's when it overlaps its place so much.
_OUTSIDERS = 0.5
#: How much looks, the way to a part (shares of the shared blob's width), and size count when parts are given back.
_LOOKS, _WAY, _SIZE = 12.0, 1.0, 0.5
#: More things than this in one blob are told apart only by where the first of them are.
_MOST = 4


class Looks(Protocol):
    """How blobs look, as unit vectors; None where too little is seen."""

    def before(self, blob: Blob, time: float) -> Vector | None:
        """One that was seen at a time, if that is the picture before this one."""
        ...

    def now(self, blob: Blob) -> Vector | None:
        """One of the picture at hand."""
        ...


def part(real: Sequence[Candidate], blobs: Sequence[Blob], looks: Looks) -> list[Meeting]:
    """The parts of shared blobs that came apart, each with the things that it is now, or that go on sharing it."""
    found: list[Meeting] = []
    for members in _groups(real):
        region = members[0].shared
        if region is None:
            continue
        outsiders = [track.box for track in real if track.shared is not region]
        own = [
            blob
            for blob in blobs
            if cover(region.box, blob.box) >= _INSIDE_REGION
            and not any(box.iou(blob.box) > _OUTSIDERS for box in outsiders)
        ]
        smallest = min(track.area for track in members)
        parts = [column for column in _columns(own) if sum(blob.area for blob in column) >= _LARGE * smallest]
        if len(parts) > 1:
            found.extend(_given_back(members, parts, region, looks))
    return found


def met(real: Sequence[Candidate], claims: Claims, expected: Mapping[int, Box], hosts: dict[int, int]) -> list[Meeting]:
    """Real things without a blob that are where another's is: they share it from now on, and it is taken out of the claims.

    ``hosts`` says in whose blob things are that shared one before, where that is known (numbers of tracks).
    """
    meetings: dict[int, list[Candidate]] = {}
    holders = {track.number: track for track in real if track.number in claims}
    boxes = {number: unite(claims[number]).box for number in holders}
    for track in real:
        if track.number in claims or not holders:
            continue
        number = hosts.get(track.number)
        if number is None:
            number = _host(track, expected[track.number], holders, boxes)
        if number is not None:
            meetings.setdefault(number, [holders[number]]).append(track)
    return [
        (sorted(members, key=lambda track: (track.born, track.number)), claims.pop(number))
        for number, members in meetings.items()
    ]


def share(members: Sequence[Candidate], blob: Blob, time: float, looks: Looks) -> list[Candidate]:
    """Let things share a blob; those that have gone, as far as can be told, are given back."""
    for track in members:
        if track.shared is None and track.last_blob is not None:
            track.look = looks.before(track.last_blob, track.seen)
    for track, box in zip(members, _places(members, blob.box, time), strict=True):
        track.share(blob, box, time)
    if blob.area >= _MORE_THAN_ONE * max(track.area for track in members):
        for track in members:
            track.doubted_at = None
        return []
    for track in members[1:]:
        track.doubted_at = time if track.doubted_at is None else track.doubted_at
    if not any(track.doubted_at is not None and time - track.doubted_at > _HIDDEN for track in members):
        return []
    look = looks.now(blob)
    stays = max(members, key=lambda track: _likeness(track.look, look))  # the first where looks say nothing
    stays.take(blob, time)
    return [track for track in members if track is not stays]


def _host(track: Candidate, place: Box, holders: Mapping[int, Candidate], boxes: Mapping[int, Box]) -> int | None:
    """In whose blob a thing without one is: where it should be, or what the blob that it shared has become."""
    if track.shared is not None:
        place = track.shared.box
    number = max(holders, key=lambda other: common(place, boxes[other]))
    if track.shared is not None:
        return number if cover(place, boxes[number]) >= _INSIDE_REGION else None
    inside = common(place, boxes[number]) >= _WITHIN * place.area
    return number if inside and track.area >= _SCRAP * holders[number].area else None


def _groups(real: Iterable[Candidate]) -> list[list[Candidate]]:
    groups: dict[int, list[Candidate]] = {}
    for track in real:
        if track.shared is not None:
            groups.setdefault(id(track.shared), []).append(track)
    return [sorted(group, key=lambda track: (track.born, track.number)) for group in groups.values() if len(group) > 1]


def _columns(blobs: Sequence[Blob]) -> list[list[Blob]]:
    """Blobs that lie above one another together: the parts of somebody in clothes like the wall."""
    columns: list[list[Blob]] = []
    for blob in sorted(blobs, key=lambda item: -item.area):
        for column in columns:
            box = column[0].box
            width = min(box.x2, blob.box.x2) - max(box.x1, blob.box.x1)
            if width >= _COLUMN * min(box.width, blob.box.width):
                column.append(blob)
                break
        else:
            columns.append([blob])
    return columns


def _given_back(members: Sequence[Candidate], parts: Sequence[list[Blob]], region: Blob, looks: Looks) -> list[Meeting]:
    """The likeliest way to give parts of a shared blob to the things in it, as many parts as can be to one each."""
    members, whole = members[:_MOST], [unite(list(column)) for column in parts[:_MOST]]
    seen = [looks.now(blob) for blob in whole]
    telling = all(look is not None for look in seen) and all(track.look is not None for track in members)
    score = [
        [
            (_LOOKS * _likeness(track.look, look) if telling else 0.0)
            - _WAY * abs(track.box.center[0] - blob.box.center[0]) / max(region.box.width, 1.0)
            + _SIZE * min(track.area, blob.area) / max(track.area, blob.area, 1.0)
            for blob, look in zip(whole, seen, strict=True)
        ]
        for track in members
    ]
    ways = [
        way for way in product(range(len(whole)), repeat=len(members)) if len(set(way)) == min(len(whole), len(members))
    ]
    best = max(ways, key=lambda way: sum(row[place] for row, place in zip(score, way, strict=True)))
    shares: dict[int, list[Candidate]] = {}
    for track, place in zip(members, best, strict=True):
        shares.setdefault(place, []).append(track)
    return [(own, list(parts[place])) for place, own in shares.items()]


def _places(members: Sequence[Candidate], region: Box, time: float) -> list[Box]:
    """Where things are in the box that they share: as large as before; the outermost ones reach its sides."""
    expected = [track.expected(time) for track in members]
    order = sorted(range(len(members)), key=lambda place: expected[place].center[0])
    boxes = []
    for place, (track, box) in enumerate(zip(members, expected, strict=True)):
        width, height = min(track.size[0], region.width), min(track.size[1], region.height)
        left = min(max(box.center[0] - width / 2, region.x1), region.x2 - width)
        if place == order[0]:
            left = region.x1
        elif place == order[-1]:
            left = region.x2 - width
        top = min(max(box.center[1] - height / 2, region.y1), region.y2 - height)
        boxes.append(Box(x1=left, y1=top, x2=left + width, y2=top + height))
    return boxes


def _likeness(one: Vector | None, other: Vector | None) -> float:
    return 0.0 if one is None or other is None else float(one @ other)
