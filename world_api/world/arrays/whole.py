"""What follows from all rows of a world, before any causal cut: tracks, stretches of text, segments.

Shared by all sessions on a world. A view with a cut takes from here what the cut leaves as it is, and makes anew what
it changes; no operation reads it directly.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from world_api.core.spans import TimeSpan
from world_api.world.arrays.followed import JoinedTracks
from world_api.world.arrays.items import Items, Positions, Times, spans, tile
from world_api.world.arrays.joining import JOINED, TRACKS, Joined, join_tracks
from world_api.world.arrays.lasting import LastingRows
from world_api.world.arrays.linking import Links
from world_api.world.camera import CameraRuns
from world_api.world.disk.stored import World
from world_api.world.once import OnceEach, made_once
from world_api.world.screen_texts import STRETCHES, Quiet, ScreenText, join_readings, stretch_table, stretches
from world_api.world.segments import SILENCE, segment, talks

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
