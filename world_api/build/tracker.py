"""Tracking blobs in one shot, even while several things share a blob.

While confirmed things share a blob, each keeps a box of its own size inside it. When the blob splits, its parts are
assigned to the things by appearance, size and place, at least one thing to each part. This is the occlusion group of
the tracking literature (McKenna et al., "Tracking groups of people", 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from world_api.build.background import Blob, Scene, unite
from world_api.core.ports import AppearanceEmbedder, Image, Vector
from world_api.core.spans import Box

#: A track without a blob for this long (seconds) ends.
GONE = 1.2
#: A track that is not confirmed after this long (seconds) is an object left behind.
UNDECIDED = 4.0
#: A track is confirmed once it has this many sightings and has moved by this share of its own size.
_SIGHTINGS, _MOVED = 4, 0.35
#: The least step (share of its size) that counts as movement.
_STEP = 0.15
#: The remembered area of a thing shrinks by this share with each sighting.
_FORGET = 0.03


@dataclass(kw_only=True)
class Candidate:
    """A track of blobs (connected foreground regions). ``born``, ``seen`` (last), ``confirmed_at`` and ``moved_at`` (last): seconds.

    While it shares a blob with others (``shared``), ``box`` is its expected place in the blob, and ``look`` is its
    descriptor from before that. Since ``doubted_at`` (seconds) there is no evidence that it is still in the blob.
    """

    number: int
    born: float
    box: Box
    seen: float
    hits: int = 0
    confirmed_at: float | None = None
    velocity: tuple[float, float] = (0.0, 0.0)
    moved_at: float = 0.0
    last_blob: Blob | None = None
    origin: tuple[float, float] = (0.0, 0.0)
    travelled: float = 0.0
    area: float = 0.0
    size: tuple[float, float] = (0.0, 0.0)
    shared: Blob | None = None
    look: Vector | None = None
    doubted_at: float | None = None

    def expected(self, time: float) -> Box:
        """Return the expected box: the last one moved at its speed, for at most half a second."""
        ahead = min(time - self.seen, 0.5)
        return self.box.moved(self.velocity[0] * ahead, self.velocity[1] * ahead)

    def take(self, blob: Blob, time: float) -> None:
        """Add a sighting of the thing alone in a blob."""
        if self.hits:
            self._note_speed(blob.box, time)
        else:
            self.origin, self.moved_at = blob.box.center, time
        self.box, self.seen, self.last_blob, self.hits = blob.box, time, blob, self.hits + 1
        self.shared, self.look, self.doubted_at = None, None, None
        self.area = max(float(blob.area), (1.0 - _FORGET) * self.area)
        self.size = (blob.box.width, blob.box.height)
        self._note_movement(time)

    def share(self, blob: Blob, box: Box, time: float) -> None:
        """Add a sighting in a shared blob; ``box`` is its most likely place there."""
        self._note_speed(box, time)
        self.box, self.seen, self.last_blob, self.shared = box, time, blob, blob
        self._note_movement(time)

    def _note_speed(self, box: Box, time: float) -> None:
        elapsed = max(time - self.seen, 1e-3)
        (x, y), (was_x, was_y) = box.center, self.box.center
        self.velocity = (
            0.5 * (self.velocity[0] + (x - was_x) / elapsed),
            0.5 * (self.velocity[1] + (y - was_y) / elapsed),
        )

    def _note_movement(self, time: float) -> None:
        """Add up steps of a minimum size, since outlines tremble; confirm the track if they and its sightings are enough."""
        x, y = self.box.center
        off = max(abs(x - self.origin[0]), abs(y - self.origin[1]))
        if off > _STEP * side_of(self.box):
            self.travelled += off
            self.origin, self.moved_at = (x, y), time
        if self.confirmed_at is None and self.hits >= _SIGHTINGS and self.travelled >= _MOVED * side_of(self.box):
            self.confirmed_at = time


def side_of(box: Box) -> float:
    """Return the shorter side of a box (pixels, at least 4), the unit for movements."""
    return max(4.0, min(box.width, box.height))


def cover(one: Box, other: Box) -> float:
    """Return the area in which two boxes overlap as a share (0 to 1) of the area of the smaller box."""
    return one.common_area(other) / max(min(one.area, other.area), 1.0)


Claims = dict[int, list[Blob]]  #: the blobs of each track, by its number
Meeting = tuple[list[Candidate], list[Blob]]  #: things that share blobs, the oldest first

#: A confirmed track without a blob is in another's if its expected box is inside by this share and its area is this share of that.
_WITHIN, _SCRAP = 0.5, 0.25
#: A shared blob certainly holds more than one thing if it is larger than the largest of them by this factor.
_MORE_THAN_ONE = 1.25
#: A thing without evidence of being in the blob for this long (seconds) has left.
_HIDDEN = 4.0
#: A part of a shared blob is a thing of its own if it has this share of the smallest one's area; blobs above one another that
#: share this much of their columns are parts of one thing.
_LARGE, _COLUMN = 0.4, 0.5
#: A blob is a part of a shared one if one covers this share of the other.
_INSIDE_REGION = 0.4
#: A blob belongs to a track outside the group if it overlaps its box this much.
_OUTSIDERS = 0.5
#: Weights of appearance, distance (in widths of the shared blob) and size in assigning parts.
_LOOKS, _WAY, _SIZE = 12.0, 1.0, 0.5
#: Of more things than this in one blob, only the first are assigned.
_MOST = 4


@dataclass(frozen=True, kw_only=True)
class TwoPictures:
    """Computes appearance vectors of blobs in the current picture (BGR) and the one before.

    ``before_time``: time of the picture before (seconds); ``scene``: the empty scene.
    """

    before_picture: Image
    before_time: float
    picture: Image
    scene: Scene
    appearance: AppearanceEmbedder

    def before(self, blob: Blob, time: float) -> Vector | None:
        """Return the vector in the picture before of a blob last seen at ``time``; None if it has none, or that picture is newer."""
        return self._embed(self.before_picture, blob) if time >= self.before_time else None

    def now(self, blob: Blob) -> Vector | None:
        """Return the vector of a blob in the current picture; None if it has none."""
        return self._embed(self.picture, blob)

    def _embed(self, picture: Image, blob: Blob) -> Vector | None:
        return self.appearance.embed(picture[blob.place], blob.mask, self.scene.bgr)


def split_groups(real: Sequence[Candidate], blobs: Sequence[Blob], looks: TwoPictures) -> list[Meeting]:
    """Find blobs shared by tracks of ``real`` (confirmed) that split; return each part (some of ``blobs``) with its tracks."""
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
            found.extend(_assigned(members, parts, region, looks))
    return found


def join_groups(
    real: Sequence[Candidate], claims: Claims, expected: Mapping[int, Box], hosts: dict[int, int]
) -> list[Meeting]:
    """Find tracks of ``real`` (confirmed) without a blob that are inside another's; return shared blobs with their tracks.

    ``claims``: the blobs of each track, from which shared ones are removed. ``expected``: each track's expected box.
    ``hosts``: for tracks of a group that split, the number of the track whose blob they are in. All by track number.
    """
    meetings: dict[int, list[Candidate]] = {}
    holders = {track.number: track for track in real if track.number in claims}
    boxes = {number: unite(claims[number]).box for number in holders}
    for track in (track for track in real if track.number not in holders and holders):
        number = hosts.get(track.number) or _host(track, expected[track.number], holders, boxes)
        if number is not None:
            meetings.setdefault(number, [holders[number]]).append(track)
    return [(sorted(members, key=_seniority), claims.pop(number)) for number, members in meetings.items()]


def _seniority(track: Candidate) -> tuple[float, int]:
    return track.born, track.number


def share(members: Sequence[Candidate], blob: Blob, time: float, looks: TwoPictures) -> list[Candidate]:
    """Add a sighting in a shared blob to each of ``members``; return those that have left it.

    If the blob was no larger than one thing for four seconds, only the thing that looks most like it remains.
    """
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
    stays = max(members, key=lambda track: _likeness(track.look, look))  # the first if their appearance is unknown
    stays.take(blob, time)
    return [track for track in members if track is not stays]


def _host(track: Candidate, place: Box, holders: Mapping[int, Candidate], boxes: Mapping[int, Box]) -> int | None:
    """Return the number of the track whose blob contains ``track``, which has no blob; None if there is none.

    ``place``: its expected box, not used if it shared a blob before, whose box then counts. ``holders``, ``boxes``: tracks
    with blobs, and the boxes of these.
    """
    if track.shared is not None:
        place = track.shared.box
    number = max(holders, key=lambda other: place.common_area(boxes[other]))
    if track.shared is not None:
        return number if cover(place, boxes[number]) >= _INSIDE_REGION else None
    inside = place.common_area(boxes[number]) >= _WITHIN * place.area
    return number if inside and track.area >= _SCRAP * holders[number].area else None


def _groups(real: Iterable[Candidate]) -> list[list[Candidate]]:
    groups: dict[int, list[Candidate]] = {}
    for track in real:
        if track.shared is not None:
            groups.setdefault(id(track.shared), []).append(track)
    return [sorted(group, key=_seniority) for group in groups.values() if len(group) > 1]


def _columns(blobs: Sequence[Blob]) -> list[list[Blob]]:
    """Group blobs one above another (parts of a person in clothes of the wall's colour), the largest of a group first."""
    columns: list[list[Blob]] = []
    for blob in sorted(blobs, key=lambda item: -item.area):
        own = next((column for column in columns if _is_above(column[0].box, blob.box)), None)
        if own is None:
            columns.append([blob])
        else:
            own.append(blob)
    return columns


def _is_above(one: Box, other: Box) -> bool:
    return min(one.x2, other.x2) - max(one.x1, other.x1) >= _COLUMN * min(one.width, other.width)


def _assigned(
    members: Sequence[Candidate], parts: Sequence[list[Blob]], region: Blob, looks: TwoPictures
) -> list[Meeting]:
    """Return each of ``parts`` (of the shared blob ``region``) with the members it most likely shows, if any."""
    members, whole = members[:_MOST], [unite(column) for column in parts[:_MOST]]
    seen = [looks.now(blob) for blob in whole]
    described = all(look is not None for look in seen) and all(track.look is not None for track in members)

    def score(track: Candidate, place: int) -> float:
        blob = whole[place]
        alike = _LOOKS * _likeness(track.look, seen[place]) if described else 0.0
        way = abs(track.box.center[0] - blob.box.center[0]) / max(region.box.width, 1.0)
        size = min(track.area, blob.area) / max(track.area, blob.area, 1.0)
        return alike - _WAY * way + _SIZE * size

    scores = [[score(track, place) for place in range(len(whole))] for track in members]
    ways = product(range(len(whole)), repeat=len(members))
    full = [way for way in ways if len(set(way)) == min(len(whole), len(members))]
    best = max(full, key=lambda way: sum(row[place] for row, place in zip(scores, way, strict=True)))
    return [
        ([track for track, own in zip(members, best, strict=True) if own == place], parts[place])
        for place in dict.fromkeys(best)
    ]


def _places(members: Sequence[Candidate], region: Box, time: float) -> list[Box]:
    """Return a box for each thing in the box they share, of its size when last alone; the outermost things touch the sides."""
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


#: A blob belongs to a track if it covers, or is covered by, this share of the expected box.
_INSIDE = 0.4
#: A blob with less than this share of a thing's area is a piece of it, or an object left behind.
_REMNANT = 0.3
#: The centre of a piece is inside the largest piece enlarged by this share of its size.
_AROUND = 0.3
#: The largest distance (share of its size, each second) of a thing from its expected box.
_MAX_SPEED = 1.5


class Tracker:
    """Assigns the blobs of each frame to tracks, within one shot. ``alive`` holds the tracks that have not ended."""

    def __init__(self) -> None:
        self.alive: list[Candidate] = []
        self._count = 0

    def step(self, blobs: Sequence[Blob], time: float, looks: TwoPictures) -> list[Candidate]:
        """Assign blobs to tracks; return the tracks seen at this time."""
        claims, meetings = self._claims(blobs, time, looks)
        seen = []
        for track in sorted(self.alive, key=lambda track: (track.confirmed_at is None, *_seniority(track))):
            if mine := claims.get(track.number):
                track.take(unite(mine), time)
                seen.append(track)
        for members, own in meetings:
            for gone in share(members, unite(own), time, looks):
                self.drop(gone)
            seen.extend(track for track in members if track in self.alive)
        claimed = _taken(claims) | {id(blob) for _, own in meetings for blob in own}
        for blob in blobs:
            if id(blob) not in claimed:
                self._count += 1
                track = Candidate(number=self._count, born=time, box=blob.box, seen=time)
                track.take(blob, time)
                self.alive.append(track)
                seen.append(track)
        self.alive = [track for track in self.alive if time - track.seen <= GONE]
        return seen

    def drop(self, track: Candidate) -> None:
        """End a track."""
        self.alive = [other for other in self.alive if other is not track]

    def undecided(self, time: float) -> list[Candidate]:
        """Return tracks that have existed for four seconds without being confirmed: objects left behind."""
        return [t for t in self.alive if t.confirmed_at is None and time - t.born > UNDECIDED]

    def _claims(self, blobs: Sequence[Blob], time: float, looks: TwoPictures) -> tuple[Claims, list[Meeting]]:
        """Return the blobs of each track that shares none, by its number, and groups of tracks with the blobs they share.

        Confirmed tracks come first, and each gets one blob before any gets further pieces.
        """
        claims: Claims = {}
        if not blobs or not self.alive:
            return claims, []
        real = [track for track in self.alive if track.confirmed_at is not None]
        undecided = [track for track in self.alive if track.confirmed_at is None]
        expected = {track.number: track.expected(time) for track in self.alive}
        hosts: dict[int, int] = {}
        for members, own in split_groups(real, blobs, looks):
            claims[members[0].number] = own
            hosts |= {other.number: members[0].number for other in members[1:]}
        free = [track for track in real if track.number not in hosts]
        for tracks in (free, undecided):
            _take_one_each(claims, tracks, blobs, lambda track, blob: _fit(track, expected[track.number], blob))
            _take_pieces(claims, tracks, blobs, expected)
        for tracks in (free, undecided):
            _take_one_each(claims, tracks, blobs, lambda track, blob: _near(track, expected[track.number], blob, time))
        return claims, join_groups(real, claims, expected, hosts)


def _take_one_each(
    claims: Claims, tracks: Sequence[Candidate], blobs: Sequence[Blob], fit: Callable[[Candidate, Blob], float]
) -> None:
    """Add to ``claims`` one free blob for each track without one, the best fits first; a ``fit`` of 0 is none."""
    taken = _taken(claims)
    pairs = [
        (score, -track.number, -place)
        for place, blob in enumerate(blobs)
        if id(blob) not in taken
        for track in tracks
        if track.number not in claims and (score := fit(track, blob)) > 0.0
    ]
    used: set[int] = set()
    for _, number, place in sorted(pairs, reverse=True):
        if -number not in claims and place not in used:
            claims[-number] = [blobs[-place]]
            used.add(place)


def _take_pieces(
    claims: Claims, tracks: Sequence[Candidate], blobs: Sequence[Blob], expected: Mapping[int, Box]
) -> None:
    """Add to ``claims`` free blobs for tracks that have one: those close to it that overlap the track's expected or last box."""
    taken = _taken(claims)
    holders = [(track, claims[track.number][0].box) for track in tracks if track.number in claims]
    for blob in (blob for blob in blobs if id(blob) not in taken):
        near = [track for track, main in holders if main.enlarged(_AROUND).holds(blob.box.center)]
        fits = [(_share(track, expected[track.number], blob), -track.number) for track in near]
        share, number = max(fits, default=(0.0, 0))
        if share >= _INSIDE:
            claims[-number].append(blob)


def _taken(claims: Claims) -> set[int]:
    return {id(blob) for own in claims.values() for blob in own}


def _share(track: Candidate, expected: Box, blob: Blob) -> float:
    return max(cover(expected, blob.box), cover(track.box, blob.box))  # the thing may have stopped


def _fit(track: Candidate, expected: Box, blob: Blob) -> float:
    """Return how well a blob fits the expected or last box of a track (IoU); 0 if it is elsewhere or much too small."""
    inside = _share(track, expected, blob) >= _INSIDE and blob.area >= _REMNANT * track.area
    return max(expected.iou(blob.box), track.box.iou(blob.box)) if inside else 0.0


def _near(track: Candidate, expected: Box, blob: Blob, time: float) -> float:
    """Return how near a blob of about the same size is to a track, 0 to 1; 0 if it is too far to move there."""
    limit = _MAX_SPEED * max(expected.width, expected.height) * min(max(time - track.seen, 0.2), 1.0)
    distance = max(abs(a - b) for a, b in zip(expected.center, blob.box.center, strict=True))
    alike = 0.5 < blob.box.area / max(expected.area, 1.0) < 2.0
    return 1.0 - distance / limit if alike and distance < limit else 0.0
