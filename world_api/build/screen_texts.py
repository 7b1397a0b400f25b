"""The stage ``screen_texts``: text read from a few selected frames.

Reading a frame is the most expensive step, so the number of reads is limited: one at the start of a clip, at most two
saved up, and one more for every 8 seconds of video; the limit for text detections is similar. Twice a second a cheap
filter finds places that may hold text. The reader's text detector examines the picture if a place is new (its look
differs from the pictures examined lately) and has not changed for a second, or has been changing for three seconds.
The frame is read only if the detector finds text. Text that changes all the time (a clock, a moving sign) is read once
a clip.

The lines that were read are compared with every later picture. While the place of a line looks the same, it gets
another row every five seconds without being read again. Changing digits (a clock) get a row with the text "" and their
place, as long as the place holds about the same number of strokes. When the last line ends, or a search finds none,
the frame gets a row with the text "" and an empty box, so that the time at which a text ended is known.

A clip's worker also gets the frames of the seconds before the clip. Text that is visible there and does not change is
taken as read in the clip before; it is read again only if it is still visible about ten seconds after the clip's start.
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
    """Return the boxes (pixels) of places that may be rows of text. This takes half a millisecond at 320 x 180."""
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
    """Whether no block of 8 x 8 pixels in a place has changed between two pictures; False if the pictures differ in size."""
    if one.shape != other.shape:
        return False
    change = cv2.absdiff(_part(one, place), _part(other, place))
    return change.size == 0 or float(cv2.blur(change, (_BLOCK, _BLOCK)).max()) < _CHANGED


def ink(gray: Gray, place: Box) -> int:
    """Return the number of pixels of thin strokes in a place."""
    return int(_part(_strokes(gray), place).sum())


def _strokes(gray: Gray) -> Gray:
    """Return 1 in pixels of thin strokes, dark or light, and 0 elsewhere."""
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
#: Seconds before the clip whose frames are fed: so long that the clip before had a read left for text that appeared then.
_WARM_UP = 8.0
#: Text from before the clip is read again only if it is still visible this long (seconds) after the clip's start.
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
    """The stage ``screen_texts``: text on the screen, read by ``reader``."""

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
        """Return a new worker for one clip."""
        return ScreenTextsWorker(clip, self._reader)


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """A small grey picture and its time. Up to the video time ``until``, places that look as they do in it are not examined."""

    time: float
    gray: Gray
    until: float = float("inf")


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A line of text that was read: its row, and its place in the small picture.

    ``strokes``: boxes of parts of the line, each with its number of pixels of thin strokes. ``gray``: the last picture
    that shows the line. ``changes``: it has digits and changed around the time of reading; ``is_unread``: it has changed since.
    """

    row: Record
    place: Box
    strokes: Sequence[tuple[Box, int]]
    gray: Gray
    changes: bool
    is_unread: bool = False

    def in_next(self, gray: Gray, found: Sequence[Box]) -> _Line | None:
        """Return the line as the next picture, ``gray``, shows it; None if it is gone.

        It may move or grow slowly, but not jump or fade. If it ``changes``, it may also show other digits at the same
        place; it is then ``is_unread``. ``found`` are the ``likely_places`` of that picture.
        """
        is_same = all(
            looks_same(gray, self.gray, part) and ink(gray, part) >= _INK_LEFT * before for part, before in self.strokes
        )
        if is_same:
            return replace(self, gray=gray)
        return replace(self, gray=gray, is_unread=True) if self.changes and self._goes_on(gray, found) else None

    def _goes_on(self, gray: Gray, found: Sequence[Box]) -> bool:
        """Whether the line may show other digits: each part has about as many stroke pixels and overlaps one of ``found``."""
        spots = [spot for other in found if (spot := _shared(self.place, other)) is not None]
        return all(
            _INK_LEFT * before <= ink(gray, part) <= _INK_MORE * before
            and any(part.iou(spot) >= _SAME_SPOT for spot in spots)
            for part, before in self.strokes
        )

    def noted(self) -> Record:
        """Return the line's row for the current frame; its text is "" if the line has changed since it was read."""
        return self.row | {"text": ""} if self.is_unread else self.row


class _Ration:
    """An allowance of reads that grows with video time, so that the same frames are read on every machine.

    ``allowance``: three numbers of reads: those allowed at the start, the most that can be saved up, those added a second.
    """

    def __init__(self, start: float, allowance: tuple[float, float, float]) -> None:
        self._saved, self._most, self._rate = allowance
        self._time = start

    def has(self, time: float) -> bool:
        """Whether at least one read is left at this video time (seconds); times must not decrease."""
        self._saved = min(self._most, self._saved + (time - self._time) * self._rate)
        self._time = time
        return self._saved >= 1.0 - _SLACK

    def spend(self) -> None:
        """Take one read from the allowance."""
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
        """Return the rows of ``screen_texts`` in the clip's span."""
        return {"screen_texts": self._rows}

    def _watch(self, seen: _Seen, found: Sequence[Box]) -> None:
        """Keep the lines that this picture still shows. Write the rows of all of them if a line ended, and every five seconds."""
        staying = [again for line in self._present if (again := line.in_next(seen.gray, found)) is not None]
        is_less = len(staying) < len(self._present)
        self._present = staying
        if is_less or (staying and self._noted is not None and seen.time - self._noted >= _NOTE_AGAIN - _SLACK):
            self._note([line.noted() for line in staying], seen.time)

    def _examine(self, frame: Frame, seen: _Seen, found: Sequence[Box]) -> None:
        """Run the detector if a new place is still, or has been changing for long; read the frame if it finds text."""
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
        """Whether to read text found at ``places``: motionless text outside the known lines, and once in a clip changing text.

        ``still``: the new places at which nothing moves.
        """
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
        """Store the rows of a frame in place of earlier rows of its time; if there are none, one with text "" and an empty box."""
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
    """Return the overlap of two places if it is at least half of the smaller one, else None."""
    both = one.common(other)
    return both if both is not None and both.area >= 0.5 * min(one.area, other.area) else None
