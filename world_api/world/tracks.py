"""Tracks and entities, joined from the sightings and links that are visible behind a causal cut.

A track is a chain of sightings, joined over the ends of clips by ``stitch`` links, and where a person surely is an earlier
one by ``same_person`` links. Every track is an entity. Tracks that only look alike are not merged, since a wrong merge
cannot be recognised later; a ``Likeness`` records how alike two entities look. Sightings are joined with arrays; the
result is two Arrow tables, which can be stored beside the world and loaded again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.core.lexicon import CATEGORIES, COCO, COLOURS, NEIGHBOURS
from world_api.core.outfits import Outfit, in_chinese, in_words, sum_up
from world_api.core.ports import UPRIGHT
from world_api.core.spans import Box, TimeSpan, round_time
from world_api.world.store import World
from world_api.world.tables import Cut, one
from world_api.world.timeline import Items, Positions, Times, ranges

# --- joining sightings ----------------------------------------------------------------------------------------------

#: The kinds of links that make one track of two.
JOINING = ("stitch", "same_person")
#: Sightings further apart than this (seconds) belong to two appearances.
BREAK = 2.0
#: A colour is part of a hint when it was noted in at least this share of the sightings.
COLOUR_SHARE = 0.3
MAX_HINT_COLOURS = 3
#: A box that the picture's edge cuts off, less than this share of its usual width or height, shows only a sliver.
SLIVER = 0.5
#: A box that comes this near to the picture's edge is cut off by it (share of the picture's side).
AT_EDGE = 0.01

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: One row per track, in order of start_time. first, end: its rows in the joined sightings. start_time, end_time: its
#: first and last sighting in an appearance. known_from: when its first sighting was known; known_at: when all its
#: sightings and links were, infinite if links contradict each other.
TRACKS = pa.schema(
    [
        ("track", pa.string()), ("category", pa.string()), ("colours", pa.list_(pa.string())),
        ("first", pa.int64()), ("end", pa.int64()), ("start_time", pa.float64()), ("end_time", pa.float64()),
        ("known_from", pa.float64()), ("known_at", pa.float64()),
    ]
)  # fmt: skip
#: One row per sighting, track after track. sliver: the picture's edge leaves little of it; clear: it belongs to an
#: appearance: it is not a sliver at the start or end of an unbroken run; row: its position in ``sightings``.
JOINED = pa.schema(
    [
        ("time", pa.float64()), ("x1", pa.float32()), ("y1", pa.float32()), ("x2", pa.float32()), ("y2", pa.float32()),
        ("confidence", pa.float32()), ("sliver", pa.bool_()), ("clear", pa.bool_()), ("row", pa.int64()),
    ]
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Tracks and their sightings, as tables with the schemas ``TRACKS`` and ``JOINED``."""

    tracks: pa.Table
    sightings: pa.Table


def join_tracks(sightings: pa.Table, links: pa.Table, *, width: int, height: int) -> Joined:
    """Join sightings into tracks by links; ``width`` and ``height`` are the picture's, in pixels."""
    if sightings.num_rows == 0:
        return Joined(tracks=TRACKS.empty_table(), sightings=JOINED.empty_table())
    links = links.filter(pc.is_in(links.column("kind"), pa.array(JOINING)))
    names, owner, link_ends = _owners(sightings.column("track"), links)
    time = sightings.column("time").to_numpy()
    order = np.lexsort((time, owner))
    owner = owner[order]
    firsts = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
    groups = _Groups(firsts=firsts, ends=np.append(firsts[1:], len(owner)))
    known = sightings.column("known_at").to_numpy()[order]
    boxes = [sightings.column(name).to_numpy()[order] for name in ("x1", "y1", "x2", "y2")]
    confidence = sightings.column("confidence").to_numpy()[order]
    time = time[order]
    known_at = _known_at(groups, known, owner[firsts], links, link_ends)
    slivers = _slivers(groups, boxes, width=width, height=height)
    clear = _clear(groups, time, slivers)
    at = np.arange(len(clear))
    starts = time[np.minimum.reduceat(np.where(clear, at, len(at)), firsts)]
    ends = time[np.maximum.reduceat(np.where(clear, at, -1), firsts)]
    by_start = np.argsort(starts, kind="stable")  # owners are in order of their names already
    tracks = pa.table(
        {
            "track": names.take(pa.array(owner[firsts][by_start])),
            "category": _categories(groups, sightings.column("category"), confidence, order).take(pa.array(by_start)),
            "colours": _colours(groups, sightings.column("colours"), order).take(pa.array(by_start)),
            "first": firsts[by_start],
            "end": groups.ends[by_start],
            "start_time": starts[by_start],
            "end_time": ends[by_start],
            "known_from": np.minimum.reduceat(known, firsts)[by_start],
            "known_at": known_at[by_start],
        },
        schema=TRACKS,
    )
    columns = dict(zip(("x1", "y1", "x2", "y2"), boxes, strict=True))
    joined = pa.table(
        {"time": time, **columns, "confidence": confidence, "sliver": slivers, "clear": clear, "row": order},
        schema=JOINED,
    )
    return Joined(tracks=tracks, sightings=joined)


@dataclass(frozen=True, kw_only=True)
class _Groups:
    """Runs of rows, one per track: the first position and the end position of each (half-open)."""

    firsts: Ints
    ends: Ints

    @property
    def sizes(self) -> Ints:
        return self.ends - self.firsts

    @property
    def of_row(self) -> Ints:
        return np.repeat(np.arange(len(self.firsts)), self.sizes)


def _owners(tracks: pa.ChunkedArray, links: pa.Table) -> tuple[pa.Array, Ints, tuple[Ints, Ints]]:
    """Return the names of all tracks, sorted; the owner of each sighting; and both ends of each link.

    The owner is the earliest track that links lead to. Tracks are given as positions in the names, ends of links by
    their owners.
    """
    seen = one(tracks).dictionary_encode()
    earlier, later = one(links.column("earlier")), one(links.column("later"))
    names = pa.concat_arrays([seen.dictionary, earlier, later]).unique()
    names = names.take(pc.sort_indices(names))
    older, younger = _numbers(earlier, names), _numbers(later, names)
    parent = np.arange(len(names))
    children, first = np.unique(younger, return_index=True)
    parent[children] = older[first]
    # Links point from the earlier to the later track; should rows of a damaged world run in a circle, it ends all the same.
    for _ in range(len(names).bit_length() + 1):
        grand = parent[parent]
        if np.array_equal(grand, parent):
            break
        parent = grand
    owner = parent[_numbers(seen.dictionary, names)][seen.indices.to_numpy()]
    return names, owner, (older, younger) if len(links) == 0 else (parent[older], parent[younger])


def _known_at(groups: _Groups, known: Floats, owners: Ints, links: pa.Table, link_ends: tuple[Ints, Ints]) -> Floats:
    """Return when each track was completely known, with its links; infinite if links contradict each other."""
    last = np.maximum.reduceat(known, groups.firsts)
    older, younger = link_ends
    if len(older) == 0:
        return last
    latest = np.zeros(int(max(owners.max(), older.max(), younger.max())) + 1)
    link_known = links.column("known_at").to_numpy()
    # A link that lost against another one would win under a cut that hides the other: such tracks are never settled.
    lost = older != younger
    for ends in (older, younger):
        np.maximum.at(latest, ends, np.where(lost, np.inf, link_known))
    return np.maximum(last, latest[owners])


def _slivers(groups: _Groups, boxes: list[NDArray[np.float32]], *, width: int, height: int) -> NDArray[np.bool_]:
    x1, y1, x2, y2 = boxes
    thin = np.zeros(len(x1), dtype=np.bool_)
    for side in (x2 - x1, y2 - y1):
        thin |= side < np.repeat(np.float32(SLIVER) * _medians(groups, side), groups.sizes)
    right, bottom = np.float64(width - AT_EDGE * width), np.float64(height - AT_EDGE * height)
    left, top = np.float64(AT_EDGE * width), np.float64(AT_EDGE * height)
    return thin & ((x1 <= left) | (y1 <= top) | (x2 >= right) | (y2 >= bottom))


def _clear(groups: _Groups, time: Floats, slivers: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which sightings belong to an appearance: those of an unbroken run except slivers at its ends.

    A run that consists of slivers only belongs as a whole.
    """
    first = np.zeros(len(time), dtype=np.bool_)
    first[groups.firsts] = True
    firsts = np.flatnonzero(first | (np.diff(time, prepend=-np.inf) > BREAK))
    sizes = np.diff(firsts, append=len(time))
    at = np.arange(len(time))
    first_clear = np.minimum.reduceat(np.where(slivers, len(time), at), firsts)
    last_clear = np.maximum.reduceat(np.where(slivers, -1, at), firsts)
    none = np.repeat(last_clear < 0, sizes)
    return none | ((at >= np.repeat(first_clear, sizes)) & (at <= np.repeat(last_clear, sizes)))


def _medians(groups: _Groups, values: NDArray[np.float32]) -> NDArray[np.float32]:
    ordered = values[np.lexsort((values, groups.of_row))]
    low, high = ordered[groups.firsts + (groups.sizes - 1) // 2], ordered[groups.firsts + groups.sizes // 2]
    medians: NDArray[np.float32] = (low + high) / np.float32(2)
    return medians


def _categories(groups: _Groups, column: pa.ChunkedArray, confidence: NDArray[np.float32], order: Ints) -> pa.Array:
    """Return each track's most frequent category; confident sightings count more. ``order``: as for ``_colours``."""
    words, codes = coded(one(column))
    pairs, inverse = np.unique(groups.of_row * len(words) + codes[order], return_inverse=True)
    weights = np.bincount(inverse, weights=1.0 + confidence.astype(np.float64))
    group, word = pairs // len(words), pairs % len(words)
    best = np.lexsort((word, -weights, group))
    first = np.concatenate([[True], group[best][1:] != group[best][:-1]])
    return words.take(pa.array(word[best][first]))


def _colours(groups: _Groups, column: pa.ChunkedArray, order: Ints) -> pa.Array:
    """Return up to ``MAX_HINT_COLOURS`` colours of each track: those noted in enough sightings, most prominent first.

    A sighting lists its colours by share; the first one counts most. ``order``: rows of ``column``, track after track.
    """
    noted = one(column).take(pa.array(order))
    words, codes = coded(noted.flatten())
    sighting = np.repeat(np.arange(len(order)), pc.list_value_length(noted).to_numpy())
    # A word that one sighting lists twice counts once.
    _, once = np.unique(sighting * max(1, len(words)) + codes, return_index=True)
    once.sort()
    sighting, codes = sighting[once], codes[once]
    rank = np.arange(len(sighting)) - np.searchsorted(sighting, sighting) + 1
    pairs, inverse = np.unique(groups.of_row[sighting] * max(1, len(words)) + codes, return_inverse=True)
    counts, weights = np.bincount(inverse), np.bincount(inverse, weights=1.0 / rank)
    group, word = pairs // max(1, len(words)), pairs % max(1, len(words))
    enough = counts >= COLOUR_SHARE * groups.sizes[group]
    group, word, weights = group[enough], word[enough], weights[enough]
    best = np.lexsort((word, -weights, group))
    group, word = group[best], word[best]
    kept = np.arange(len(group)) - np.searchsorted(group, group) < MAX_HINT_COLOURS
    group, word = group[kept], word[kept]
    offsets = np.searchsorted(group, np.arange(len(groups.firsts) + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), words.take(pa.array(word)))


def coded(values: pa.Array) -> tuple[pa.Array, Ints]:
    """Return the distinct words, sorted, and for each value the position of its word."""
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    codes = place[encoded.indices.to_numpy()] if len(order) else np.zeros(0, dtype=np.int64)
    return encoded.dictionary.take(pa.array(order)), codes


def _numbers(words: pa.Array, sorted_words: pa.Array) -> Ints:
    found: Ints = pc.index_in(words, sorted_words).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


# --- tracks and entities --------------------------------------------------------------------------------------------

Number = TypeVar("Number", bound=np.generic)
Side = Literal["left", "top", "right", "bottom"]
Size = Literal["small", "medium", "large"]

#: Shares of the picture from which a box is large, and under which it is small.
LARGE_SHARE, SMALL_SHARE = 0.15, 0.02
#: A box whose edge is within this share of the picture's width or height from a side is at that side.
AT_SIDE = 0.04
#: Seconds at an appearance's ends over which the side is looked for.
SIDE_SECONDS = 0.7
SIDES: tuple[Side, ...] = ("left", "top", "right", "bottom")
#: Upright sightings of a thing after which it would have been recognised as a person: about six votes, of which a person needs three.
ENOUGH_LOOKS = 12


_NO_OUTFIT = Outfit()


@dataclass(frozen=True, kw_only=True)
class Track:
    """A tracked thing.

    ``appearances`` are the unbroken intervals in which it is seen; they cover all ``times`` (n, seconds, rising), ``boxes``
    (n x 4 pixels), ``confidences`` (n) and ``slivers`` (n; true if the picture's edge leaves little of the thing visible).
    ``followed_times`` and ``followed_boxes`` also hold the slivers before and after each appearance, which show the side it came
    from or left to. ``picture`` is the frame's width and height. ``colours`` were noted in enough sightings, the largest first;
    of a person with an ``outfit`` they are those of the clothes. Of other things ``is_detected``, in a box that a detector drew,
    they may be of what is behind.
    """

    track_id: str
    category: str
    colours: tuple[str, ...]
    appearances: tuple[TimeSpan, ...]
    times: NDArray[np.float64]
    boxes: NDArray[np.float32]
    confidences: NDArray[np.float32]
    slivers: NDArray[np.bool_]
    followed_times: NDArray[np.float64]
    followed_boxes: NDArray[np.float32]
    picture: tuple[int, int]
    outfit: Outfit = _NO_OUTFIT
    is_detected: bool = False

    @property
    def entity_id(self) -> str:
        """The entity's id, made from the name of the earliest of the joined tracks: ``ent_t0002_01``."""
        return f"ent_{self.track_id}"

    @property
    def hint(self) -> str:
        """Its category and colours in words: ``person in black and blue``, ``person in black top, brown hair``."""
        return hint_in_words(self.category, self.colours, self.outfit)

    def may_have(self, colour: str, *, mainly: bool = False) -> bool:
        """Whether it may have a colour that is not among its ``colours``: a neighbour of one, or of a part that was not judged.

        ``mainly``: as its main colour.
        """
        if self.outfit.colours:
            return self.outfit.may_have(colour, mainly=mainly)
        own = self.colours[:1] if mainly else self.colours
        return self.is_detected and (self.category == "person" or any(colour in NEIGHBOURS[one] for one in own))

    def surely_has(self, colour: str) -> bool:
        """Whether it has one of its ``colours`` beyond doubt, so that a description that excludes this colour excludes it."""
        return (
            self.outfit.surely_has(colour) if self.outfit.colours else not self.is_detected and colour in self.colours
        )

    @cached_property
    def confidence(self) -> float:
        """Mean confidence of the sightings, 0 to 1."""
        return round(float(self.confidences.mean()), 2)

    @cached_property
    def size(self) -> Size:
        """``large``, ``medium`` or ``small``, by the share of the picture that its usual (median) box covers."""
        sides = np.median(self.boxes[:, 2:] - self.boxes[:, :2], axis=0)
        return size_in_words(float(sides[0] * sides[1]), *self.picture)

    @cached_property
    def was_looked_at(self) -> bool:
        """Whether it was upright in so many sightings that a person would have been recognised."""
        return int(_is_upright(*self.boxes.T).sum()) >= ENOUGH_LOOKS

    def enters_from(self, appearance: TimeSpan) -> Side | None:
        """Return the side of the picture from which the thing entered at the start of an appearance; None for no side."""
        run = self._run(appearance)
        early = self.followed_times[run] <= self.followed_times[run.start] + SIDE_SECONDS
        return self._side(run, self.followed_boxes[run][early])

    def leaves_to(self, appearance: TimeSpan) -> Side | None:
        """Return the side of the picture to which the thing left at the end of an appearance; None for no side."""
        run = self._run(appearance)
        late = self.followed_times[run] >= self.followed_times[run.stop - 1] - SIDE_SECONDS
        return self._side(run, self.followed_boxes[run][late])

    def _run(self, appearance: TimeSpan) -> slice:
        """Return the sightings of an appearance with the slivers at its ends, as a slice of ``followed_times``."""
        breaks = np.flatnonzero(np.diff(self.followed_times) > BREAK) + 1
        bounds = [0, *breaks.tolist(), len(self.followed_times)]
        inside = int(np.argmin(np.abs(self.followed_times - appearance.start)))
        return next(slice(a, b) for a, b in pairwise(bounds) if a <= inside < b)

    def _side(self, run: slice, boxes: NDArray[np.float32]) -> Side | None:
        """Return the side of the picture that ``boxes``, those at one end of ``run``, touch (nearest if several); None for none.

        A side that the thing touches during at least half of the run (a slice of the followed boxes) is ignored.
        """
        sides = np.array([*self.picture, *self.picture], dtype=np.float32)

        def gaps(to: NDArray[np.float32]) -> NDArray[np.float32]:
            found = np.concatenate([to[:, :2], sides[2:] - to[:, 2:]], axis=1)
            return (found / sides).astype(np.float32, copy=False)

        nearest = gaps(boxes).min(axis=0)
        usually = (gaps(self.followed_boxes[run]) <= AT_SIDE).mean(axis=0) >= 0.5
        nearest[usually] = np.inf
        best = int(nearest.argmin())
        return SIDES[best] if nearest[best] <= AT_SIDE else None

    @property
    def span(self) -> TimeSpan:
        """The time from the start of the first to the end of the last appearance."""
        return TimeSpan(start=self.appearances[0].start, end=self.appearances[-1].end)

    def between(self, span: TimeSpan) -> slice:
        """Return the sightings inside a half-open interval, as a slice of the arrays."""
        first, end = np.searchsorted(self.times, [span.start, span.end])
        return slice(int(first), int(end))

    def during(self, appearance: TimeSpan) -> slice:
        """Return the sightings of one of its appearances, including the one at its end, as a slice of the arrays."""
        first = np.searchsorted(self.times, appearance.start)
        end = np.searchsorted(self.times, appearance.end, side="right")
        return slice(int(first), int(end))

    def nearest(self, time: float, inside: TimeSpan | None = None) -> int:
        """Return the position of the sighting nearest to a time: of those in ``inside`` if there is any, else of all."""
        part = slice(0, 0) if inside is None else self.between(inside)
        times = self.times[part] if part.start < part.stop else self.times
        return (part.start if part.start < part.stop else 0) + int(np.argmin(np.abs(times - time)))

    def box(self, position: int) -> Box:
        """Return the box of the sighting at a position."""
        x1, y1, x2, y2 = (float(value) for value in self.boxes[position])
        return Box(x1=x1, y1=y1, x2=x2, y2=y2)

    def appearance_of(self, position: int) -> TimeSpan:
        """Return the appearance that the sighting at a position belongs to."""
        time = float(self.times[position])
        return next(span for span in reversed(self.appearances) if span.start <= time)

    def appearance_at(self, time: float) -> TimeSpan | None:
        """Return the appearance that contains a time, ends included; None if there is none.

        Times are compared in milliseconds, as results list them: the listed end of an appearance belongs to it.
        """
        at = round_time(time)
        return next((span for span in self.appearances if round_time(span.start) <= at <= round_time(span.end)), None)

    def appears_in(self, span: TimeSpan) -> bool:
        """Whether a half-open interval contains a moment of an appearance, in milliseconds as in ``appearance_at``."""
        start, end = round_time(span.start), round_time(span.end)
        return any(round_time(one.start) < end and round_time(one.end) >= start for one in self.appearances)


def _is_upright(*sides: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return whether boxes (x1, y1, x2, y2) have the shape of an upright person."""
    x1, y1, x2, y2 = sides
    shapes = (y2 - y1) / np.maximum(x2 - x1, 1.0)
    upright: NDArray[np.bool_] = (shapes >= UPRIGHT[0]) & (shapes <= UPRIGHT[1])
    return upright


def size_in_words(area: float, width: int, height: int) -> Size:
    """Return ``large``, ``medium`` or ``small``, by the share that an area has in a picture (all in pixels)."""
    share = area / max(width * height, 1)
    return "large" if share >= LARGE_SHARE else "small" if share < SMALL_SHARE else "medium"


def hint_in_words(category: str, colours: Sequence[str], outfit: Outfit = _NO_OUTFIT) -> str:
    """Return category and colours, or the outfit, in words: ``person in black and blue``, ``grey bottle``.

    People wear their colours, things have them.
    """
    name = category.replace("_", " ")
    if looks := in_words(outfit.looks):
        return f"{name} {looks}" if outfit.colours else f"{name}, {looks}"
    named = " and ".join(filter(None, [", ".join(colours[:-1]), *colours[-1:]]))
    if not named:
        return name
    return f"{name} in {named}" if category == "person" else f"{named} {name}"


def hint_in_chinese(category: str, colours: Sequence[str], outfit: Outfit = _NO_OUTFIT) -> str:
    """Return colours, or the outfit, and category in Chinese, for searches: ``黑色 蓝色 人``."""
    named = [COLOURS[colour][1][0] for colour in colours if colour in COLOURS]
    looks = in_chinese(outfit.looks, lambda colour: COLOURS[colour][1][0])
    kind = CATEGORIES.get(category) or COCO.get(category)
    return " ".join([*([looks] if looks else named), *(kind[1][:1] if kind else ())])


def chinese_hint(track: Track) -> str:
    """Return what ``Track.hint`` says in Chinese, for readers: ``穿黑色和蓝色的人``, ``灰色的瓶子``."""
    colours = "和".join(COLOURS[colour][1][0] for colour in track.colours if colour in COLOURS)
    looks = in_chinese(track.outfit.looks, lambda colour: COLOURS[colour][1][0]).replace(" ", "、")
    kind = CATEGORIES.get(track.category) or COCO.get(track.category)
    name = kind[1][0] if kind and kind[1] else track.category.replace("_", " ")
    worn = "穿" if track.category == "person" and (track.outfit.colours or not looks) else ""
    return f"{worn}{looks or colours}的{name}" if looks or colours else name


#: Number of ``Track`` objects that are cached.
_KEPT = 8192


class JoinedTracks:
    """The tracks joined from some rows, as arrays.

    Args:
        joined: The tracks and their sightings.
        sightings: The rows they were joined from.
        picture: Width and height in pixels.
        frame: How long a frame is shown, in seconds: an appearance of a single sighting lasts that long.
        until: Where the visible part of the video ends, in seconds; no appearance ends later.
        person_looks: The rows of that table from which outfits are summed up.
        are_detected: Whether a detector drew the boxes.
    """

    def __init__(
        self,
        joined: Joined,
        sightings: pa.Table,
        *,
        picture: tuple[int, int],
        frame: float,
        until: float,
        person_looks: pa.Table,
        are_detected: bool,
    ) -> None:
        tracks, rows = joined.tracks, joined.sightings
        self.picture, self.frame, self._until, self.person_looks = picture, frame, until, person_looks
        self.are_detected = are_detected
        self.count = tracks.num_rows
        self.names = one(tracks.column("track"))
        self.categories = one(tracks.column("category"))
        self._colours = one(tracks.column("colours"))
        self.firsts: Positions
        self.ends: Positions
        self.firsts, self.ends = tracks.column("first").to_numpy(), tracks.column("end").to_numpy()
        self.start_times, self.end_times = tracks.column("start_time").to_numpy(), tracks.column("end_time").to_numpy()
        self.known_from = tracks.column("known_from").to_numpy()
        self.times = rows.column("time").to_numpy()
        self.slivers, self.clear = rows.column("sliver").to_numpy(), rows.column("clear").to_numpy()
        self.rows = rows.column("row").to_numpy()
        self._boxes = [rows.column(name).to_numpy() for name in ("x1", "y1", "x2", "y2")]
        self._confidences = rows.column("confidence").to_numpy()
        self._joined_at = tracks.column("known_at").to_numpy()
        self._sightings = sightings
        #: Returns the track at a position; recent ones are cached.
        self.track = lru_cache(_KEPT)(self._put_together)

    @cached_property
    def known_at(self) -> Times:
        """When each track was completely known: all its rows, and the end of its last appearance."""
        owners, _, ends = self.all_appearances
        known: Times = self._joined_at.copy()
        np.maximum.at(known, owners, ends)
        return known

    @cached_property
    def outfits(self) -> list[Outfit]:
        """The outfit of each track."""
        parts = self.place_of_part if self.person_looks.num_rows else {}
        return sum_up(self.person_looks.select(["track", "part", "words"]).to_pylist(), parts, self.count)

    @cached_property
    def colours(self) -> list[tuple[str, ...]]:
        """The colours of each track: those of the outfit, else those that were noted in enough sightings."""
        noted = map(tuple, self._colours.to_pylist())
        return [outfit.colours or own for outfit, own in zip(self.outfits, noted, strict=True)]

    @cached_property
    def looks(self) -> list[tuple[str, tuple[str, ...], Outfit, bool]]:
        """Category, colours, outfit and ``was_looked_at`` of each track."""
        upright = np.concatenate([[0], np.cumsum(self.clear & _is_upright(*self._boxes))])
        looked_at = upright[self.ends] - upright[self.firsts] >= ENOUGH_LOOKS
        columns = self.categories.to_pylist(), self.colours, self.outfits, looked_at.tolist()
        return list(zip(*columns, strict=True))

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Position of each track, by its name."""
        return {name: place for place, name in enumerate(self.names.to_pylist())}

    @cached_property
    def all_appearances(self) -> tuple[Positions, Times, Times]:
        """The appearances of all tracks, track after track: positions of the tracks, starts, ends."""
        return self.appearances(np.arange(self.count))

    def _put_together(self, place: int) -> Track:
        first, end = int(self.firsts[place]), int(self.ends[place])
        clear, times = self.clear[first:end], self.times[first:end]
        boxes = np.stack([column[first:end] for column in self._boxes], axis=1)
        _, starts, ends = self.appearances(np.array([place]))
        return Track(
            track_id=self.names[place].as_py(),
            category=self.categories[place].as_py(),
            colours=self.colours[place],
            outfit=self.outfits[place],
            is_detected=self.are_detected,
            appearances=tuple(
                TimeSpan(start=start, end=end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            ),
            times=times[clear],
            boxes=boxes[clear],
            confidences=self._confidences[first:end][clear],
            slivers=self.slivers[first:end][clear],
            followed_times=times,
            followed_boxes=boxes,
            picture=self.picture,
        )

    def parts(self, place: int) -> list[str]:
        """Return the names of the single-clip tracks from which the track at a position was joined."""
        rows = self.rows[int(self.firsts[place]) : int(self.ends[place])]
        found: list[str] = self._sightings.column("track").take(pa.array(np.sort(rows))).unique().to_pylist()
        return found

    @cached_property
    def place_of_part(self) -> dict[str, int]:
        """Position of the joined track that a single-clip track belongs to, by the latter's name."""
        names = one(self._sightings.column("track")).dictionary_encode()
        place = np.empty(len(self.rows), dtype=np.int64)
        place[self.rows[ranges(self.firsts, self.ends)]] = np.repeat(np.arange(self.count), self.ends - self.firsts)
        _, first = np.unique(names.indices.to_numpy(), return_index=True)
        return dict(zip(names.dictionary.to_pylist(), place[first].tolist(), strict=True))

    def appearances(self, places: Positions) -> tuple[Positions, Times, Times]:
        """Return the appearances of some tracks: owners (index into ``places``), starts, ends.

        An appearance lasts from its first to its last sighting; a single sighting lasts as long as its frame is shown.
        """
        firsts, ends = self.firsts[places], self.ends[places]
        rows = ranges(firsts, ends)
        owner = np.repeat(np.arange(len(places)), ends - firsts)
        clear = self.clear[rows]
        times, owner = self.times[rows[clear]], owner[clear]
        if len(times) == 0:
            return owner, np.zeros(0), np.zeros(0)
        begins = np.concatenate([[True], (owner[1:] != owner[:-1]) | (np.diff(times) > BREAK)])
        edges = np.flatnonzero(begins)
        starts, last = times[edges], times[np.append(edges[1:], len(times)) - 1]
        single = np.maximum(starts, np.minimum(starts + self.frame, self._until))
        return owner[edges], starts, np.where(last > starts, last, single)


class Tracks(Items[Track]):
    """The tracks that are visible behind a causal cut, in order of first sighting.

    Args:
        whole: The tracks without a cut.
        sightings: The rows they were joined from.
        links: The visible rows of ``track_links``.
        cut: What is visible.
        until: The end of the visible part, in seconds.

    Attributes:
        reopened: The tracks that the cut shortens, joined again from the visible rows.
        origins: Where each track comes from, shape (n,): its position p in ``whole``, or -1 - p in ``reopened``.
    """

    def __init__(self, whole: JoinedTracks, sightings: pa.Table, links: pa.Table, cut: Cut, *, until: float) -> None:
        # The times at which tracks were completely known are slow to compute, and not needed without a cut.
        is_settled = np.ones(whole.count, dtype=np.bool_) if cut.as_of is None else cut.shows_each(whole.known_at)
        shortened = np.flatnonzero(cut.shows_each(whole.known_from) & ~is_settled)
        rows = np.sort(whole.rows[ranges(whole.firsts[shortened], whole.ends[shortened])])
        seen = cut.visible_rows(sightings.take(pa.array(rows)))
        width, height = whole.picture
        joined = join_tracks(seen, links, width=width, height=height)
        reopened = JoinedTracks(
            joined, seen, picture=whole.picture, frame=whole.frame, until=until,
            person_looks=cut.visible_rows(whole.person_looks), are_detected=whole.are_detected,
        )  # fmt: skip
        #: Places in ``whole`` of the tracks that the cut leaves as they are, rising.
        self._settled: Positions = np.flatnonzero(is_settled)
        self.whole, self.reopened = whole, reopened
        starts, ends = whole.start_times[self._settled], whole.end_times[self._settled]
        at = self._places_of(reopened, starts)
        self.origins = np.insert(self._settled, at, -1 - np.arange(reopened.count))
        self._is_settled = self.origins >= 0
        starts, ends = np.insert(starts, at, reopened.start_times), np.insert(ends, at, reopened.end_times)
        super().__init__(starts, ends, self._track)

    def find(self, track_id: str) -> Track | None:
        """Return the track of that name; None if it is not visible."""
        return self._at(self.reopened.place_of.get(track_id), self.whole.place_of.get(track_id))

    def of_part(self, name: str) -> Track | None:
        """Return the track that a single-clip track belongs to, by the latter's name; None if it is not visible."""
        return self._at(self.reopened.place_of_part.get(name), self.whole.place_of_part.get(name))

    def _at(self, reopened: int | None, place: int | None) -> Track | None:
        """Return the track at a position of ``reopened``, else at one of ``whole`` that the cut does not change, else None."""
        if reopened is not None:
            return self.reopened.track(reopened)
        at = len(self._settled) if place is None else int(np.searchsorted(self._settled, place))
        return self.whole.track(place) if at < len(self._settled) and self._settled[at] == place else None

    def parts(self, track: Track) -> list[str]:
        """Return the names of the single-clip tracks from which a track was joined."""
        joined = self.reopened if track.track_id in self.reopened.place_of else self.whole
        return joined.parts(joined.place_of[track.track_id])

    def around(self, span: TimeSpan) -> list[Track]:
        """Return the tracks that begin before a span ends and do not end before it begins, with a tolerance of a frame."""
        # ``ends`` are last sightings; an appearance of a single one lasts a frame longer. Times are listed in milliseconds.
        begun = int(np.searchsorted(self.starts, span.end + 0.001))
        return [self[i] for i in np.flatnonzero(self.ends[:begun] >= span.start - self.whole.frame - 0.001).tolist()]

    @cached_property
    def appearances(self) -> tuple[Positions, Times, Times]:
        """All appearances of the tracks, track after track: positions of the tracks, starts, ends."""
        position = np.full(self.whole.count, -1)
        position[self.origins[self._is_settled]] = np.flatnonzero(self._is_settled)
        owners, starts, ends = self.whole.all_appearances
        kept = position[owners] >= 0
        more, more_starts, more_ends = self.reopened.all_appearances
        # From -1 down the origins of reopened tracks rise with their position, which is in order of start, too.
        tracks = np.concatenate([position[owners][kept], np.flatnonzero(~self._is_settled)[more]])
        order = np.argsort(tracks, kind="stable")
        starts, ends = np.concatenate([starts[kept], more_starts]), np.concatenate([ends[kept], more_ends])
        return tracks[order], starts[order], ends[order]

    def each(self, whole: NDArray[Number], reopened: NDArray[Number]) -> NDArray[Number]:
        """Return a value per visible track, shape (n,): from ``reopened`` for those that the cut shortens, else from ``whole``."""
        found = np.empty(len(self), dtype=whole.dtype)
        found[self._is_settled] = whole[self.origins[self._is_settled]]
        found[~self._is_settled] = reopened[-1 - self.origins[~self._is_settled]]
        return found

    @cached_property
    def categories(self) -> frozenset[str]:
        """The categories of all visible tracks."""
        settled = self.whole.categories.take(pa.array(self._settled))
        return frozenset([*settled.unique().to_pylist(), *self.reopened.categories.to_pylist()])

    @cached_property
    def of_each_look(self) -> list[Track]:
        """The first track of each of ``JoinedTracks.looks``."""
        first: dict[tuple[str, tuple[str, ...], Outfit, bool], int] = {}
        for position, origin in enumerate(self.origins.tolist()):
            look = self.whole.looks[origin] if origin >= 0 else self.reopened.looks[-1 - origin]
            first.setdefault(look, position)
        return [self[position] for position in first.values()]

    def _track(self, position: int) -> Track:
        origin = int(self.origins[position])
        return self.whole.track(origin) if origin >= 0 else self.reopened.track(-1 - origin)

    def _places_of(self, added: JoinedTracks, starts: Times) -> Positions:
        """Return where among the unchanged tracks, with ``starts``, each added one is inserted: by its start, then its name."""
        places: Positions = np.searchsorted(starts, added.start_times)
        ends = np.searchsorted(starts, added.start_times, side="right")
        for i in np.flatnonzero(ends > places).tolist():
            tied = self.whole.names.take(pa.array(self._settled[places[i] : ends[i]])).to_pylist()
            places[i] += bisect_left(tied, added.names[i].as_py())
        return places


#: Number of likenesses that are listed at most.
MOST = 3


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """Another entity that an entity may be the same as. ``score`` (0 to 1) is for ordering and is not calibrated."""

    entity_id: str
    score: float


class Likenesses:
    """The links between tracks of one world that look alike, indexed by track."""

    def __init__(self, world: World) -> None:
        rows = world.rows("look_links").sort_by([("known_at", "ascending"), ("later", "ascending")])
        self._ends = list(zip(rows.column("earlier").to_pylist(), rows.column("later").to_pylist(), strict=True))
        self._scores, self._known_at = rows.column("score").to_numpy(), rows.column("known_at").to_numpy()
        self._links: defaultdict[str, list[int]] = defaultdict(list)
        for number, ends in enumerate(self._ends):
            for name in ends:
                self._links[name].append(number)

    def of(self, track: Track, tracks: Tracks, cut: Cut) -> tuple[Likeness, ...]:
        """Return the entities of the same category that a track looks like, the most alike first, at most ``MOST``.

        Only links that the cut shows count. Of two links between the same things the later known one counts, since more
        had been seen by then.
        """
        latest: dict[str, float] = {}
        for number in sorted({number for part in tracks.parts(track) for number in self._links.get(part, ())}):
            if not cut.shows(self._known_at[number]):
                continue
            for name in self._ends[number]:
                other = tracks.of_part(name)
                if other is not None and other.track_id != track.track_id and other.category == track.category:
                    latest[other.entity_id] = round(float(self._scores[number]), 2)
        found = [Likeness(entity_id=entity_id, score=alike) for entity_id, alike in latest.items()]
        return tuple(sorted(found, key=lambda item: (-item.score, item.entity_id))[:MOST])
