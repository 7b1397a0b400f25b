"""Screen texts: readings of single frames joined into the intervals in which a text is on screen.

A row means that a line of text was on screen at a moment. An empty text means that there was none; with a box, that
changing digits (a clock) were still there but not read. The rows of a moment are everything that was on screen then, so
a text lasts until a moment without it, and at most ``TEXT_STAYS`` after a reading.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from world_api.core.lexicon import fold
from world_api.core.spans import Box, TimeSpan
from world_api.world.timeline import Items, Positions

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
        """Whether an unread text at a place is this line with other digits."""
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


def join_readings(rows: pa.Table, shots: Sequence[TimeSpan], whole: TimeSpan) -> list[ScreenText]:
    """Join rows of ``screen_texts`` into texts with intervals, in time order; ``shots`` tile the interval ``whole``."""
    moments = list(_moments(rows.to_pylist()))
    starts = shots.starts.tolist() if isinstance(shots, Items) else [shot.start for shot in shots]
    running: list[_TextLine] = []
    done: list[_TextLine] = []
    for number, (time, readings) in enumerate(moments):
        shot = max(0, bisect_right(starts, time) - 1)
        previous = moments[number - 1][0] if number else -math.inf
        following = moments[number + 1][0] if number + 1 < len(moments) else math.inf
        end = max(time, min(shots[shot].end, whole.end, time + TEXT_STAYS, following))
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
    found: Positions = np.flatnonzero(starts[1:] > latest[:-1]) + 1
    return found


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
    """Whether a change between two readings is one of numbers: another digit, one more or one less."""
    if was and now:
        return _has_figure(was) and _has_figure(now)
    return _has_figure(was + now)


def _moments(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[float, list[_Reading]]]:
    """Yield each moment (seconds) with its readings, top to bottom; none if nothing was on screen then."""
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
