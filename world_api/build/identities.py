"""The stage ``identities``: who of the people in a video is the same person, seen again.

Tracks of people are compared by the vectors of their faces and bodies in ``person_looks``. A sure match is a link of the
kind ``same_person``, which makes one entity of two tracks; an uncertain one is a row of ``look_links`` (``may_be``). Clusters
grow in the order in which things become known, and a link is never taken back. People who are seen at the same time are
never linked. Tracks that ``stitches`` has linked count as one from the start.

A track is judged when it has been seen four times and its predecessors have ended, and once more, if no sure match was
found, when it has been seen ten times. A face decides where both have one; otherwise the whole figure does, and only while
no other person looks nearly as similar.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, EarlierRows, Record, Records, StageSpec
from world_api.core.ports import Vector, Vectors
from world_api.core.spans import TimeSpan, known_time

#: A track is judged with this many vectors, and again; or with fewer when none came for so long (seconds).
_OFTEN, _GONE = (4, 10), 5.0
#: A track that was seen in the last seconds may not have ended, so that it may still be seen beside another one.
_ENDED = 3.0
#: How much less similar (inner product) the next person has to look, for a match by the whole figure to be sure.
_MARGIN = 0.02
#: The most uncertain links of one judgement.
_MOST = 3


@dataclass(frozen=True, kw_only=True)
class IdentityLimits:
    """Inner products from which two vectors are of the same person, and below which they are not: ``FaceEmbedder``."""

    sure: float
    doubtful: float


@dataclass(frozen=True, kw_only=True)
class Sighted:
    """A track of a person: when it was seen, and its vectors, each with the times when they became known (seconds, ascending).

    ``seen``, ``seen_known``: shape (n,). ``known``, ``vectors``: by part (``body``, ``face``), shapes (m,) and (m, dimension).
    """

    track: str
    seen: NDArray[np.float64]
    seen_known: NDArray[np.float64]
    known: Mapping[str, NDArray[np.float64]]
    vectors: Mapping[str, Vectors]
    typical: dict[tuple[str, int], Vector | None] = field(default_factory=dict)

    def look(self, part: str, moment: float) -> Vector | None:
        """Return the median of the vectors of a part known at a moment, of unit length; None if there are none."""
        count = int(np.searchsorted(self.known[part], moment, "right")) if part in self.known else 0
        if (part, count) not in self.typical:
            middle = np.median(self.vectors[part][:count], axis=0) if count else np.zeros(1)
            length = float(np.linalg.norm(middle))
            self.typical[part, count] = (middle / length).astype(np.float32) if length > 1e-6 else None
        return self.typical[part, count]

    def span(self, moment: float) -> tuple[float, float] | None:
        """Return the times of the first and the last sighting that are known at a moment; None if none is."""
        seen = self.seen[self.seen_known <= moment]
        return (float(seen.min()), float(seen.max())) if len(seen) else None

    def moments(self) -> list[float]:
        """Return the times at which it is judged."""
        known = np.sort(np.concatenate([*self.known.values()])) if self.known else np.zeros(0)
        if not len(known):
            return []
        earliest = float(self.seen.min()) + _ENDED
        found: list[float] = []
        for number, time in enumerate(known.tolist(), start=1):
            later = known[number:]
            if number in _OFTEN or (not found and not (len(later) and later[0] <= time + _GONE)):
                found.append(max(time if number in _OFTEN else time + _GONE, earliest))
        return found


@dataclass(frozen=True, kw_only=True)
class Match:
    """An earlier person whom a track may show: the first track of that person, how alike they look, and whether it is sure."""

    track: str
    score: float
    sure: bool


class Identities:
    """Links tracks that show the same person. ``limits``: those of the models of bodies and faces, by part."""

    def __init__(self, limits: Mapping[str, IdentityLimits], *, needs: Sequence[str]) -> None:
        self._limits = limits
        self.spec = StageSpec(
            name="identities",
            version=1,
            tables=("track_links", "look_links"),
            parameters={part: [own.sure, own.doubtful] for part, own in sorted(limits.items())},
            needs=tuple(needs),
        )
        self._people = EarlierRows(_people)
        self._links = EarlierRows(lambda clip, span: _links(clip, span, "track_links"))
        self._doubts = EarlierRows(lambda clip, span: _links(clip, span, "look_links"))

    def make_rows(self, clip: Clip) -> Records:
        """Return the links from the clip's tracks to earlier ones."""
        own = _people(clip, clip.span)
        people = [*self._people.before(clip), *own]
        links = [*self._links.before(clip), *_links(clip, clip.span, "track_links")]
        doubts = {(row["earlier"], row["later"]) for row in self._doubts.before(clip)}
        sure: list[Record] = []
        unsure: list[Record] = []
        judged = [(moment, person) for person in own for moment in person.moments()]
        for moment, person in sorted(judged, key=lambda pair: (pair[0], pair[1].track)):
            for match in find_matches(person, people, [*links, *sure], self._limits, moment):
                row = {
                    "earlier": match.track, "later": person.track, "time": round(float(person.seen.min()), 3),
                    "score": round(match.score, 3), "known_at": known_time(moment),
                }  # fmt: skip
                if match.sure:
                    sure.append(row | {"kind": "same_person"})
                elif (match.track, person.track) not in doubts:
                    doubts.add((match.track, person.track))
                    unsure.append(row)
        return {"track_links": sure, "look_links": unsure}


def find_matches(
    person: Sighted,
    people: Sequence[Sighted],
    links: Sequence[Record],
    limits: Mapping[str, IdentityLimits],
    moment: float,
) -> list[Match]:
    """Return the earlier people whom ``person`` may show, as known at a moment: one sure match, or up to three uncertain ones.

    ``people`` includes ``person``; ``links`` are rows of ``track_links``. Empty if the track was linked to an earlier one already.
    """
    known = [link for link in links if link["known_at"] <= moment]
    roots = _roots(people, known)
    own = roots[person.track]
    if own != person.track:
        return []
    spans = {one.track: span for one in people if (span := one.span(moment)) is not None}
    members: dict[str, list[Sighted]] = {}
    for one in people:
        if one.track in spans:
            members.setdefault(roots[one.track], []).append(one)
    me = members.pop(own, [])
    if not me:
        return []
    begins = min(spans[one.track][0] for one in me)
    scored: list[tuple[float, bool, str, str]] = []
    for root, group in members.items():
        if root == own or not all(spans[one.track][1] < begins for one in group):
            continue  # seen at the same time, or begun later: the later one is compared with the earlier one
        if (found := _likeness(me, group, limits, moment)) is not None:
            scored.append((*found, root))
    scored.sort(key=lambda item: (-item[0], item[3]))
    if not scored:
        return []
    score, is_sure, part, root = scored[0]
    rivals = [other for other, _, rival_part, _ in scored[1:] if rival_part == part]
    is_alone = part == "face" or not rivals or rivals[0] <= score - _MARGIN
    if is_sure and is_alone:
        return [Match(track=root, score=score, sure=True)]
    return [Match(track=other, score=value, sure=False) for value, _, _, other in scored[:_MOST]]


def _likeness(
    one: Iterable[Sighted], other: Sequence[Sighted], limits: Mapping[str, IdentityLimits], moment: float
) -> tuple[float, bool, str] | None:
    """Return how alike two people look, whether they surely are the same, and by which part; None if they are not the same.

    Faces decide if both are known: two people in the same clothes have different faces.
    """
    faces = _nearest(one, other, "face", moment)
    if faces is not None and "face" in limits:
        if faces < limits["face"].doubtful:
            return None
        if faces >= limits["face"].sure:
            return faces, True, "face"
    bodies = _nearest(one, other, "body", moment)
    if bodies is None or "body" not in limits or bodies < limits["body"].doubtful:
        return (faces, False, "face") if faces is not None else None
    return bodies, bodies >= limits["body"].sure and faces is None, "body"


def _nearest(one: Iterable[Sighted], other: Sequence[Sighted], part: str, moment: float) -> float | None:
    """Return the greatest inner product of the typical vectors of two people's tracks; None if one of them has none."""
    found = [
        float(first @ second)
        for own in one
        if (first := own.look(part, moment)) is not None
        for theirs in other
        if (second := theirs.look(part, moment)) is not None and len(second) == len(first)
    ]
    return max(found, default=None)


def _roots(people: Sequence[Sighted], links: Sequence[Record]) -> dict[str, str]:
    """Return for each track the first track of the person, by links."""
    parent = {person.track: person.track for person in people}
    for link in links:
        parent.setdefault(link["earlier"], link["earlier"])
        parent[link["later"]] = link["earlier"]
    roots: dict[str, str] = {}
    for track in parent:
        root, steps = track, 0
        while parent[root] != root and steps < len(parent):  # a circle of links ends, too
            root, steps = parent[root], steps + 1
        roots[track] = root
    return roots


def _people(clip: Clip, span: TimeSpan) -> list[Sighted]:
    """Return the people in a span, ordered by the name of their tracks."""
    rows = [row for row in clip.rows("sightings", span).select(_SEEN).to_pylist() if row["category"] == "person"]
    rows.sort(key=lambda row: (row["track"], row["time"]))
    looks: dict[tuple[str, str], list[Record]] = {}
    for look in clip.rows("person_looks", span).to_pylist():
        if look["part"] in _PARTS and look["vector"]:
            looks.setdefault((look["track"], look["part"]), []).append(look)
    return [
        _sighted(track, list(seen), {part: looks[track, part] for part in _PARTS if (track, part) in looks})
        for track, seen in groupby(rows, key=lambda row: str(row["track"]))
    ]


_SEEN, _PARTS = ["track", "time", "category", "known_at"], ("body", "face")


def _sighted(track: str, seen: Sequence[Record], looks: Mapping[str, list[Record]]) -> Sighted:
    ordered = {part: sorted(rows, key=lambda row: (row["known_at"], row["time"])) for part, rows in looks.items()}
    return Sighted(
        track=track,
        seen=np.array([row["time"] for row in seen]),
        seen_known=np.array([row["known_at"] for row in seen]),
        known={part: np.array([row["known_at"] for row in rows]) for part, rows in ordered.items()},
        vectors={part: np.array([row["vector"] for row in rows], dtype=np.float32) for part, rows in ordered.items()},
    )


def _links(clip: Clip, span: TimeSpan, table: str) -> list[Record]:
    return list(clip.rows(table, span).to_pylist())
