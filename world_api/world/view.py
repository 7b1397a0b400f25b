"""Views of a world.

Rows that last (speech, captions, actions): those of a whole world, and what a causal cut shows of them.

What follows from all rows of a world, before any causal cut: tracks, stretches of text, segments.

Shared by all sessions on a world. A view with a cut takes from here what the cut leaves as it is, and makes anew what
it changes; no operation reads it directly.

How far back a causal cut changes what a world says: everything before can be taken over as it is.

A cut hides rows; near it, things also end earlier, and what was followed looks different as long as less of it was
seen. Before the earliest such change the visible part and the whole world say the same.

A world behind a causal cut: the only way the operations read stored rows.

``View.rows(name)`` applies the cut as one predicate (``known_at <= as_of``); everything else here is put together from
those rows, so that nothing can look past it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan
from world_api.core.vocabulary import Vocabulary, judged_at_build
from world_api.world.items import Items, Positions, Reach, Times, extended, spans, tile
from world_api.world.once import OnceEach, made_once
from world_api.world.screen_texts import (
    STRETCHES,
    Quiet,
    ScreenText,
    followed_by,
    join_readings,
    stretch_table,
    stretches,
)
from world_api.world.store import World
from world_api.world.timeline import (
    SILENCE,
    CameraMovement,
    CameraRuns,
    Said,
    Scene,
    Scenes,
    Spoken,
    SpokenWord,
    segment,
    talks,
)
from world_api.world.track_joining import JOINED, TRACKS, Joined, join_tracks
from world_api.world.tracks import JoinedTracks, Likeness, Likenesses, Links, Track, Tracks


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """n rows that last, in order of their start. The first ``same`` are those of the whole world as they are.

    ``starts``, ``ends`` (n, seconds) lie inside what is visible; ``rows`` (n): their places in the table.
    """

    starts: Times
    ends: Times
    rows: Positions
    same: int


class LastingRows:
    """All rows of a table that has ``start`` and ``end``, in a video of that ``duration`` (seconds)."""

    def __init__(self, table: pa.Table, duration: float) -> None:
        starts, known_at = table.column("start").to_numpy(), table.column("known_at").to_numpy()
        ends = np.maximum(starts, table.column("end").to_numpy())
        rows = np.flatnonzero((starts < duration) & (ends > 0.0))
        self.whole = Lasting(
            starts=np.maximum(starts[rows], 0.0), ends=np.minimum(ends[rows], duration), rows=rows, same=len(rows)
        )
        self.reach = Reach(self.whole.ends)
        self._starts, self._known_at = starts[rows], known_at[rows]
        #: The earliest cut (n, seconds) that shows each as it is.
        self.settled_at = np.maximum(self._known_at, np.maximum(ends[rows], np.nextafter(self._starts, np.inf)))
        #: The earliest cut that shows each, and all before it, as they are.
        self._all_settled = np.maximum.accumulate(self.settled_at) if len(rows) else self.settled_at

    def until(self, as_of: float) -> Lasting:
        """What a cut inside the video shows."""
        whole = self.whole
        same = int(np.searchsorted(self._all_settled, as_of, side="right"))
        end = int(np.searchsorted(self._starts, as_of))
        rest = np.flatnonzero(self._known_at[same:end] <= as_of) + same
        return Lasting(
            starts=extended(whole.starts[:same], whole.starts[rest]),
            ends=extended(whole.ends[:same], np.minimum(whole.ends[rest], as_of)),
            rows=extended(whole.rows[:same], whole.rows[rest]),
            same=same,
        )

    def shortened(self, as_of: float) -> Positions:
        """Which of all a cut shows and lets end earlier."""
        same = int(np.searchsorted(self._all_settled, as_of, side="right"))
        end = int(np.searchsorted(self._starts, as_of))
        cut = (self._known_at[same:end] <= as_of) & (self.whole.ends[same:end] > as_of)
        found: Positions = np.flatnonzero(cut) + same
        return found


#: Which column tells when a row's fact begins.
BEGINS = {
    "cuts": "time", "scene_cuts": "time", "looks": "time", "sightings": "time", "screen_texts": "time",
    "camera": "time", "speech": "start", "captions": "start", "actions": "start",
}  # fmt: skip
_SEGMENTS = pa.schema([("start", pa.float64()), ("end", pa.float64())])


class Whole:
    """A world without a cut."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.span = TimeSpan(start=0.0, end=world.manifest.video.duration)
        self._unseen: OnceEach[str, tuple[Times, Times]] = OnceEach()
        self._lasting: OnceEach[str, LastingRows] = OnceEach()

    def read_all(self) -> None:
        """Read or make all that is kept beside the world."""
        _ = (self.tracks, self.readings, self.segments)

    @made_once
    def shots(self) -> Items[TimeSpan]:
        """The shots."""
        return tile(self._world.rows("cuts").column("time").to_numpy(), self.span)

    def lasting(self, table: str) -> LastingRows:
        """The rows of a table of stretches."""
        return self._lasting.get(table, lambda: LastingRows(self._world.rows(table), self.span.end))

    @made_once
    def camera(self) -> CameraRuns:
        """What the camera does."""
        return CameraRuns(self._world.rows("camera"), self.shots)

    @made_once
    def words(self) -> tuple[Positions, Times]:
        """The rows of recognised words in order of the lines they belong to, and when those start."""
        starts = self._world.rows("words").column("line_start").to_numpy()
        order = np.argsort(starts, kind="stable")
        return order, starts[order]

    @made_once
    def tracks(self) -> JoinedTracks:
        """What was followed."""
        video, derived = self._world.manifest.video, self._world.derived
        sightings = self._world.rows("sightings")

        def join() -> Joined:
            return join_tracks(sightings, self._world.rows("track_links"), width=video.width, height=video.height)

        made: list[Joined] = []

        def part(name: str) -> pa.Table:
            if not made:
                made.append(join())
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

    @made_once
    def links(self) -> Links:
        """The links that tracks are joined by."""
        return Links(self._world.rows("track_links"), self.tracks.names)

    @made_once
    def readings(self) -> pa.Table:
        """The stretches in which texts stay on screen."""
        return self._world.derived.table(
            "screen_texts",
            lambda: stretch_table(join_readings(self._world.rows("screen_texts"), self.shots, self.span)),
            schema=STRETCHES,
        )

    @made_once
    def screen_texts(self) -> Items[ScreenText]:
        """The same, one by one."""
        return stretches(self.readings)

    @made_once
    def quiet(self) -> Quiet:
        """Where reading texts off the screen can begin anew."""
        return Quiet(self.readings)

    @made_once
    def segments(self) -> Items[TimeSpan]:
        """The segments."""

        def make() -> pa.Table:
            found = segment(self.shots, list(self._lines))
            return pa.table({"start": np.array([s.start for s in found]), "end": np.array([s.end for s in found])})

        table = self._world.derived.table("segments", make, schema=_SEGMENTS)
        return spans(table.column("start").to_numpy(), table.column("end").to_numpy())

    @made_once
    def _lines(self) -> Items[TimeSpan]:
        lines = self.lasting("speech").whole
        return spans(lines.starts, lines.ends)

    @made_once
    def _restarts(self) -> tuple[Times, Times]:
        """Where cutting into segments begins anew whatever came before: at which time, and until when rows decide it."""
        shots = self.shots.starts
        starts, ends = talks(self._lines.starts, self._lines.ends)
        settled = np.isin(starts, self.segments.starts)
        at = np.concatenate([shots, starts[settled]])
        until = np.concatenate([shots, ends[settled] + SILENCE])
        order = np.lexsort((until, at))
        return at[order], until[order]

    def restart_before(self, time: float) -> float:
        """The last moment from which segments can be cut again, where rows that begin before ``time`` are all known."""
        at, until = self._restarts
        safe = np.flatnonzero(until < time)
        return float(at[safe[-1]]) if len(safe) else 0.0

    def all_seen_until(self, as_of: float, *tables: str) -> float:
        """The time before which a cut hides and shortens no row of some tables; at most that of the cut."""
        return min(as_of, *(self.first_unseen(table, as_of) for table in tables))

    def first_unseen(self, table: str, as_of: float) -> float:
        """Where the earliest row of a table begins that a cut hides or shortens; infinite where there is none."""
        settled, earliest = self._unseen.get(table, lambda: self._begins(table))
        return float(earliest[np.searchsorted(settled, as_of, side="right")])

    def _begins(self, table: str) -> tuple[Times, Times]:
        """When the rows of a table are settled, rising, and where the earliest begins of each and those after it."""
        rows = self._world.rows(table)
        begins = rows.column(BEGINS[table]).to_numpy()
        settled = rows.column("known_at").to_numpy()
        if "end" in rows.column_names:
            settled = np.maximum(settled, rows.column("end").to_numpy())
        order = np.argsort(settled, kind="stable")
        earliest = np.minimum.accumulate(begins[order][::-1])[::-1]
        return settled[order], np.append(earliest, np.inf)


#: From when to when something is said, and what.
_Content = Counter[tuple[float, float, str]]

#: The tables whose rows make up what segments say and look like, sightings apart. The camera's movements are no part of them.
_TABLES = tuple(name for name in BEGINS if name not in ("scene_cuts", "sightings", "camera"))


def settled_until(whole: Whole, tracks: Tracks, texts: Items[ScreenText], as_of: float) -> float:
    """The time before which the segments of a cut and of the whole world have the same content."""
    bound = whole.all_seen_until(as_of, *_TABLES)
    return min(
        bound,
        _first_difference(*_followed(whole, tracks, as_of, bound)),
        _first_difference(*_read(whole, texts, bound)),
    )


def _first_difference(one: _Content, other: _Content) -> float:
    return min((start for start, _, _ in (one - other) + (other - one)), default=math.inf)


def _followed(whole: Whole, tracks: Tracks, as_of: float, bound: float) -> tuple[_Content, _Content]:
    """What tracks that the cut changes put into segments before a time, in the whole world and behind the cut."""

    def said(joined: JoinedTracks, places: Positions) -> _Content:
        owners, starts, ends = joined.appearances(places)
        early = np.flatnonzero(starts < bound)
        return Counter(
            (float(starts[i]), min(float(ends[i]), bound), joined.described(int(places[owners[i]]))) for i in early
        )

    changed = np.flatnonzero((whole.tracks.known_at > as_of) & (whole.tracks.start_times < bound))
    opened = tracks.open_tracks
    return said(whole.tracks, changed), said(opened, np.arange(opened.count)) if opened is not None else Counter()


def _read(whole: Whole, texts: Items[ScreenText], bound: float) -> tuple[_Content, _Content]:
    """The same of the texts on screen that the cut made anew."""

    def said(stretches: Items[ScreenText], first: int) -> _Content:
        end = int(np.searchsorted(stretches.starts, bound))
        return Counter((text.span.start, min(text.span.end, bound), text.text) for text in stretches[first:end])

    kept = int(np.count_nonzero(texts.rows >= 0))
    return said(whole.screen_texts, kept), said(texts, kept)


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
