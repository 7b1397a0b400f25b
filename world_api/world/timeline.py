"""Intervals of a video: scenes, spoken lines, screen texts, captions, camera movements, and segments for searches.

A world of days has hundreds of thousands of lines and sightings. ``Items`` holds their times as arrays sorted by start;
an operation finds items by binary search, and only these become objects.

Segments are windows of at most ten seconds, cut at shots and at speech. Inside each shot, silences of a second or more
separate speech from the rest; consecutive lines are packed up to ten seconds, cut between lines; longer parts are cut
evenly.

Screen texts are readings of single frames, joined into the intervals in which a text is on screen. A row means that a line
of text was on screen at a moment. An empty text means that there was none; with a box, that changing digits (a clock)
were still there but not read. The rows of a moment are everything that was on screen then, so a text lasts until a
moment without it, and at most ``TEXT_STAYS`` after a reading.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Generic, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from world_api.core.identifiers import scene_id
from world_api.core.spans import Box, TimeSpan, merge_spans
from world_api.core.vocabulary import fold
from world_api.world.tables import one

# --- intervals ------------------------------------------------------------------------------------------------------

Times = NDArray[np.float64]
Positions = NDArray[np.int64]
Item = TypeVar("Item")


class Items(Sequence[Item], Generic[Item]):
    """A sequence of n items with a time interval each, in order of start.

    Args:
        starts: Start times in seconds, rising, shape (n,).
        ends: End times in seconds, shape (n,).
        make: Creates the item at a position.
        rows: The row of its table that each item comes from, shape (n,); by default its position.
    """

    def __init__(
        self, starts: Times, ends: Times, make: Callable[[int], Item], *, rows: Positions | None = None
    ) -> None:
        self.starts = starts
        self.ends = ends
        self.rows: Positions = np.arange(len(starts)) if rows is None else rows
        self._make = make

    @cached_property
    def max_ends(self) -> Times:
        """Running maximum of the ends, shape (n,), for binary search by end."""
        return np.maximum.accumulate(self.ends) if len(self.ends) else self.ends

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, position: int) -> Item: ...
    @overload
    def __getitem__(self, position: slice) -> list[Item]: ...
    def __getitem__(self, position: int | slice) -> Item | list[Item]:
        if isinstance(position, slice):
            return [self._make(i) for i in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(position)
        return self._make(position % len(self))

    def touching(self, span: TimeSpan) -> Positions:
        """Return the positions of the items that overlap a half-open span or begin in it, in order."""
        end = int(np.searchsorted(self.starts, span.end))
        first = min(
            end,
            int(np.searchsorted(self.max_ends, span.start, side="right")),
            int(np.searchsorted(self.starts, span.start)),
        )
        near = (self.ends[first:end] > span.start) | (self.starts[first:end] >= span.start)
        return np.flatnonzero(near) + first

    def during(self, span: TimeSpan) -> list[Item]:
        """Return the items that overlap a half-open span, in order."""
        shared = (int(i) for i in self.touching(span) if self.ends[i] > span.start)
        return [self._make(i) for i in shared]


def spans(starts: Times, ends: Times) -> Items[TimeSpan]:
    """Return time spans as ``Items``, from their starts and ends in seconds, shape (n,) each."""
    return Items(starts, ends, lambda i: TimeSpan(start=float(starts[i]), end=float(ends[i])))


def tile(boundaries: Times, whole: TimeSpan) -> Items[TimeSpan]:
    """Split an interval at boundary times; return the parts in order, which fill ``whole`` without gaps.

    Boundaries at the ends of ``whole`` or outside it are ignored; equal ones count once. If none is left, the result is
    ``whole`` alone, also if ``whole`` has length 0 (a view in which nothing is visible yet).
    """
    inner = np.unique(boundaries)
    inner = inner[(inner > whole.start) & (inner < whole.end)]
    edges = np.concatenate([[whole.start], inner, [whole.end]])
    return spans(edges[:-1], edges[1:])


def shared_prefix(one: Items[Any], other: Items[Any], *more: tuple[NDArray[Any], NDArray[Any]]) -> tuple[int, float]:
    """Compare two sequences of items by start, end and ``more`` pairs of columns.

    Returns:
        How many of the first items are equal, and the earliest start of one that differs (infinite if none does).
    """
    count = min(len(one), len(other))
    differs = np.zeros(count, dtype=np.bool_)
    for own, others in ((one.starts, other.starts), (one.ends, other.ends), *more):
        differs |= own[:count] != others[:count]
    same = int(differs.argmax()) if differs.any() else count
    return same, min((float(items.starts[same]) for items in (one, other) if same < len(items)), default=math.inf)


def ranges(firsts: Positions, ends: Positions) -> Positions:
    """Return the integer ranges ``[first, end)``, concatenated."""
    lengths = ends - firsts
    total = int(lengths.sum())
    starts = np.repeat(firsts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if total else firsts[:0]
    return starts + np.arange(total)


@dataclass(frozen=True, kw_only=True)
class SceneInterval:
    """A scene: shots that belong together. ``ordinal`` is its number, from 0."""

    ordinal: int
    span: TimeSpan

    @property
    def scene_id(self) -> str:
        """The scene's id, made from ``ordinal``."""
        return scene_id(self.ordinal)


@dataclass(frozen=True, kw_only=True)
class TimedWord:
    """A recognised word of a spoken line."""

    span: TimeSpan
    text: str
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A spoken line. ``source``: sidecar, embedded, recognised or truth; only recognised lines have ``words``.

    ``speaker`` is the name that subtitles or the truth give, ``voice`` the id of the voice that the sound shows; each may be empty.
    """

    span: TimeSpan
    text: str
    speaker: str
    confidence: float
    language: str
    source: str
    words: tuple[TimedWord, ...]
    voice: str = ""

    @property
    def said_by(self) -> str:
        """The name of the speaker, else the id of the voice, else empty."""
        return self.speaker or self.voice


@dataclass(frozen=True, kw_only=True)
class Said:
    """A stored sentence or label for an interval (a caption or an action). ``subject``: a track's name or empty."""

    span: TimeSpan
    text: str
    subject: str
    confidence: float


SOUND_SCHEMA = pa.schema(
    [("start", pa.float64()), ("end", pa.float64()), ("label", pa.string()), ("score", pa.float32())]
)


#: How the text of a sound begins, so that it is not taken for something seen.
SOUND_PREFIX = "sound: "


def join_sounds(rows: pa.Table, until: float) -> pa.Table:
    """Return the intervals in which a class of sounds is heard, by start: rows of one class that touch are one, the best score counts.

    Their texts begin with ``SOUND_PREFIX``. ``until``: the end of what is known, in seconds; no interval is longer.
    """
    found: list[tuple[float, float, str, float]] = []
    last: dict[str, int] = {}  # class -> its latest interval
    for row in rows.sort_by("start").to_pylist():
        start, end, label, score = (
            max(0.0, row["start"]),
            min(row["end"], until),
            SOUND_PREFIX + row["label"],
            row["score"],
        )
        if end <= start:
            continue
        place = last.get(label)
        if place is not None and start <= found[place][1] + _TOUCHING:
            before = found[place]
            found[place] = (before[0], max(end, before[1]), label, max(score, before[3]))
        else:
            last[label] = len(found)
            found.append((start, end, label, score))
    found.sort(key=lambda one: (one[0], one[2]))
    columns = zip(*found, strict=True) if found else ([], [], [], [])
    return pa.table([pa.array(column) for column in columns], schema=SOUND_SCHEMA)


def sounds_in(table: pa.Table, *, are_stored: bool) -> Items[Said]:
    """Return the sounds of a table of ``join_sounds``; ``are_stored``: it is that of the whole world."""
    starts, ends = table.column("start").to_numpy(), table.column("end").to_numpy()
    labels, scores = table.column("label"), table.column("score")

    def item(place: int) -> Said:
        span = TimeSpan(start=float(starts[place]), end=float(ends[place]))
        return Said(span=span, text=labels[place].as_py(), subject="", confidence=round(scores[place].as_py(), 2))

    return Items(starts, ends, item, rows=None if are_stored else np.full(len(starts), -1, dtype=np.int64))


#: Seconds before its time that a row covers, and the gap from which rows belong to two movements.
ROW_SECONDS, APART = 1.0, 1.7
#: Sounds whose windows are no further apart than this (seconds: the error of rounding) are one.
_TOUCHING = 2e-3
#: Strength that a movement of a single row needs (picture widths per second).
SURE_AT_ONCE = 0.05


@dataclass(frozen=True, kw_only=True)
class CameraMovement:
    """A movement of the camera. ``kind`` is as in the table ``camera``: ``pan_left``, ``shake``, ..."""

    span: TimeSpan
    kind: str

    @property
    def label(self) -> str:
        """The movement in words: ``the camera pans left``."""
        verb, _, direction = self.kind.partition("_")
        return f"the camera {verb}s {direction}".rstrip()


def camera_movements(rows: pa.Table, shots: Items[TimeSpan]) -> Items[CameraMovement]:
    """Join neighbouring rows of ``camera`` with the same kind into movements, in time order; ``still`` is left out.

    A movement does not begin before its shot. One of a single row needs a strength of ``SURE_AT_ONCE``.
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
    firsts, lasts = firsts[shown], lasts[shown]
    begun = shots.starts[np.maximum(0, np.searchsorted(shots.starts, times[firsts], side="right") - 1)]
    starts, ends = np.maximum(begun, times[firsts] - ROW_SECONDS), times[lasts]

    def make(i: int) -> CameraMovement:
        return CameraMovement(span=TimeSpan(start=float(starts[i]), end=float(ends[i])), kind=words[kind[firsts[i]]])

    return Items(starts, ends, make)


MAX_SECONDS = 10.0
SILENCE = 1.0
SHORTEST = 1.0


def segment(shots: Sequence[TimeSpan], lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    """Cut each shot into segments for searches, where possible between spoken ``lines`` (in any order)."""
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
    """Cut a run of speech between lines into pieces of at most ``MAX_SECONDS``; longer lines are cut evenly."""
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


# --- screen texts ---------------------------------------------------------------------------------------------------

#: Seconds for which a text counts as on screen after a row, unless a later row contradicts it; rows repeat earlier.
TEXT_STAYS = 15.0
#: A text read before and after a cut, at most this many seconds apart and missing at no moment between, is one.
_ACROSS_CUT = 6.0
#: Changing digits at one place (a clock, a score) are one text for at most this long, with gaps up to that (seconds).
_CHANGING_SECONDS, _CHANGING_GAP = 60.0, 35.0
#: Least similarity of two readings of one line, and the length from which reading errors are forgiven.
_ALIKE, _LONG_ENOUGH = 0.85, 5
_SAME_PLACE = 0.3
_BETWEEN = " … "
_SLACK = 1e-6
_SIDES = ("x1", "y1", "x2", "y2")


@dataclass(frozen=True, kw_only=True)
class ScreenText:
    """A text on screen and its interval.

    Changing digits (a clock) are one text that lists its readings, separated by " … ".
    """

    span: TimeSpan
    text: str
    confidence: float
    frame_time: float


@dataclass(frozen=True, kw_only=True)
class _Reading:
    time: float
    text: str
    place: Box
    confidence: float


@dataclass(kw_only=True)
class _TextLine:
    """Readings of one line. ``end`` is the end of its interval if it is not read again."""

    readings: list[_Reading]
    end: float
    changes: bool = False
    shot: int = field(default=0)
    seen: float = -math.inf  #: when its digits were last there, unread

    def goes_on_with(self, reading: _Reading, shot: int, previous_moment: float) -> bool:
        """Whether a later reading belongs to this line.

        ``shot``: the position of the reading's shot; ``previous_moment``: the last time before it (seconds) with rows.
        """
        last = self.readings[-1]
        if not _same_place(last.place, reading.place):
            return False
        if not self.changes and same_line(last.text, reading.text):
            is_unbroken = last.time >= previous_moment and reading.time - last.time <= _ACROSS_CUT
            return is_unbroken or reading.time <= self.end + _SLACK
        return (
            shot == self.shot
            and reading.time - last.time <= _CHANGING_GAP
            and reading.time - self.readings[0].time <= _CHANGING_SECONDS
            and (self.changes or len({r.text for r in self.readings}) == 1)
            and same_figures(last.text, reading.text)
        )

    def continues_unread(self, place: Box, time: float, shot: int) -> bool:
        """Whether a text located but not read, in the shot at position ``shot``, is this line with other digits."""
        last = self.readings[-1]
        return (
            shot == self.shot
            and time <= self.end + _SLACK
            and _has_figure(last.text)
            and _same_place(last.place, place)
        )

    def last_seen(self) -> float:
        """Return the time (seconds) at which the line was last on screen, read or unread."""
        return max(self.readings[-1].time, self.seen)

    def screen_text(self) -> ScreenText:
        """Return the joined text, spelt as in the most confident reading; changing digits with all their readings."""
        first, surest = self.readings[0], max(self.readings, key=lambda reading: reading.confidence)
        spelt = _BETWEEN.join(dict.fromkeys(r.text for r in self.readings)) if self.changes else surest.text
        return ScreenText(
            span=TimeSpan(start=first.time, end=max(first.time, self.end)),
            text=spelt,
            confidence=round(surest.confidence, 2),
            frame_time=first.time if self.changes else surest.time,
        )


def join_readings(
    rows: pa.Table, shots: Sequence[TimeSpan], whole: TimeSpan, holes: Sequence[TimeSpan] = ()
) -> list[ScreenText]:
    """Join rows of ``screen_texts`` into texts with intervals, in time order.

    ``shots`` tile the interval ``whole``; each text ends where one of ``holes`` begins.
    """
    moments = list(_moments(rows.to_pylist()))
    starts = shots.starts.tolist() if isinstance(shots, Items) else [shot.start for shot in shots]
    begins = [*(hole.start for hole in holes), math.inf]
    running: list[_TextLine] = []
    done: list[_TextLine] = []
    for number, (time, readings) in enumerate(moments):
        shot = max(0, bisect_right(starts, time) - 1)
        previous = moments[number - 1][0] if number else -math.inf
        following = moments[number + 1][0] if number + 1 < len(moments) else math.inf
        end = max(
            time, min(shots[shot].end, whole.end, time + TEXT_STAYS, following, begins[bisect_left(begins, time)])
        )
        free = list(running)
        for reading in (r for r in readings if r.text):
            earlier = next((s for s in free if s.goes_on_with(reading, shot, previous)), None)
            if earlier is None:
                running.append(_TextLine(readings=[reading], end=end, shot=shot))
            else:
                free.remove(earlier)
                earlier.changes = earlier.changes or not same_line(earlier.readings[-1].text, reading.text)
                earlier.readings.append(reading)
                earlier.shot, earlier.end = shot, end
        for unread in (r for r in readings if not r.text):
            stays = next((s for s in free if s.continues_unread(unread.place, time, shot)), None)
            if stays is not None:
                free.remove(stays)
                stays.seen, stays.end = time, end
        done += [s for s in running if time - s.last_seen() > _CHANGING_GAP]
        running = [s for s in running if time - s.last_seen() <= _CHANGING_GAP]
    texts = [line.screen_text() for line in [*done, *running]]
    return sorted(texts, key=lambda text: (text.span.start, text.frame_time))


SCREEN_TEXT_SCHEMA = pa.schema(
    [
        ("start", pa.float64()), ("end", pa.float64()), ("text", pa.string()), ("confidence", pa.float64()),
        ("frame_time", pa.float64()),
    ]
)  # fmt: skip


def screen_text_table(texts: Sequence[ScreenText]) -> pa.Table:
    """Return screen texts as a table that can be stored, with ``SCREEN_TEXT_SCHEMA``."""
    rows = [(t.span.start, t.span.end, t.text, t.confidence, t.frame_time) for t in texts]
    records = [dict(zip(SCREEN_TEXT_SCHEMA.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(records, schema=SCREEN_TEXT_SCHEMA)


def screen_texts_in(table: pa.Table) -> Items[ScreenText]:
    """Return the screen texts of a table with ``SCREEN_TEXT_SCHEMA``."""
    starts, ends = table.column("start").to_numpy(), table.column("end").to_numpy()

    def make(i: int) -> ScreenText:
        return ScreenText(
            span=TimeSpan(start=float(starts[i]), end=float(ends[i])),
            text=table.column("text")[i].as_py(),
            confidence=table.column("confidence")[i].as_py(),
            frame_time=table.column("frame_time")[i].as_py(),
        )

    return Items(starts, ends, make)


def followed_by(whole: Items[ScreenText], kept: int, later: Sequence[ScreenText]) -> Items[ScreenText]:
    """Return the first ``kept`` texts of ``whole``, followed by ``later`` ones, whose ``rows`` are -1."""
    return Items(
        np.append(whole.starts[:kept], [text.span.start for text in later]),
        np.append(whole.ends[:kept], [text.span.end for text in later]),
        lambda i: whole[i] if i < kept else later[i - kept],
        rows=np.append(np.arange(kept), np.full(len(later), -1)),
    )


def independent_starts(table: pa.Table) -> Positions:
    """Return positions > 0 of texts that start too late to be joined with an earlier one; rows are sorted by start."""
    starts, ends = table.column("start").to_numpy(), table.column("end").to_numpy()
    figures = pc.match_substring_regex(table.column("text"), r"\d").to_numpy()
    latest = np.maximum.accumulate(ends + np.where(figures, _CHANGING_GAP, _ACROSS_CUT)) if len(ends) else ends
    return np.flatnonzero(starts[1:] > latest[:-1]) + 1


def same_line(one: str, other: str) -> bool:
    """Whether two readings are of one line, up to reading errors. Other digits make another line."""
    first, second = "".join(fold(one).split()), "".join(fold(other).split())
    if first == second:
        return True
    if min(len(first), len(second)) < _LONG_ENOUGH:
        return False
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if matcher.quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return False
    changed = [(first[a:b], second[c:d]) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]
    # A digit may be misread as a sign, but another digit, one more or one less make another number.
    return not any(_counts(was, now) for was, now in changed)


def same_figures(one: str, other: str) -> bool:
    """Whether two lines are different, but only in the values of their digits."""
    return one != other and _has_figure(one) and _shape(one) == _shape(other)


def _counts(was: str, now: str) -> bool:
    """Whether ``was`` and ``now``, where two readings differ, are different numbers: each that is not empty has a digit."""
    if was and now:
        return _has_figure(was) and _has_figure(now)
    return _has_figure(was + now)


def _moments(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[float, list[_Reading]]]:
    """Yield each moment (seconds) of the rows with its readings (text empty if only located), top to bottom; [] for no text."""
    ordered = sorted(rows, key=lambda row: (row["time"], row["y1"], row["x1"], row["text"]))
    for time, at_once in groupby(ordered, key=lambda row: float(row["time"])):
        yield (
            time,
            [
                _Reading(
                    time=time,
                    text=row["text"],
                    place=Box(**{side: row[side] for side in _SIDES}),
                    confidence=row["confidence"],
                )
                for row in at_once
                if row["text"] or row["x2"] > row["x1"]
            ],
        )


def _same_place(one: Box, other: Box) -> bool:
    return one == other or one.iou(other) >= _SAME_PLACE


def _has_figure(text: str) -> bool:
    return any(sign.isdigit() for sign in text)


def _shape(text: str) -> str:
    return re.sub(r"\d", "0", "".join(fold(text).split()))
