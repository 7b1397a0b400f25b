"""Scenes, spoken lines, captions, camera movements, and the segments that searches rank.

Segments are windows of at most ten seconds, cut at shots and at speech. The rule, inside each shot: silences of a second or
more part speech from what is not speech; lines of speech that follow one another are packed up to ten seconds, cut between
lines; what is still longer is cut evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from world_api.core.identifiers import scene_id
from world_api.core.spans import TimeSpan, merge_spans
from world_api.world.items import Items, Times
from world_api.world.tables import one


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


class Scenes(Items[Scene]):
    """The scenes; ``strengths`` (n): how little each looks like what came before it, 0 to 1."""

    def __init__(self, tiles: Items[TimeSpan], strengths: Times) -> None:
        self.strengths = strengths
        super().__init__(tiles.starts, tiles.ends, self._scene)

    def _scene(self, position: int) -> Scene:
        span = TimeSpan(start=float(self.starts[position]), end=float(self.ends[position]))
        return Scene(ordinal=position, span=span, strength=float(self.strengths[position]))


#: A row speaks of so many seconds before it; rows further apart than this belong to two movements.
ROW_SECONDS, APART = 1.0, 1.7
#: A movement told by a single row must be this strong (picture widths a second) to be one.
SURE_AT_ONCE = 0.05

WORDS = {
    "pan_left": "pans left",
    "pan_right": "pans right",
    "tilt_up": "tilts up",
    "tilt_down": "tilts down",
    "zoom_in": "zooms in",
    "zoom_out": "zooms out",
    "turn": "turns",
    "shake": "shakes",
}


@dataclass(frozen=True, kw_only=True)
class CameraMovement:
    """A movement of the camera. ``strength``: how far the picture goes, in picture widths a second."""

    span: TimeSpan
    kind: str
    strength: float

    @property
    def label(self) -> str:
        """In words: ``the camera pans left``."""
        return f"the camera {WORDS.get(self.kind, self.kind)}"


def camera_movements(rows: pa.Table, shots: Items[TimeSpan]) -> Items[CameraMovement]:
    """Join rows of ``camera`` of one kind into movements, in time order; stillness is none.

    Movements begin where their shots do at the earliest.
    """
    times, strengths = rows.column("time").to_numpy(), rows.column("strength").to_numpy().astype(np.float64)
    kinds = one(rows.column("kind")).dictionary_encode()
    kind = kinds.indices.to_numpy()
    words = kinds.dictionary.to_pylist()
    begins = np.ones(len(times), dtype=np.bool_)
    begins[1:] = (kind[1:] != kind[:-1]) | (np.diff(times) > APART)
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(times)) - 1
    counts = lasts - firsts + 1
    means = np.add.reduceat(strengths, firsts) / counts if len(firsts) else strengths
    moving = np.array([word != "still" for word in words], dtype=np.bool_)[kind[firsts]]
    shown = np.flatnonzero(moving & ((counts > 1) | (means >= SURE_AT_ONCE)))
    firsts, lasts, means = firsts[shown], lasts[shown], means[shown]
    begun = shots.starts[np.maximum(0, np.searchsorted(shots.starts, times[firsts], side="right") - 1)]
    starts, ends = np.maximum(begun, times[firsts] - ROW_SECONDS), times[lasts]

    def make(i: int) -> CameraMovement:
        return CameraMovement(
            span=TimeSpan(start=float(starts[i]), end=float(ends[i])),
            kind=words[kind[firsts[i]]],
            strength=round(float(means[i]), 3),
        )

    return Items(starts, ends, make)


MAX_SECONDS = 10.0
SILENCE = 1.0
SHORTEST = 1.0


def segment(shots: Sequence[TimeSpan], lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    """Cut shots into segments. ``shots`` tile the video in order; ``lines`` are spoken lines in any order."""
    ordered = sorted(lines)
    found: list[TimeSpan] = []
    first = 0
    for shot in shots:
        while first < len(ordered) and ordered[first].end <= shot.start:
            first += 1
        inside = []
        at = first
        while at < len(ordered) and ordered[at].start < shot.end:
            if (part := ordered[at].clip(shot)) is not None:
                inside.append(part)
            at += 1
        found.extend(_segment_shot(shot, inside))
    return found


def _segment_shot(shot: TimeSpan, lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    pieces: list[TimeSpan] = []
    at = shot.start
    for talk in merge_spans(lines, gap=SILENCE):
        if talk.start > at:
            pieces.extend(_even(TimeSpan(start=at, end=talk.start)))
        pieces.extend(_pack(talk, [line for line in lines if talk.start <= line.start < talk.end]))
        at = max(at, talk.end)
    if shot.end > at:
        pieces.extend(_even(TimeSpan(start=at, end=shot.end)))
    return _join_short(pieces)


def _pack(talk: TimeSpan, lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    """Cut a run of speech between lines so that pieces stay under the limit."""
    ends = sorted({line.start for line in lines if line.start > talk.start} | {talk.end})
    pieces: list[TimeSpan] = []
    start, last = talk.start, talk.start
    for end in ends:
        if end - start > MAX_SECONDS and last > start:
            pieces.extend(_even(TimeSpan(start=start, end=last)))
            start = last
        last = end
    return pieces + _even(TimeSpan(start=start, end=talk.end))


def _even(span: TimeSpan) -> list[TimeSpan]:
    if span.duration <= 0:
        return []
    count = max(1, math.ceil(span.duration / MAX_SECONDS - 1e-9))
    ends = [*(span.start + span.duration * i / count for i in range(count)), span.end]
    return [TimeSpan(start=a, end=b) for a, b in pairwise(ends)]


def _join_short(pieces: Sequence[TimeSpan]) -> list[TimeSpan]:
    joined: list[TimeSpan] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        short = last is not None and min(last.duration, piece.duration) < SHORTEST
        if last is not None and short and piece.end - last.start <= MAX_SECONDS:
            joined[-1] = TimeSpan(start=last.start, end=piece.end)
        else:
            joined.append(piece)
    return joined
