"""Blobs to tracks: which blob is which thing, and which things are real."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from world_api.build.tracking.blobs import Blob, unite
from world_api.build.tracking.tracks.candidates import GONE, UNDECIDED, Candidate, cover
from world_api.build.tracking.tracks.meetings import Claims, Looks, Meeting, met, part, share
from world_api.core.boxes import Box

#: A blob belongs to a track when it covers, or is covered by, so much of the place where the track is expected.
_INSIDE = 0.4
#: A blob with less than this share of a thing's size is a piece of it, or something that it left behind, and not the thing.
_REMNANT = 0.3
#: Pieces of a thing have their middle inside its largest piece grown by this share of its size.
_AROUND = 0.3
#: How far (share of its size, each second) a thing may get from where it is expected.
_REACH = 1.5


class Tracker:
    """Follows the things of one shot."""

    def __init__(self) -> None:
        self.alive: list[Candidate] = []
        self._count = 0

    def step(self, blobs: Sequence[Blob], time: float, looks: Looks) -> list[Candidate]:
        """Give each track its blobs; returns the tracks seen at this moment."""
        claims, meetings = self._claims(blobs, time, looks)
        seen = []
        for track in self._by_standing():
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
                seen.append(self._begin(blob, time))
        self.alive = [track for track in self.alive if time - track.seen <= GONE]
        return seen

    def drop(self, track: Candidate) -> None:
        """Follow it no longer."""
        self.alive = [other for other in self.alive if other is not track]

    def clear(self) -> None:
        """Forget all tracks (the shot is over)."""
        self.alive = []

    def undecided(self, time: float) -> list[Candidate]:
        """Things that stay where they appeared: left behind, not moving."""
        return [t for t in self.alive if t.confirmed_at is None and time - t.born > UNDECIDED]

    def _by_standing(self) -> list[Candidate]:
        return sorted(self.alive, key=lambda item: (item.confirmed_at is None, item.born, item.number))

    def _claims(self, blobs: Sequence[Blob], time: float, looks: Looks) -> tuple[Claims, list[Meeting]]:
        """The blobs of each track that has some for itself, and the tracks that share some.

        Real things come first, and each takes one blob before any takes others as pieces of it.
        """
        claims: Claims = {}
        if not blobs or not self.alive:
            return claims, []
        real = [track for track in self.alive if track.confirmed_at is not None]
        undecided = [track for track in self.alive if track.confirmed_at is None]
        expected = {track.number: track.expected(time) for track in self.alive}
        hosts: dict[int, int] = {}
        for members, own in part(real, blobs, looks):
            claims[members[0].number] = own
            hosts |= {other.number: members[0].number for other in members[1:]}
        free = [track for track in real if track.number not in hosts]
        for tracks in (free, undecided):
            _take_one_each(claims, tracks, blobs, lambda track, blob: _fit(track, expected[track.number], blob))
            _take_pieces(claims, tracks, blobs, expected)
        for tracks in (free, undecided):
            _take_one_each(claims, tracks, blobs, lambda track, blob: _near(track, expected[track.number], blob, time))
        return claims, met(real, claims, expected, hosts)

    def _begin(self, blob: Blob, time: float) -> Candidate:
        self._count += 1
        track = Candidate(number=self._count, born=time, box=blob.box, seen=time)
        track.take(blob, time)
        self.alive.append(track)
        return track


def _take_one_each(
    claims: Claims, tracks: Sequence[Candidate], blobs: Sequence[Blob], fit: Callable[[Candidate, Blob], float]
) -> None:
    """Give tracks without a blob one each of those left, the best fits first."""
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
    """Give blobs that are left to the track of which they are pieces: close around its blob, and in its place."""
    taken = _taken(claims)
    holders = [(track, claims[track.number][0].box) for track in tracks if track.number in claims]
    for blob in blobs:
        if id(blob) in taken:
            continue
        fits = [
            (_share(track, expected[track.number], blob), -track.number)
            for track, main in holders
            if _is_around(main, blob.box)
        ]
        best = max(fits, default=(0.0, 0))
        if best[0] >= _INSIDE:
            claims[-best[1]].append(blob)


def _taken(claims: Claims) -> set[int]:
    return {id(blob) for own in claims.values() for blob in own}


def _share(track: Candidate, expected: Box, blob: Blob) -> float:
    return max(cover(expected, blob.box), cover(track.box, blob.box))  # it may have stopped


def _fit(track: Candidate, expected: Box, blob: Blob) -> float:
    """How well a blob fills the place where a track is expected; 0 for one that lies elsewhere."""
    inside = _share(track, expected, blob) >= _INSIDE and blob.area >= _REMNANT * track.area
    return max(expected.iou(blob.box), track.box.iou(blob.box)) if inside else 0.0


def _near(track: Candidate, expected: Box, blob: Blob, time: float) -> float:
    """Whether a track may have got as far as a blob that is about as large: the nearer the more, 0 for no."""
    reach = _REACH * max(expected.width, expected.height) * min(max(time - track.seen, 0.2), 1.0)
    distance = max(abs(a - b) for a, b in zip(expected.center, blob.box.center, strict=True))
    alike = 0.5 < blob.box.area / max(expected.area, 1.0) < 2.0
    return 1.0 - distance / reach if alike and distance < reach else 0.0


def _is_around(main: Box, piece: Box) -> bool:
    """Whether the middle of a piece lies inside a box grown a little."""
    x, y = piece.center
    across, down = _AROUND * main.width, _AROUND * main.height
    return main.x1 - across <= x <= main.x2 + across and main.y1 - down <= y <= main.y2 + down
