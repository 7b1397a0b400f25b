"""The stage ``screen_texts``: text read from a few selected frames.

Reading a frame costs more than everything else that is done with it, so it is rationed by video time. Every half second a cheap
filter finds places that may hold text. A place is passed to the reader's text detector if it has not changed for a second and
differs from every place passed before; only if the detector finds text there, the frame is read. Text that changes all the time (a
clock, a passing sign) is read once a clip.

Lines that were read are watched: while their place looks the same they get another row every few seconds without being read again.
Digits that change (a clock) get a row with the text "" and their place while about as many strokes are in it. A frame in which no
line is left, or none was found, gets a row with the text "" and no place; so it is known when a text ended.

A clip's worker is fed some seconds before the clip. Text that is there unchanged was read in the clip before, so it is read again
only if it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec, box_columns
from world_api.core.ports import TextReader
from world_api.core.spans import Box, known_time, round_time
from world_api.media.frames import Frame

Gray = NDArray[np.uint8]

#: The greatest width (pixels) and the least contrast (grey levels) of a stroke.
_STROKE, _CONTRAST = 7, 40
#: A window (width, height) and the share of its pixels that are strokes in text.
_AROUND = (25, 7)
_DENSITY = (0.22, 0.75)
#: The smallest row of text: width and height (pixels), width over height; the greatest height as a share of the picture.
_LEAST_WIDTH, _LEAST_HEIGHT, _LONG, _HIGHEST = 20, 4, 1.3, 0.35
#: A place has changed if the mean of one block of this many pixels differs by this many grey levels.
_BLOCK, _CHANGED = 8, 24.0


def likely_places(gray: Gray) -> list[Box]:
    """Find rows of the picture that may be text (pixels), in about half a millisecond at 320 x 180."""
    density = cv2.boxFilter(_strokes(gray), cv2.CV_32F, _AROUND)
    rows = cv2.inRange(density, *_DENSITY)
    rows = cv2.morphologyEx(rows, cv2.MORPH_OPEN, np.ones((3, 9), np.uint8))
    _, _, found, _ = cv2.connectedComponentsWithStats(rows)
    return [
        Box(x1=float(x), y1=float(y), x2=float(x + width), y2=float(y + height))
        for x, y, width, height in (row[:4] for row in found[1:])
        if width >= max(_LEAST_WIDTH, _LONG * height) and _LEAST_HEIGHT <= height <= _HIGHEST * gray.shape[0]
    ]


def looks_same(one: Gray, other: Gray, place: Box) -> bool:
    """Whether no block of a place differs between two pictures of the same size."""
    if one.shape != other.shape:
        return False
    change = cv2.absdiff(_part(one, place), _part(other, place))
    return change.size == 0 or float(cv2.blur(change, (_BLOCK, _BLOCK)).max()) < _CHANGED


def ink(gray: Gray, place: Box) -> int:
    """The number of stroke pixels in a place."""
    return int(_part(_strokes(gray), place).sum())


def _strokes(gray: Gray) -> Gray:
    """1 in pixels of thin strokes, dark or light."""
    across = cv2.getStructuringElement(cv2.MORPH_RECT, (_STROKE, 1))
    dark = cv2.subtract(cv2.morphologyEx(gray, cv2.MORPH_CLOSE, across), gray)
    light = cv2.subtract(gray, cv2.morphologyEx(gray, cv2.MORPH_OPEN, across))
    return np.asarray(cv2.threshold(cv2.max(dark, light), _CONTRAST, 1, cv2.THRESH_BINARY)[1], dtype=np.uint8)


def _part(gray: Gray, place: Box) -> Gray:
    top, left = max(0, int(place.y1)), max(0, int(place.x1))
    return gray[top : max(top, int(np.ceil(place.y2))), left : max(left, int(np.ceil(place.x2)))]


_FPS, _MAX_SIDE, _GLANCE_SIDE = 2.0, 1280, 320
#: Reads and text detections: the ration at the start of a clip, its maximum, and the increase a second.
_READS, _DETECTIONS = (1.0, 2.0, 1 / 8), (2.0, 4.0, 1 / 3)
#: Seconds before the clip that are fed: in that time the clip before had a read left for text that is there since.
_WARM_UP = 8.0
#: Text from before the clip is read only if it is still there this long (seconds) after its start.
_STAYS_ON = 9.5
#: A place that looks the same this long (seconds) is still; one that is not still for this long is examined nevertheless, and, if it
#: was no text, again after this long.
_STILL, _UNSTABLE, _RETRY = 1.0, 3.0, 10.0
#: Sampled frames are at most this far (seconds) from their due time, at four frames a second and more.
_JITTER = 0.24
#: Seconds between two rows of a line that stays.
_NOTE_AGAIN = 5.0
#: The number of pictures that are remembered as examined.
_REMEMBERED = 8
_SAME_PLACE = 0.3
#: A line is present while this share of its strokes is left.
_INK_LEFT = 0.6
#: Changing digits are still present if their place overlaps a likely place this much, and has at most this many times the strokes.
_SAME_SPOT, _INK_MORE = 0.5, 1.7
_SLACK = 1e-6


class ScreenTexts:
    """Text on the screen."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self.spec = StageSpec(
            name="screen_texts",
            version=4,
            tables=("screen_texts",),
            sampling=Sampling(fps=_FPS, max_side=_MAX_SIDE, warm_up=_WARM_UP),
            parameters={"reader": reader.producer},
            libraries=("rapidocr", "onnxruntime"),
            modules=(type(reader).__module__,),
        )

    def open(self, clip: Clip) -> ScreenTextsWorker:
        """A fresh worker."""
        return ScreenTextsWorker(clip, self._reader)


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """A small grey picture, its time, and the time until which its places count as examined."""

    time: float
    gray: Gray
    until: float = float("inf")


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A line that was read: its row, its place in the small picture, and its parts with strokes and the number of their pixels.

    ``gray`` is the last picture that shows it. ``changes``: its digits changed around the time of reading. ``is_unread``: they have
    changed since.
    """

    row: Record
    place: Box
    strokes: Sequence[tuple[Box, int]]
    gray: Gray
    changes: bool
    is_unread: bool = False

    def in_next(self, gray: Gray, found: Sequence[Box]) -> _Line | None:
        """The line in the next picture, if it is there: titles drift and grow, but they do not jump or fade.

        ``found`` are the likely places of that picture.
        """
        is_same = all(
            looks_same(gray, self.gray, part) and ink(gray, part) >= _INK_LEFT * before for part, before in self.strokes
        )
        if is_same:
            return replace(self, gray=gray)
        return replace(self, gray=gray, is_unread=True) if self.changes and self._goes_on(gray, found) else None

    def _goes_on(self, gray: Gray, found: Sequence[Box]) -> bool:
        """Whether other digits are in the place: about as many strokes at the same position. A passing text leaves it."""
        spots = [spot for other in found if (spot := _shared(self.place, other)) is not None]
        return all(
            _INK_LEFT * before <= ink(gray, part) <= _INK_MORE * before
            and any(part.iou(spot) >= _SAME_SPOT for spot in spots)
            for part, before in self.strokes
        )

    def noted(self) -> Record:
        """The row of the line from now on; without text if it has changed since it was read."""
        return self.row | {"text": ""} if self.is_unread else self.row


class _Ration:
    """An allowance that grows with video time, so that the same frames are read on every machine."""

    def __init__(self, start: float, allowance: tuple[float, float, float]) -> None:
        self._saved, self._most, self._rate = allowance
        self._time = start

    def has(self, time: float) -> bool:
        """Whether one is left."""
        self._saved = min(self._most, self._saved + (time - self._time) * self._rate)
        self._time = time
        return self._saved >= 1.0 - _SLACK

    def spend(self) -> None:
        """Take one."""
        self._saved -= 1.0


class ScreenTextsWorker:
    """Selects and reads frames of one clip."""

    def __init__(self, clip: Clip, reader: TextReader) -> None:
        self._start = clip.span.start
        self._reader = reader
        self._reads = _Ration(self._start, _READS)
        self._detections = _Ration(self._start, _DETECTIONS)
        self._recent: list[_Seen] = []  #: the last second
        self._examined: list[_Seen] = []
        self._present: list[_Line] = []
        self._restless: list[Box] = []  #: places of lines that changed around the time of reading
        self._noted: float | None = None  #: when rows were last written
        self._restless_since: float | None = None
        self._restless_again = self._start
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Process one frame."""
        seen = _Seen(time=frame.time, gray=frame.picture(_GLANCE_SIDE, "gray").copy())
        last_second = [old for old in self._recent if frame.time - old.time <= _STILL + _JITTER]
        self._recent = last_second or self._recent[-1:]  # a video may have fewer frames a second
        if frame.time >= self._start:
            found = likely_places(seen.gray)
            self._watch(seen, found)
            self._examine(frame, seen, found)
        elif not self._examined and frame.time <= self._start - _WARM_UP + 1 / _FPS:
            self._examined.append(_Seen(time=seen.time, gray=seen.gray, until=self._start + _STAYS_ON))
        self._recent.append(seen)

    def finish(self) -> Records:
        """The texts of the clip's span."""
        return {"screen_texts": self._rows}

    def _watch(self, seen: _Seen, found: Sequence[Box]) -> None:
        """Note the lines whose place looks as it did when they were read, and drop the others."""
        staying = [again for line in self._present if (again := line.in_next(seen.gray, found)) is not None]
        is_less = len(staying) < len(self._present)
        self._present = staying
        if is_less or (staying and self._noted is not None and seen.time - self._noted >= _NOTE_AGAIN - _SLACK):
            self._note([line.noted() for line in staying], seen.time)

    def _examine(self, frame: Frame, seen: _Seen, found: Sequence[Box]) -> None:
        """Examine new places that are still, or have been changing for long, and read the frame if they hold text."""
        if not found and self._noted is None:
            self._note([], seen.time)
        known = [old.gray for old in self._examined if seen.time < old.until]
        new = [place for place in found if not any(looks_same(seen.gray, gray, place) for gray in known)]
        if not new:
            self._restless_since = None
            return
        still = [place for place in new if self._keeps_still(place, seen)]
        if not still:
            self._restless_since = seen.time if self._restless_since is None else self._restless_since
            is_long = seen.time - self._restless_since >= _UNSTABLE - _SLACK
            if not is_long or seen.time < self._restless_again:
                return
        if not (self._reads.has(seen.time) and self._detections.has(seen.time)):
            return
        self._detections.spend()
        self._restless_since = None
        self._examined = [*self._examined, seen][-_REMEMBERED:]
        places = self._reader.locate(frame.picture(_GLANCE_SIDE))
        if not places:
            self._restless_again = max(self._restless_again, seen.time + (0.0 if still else _RETRY))
            if not self._present and (self._noted is None or self._rows[-1]["text"]):
                self._note([], seen.time)
        elif self._is_worth_reading(places, still, seen):
            self._read(frame, seen, found)

    def _is_worth_reading(self, places: Sequence[Box], still: Sequence[Box], seen: _Seen) -> bool:
        """Whether there is still text outside the known lines; changing text is read once a clip."""
        known = [line.place for line in self._present] + self._restless
        others = [place for place in places if all(place.iou(other) < _SAME_PLACE for other in known)]
        if any(self._keeps_still(place, seen) or any(_shared(place, one) for one in still) for place in others):
            return True
        if not others or seen.time < self._restless_again:
            return False
        self._restless_again = float("inf")
        return True

    def _keeps_still(self, place: Box, seen: _Seen) -> bool:
        if not self._recent or seen.time - self._recent[0].time < _STILL - _JITTER:
            return False
        return all(looks_same(seen.gray, old.gray, place) for old in self._recent)

    def _read(self, frame: Frame, seen: _Seen, found: Sequence[Box]) -> None:
        self._reads.spend()
        picture = frame.picture(_MAX_SIDE)
        whole, small = frame.shape[1] / picture.shape[1], seen.gray.shape[1] / picture.shape[1]
        self._present = []
        for line in self._reader.read(picture):
            place = line.box.scaled(small, small)
            row = self._row(seen.time, line.text, line.box.scaled(whole, whole), confidence=line.confidence)
            strokes = [part for other in found if (part := _shared(place, other)) is not None] or [place]
            inked = [(part, ink(seen.gray, part)) for part in strokes]
            is_restless = not all(self._keeps_still(part, seen) for part in strokes)
            changes = is_restless and any(sign.isdigit() for sign in line.text)
            self._present.append(_Line(row=row, place=place, strokes=inked, gray=seen.gray, changes=changes))
            if is_restless:
                self._restless.append(place)
        if self._restless:
            self._restless_again = float("inf")
        self._note([line.row for line in self._present], seen.time)

    def _note(self, rows: list[Record], time: float) -> None:
        """Store the rows of a frame, or that it has no text. They replace rows of the same frame from before it was read."""
        moment = {"time": round_time(time), "known_at": known_time(time)}
        nothing = self._row(time, "", Box(x1=0, y1=0, x2=0, y2=0), confidence=1.0)
        while self._rows and self._rows[-1]["time"] == moment["time"]:
            self._rows.pop()
        self._rows.extend([row | moment for row in rows] or [nothing])
        self._noted = time

    def _row(self, time: float, text: str, box: Box, *, confidence: float) -> Record:
        return {
            "time": round_time(time), "text": text, **box_columns(box),
            "confidence": confidence, "known_at": known_time(time),
        }  # fmt: skip


def _shared(one: Box, other: Box) -> Box | None:
    """The overlap of two places, if it is at least half of the smaller one."""
    both = one.common(other)
    return both if both is not None and both.area >= 0.5 * min(one.area, other.area) else None
