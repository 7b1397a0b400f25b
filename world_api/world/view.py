"""A world behind a causal cut: the only way the operations read stored rows.

``View.rows(name)`` applies the cut as one predicate (``known_at <= as_of``); everything else is derived from those rows, so that
nothing can see past it. What is slow to derive (tracks, texts on screen, segments) is derived once in ``UncutWorld``, which all
sessions on a world share; a view reuses the part that its cut does not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.core.execution import OnceEach
from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan
from world_api.core.vocabulary import Vocabulary, judged_at_build
from world_api.world.joined_tracks import JOINED, TRACKS, Joined, join_tracks
from world_api.world.screen_texts import (
    SCREEN_TEXT_SCHEMA,
    ScreenText,
    followed_by,
    independent_starts,
    join_readings,
    screen_text_table,
    screen_texts_in,
)
from world_api.world.store import World
from world_api.world.timeline import (
    CameraMovement,
    Items,
    Positions,
    Said,
    Scene,
    Scenes,
    Spoken,
    SpokenWord,
    Times,
    camera_movements,
    segment,
    shared_prefix,
    spans,
    tile,
)
from world_api.world.tracks import JoinedTracks, Likeness, Likenesses, Track, Tracks

Item = TypeVar("Item")
Kept = TypeVar("Kept")

#: How the ids of build-time identities begin.
ENTITY = "ent_"
_SEGMENTS = pa.schema([("start", pa.float64()), ("end", pa.float64())])


class UncutWorld:
    """Objects derived from all rows of a world, without a causal cut. Only views and search read them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.span = TimeSpan(start=0.0, end=world.manifest.video.duration)

    def read_all(self) -> None:
        """Load or derive all tables that are kept beside the world."""
        _ = (self.tracks, self.readings, self.segments)

    @cached_property
    def shots(self) -> Items[TimeSpan]:
        """The shots."""
        return tile(self._world.rows("cuts").column("time").to_numpy(), self.span)

    @cached_property
    def words(self) -> tuple[Positions, Times]:
        """The rows of recognised words in order of the lines they belong to, and the starts of those lines."""
        starts = self._world.rows("words").column("line_start").to_numpy()
        order = np.argsort(starts, kind="stable")
        return order, starts[order]

    @cached_property
    def tracks(self) -> JoinedTracks:
        """The tracks."""
        video, derived = self._world.manifest.video, self._world.derived
        sightings = self._world.rows("sightings")
        made: list[Joined] = []

        def part(name: str) -> pa.Table:
            if not made:
                links = self._world.rows("track_links")
                made.append(join_tracks(sightings, links, width=video.width, height=video.height))
            return getattr(made[0], name)

        return JoinedTracks(
            Joined(
                tracks=derived.table("tracks", lambda: part("tracks"), schema=TRACKS),
                sightings=derived.table(
                    "tracks.sightings", lambda: part("sightings"), schema=JOINED, rows=sightings.num_rows
                ),
            ),
            sightings,
            picture=(video.width, video.height),
            frame=video.frame_seconds,
            until=video.duration,
        )

    @cached_property
    def readings(self) -> pa.Table:
        """The intervals in which texts stay on screen, as a table."""
        return self._world.derived.table(
            "screen_texts",
            lambda: screen_text_table(join_readings(self._world.rows("screen_texts"), self.shots, self.span)),
            schema=SCREEN_TEXT_SCHEMA,
        )

    @cached_property
    def screen_texts(self) -> Items[ScreenText]:
        """The texts on screen."""
        return screen_texts_in(self.readings)

    @cached_property
    def text_restarts(self) -> Positions:
        """Positions of the texts from which joining can start again."""
        return independent_starts(self.readings)

    @cached_property
    def lines(self) -> Items[TimeSpan]:
        """When lines are spoken."""
        _, starts, ends = visible_intervals(self._world.rows("speech"), self.span.end, as_of=None)
        return spans(starts, ends)

    @cached_property
    def segments(self) -> Items[TimeSpan]:
        """The segments."""

        def make() -> pa.Table:
            found = segment(self.shots, list(self.lines))
            return pa.table({"start": np.array([s.start for s in found]), "end": np.array([s.end for s in found])})

        table = self._world.derived.table("segments", make, schema=_SEGMENTS)
        return spans(table.column("start").to_numpy(), table.column("end").to_numpy())


def visible_intervals(rows: pa.Table, duration: float, *, as_of: float | None) -> tuple[Positions, Times, Times]:
    """The rows with ``start`` and ``end`` that a cut shows, clipped to the first ``duration`` seconds: rows, starts, ends."""
    starts = rows.column("start").to_numpy()
    ends = np.maximum(starts, rows.column("end").to_numpy())
    shown = (starts < duration) & (ends > 0.0)
    if as_of is not None:
        shown &= rows.column("known_at").to_numpy() <= as_of
    places: Positions = np.flatnonzero(shown)
    return places, np.maximum(starts[places], 0.0), np.minimum(ends[places], duration)


class View:
    """The visible part of a world. ``as_of`` in seconds, or None for all of it.

    Raises:
        OperationFault: ``bad_as_of``.
    """

    def __init__(self, world: World, as_of: float | None) -> None:
        if as_of is not None and not (math.isfinite(as_of) and as_of >= 0):
            raise OperationFault("bad_as_of", f"{as_of} is not a time", hint="give seconds from 0 on")
        self.world = world
        self.as_of = as_of
        # If all of the video has been seen, everything derived from it is known.
        self.complete = as_of is None or as_of >= world.manifest.video.duration
        self._uncut = world.once(UncutWorld)
        self._once: OnceEach[object, object] = OnceEach()

    def once(self, kind: Callable[[View], Kept]) -> Kept:
        """The object that ``kind`` makes of this view, made on first use and shared by all readers."""
        return cast(Kept, self._once.get(kind, lambda: kind(self)))

    @property
    def video_id(self) -> str:
        """The video's id."""
        return self.world.manifest.video_id

    @cached_property
    def duration(self) -> float:
        """Seconds that are visible."""
        whole = self.world.manifest.video.duration
        return whole if self.as_of is None else min(whole, self.as_of)

    @property
    def span(self) -> TimeSpan:
        """The visible interval."""
        return TimeSpan(start=0.0, end=self.duration)

    def frame_at(self, time: float) -> TimeSpan:
        """The span in which the frame of a visible moment is shown."""
        return TimeSpan(start=time, end=max(time, min(time + self.world.manifest.video.frame_seconds, self.duration)))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The categories that the visible rows can judge: those of the profile, and those that are recorded."""
        manifest = self.world.manifest
        follows = not manifest.stages or any("sightings" in stage.tables for stage in manifest.stages)
        return Vocabulary(judged_at_build(manifest.profile, self.tracks.categories, follows=follows))

    def rows(self, name: str) -> pa.Table:
        """The visible rows of a table, in key order."""
        table = self.world.rows(name)
        return table if self.complete else table.filter(pc.less_equal(table.column("known_at"), self.as_of))

    def has_rows(self, name: str) -> bool:
        """Whether any row of a table is visible."""
        return bool(self._known(name).any())

    def _known(self, table: str) -> NDArray[np.bool_]:
        """Which rows of a table are visible."""
        known = self.world.rows(table).column("known_at").to_numpy()
        return np.ones(len(known), dtype=np.bool_) if self.complete else known <= self.duration

    def first_hidden(self, table: str) -> float:
        """The time of the earliest row that the cut hides of a table of moments; infinite if it hides none."""
        times = self.world.rows(table).column("time").to_numpy()[~self._known(table)]
        return float(times.min()) if len(times) else math.inf

    @cached_property
    def shots(self) -> Items[TimeSpan]:
        """The shots; they tile the visible interval."""
        if self.complete:
            return self._uncut.shots
        return tile(self.world.rows("cuts").column("time").to_numpy()[self._known("cuts")], self.span)

    @cached_property
    def scenes(self) -> Scenes:
        """The scenes; they tile the visible interval."""
        rows, known = self.world.rows("scene_cuts"), self._known("scene_cuts")
        times, strengths = rows.column("time").to_numpy()[known], rows.column("strength").to_numpy()[known]
        tiles = tile(times, self.span)
        # If two rows have the same time, the later row counts.
        at = np.searchsorted(times, tiles.starts, side="right") - 1
        strong = np.ones(len(tiles))
        if len(times):
            known = (at >= 0) & (times[np.maximum(at, 0)] == tiles.starts)
            strong[known] = strengths[at[known]]
        return Scenes(tiles, strong)

    def scene_at(self, time: float) -> Scene:
        """The scene that contains a visible time (the last one for the very end)."""
        return self.scenes[max(0, int(np.searchsorted(self.scenes.starts, time, side="right")) - 1)]

    @cached_property
    def segments(self) -> Items[TimeSpan]:
        """The segments that searches rank."""
        whole = self._uncut.segments
        if self.complete:
            return whole
        # Segments are cut shot by shot, so those of shots before the first change are reused.
        lines = spans(self.speech.starts, self.speech.ends)
        same_shots, _ = shared_prefix(self.shots, self._uncut.shots)
        _, changed = shared_prefix(lines, self._uncut.lines)
        first = min(int(np.searchsorted(self.shots.ends, changed, side="right")), same_shots, len(self.shots) - 1)
        start = float(self.shots.starts[first])
        same = int(np.searchsorted(whole.ends, start, side="right"))
        found = segment(self.shots[first:], lines.during(TimeSpan(start=start, end=max(start, self.duration))))
        return spans(
            np.append(whole.starts[:same], [span.start for span in found]),
            np.append(whole.ends[:same], [span.end for span in found]),
        )

    @cached_property
    def speech(self) -> Items[Spoken]:
        """The spoken lines in time order, those that begin in the visible interval."""
        rows = self.world.rows("speech")

        def make(row: int, span: TimeSpan) -> Spoken:
            line = rows.slice(row, 1).to_pylist()[0]
            return Spoken(
                span=span,
                text=line["text"],
                speaker=line["speaker"],
                confidence=_two(line["confidence"]),
                language=line["language"],
                source=line["source"],
                words=self._words_of(line["start"]) if line["source"] == "recognised" else (),
            )

        return self._intervals("speech", make)

    def _words_of(self, line_start: float) -> tuple[SpokenWord, ...]:
        """The recognised words of the line that starts then."""
        order, starts = self._uncut.words
        first, end = np.searchsorted(starts, line_start), np.searchsorted(starts, line_start, side="right")
        words = self.world.rows("words").take(pa.array(order[first:end])).to_pylist()
        rows = [row for row in words if self.complete or row["known_at"] <= self.duration]
        return tuple(
            SpokenWord(
                span=TimeSpan(start=row["start"], end=max(row["start"], row["end"])),
                text=row["word"],
                confidence=_two(row["confidence"]),
            )
            for row in rows
        )

    @cached_property
    def screen_texts(self) -> Items[ScreenText]:
        """Texts on screen, one item per interval.

        Their ``rows`` count the texts of the uncut world; -1 is one that was joined again for this cut.
        """
        whole = self._uncut.screen_texts
        if self.complete:
            return whole
        # Before the first hidden row, texts that no later reading could continue are those of the uncut world.
        changed = min(self.duration, self.first_hidden("screen_texts"), self.first_hidden("cuts"))
        restarts = self._uncut.text_restarts
        found = int(np.searchsorted(whole.starts[restarts], changed))
        kept = int(restarts[found - 1]) if found else 0
        since = float(whole.starts[kept]) if found else -math.inf
        rows = self.world.rows("screen_texts")
        wanted = self._known("screen_texts") & (rows.column("time").to_numpy() >= since)
        shots = self.shots.during(TimeSpan(start=max(0.0, since), end=self.duration))
        fresh = join_readings(rows.take(pa.array(np.flatnonzero(wanted))), shots or [self.shots[-1]], self.span)
        return followed_by(whole, kept, fresh)

    @cached_property
    def captions(self) -> Items[Said]:
        """Stored captions."""
        return self._said("captions", "text")

    @cached_property
    def actions(self) -> Items[Said]:
        """Stored actions."""
        return self._said("actions", "label")

    @cached_property
    def tracks(self) -> Tracks:
        """The tracks, in order of first sighting."""
        whole = self._uncut.tracks
        if self.complete:
            return Tracks(whole, np.arange(whole.count))
        return Tracks.visible(whole, self.world.rows("sightings"), self.world.rows("track_links"), self.duration)

    def may_be(self, entity_id: str) -> tuple[Likeness, ...]:
        """The entities that an entity looks like, the most alike first."""
        track = self.track_of_entity(entity_id)
        if track is None:
            return ()
        return self.world.once(Likenesses).of(track, self.tracks, None if self.complete else self.as_of)

    @cached_property
    def camera_movements(self) -> Items[CameraMovement]:
        """Movements of the camera, in time order."""
        return camera_movements(self.rows("camera"), self.shots)

    def tracks_in(self, span: TimeSpan) -> list[Track]:
        """The tracks with a sighting in a half-open interval."""
        near = np.flatnonzero((self.tracks.starts < span.end) & (self.tracks.ends >= span.start))
        tracks = (self.tracks[int(i)] for i in near)
        return [track for track in tracks if (part := track.between(span)).stop > part.start]

    def track_of_entity(self, entity_id: str) -> Track | None:
        """The build-time identity of that id."""
        return self.tracks.find(entity_id.removeprefix(ENTITY)) if entity_id.startswith(ENTITY) else None

    def _said(self, table: str, column: str) -> Items[Said]:
        rows = self.world.rows(table)
        subjects = rows.column("subject") if "subject" in rows.column_names else None

        def make(row: int, span: TimeSpan) -> Said:
            return Said(
                span=span,
                text=rows.column(column)[row].as_py(),
                subject=subjects[row].as_py() if subjects is not None else "",
                confidence=_two(rows.column("confidence")[row].as_py()),
                producer=rows.column("producer")[row].as_py(),
            )

        return self._intervals(table, make)

    def _intervals(self, table: str, make: Callable[[int, TimeSpan], Item]) -> Items[Item]:
        """The visible rows of a table of intervals, clipped to the visible part."""
        rows, starts, ends = visible_intervals(
            self.world.rows(table), self.duration, as_of=None if self.complete else self.as_of
        )

        def item(i: int) -> Item:
            return make(int(rows[i]), TimeSpan(start=float(starts[i]), end=float(ends[i])))

        return Items(starts, ends, item, rows=rows)


def open_view(world: World, as_of: float | None) -> View:
    """A view of a world; sessions that see all of it share one."""
    return world.once(_whole_view) if as_of is None else View(world, as_of)


def _whole_view(world: World) -> View:
    return View(world, None)


def _two(value: float) -> float:
    return round(float(value), 2)
