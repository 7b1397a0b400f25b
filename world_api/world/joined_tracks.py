"""Joins sightings into tracks, with arrays: ``stitch`` links join tracks of neighbouring clips.

The result is two Arrow tables, which can be stored beside the world and loaded again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.world.tables import one

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
    """Join sightings into tracks by links of kind ``stitch``; ``width`` and ``height`` are the picture's, in pixels."""
    if sightings.num_rows == 0:
        return Joined(tracks=TRACKS.empty_table(), sightings=JOINED.empty_table())
    links = links.filter(pc.equal(links.column("kind"), "stitch"))
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
    found: Floats = np.maximum(last, latest[owners])
    return found


def _slivers(groups: _Groups, boxes: list[NDArray[np.float32]], *, width: int, height: int) -> NDArray[np.bool_]:
    x1, y1, x2, y2 = boxes
    thin = np.zeros(len(x1), dtype=np.bool_)
    for side in (x2 - x1, y2 - y1):
        thin |= side < np.repeat(np.float32(SLIVER) * _medians(groups, side), groups.sizes)
    right, bottom = np.float64(width - AT_EDGE * width), np.float64(height - AT_EDGE * height)
    left, top = np.float64(AT_EDGE * width), np.float64(AT_EDGE * height)
    slivers: NDArray[np.bool_] = thin & ((x1 <= left) | (y1 <= top) | (x2 >= right) | (y2 >= bottom))
    return slivers


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
    clear: NDArray[np.bool_] = none | ((at >= np.repeat(first_clear, sizes)) & (at <= np.repeat(last_clear, sizes)))
    return clear


def _medians(groups: _Groups, values: NDArray[np.float32]) -> NDArray[np.float32]:
    ordered = values[np.lexsort((values, groups.of_row))]
    low, high = ordered[groups.firsts + (groups.sizes - 1) // 2], ordered[groups.firsts + groups.sizes // 2]
    medians: NDArray[np.float32] = (low + high) / np.float32(2)
    return medians


def _categories(groups: _Groups, column: pa.ChunkedArray, confidence: NDArray[np.float32], order: Ints) -> pa.Array:
    """Return the category of each track: the most frequent one, where confident sightings count more."""
    words, codes = coded(one(column))
    pairs, inverse = np.unique(groups.of_row * len(words) + codes[order], return_inverse=True)
    weights = np.bincount(inverse, weights=1.0 + confidence.astype(np.float64))
    group, word = pairs // len(words), pairs % len(words)
    best = np.lexsort((word, -weights, group))
    first = np.concatenate([[True], group[best][1:] != group[best][:-1]])
    return words.take(pa.array(word[best][first]))


def _colours(groups: _Groups, column: pa.ChunkedArray, order: Ints) -> pa.Array:
    """Return up to ``MAX_HINT_COLOURS`` colours of each track: those noted in enough sightings, most prominent first.

    A sighting lists its colours by share; the first one counts most.
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
