"""Tracks and entities, as the sightings and links make them that a causal cut lets through.

A track is a chain of sightings, joined over clip joins by ``stitch`` links. An entity is a track; tracks that merely look
alike stay apart (their links say how alike), since a wrong merge cannot be seen afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.core.boxes import Box
from world_api.core.colours import COLOURS
from world_api.core.lexicon import CATEGORIES
from world_api.core.spans import TimeSpan
from world_api.world.disk.columns import one
from world_api.world.items import Items, Positions, Times, ranges
from world_api.world.joining import BREAK, Joined, join_tracks

#: So many tracks are kept put together.
_KEPT = 8192


@dataclass(frozen=True, kw_only=True)
class Track:
    """One thing followed through time.

    ``times`` (n, seconds, rising), ``boxes`` (n x 4 pixels), ``confidences`` (n), ``slivers`` (n: cut off by the
    picture's edge, so that little of it shows). ``colours`` are the words noted in enough
    sightings, the one that covers most first.
    """

    track_id: str
    category: str
    colours: tuple[str, ...]
    times: NDArray[np.float64]
    boxes: NDArray[np.float32]
    confidences: NDArray[np.float32]
    slivers: NDArray[np.bool_]
    producer: str

    @property
    def entity_id(self) -> str:
        """The build-time identity: named after the earliest track of its cluster."""
        return f"ent_{self.track_id}"

    @property
    def hint(self) -> str:
        """What it looks like, in words: ``person in black and blue``."""
        return hint_in_words(self.category, self.colours)

    @property
    def hint_in_chinese(self) -> str:
        """The same for Chinese search: ``黑色 蓝色 人``."""
        return hint_in_chinese(self.category, self.colours)

    @cached_property
    def confidence(self) -> float:
        """Mean confidence of the sightings, 0 to 1."""
        return round(float(self.confidences.mean()), 2)

    @cached_property
    def appearances(self) -> tuple[TimeSpan, ...]:
        """The unbroken stretches in which it was seen, without the slivers at their ends."""
        bounds = [0, *(np.flatnonzero(np.diff(self.times) > BREAK) + 1).tolist(), len(self.times)]
        found = []
        for first, end in pairwise(bounds):
            clear = np.flatnonzero(~self.slivers[first:end]) + first
            a, b = (clear[0], clear[-1]) if len(clear) else (first, end - 1)
            found.append(TimeSpan(start=float(self.times[a]), end=float(self.times[b])))
        return tuple(found)

    @property
    def span(self) -> TimeSpan:
        """From the first to the last sighting."""
        return TimeSpan(start=float(self.times[0]), end=float(self.times[-1]))

    def between(self, span: TimeSpan) -> slice:
        """The sightings inside a half-open stretch, as a slice into the arrays."""
        first, end = np.searchsorted(self.times, [span.start, span.end])
        return slice(int(first), int(end))

    def during(self, appearance: TimeSpan) -> slice:
        """The sightings of one of its own appearances, which ends with the last of them."""
        first = np.searchsorted(self.times, appearance.start)
        end = np.searchsorted(self.times, appearance.end, side="right")
        return slice(int(first), int(end))

    def nearest(self, time: float) -> int:
        """The position of the sighting nearest to a time."""
        return int(np.argmin(np.abs(self.times - time)))

    def box(self, position: int) -> Box:
        """The box of one sighting."""
        x1, y1, x2, y2 = (float(value) for value in self.boxes[position])
        return Box(x1=x1, y1=y1, x2=x2, y2=y2)

    def appearance_at(self, time: float) -> TimeSpan | None:
        """The appearance that holds a time, or None."""
        return next((span for span in self.appearances if span.start - 1e-9 <= time <= span.end + 1e-9), None)


def hint_in_words(category: str, colours: Sequence[str]) -> str:
    """What something looks like: ``person in black and blue``."""
    kind = category.replace("_", " ")
    return f"{kind} in {_and(colours)}" if colours else kind


def hint_in_chinese(category: str, colours: Sequence[str]) -> str:
    """The same for Chinese search: ``黑色 蓝色 人``."""
    named = [COLOURS[colour][1][0] for colour in colours if colour in COLOURS]
    kind = CATEGORIES.get(category)
    return " ".join([*named, *(kind[1][:1] if kind else ())])


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}"


class JoinedTracks:
    """All tracks that some rows make, as arrays. ``sightings`` are the rows they were joined from."""

    def __init__(self, joined: Joined, sightings: pa.Table) -> None:
        tracks, rows = joined.tracks, joined.sightings
        self.count = tracks.num_rows
        self.names = one(tracks.column("track"))
        self.categories = one(tracks.column("category"))
        self.colours = one(tracks.column("colours"))
        self.firsts: Positions
        self.ends: Positions
        self.firsts, self.ends = tracks.column("first").to_numpy(), tracks.column("end").to_numpy()
        self.start_times, self.end_times = tracks.column("start_time").to_numpy(), tracks.column("end_time").to_numpy()
        self.known_from, self.known_at = tracks.column("known_from").to_numpy(), tracks.column("known_at").to_numpy()
        self.times = rows.column("time").to_numpy()
        self.slivers = rows.column("sliver").to_numpy()
        self.rows = rows.column("row").to_numpy()
        self._boxes = [rows.column(name).to_numpy() for name in ("x1", "y1", "x2", "y2")]
        self._confidences = rows.column("confidence").to_numpy()
        self._producers = sightings.column("producer")

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Where each track stands, by its name."""
        return {name: place for place, name in enumerate(self.names.to_pylist())}

    @cached_property
    def all_appearances(self) -> tuple[Positions, Times, Times]:
        """Of all tracks all appearances."""
        return self.appearances(np.arange(self.count))

    def track(self, place: int) -> Track:
        """One track, put together."""
        first, end = int(self.firsts[place]), int(self.ends[place])
        return Track(
            track_id=self.names[place].as_py(),
            category=self.categories[place].as_py(),
            colours=tuple(self.colours[place].as_py()),
            times=self.times[first:end],
            boxes=np.stack([column[first:end] for column in self._boxes], axis=1),
            confidences=self._confidences[first:end],
            slivers=self.slivers[first:end],
            producer=self._producers[int(self.rows[first])].as_py(),
        )

    def described(self, place: int) -> str:
        """The words a track is found by, in both languages."""
        category, colours = self.categories[place].as_py(), self.colours[place].as_py()
        return f"{hint_in_words(category, colours)} {hint_in_chinese(category, colours)}".strip()

    def appearances(self, places: Positions) -> tuple[Positions, Times, Times]:
        """Of some tracks all unbroken stretches without the slivers at their ends: whose (index into ``places``), from, to."""
        firsts, ends = self.firsts[places], self.ends[places]
        rows = ranges(firsts, ends)
        if len(rows) == 0:
            return rows, np.zeros(0), np.zeros(0)
        owner = np.repeat(np.arange(len(places)), ends - firsts)
        times, clear = self.times[rows], ~self.slivers[rows]
        begins = np.concatenate([[True], (owner[1:] != owner[:-1]) | (np.diff(times) > BREAK)])
        edges = np.flatnonzero(begins)
        at = np.arange(len(rows))
        first_clear = np.minimum.reduceat(np.where(clear, at, len(rows)), edges)
        last_clear = np.maximum.reduceat(np.where(clear, at, -1), edges)
        none = last_clear < 0
        lasts = np.append(edges[1:], len(rows)) - 1
        return (
            owner[edges],
            times[np.where(none, edges, first_clear)],
            times[np.where(none, lasts, last_clear)],
        )


class Tracks(Items[Track]):
    """The tracks that a cut lets through, in order of first sighting; one is put together when it is asked for.

    ``settled``: places in ``whole`` of those that the cut leaves as they are; ``open_tracks``: those it shortens.
    ``origins`` (n): where each comes from; negative ones count ``open_tracks`` from -1 down.
    """

    def __init__(self, whole: JoinedTracks, settled: Positions, open_tracks: JoinedTracks | None = None) -> None:
        self.whole, self.settled, self.open_tracks = whole, settled, open_tracks
        starts, ends = whole.start_times[settled], whole.end_times[settled]
        self.origins = settled
        if open_tracks is not None and open_tracks.count:
            at = self._places_of(open_tracks, starts)
            self.origins = np.insert(settled, at, -1 - np.arange(open_tracks.count))
            starts, ends = np.insert(starts, at, open_tracks.start_times), np.insert(ends, at, open_tracks.end_times)
        self._made: dict[int, Track] = {}
        super().__init__(starts, ends, self._track)

    @classmethod
    def visible(
        cls, whole: JoinedTracks, sightings: pa.Table, links: pa.Table, as_of: float, size: tuple[int, int]
    ) -> Tracks:
        """What a cut shows of tracks: those it leaves whole as they are, the others joined anew from what it shows."""
        settled = np.flatnonzero(whole.known_at <= as_of)
        cut = np.flatnonzero((whole.known_at > as_of) & (whole.known_from <= as_of))
        if len(cut) == 0:
            return cls(whole, settled)
        rows = np.sort(whole.rows[ranges(whole.firsts[cut], whole.ends[cut])])
        seen = sightings.take(pa.array(rows))
        seen = seen.filter(pc.less_equal(seen.column("known_at"), as_of))
        links = links.filter(pc.less_equal(links.column("known_at"), as_of))
        return cls(whole, settled, JoinedTracks(join_tracks(seen, links, width=size[0], height=size[1]), seen))

    def find(self, track_id: str) -> Track | None:
        """The track of that name."""
        if self.open_tracks is not None and (place := self.open_tracks.place_of.get(track_id)) is not None:
            return self._of_origin(-1 - place)
        place = self.whole.place_of.get(track_id)
        if place is None:
            return None
        at = int(np.searchsorted(self.settled, place))
        return self._of_origin(place) if at < len(self.settled) and self.settled[at] == place else None

    def around(self, time: float, near: float) -> list[Track]:
        """The tracks with a time between their first and last sighting, give or take so many seconds."""
        found = np.flatnonzero((self.starts <= time + near) & (self.ends >= time - near))
        return [self[int(i)] for i in found]

    @cached_property
    def appearances(self) -> tuple[Positions, Times, Times]:
        """Every appearance, track after track: whose (position), from, to."""
        owners, starts, ends = self.whole.all_appearances
        position = np.full(self.whole.count, -1)
        position[self.settled] = np.flatnonzero(self.origins >= 0)
        kept = position[owners] >= 0
        owners, starts, ends = position[owners[kept]], starts[kept], ends[kept]
        if self.open_tracks is None:
            return owners, starts, ends
        own, begins, finishes = self.open_tracks.all_appearances
        whose = np.flatnonzero(self.origins < 0)[own]
        at = np.searchsorted(owners, whose)
        return np.insert(owners, at, whose), np.insert(starts, at, begins), np.insert(ends, at, finishes)

    @cached_property
    def categories(self) -> frozenset[str]:
        """The categories of all of them."""
        found = set(self.whole.categories.take(pa.array(self.settled)).unique().to_pylist())
        return frozenset(found | set(self.open_tracks.categories.to_pylist() if self.open_tracks else ()))

    def _track(self, position: int) -> Track:
        return self._of_origin(int(self.origins[position]))

    def _of_origin(self, origin: int) -> Track:
        made = self._made.get(origin)
        if made is None:
            if origin < 0:
                assert self.open_tracks is not None  # noqa: S101 - negative origins come from it
                made = self.open_tracks.track(-1 - origin)
            else:
                made = self.whole.track(origin)
            if len(self._made) >= _KEPT:
                self._made.clear()
            self._made[origin] = made
        return made

    def _places_of(self, added: JoinedTracks, starts: Times) -> Positions:
        """Where each added track goes: by its start, then by its name."""
        places = np.searchsorted(starts, added.start_times)
        ends = np.searchsorted(starts, added.start_times, side="right")
        for i in np.flatnonzero(ends > places).tolist():
            tied = self.whole.names.take(pa.array(self.settled[places[i] : ends[i]])).to_pylist()
            places[i] += bisect_left(tied, added.names[i].as_py())
        found: Positions = places.astype(np.int64)
        return found
