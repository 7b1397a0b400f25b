"""The tracks of a world and of a cut: as arrays, and one by one when they are asked for."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pyarrow as pa

from world_api.core.spans import TimeSpan
from world_api.world.arrays.items import Items, Positions, Times, ranges
from world_api.world.arrays.joining import BREAK, Joined, coded, join_tracks
from world_api.world.arrays.linking import Links
from world_api.world.disk.columns import one
from world_api.world.once import made_once
from world_api.world.tracks import Track, hint_in_chinese, hint_in_words

#: So many tracks are kept put together.
_KEPT = 8192


class JoinedTracks:
    """All tracks that some rows make, as arrays.

    Args:
        joined: The tracks and their sightings.
        sightings: The rows they were joined from.
        picture: Width and height in pixels.
        frame: How long a frame is shown, in seconds: an appearance of a single sighting lasts that long.
        until: Where the visible part of the video ends, in seconds; no appearance ends later.
    """

    def __init__(
        self, joined: Joined, sightings: pa.Table, *, picture: tuple[int, int], frame: float, until: float
    ) -> None:
        tracks, rows = joined.tracks, joined.sightings
        self.picture, self.frame, self._until = picture, frame, until
        self.count = tracks.num_rows
        self.names = one(tracks.column("track"))
        self.categories = one(tracks.column("category"))
        self.colours = one(tracks.column("colours"))
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
        self._made: dict[int, Track] = {}

    @made_once
    def known_at(self) -> Times:
        """When everything that makes each track was known and its last appearance was over."""
        owners, _, ends = self.all_appearances
        known: Times = self._joined_at.copy()
        np.maximum.at(known, owners, ends)
        return known

    @made_once
    def place_of(self) -> dict[str, int]:
        """Where each track stands, by its name."""
        return {name: place for place, name in enumerate(self.names.to_pylist())}

    @made_once
    def kinds(self) -> tuple[pa.Array, Positions]:
        """The different categories, sorted, and which of them each track has."""
        return coded(self.categories)

    @made_once
    def mean_confidences(self) -> Times:
        """How sure the sightings of each track are, 0 to 1."""
        total = np.concatenate([[0.0], np.cumsum(np.where(self.clear, self._confidences, 0.0), dtype=np.float64)])
        count = np.concatenate([[0], np.cumsum(self.clear)])
        means: Times = (total[self.ends] - total[self.firsts]) / np.maximum(1, count[self.ends] - count[self.firsts])
        return means

    @made_once
    def all_appearances(self) -> tuple[Positions, Times, Times]:
        """Of all tracks all appearances."""
        return self.appearances(np.arange(self.count))

    def track(self, place: int) -> Track:
        """One track, put together; the last of them are kept for all who ask."""
        made = self._made.get(place)
        if made is None:
            made = self._put_together(place)
            if len(self._made) >= _KEPT:
                self._made.clear()
            self._made[place] = made
        return made

    def _put_together(self, place: int) -> Track:
        first, end = int(self.firsts[place]), int(self.ends[place])
        clear, times = self.clear[first:end], self.times[first:end]
        boxes = np.stack([column[first:end] for column in self._boxes], axis=1)
        _, starts, ends = self.appearances(np.array([place]))
        return Track(
            track_id=self.names[place].as_py(),
            category=self.categories[place].as_py(),
            colours=tuple(self.colours[place].as_py()),
            appearances=tuple(
                TimeSpan(start=start, end=end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            ),
            times=times[clear],
            boxes=boxes[clear],
            confidences=self._confidences[first:end][clear],
            slivers=self.slivers[first:end][clear],
            followed_times=times,
            followed_boxes=boxes,
            producer=self._sightings.column("producer")[int(self.rows[first])].as_py(),
            picture=self.picture,
        )

    def parts(self, place: int) -> list[str]:
        """The tracks, named as they were followed clip by clip, that a track is joined from."""
        rows = self.rows[int(self.firsts[place]) : int(self.ends[place])]
        found: list[str] = self._sightings.column("track").take(pa.array(np.sort(rows))).unique().to_pylist()
        return found

    @made_once
    def place_of_part(self) -> dict[str, int]:
        """Which track each of those belongs to."""
        names = one(self._sightings.column("track")).dictionary_encode()
        place = np.empty(len(self.rows), dtype=np.int64)
        place[self.rows[ranges(self.firsts, self.ends)]] = np.repeat(np.arange(self.count), self.ends - self.firsts)
        _, first = np.unique(names.indices.to_numpy(), return_index=True)
        return dict(zip(names.dictionary.to_pylist(), place[first].tolist(), strict=True))

    def described(self, place: int) -> str:
        """The words a track is found by, in both languages."""
        category, colours = self.categories[place].as_py(), self.colours[place].as_py()
        return f"{hint_in_words(category, colours)} {hint_in_chinese(category, colours)}".strip()

    def appearances(self, places: Positions) -> tuple[Positions, Times, Times]:
        """Of some tracks all unbroken stretches in which they are seen: whose (index into ``places``), from, to.

        An appearance runs from its first to its last sighting; a single one lasts as long as its frame is shown.
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
    """The tracks that a cut lets through, in order of first sighting; one is put together when it is asked for.

    ``settled``: places in ``whole`` of those that the cut leaves as they are; ``open_tracks``: those it shortens.
    ``origins`` (n): where each comes from; negative ones count ``open_tracks`` from -1 down.
    """

    def __init__(self, whole: JoinedTracks, settled: Positions, open_tracks: JoinedTracks | None = None) -> None:
        self.whole, self.settled, self.open_tracks = whole, settled, open_tracks
        starts, ends = whole.start_times[settled], whole.end_times[settled]
        self.origins = settled
        self._inserted: Positions = settled[:0]
        if open_tracks is not None and open_tracks.count:
            at = self._inserted = self._places_of(open_tracks, starts)
            self.origins = np.insert(settled, at, -1 - np.arange(open_tracks.count))
            starts, ends = np.insert(starts, at, open_tracks.start_times), np.insert(ends, at, open_tracks.end_times)
        super().__init__(starts, ends, self._track)

    @classmethod
    def visible(cls, whole: JoinedTracks, sightings: pa.Table, links: Links, as_of: float) -> Tracks:
        """What a cut shows of tracks: those it leaves whole as they are, the others joined anew from what it shows."""
        settled = np.flatnonzero(whole.known_at <= as_of)
        cut = np.flatnonzero((whole.known_at > as_of) & (whole.known_from <= as_of))
        if len(cut) == 0:
            return cls(whole, settled)
        rows = np.sort(whole.rows[ranges(whole.firsts[cut], whole.ends[cut])])
        seen = sightings.take(pa.array(rows[sightings.column("known_at").to_numpy()[rows] <= as_of]))
        width, height = whole.picture
        joined = join_tracks(seen, links.of_tracks(cut, as_of), width=width, height=height)
        opened = JoinedTracks(joined, seen, picture=whole.picture, frame=whole.frame, until=as_of)
        return cls(whole, settled, opened)

    def find(self, track_id: str) -> Track | None:
        """The track of that name."""
        if self.open_tracks is not None and (place := self.open_tracks.place_of.get(track_id)) is not None:
            return self.of_origin(-1 - place)
        return self._settled(self.whole.place_of.get(track_id))

    def parts(self, track: Track) -> list[str]:
        """The tracks, named as they were followed clip by clip, that one of these is joined from."""
        if self.open_tracks is not None and (place := self.open_tracks.place_of.get(track.track_id)) is not None:
            return self.open_tracks.parts(place)
        return self.whole.parts(self.whole.place_of[track.track_id])

    def of_part(self, name: str) -> Track | None:
        """The track that such a part belongs to."""
        if self.open_tracks is not None and (place := self.open_tracks.place_of_part.get(name)) is not None:
            return self.of_origin(-1 - place)
        return self._settled(self.whole.place_of_part.get(name))

    def _settled(self, place: int | None) -> Track | None:
        if place is None:
            return None
        at = int(np.searchsorted(self.settled, place))
        return self.of_origin(place) if at < len(self.settled) and self.settled[at] == place else None

    def around(self, time: float, near: float) -> list[Track]:
        """The tracks with a time between their first and last sighting, give or take so many seconds."""
        found = np.flatnonzero((self.starts <= time + near) & (self.ends >= time - near))
        return [self[int(i)] for i in found]

    def positions(self, origins: Positions) -> Positions:
        """Where those stand that come from some ``origins``."""
        places = np.searchsorted(self.settled, origins)
        places += np.searchsorted(self._inserted, places, side="right")
        opened = np.flatnonzero(origins < 0)
        places[opened] = self._inserted[-1 - origins[opened]] - 1 - origins[opened]
        found: Positions = places
        return found

    def mean_confidences(self, origins: Positions) -> Times:
        """How sure the sightings are of those that come from some ``origins``, 0 to 1."""
        settled = origins >= 0
        means: Times = np.zeros(len(origins))
        means[settled] = self.whole.mean_confidences[origins[settled]]
        if self.open_tracks is not None:
            means[~settled] = self.open_tracks.mean_confidences[-1 - origins[~settled]]
        return means

    @made_once
    def categories(self) -> frozenset[str]:
        """The categories of all of them."""
        words, numbers = self.whole.kinds
        found = {words[int(i)].as_py() for i in np.flatnonzero(np.bincount(numbers[self.settled]))}
        return frozenset(found | set(self.open_tracks.categories.to_pylist() if self.open_tracks else ()))

    def _track(self, position: int) -> Track:
        return self.of_origin(int(self.origins[position]))

    def of_origin(self, origin: int) -> Track:
        """The track that comes from there."""
        if origin >= 0:
            return self.whole.track(origin)
        assert self.open_tracks is not None  # noqa: S101 - negative origins come from it
        return self.open_tracks.track(-1 - origin)

    def _places_of(self, added: JoinedTracks, starts: Times) -> Positions:
        """Where each added track goes: by its start, then by its name."""
        places = np.searchsorted(starts, added.start_times)
        ends = np.searchsorted(starts, added.start_times, side="right")
        for i in np.flatnonzero(ends > places).tolist():
            tied = self.whole.names.take(pa.array(self.settled[places[i] : ends[i]])).to_pylist()
            places[i] += bisect_left(tied, added.names[i].as_py())
        found: Positions = places.astype(np.int64)
        return found
