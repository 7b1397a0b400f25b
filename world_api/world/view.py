"""A world behind a causal cut: the only way the operations read stored rows.

``View.rows(name)`` applies the cut as one predicate (``known_at <= as_of``); everything else here is put together from
those rows, so that nothing can look past it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.core.faults import OperationFault
from world_api.core.identifiers import scene_id
from world_api.core.spans import TimeSpan
from world_api.world.camera import CameraMovement, camera_movements
from world_api.world.disk.stored import World
from world_api.world.likeness import Likeness, likenesses
from world_api.world.screen_texts import ScreenText, join_readings
from world_api.world.segments import segment
from world_api.world.tracks import Track, build_tracks, roots

Times = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A scene: shots that belong together. ``strength`` (0 to 1): how little it looks like what came before."""

    ordinal: int
    span: TimeSpan
    strength: float

    @property
    def scene_id(self) -> str:
        """Its identifier."""
        return scene_id(self.ordinal)


@dataclass(frozen=True, kw_only=True)
class SpokenWord:
    """A recognised word of a spoken line."""

    span: TimeSpan
    text: str
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A spoken line. ``source``: sidecar, embedded, recognised or truth; only recognised lines have ``words``."""

    span: TimeSpan
    text: str
    speaker: str
    confidence: float
    language: str
    source: str
    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, kw_only=True)
class Said:
    """A stored sentence or label about a stretch (a caption or an action)."""

    span: TimeSpan
    text: str
    subject: str
    confidence: float
    producer: str


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
        """The visible stretch."""
        return TimeSpan(start=0.0, end=self.duration)

    def rows(self, name: str) -> pa.Table:
        """The visible rows of a table, in key order."""
        table = self.world.rows(name)
        if self.as_of is None or self.as_of >= self.world.manifest.video.duration:
            return table  # all of the video has been seen, so all that follows from it is known
        return table.filter(pc.less_equal(table.column("known_at"), self.as_of))

    @cached_property
    def shots(self) -> list[TimeSpan]:
        """The shots; they tile the visible stretch."""
        return _tile(self.rows("cuts").column("time").to_numpy(), self.span)

    @cached_property
    def scenes(self) -> list[Scene]:
        """The scenes; they tile the visible stretch."""
        rows = self.rows("scene_cuts")
        times = rows.column("time").to_numpy()
        strengths = dict(zip(times.tolist(), rows.column("strength").to_pylist(), strict=True))
        spans = _tile(times, self.span)
        return [Scene(ordinal=i, span=span, strength=strengths.get(span.start, 1.0)) for i, span in enumerate(spans)]

    def scene_at(self, time: float) -> Scene:
        """The scene a visible time lies in (the last one for the very end)."""
        starts = [scene.span.start for scene in self.scenes]
        return self.scenes[max(0, int(np.searchsorted(starts, time, side="right")) - 1)]

    @cached_property
    def segments(self) -> list[TimeSpan]:
        """The segments that searches rank."""
        return segment(self.shots, [line.span for line in self.speech])

    @cached_property
    def speech(self) -> list[Spoken]:
        """The spoken lines in time order, those that begin in the visible stretch."""
        lines = []
        for row in self.rows("speech").to_pylist():
            span = _span(row["start"], row["end"]).clip(self.span)
            if span is not None:
                lines.append(
                    Spoken(
                        span=span,
                        text=row["text"],
                        speaker=row["speaker"],
                        confidence=_two(row["confidence"]),
                        language=row["language"],
                        source=row["source"],
                        words=tuple(self._words.get(row["start"], ())) if row["source"] == "recognised" else (),
                    )
                )
        return lines

    @cached_property
    def _words(self) -> dict[float, list[SpokenWord]]:
        """The recognised words by the start of their line."""
        words: dict[float, list[SpokenWord]] = {}
        for row in self.rows("words").to_pylist():
            word = SpokenWord(
                span=_span(row["start"], row["end"]), text=row["word"], confidence=_two(row["confidence"])
            )
            words.setdefault(row["line_start"], []).append(word)
        return words

    @cached_property
    def screen_texts(self) -> list[ScreenText]:
        """Texts read off the screen, one entry for each stretch in which a text stood there."""
        return join_readings(self.rows("screen_texts"), self.shots, self.span)

    @cached_property
    def captions(self) -> list[Said]:
        """Stored captions."""
        return self._said("captions", "text")

    @cached_property
    def actions(self) -> list[Said]:
        """Stored actions."""
        return self._said("actions", "label")

    @cached_property
    def tracks(self) -> list[Track]:
        """What was followed, in order of first sighting."""
        video = self.world.manifest.video
        return build_tracks(self.rows("sightings"), self.rows("track_links"), width=video.width, height=video.height)

    def may_be(self, entity_id: str) -> tuple[Likeness, ...]:
        """The entities that a build-time identity looks like, the most alike first. They are not merged."""
        return self._likenesses.get(entity_id, ())

    @cached_property
    def _likenesses(self) -> dict[str, tuple[Likeness, ...]]:
        return likenesses(self.rows("look_links"), self.tracks, roots(self.rows("track_links")))

    @cached_property
    def camera_movements(self) -> list[CameraMovement]:
        """What the camera does beyond standing still, in time order."""
        return camera_movements(self.rows("camera"), self.shots)

    def tracks_in(self, span: TimeSpan) -> list[Track]:
        """The tracks with a sighting in a half-open stretch."""
        starts, ends = self._track_ends
        near = np.flatnonzero((starts < span.end) & (ends >= span.start))
        found = (self.tracks[int(i)] for i in near)
        return [track for track in found if (part := track.between(span)).stop > part.start]

    @cached_property
    def _track_ends(self) -> tuple[Times, Times]:
        spans = [track.span for track in self.tracks]
        return np.array([span.start for span in spans]), np.array([span.end for span in spans])

    def track_of_entity(self, entity_id: str) -> Track | None:
        """The build-time identity of that id."""
        return next((track for track in self.tracks if track.entity_id == entity_id), None)

    def _said(self, table: str, column: str) -> list[Said]:
        found = []
        for row in self.rows(table).to_pylist():
            if (span := _span(row["start"], row["end"]).clip(self.span)) is not None:
                found.append(
                    Said(
                        span=span,
                        text=row[column],
                        subject=row.get("subject", ""),
                        confidence=_two(row["confidence"]),
                        producer=row["producer"],
                    )
                )
        return found


def _tile(boundaries: Times, whole: TimeSpan) -> list[TimeSpan]:
    """The stretches between boundaries; the whole where there are none (also for an empty visible part)."""
    inner = [float(t) for t in np.unique(boundaries) if whole.start < t < whole.end]
    edges = [whole.start, *inner, whole.end]
    return [TimeSpan(start=a, end=b) for a, b in pairwise(edges)]


def _span(start: float, end: float) -> TimeSpan:
    return TimeSpan(start=float(start), end=max(float(start), float(end)))


def _two(value: float) -> float:
    return round(float(value), 2)
