"""A world behind a causal cut: the only way the operations read stored rows.

``View.rows(name)`` applies the cut as one predicate (``known_at <= as_of``); everything else here is put together from
those rows, so that nothing can look past it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan
from world_api.core.vocabulary import Vocabulary, judged_at_build
from world_api.world.arrays.followed import Tracks
from world_api.world.arrays.horizon import settled_until
from world_api.world.arrays.items import Items, extended, spans, tile
from world_api.world.arrays.whole import Whole
from world_api.world.camera import CameraMovement
from world_api.world.disk.stored import World
from world_api.world.facts import Said, Scene, Scenes, Spoken, SpokenWord
from world_api.world.likeness import Likeness, Likenesses
from world_api.world.once import OnceEach, made_once
from world_api.world.screen_texts import ScreenText, followed_by, join_readings
from world_api.world.segments import segment
from world_api.world.tracks import Track

Item = TypeVar("Item")
Kept = TypeVar("Kept")

#: How the ids of build-time identities begin.
ENTITY = "ent_"


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
        # Where all of the video has been seen, all that follows from it is known.
        self.complete = as_of is None or as_of >= world.manifest.video.duration
        self._whole = world.once(Whole)
        self._once: OnceEach[object, object] = OnceEach()

    def once(self, kind: Callable[[View], Kept]) -> Kept:
        """What ``kind`` makes of this view, made when it is first asked for and shared by all its readers."""
        return cast(Kept, self._once.get(kind, lambda: kind(self)))

    @property
    def video_id(self) -> str:
        """The video's id."""
        return self.world.manifest.video_id

    @made_once
    def duration(self) -> float:
        """Seconds that are visible."""
        whole = self.world.manifest.video.duration
        return whole if self.as_of is None else min(whole, self.as_of)

    @property
    def span(self) -> TimeSpan:
        """The visible stretch."""
        return TimeSpan(start=0.0, end=self.duration)

    def frame_at(self, time: float) -> TimeSpan:
        """How long the frame of a visible moment is shown, for what was seen in that frame alone."""
        return TimeSpan(start=time, end=max(time, min(time + self.world.manifest.video.frame_seconds, self.duration)))

    @made_once
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
        known = self.world.rows(name).column("known_at").to_numpy()
        return bool(len(known)) and (self.complete or bool(known.min() <= self.duration))

    @made_once
    def shots(self) -> Items[TimeSpan]:
        """The shots; they tile the visible stretch."""
        whole = self._whole.shots
        if self.complete:
            return whole
        seen = self._whole.all_seen_until(self.duration, "cuts")
        same = max(0, int(np.searchsorted(whole.starts, seen)) - 1)
        times = self.world.rows("cuts").column("time").to_numpy()
        first = int(np.searchsorted(times, seen))
        later = times[first:][self._known("cuts", first)]
        rest = tile(later, TimeSpan(start=float(whole.starts[same]), end=self.duration))
        starts, ends = extended(whole.starts[:same], rest.starts), extended(whole.ends[:same], rest.ends)
        return spans(starts, ends, like=(whole.reach, same))

    @made_once
    def scenes(self) -> Scenes:
        """The scenes; they tile the visible stretch."""
        rows, known = self.world.rows("scene_cuts"), self._known("scene_cuts")
        times, strengths = rows.column("time").to_numpy()[known], rows.column("strength").to_numpy()[known]
        tiles = tile(times, self.span)
        # Where two rows tell of one moment, the last of them holds.
        at = np.searchsorted(times, tiles.starts, side="right") - 1
        strong = np.ones(len(tiles))
        if len(times):
            known = (at >= 0) & (times[np.maximum(at, 0)] == tiles.starts)
            strong[known] = strengths[at[known]]

        return Scenes(tiles, strong)

    def scene_at(self, time: float) -> Scene:
        """The scene a visible time lies in (the last one for the very end)."""
        return self.scenes[max(0, int(np.searchsorted(self.scenes.starts, time, side="right")) - 1)]

    @made_once
    def segments(self) -> Items[TimeSpan]:
        """The segments that searches rank."""
        whole = self._whole.segments
        if self.complete:
            return whole
        same = self.unchanged_segments
        start = float(whole.ends[same - 1]) if same else 0.0
        rest = TimeSpan(start=start, end=self.duration)
        shots = [TimeSpan(start=max(start, shot.start), end=shot.end) for shot in self.shots.during(rest)]
        found = segment(shots, spans(self.speech.starts, self.speech.ends).during(rest))
        return spans(
            np.append(whole.starts[:same], [span.start for span in found]),
            np.append(whole.ends[:same], [span.end for span in found]),
            like=(whole.reach, same),
        )

    @made_once
    def unchanged_segments(self) -> int:
        """How many of the first segments are those of the whole world, with all that is said and seen in them."""
        if self.complete:
            return len(self._whole.segments)
        restart = self._whole.restart_before(settled_until(self._whole, self.tracks, self.screen_texts, self.duration))
        return int(np.searchsorted(self._whole.segments.ends, restart, side="right"))

    @made_once
    def speech(self) -> Items[Spoken]:
        """The spoken lines in time order, those that begin in the visible stretch."""
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

        return self._stretches("speech", make)

    def _words_of(self, line_start: float) -> tuple[SpokenWord, ...]:
        """The recognised words of the line that starts then."""
        order, starts = self._whole.words
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

    @made_once
    def screen_texts(self) -> Items[ScreenText]:
        """Texts read off the screen, one entry for each stretch in which a text stood there.

        Their ``rows`` count the stretches of the whole world; -1 is one that the cut made anew.
        """
        whole = self._whole.screen_texts
        if self.complete:
            return whole
        since, kept = self._whole.quiet.before(self._whole.all_seen_until(self.duration, "screen_texts", "cuts"))
        rows = self.world.rows("screen_texts")
        rows = rows.slice(int(np.searchsorted(rows.column("time").to_numpy(), since)))
        fresh = rows.take(pa.array(np.flatnonzero(rows.column("known_at").to_numpy() <= self.duration)))
        shots = self.shots.during(TimeSpan(start=max(0.0, since), end=self.duration))
        return followed_by(whole, kept, join_readings(fresh, shots or [self.shots[-1]], self.span))

    @made_once
    def captions(self) -> Items[Said]:
        """Stored captions."""
        return self._said("captions", "text")

    @made_once
    def actions(self) -> Items[Said]:
        """Stored actions."""
        return self._said("actions", "label")

    @made_once
    def tracks(self) -> Tracks:
        """What was followed, in order of first sighting."""
        whole = self._whole.tracks
        if self.complete:
            return Tracks(whole, np.arange(whole.count))
        return Tracks.visible(
            whole,
            self.world.rows("sightings"),
            self._whole.links,
            self.duration,
        )

    def may_be(self, entity_id: str) -> tuple[Likeness, ...]:
        """The entities that a build-time identity looks like, the most alike first. They are not merged."""
        track = self.track_of_entity(entity_id)
        return (
            self.world.once(Likenesses).of(track, self.tracks, None if self.complete else self.as_of)
            if track is not None
            else ()
        )

    @made_once
    def camera_movements(self) -> Items[CameraMovement]:
        """What the camera does beyond standing still, in time order."""
        whole = self._whole.camera
        if self.complete:
            return whole.movements
        seen = self._whole.all_seen_until(self.duration, "camera", "cuts")
        return whole.until(self.world.rows("camera"), self.duration, self.shots, seen)

    def tracks_in(self, span: TimeSpan) -> list[Track]:
        """The tracks with a sighting in a half-open stretch."""
        near = (
            self.tracks[int(i)]
            for i in np.flatnonzero((self.tracks.starts < span.end) & (self.tracks.ends >= span.start))
        )
        return [track for track in near if (part := track.between(span)).stop > part.start]

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

        return self._stretches(table, make)

    def _stretches(self, table: str, make: Callable[[int, TimeSpan], Item]) -> Items[Item]:
        """The visible rows of a table of stretches, clipped to the visible part."""
        rows = self._whole.lasting(table)
        shown = rows.whole if self.complete else rows.until(self.duration)
        starts, ends, places = shown.starts, shown.ends, shown.rows
        return Items(
            starts,
            ends,
            lambda i: make(int(places[i]), TimeSpan(start=float(starts[i]), end=float(ends[i]))),
            rows=places,
            like=(rows.reach, shown.same),
        )

    def _known(self, table: str, first: int = 0) -> NDArray[np.bool_]:
        """Which rows of a table are visible, from one on."""
        known = self.world.rows(table).column("known_at").to_numpy()[first:]
        return np.ones(len(known), dtype=np.bool_) if self.complete else known <= self.duration


def open_view(world: World, as_of: float | None) -> View:
    """A view of a world; sessions that see all of it share one."""
    return world.once(_whole_view) if as_of is None else View(world, as_of)


def _whole_view(world: World) -> View:
    return View(world, None)


def _two(value: float) -> float:
    return round(float(value), 2)
