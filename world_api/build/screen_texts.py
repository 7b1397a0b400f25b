"""The stage that writes ``screen_texts``: text read off a few chosen frames.

Reading a frame costs more than all other looks at it, so it is rationed, by the video's time alone. Every half second
a cheap look finds places that may hold text. A place is asked about when it has kept still for a second and looks like
nothing that was asked about before; then a glance of the reader says whether it is text, and only then the frame is
read. Text that never keeps still (a clock, a sign that passes) is read once a clip.

Lines that were read are watched: while their place looks the same they are noted again every few seconds, unread, and
when it changes they are noted no more. Figures that change (a clock) are noted as standing there unread, by a row with
the text "" and their place, while about as many strokes stand at the very place. A frame that holds none of them any
more, or was looked at in vain, is noted as a row with the text "" and no place: so readers see where a text ended.

A clip's worker is shown some seconds before the clip. What stands there unchanged was read by the clip before (it had the
time and the ration), so it is read again only when it stays on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec
from world_api.core.ports import TextReader
from world_api.core.spans import Box, known_time, round_time
from world_api.media.frames import Frame

Gray = NDArray[np.uint8]

#: A stroke is narrower than this (pixels) and stands out by so many grey levels.
_STROKE, _CONTRAST = 7, 40
#: Around a pixel (width, height) such a share of pixels are strokes, where there is text.
_AROUND = (25, 7)
_DENSITY = (0.22, 0.75)
#: The least row of text: pixels wide and high, width over height; the most of the picture's height that is one row.
_LEAST_WIDTH, _LEAST_HEIGHT, _LONG, _HIGHEST = 20, 4, 1.3, 0.35
#: Mean change (grey levels) of one block of so many pixels that makes a place another one.
_BLOCK, _CHANGED = 8, 24.0


def likely_places(gray: Gray) -> list[Box]:
    """Rows of the picture that may be text (pixels); takes about half a millisecond at 320 x 180."""
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
    """How many pixels of a place are strokes."""
    return int(_part(_strokes(gray), place).sum())


def _strokes(gray: Gray) -> Gray:
    """1 where a thin stroke is, dark or light."""
    across = cv2.getStructuringElement(cv2.MORPH_RECT, (_STROKE, 1))
    dark = cv2.subtract(cv2.morphologyEx(gray, cv2.MORPH_CLOSE, across), gray)
    light = cv2.subtract(gray, cv2.morphologyEx(gray, cv2.MORPH_OPEN, across))
    return np.asarray(cv2.threshold(cv2.max(dark, light), _CONTRAST, 1, cv2.THRESH_BINARY)[1], dtype=np.uint8)


def _part(gray: Gray, place: Box) -> Gray:
    top, left = max(0, int(place.y1)), max(0, int(place.x1))
    return gray[top : max(top, int(np.ceil(place.y2))), left : max(left, int(np.ceil(place.x2)))]


_FPS, _MAX_SIDE, _GLANCE_SIDE = 2.0, 1280, 320
#: Reads and glances saved up at the start of a clip and at most, and how many come a second.
_READS, _GLANCES = (1.0, 2.0, 1 / 8), (2.0, 4.0, 1 / 3)
#: Seconds shown before the clip: by then the clip before has had a read to spend on what has stood there since.
_WARM_UP = 8.0
#: What stood before the clip began is read only when it stands so long (seconds) into it.
_STAYS_ON = 9.5
#: What looks the same so long (seconds) keeps still; what has not kept still for so long is looked at all the same,
#: and where it was no text, again after so long.
_STILL, _PATIENCE, _IN_VAIN = 1.0, 3.0, 10.0
#: Sampled frames lie at most so far (seconds) from where they are due, at four frames a second and more.
_JITTER = 0.24
#: Lines that stay are noted again every so many seconds.
_NOTE_AGAIN = 5.0
#: How many pictures are remembered as asked about.
_REMEMBERED = 8
_SAME_PLACE = 0.3
#: A line stands while so much of its strokes is left.
_INK_LEFT = 0.6
#: Figures that change go on where so much of their place is a likely place again, with not more ink by so much.
_SAME_SPOT, _INK_MORE = 0.5, 1.7
_SLACK = 1e-6


class ScreenTexts:
    """Text on the screen, read by what ``reader`` gives; it loads its models when the first frame needs them."""

    def __init__(self, reader: Callable[[], TextReader]) -> None:
        self._reader = reader
        self.spec = StageSpec(
            name="screen_texts",
            version=4,
            tables=("screen_texts",),
            sampling=Sampling(fps=_FPS, max_side=_MAX_SIDE, warm_up=_WARM_UP),
            parameters={
                "reader": reader().producer,
                "reads": list(_READS),
                "glances": list(_GLANCES),
                "stays_on": _STAYS_ON,
                "patience": _PATIENCE,
                "max_side": _MAX_SIDE,
            },
            libraries=("rapidocr", "onnxruntime", "numpy", "opencv-python-headless", "av"),
            modules=(
                "world_api.build.screen_texts",
                "world_api.core.spans",
                type(reader()).__module__,
            ),
        )

    def open(self, clip: Clip) -> ScreenTextsWorker:
        """A fresh worker."""
        return ScreenTextsWorker(clip, self._reader, self.spec.producer)


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """A small grey picture, when it was shown, and until when what it holds counts as asked about."""

    time: float
    gray: Gray
    until: float = float("inf")


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A line that was read: its row, its place in the small picture, and the parts of it that are strokes, with their ink.

    ``gray`` is the last picture in which it stood. ``changes``: its figures did while it was read. ``is_unread``: they have
    since then.
    """

    row: Record
    place: Box
    strokes: Sequence[tuple[Box, int]]
    gray: Gray
    changes: bool
    is_unread: bool = False

    def in_next(self, gray: Gray, found: Sequence[Box]) -> _Line | None:
        """The line in the next picture, if it stands there, too: titles drift and swell, but they do not jump or fade away.

        ``found`` are the likely places of that picture.
        """
        stands = all(
            looks_same(gray, self.gray, part) and ink(gray, part) >= _INK_LEFT * before for part, before in self.strokes
        )
        if stands:
            return replace(self, gray=gray)
        return replace(self, gray=gray, is_unread=True) if self.changes and self._goes_on(gray, found) else None

    def _goes_on(self, gray: Gray, found: Sequence[Box]) -> bool:
        """Whether other figures stand at the place: strokes about as many, at the very spot. What passes by leaves it."""
        spots = [spot for other in found if (spot := _shared(self.place, other)) is not None]
        return all(
            _INK_LEFT * before <= ink(gray, part) <= _INK_MORE * before
            and any(part.iou(spot) >= _SAME_SPOT for spot in spots)
            for part, before in self.strokes
        )

    def noted(self) -> Record:
        """The line as it is noted again: what is not read has no text."""
        return self.row | {"text": ""} if self.is_unread else self.row


class _Ration:
    """So many at once, and so many a second; by the video's time, so that the same is spent on every machine."""

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
    """Chooses and reads frames of one clip."""

    def __init__(self, clip: Clip, reader: Callable[[], TextReader], producer: str) -> None:
        self._start = clip.span.start
        self._reader = reader
        self._producer = producer
        self._reads = _Ration(self._start, _READS)
        self._glances = _Ration(self._start, _GLANCES)
        self._recent: list[_Seen] = []  #: the last second
        self._asked: list[_Seen] = []
        self._standing: list[_Line] = []
        self._restless: list[Box] = []  #: where lines stood that changed while they were read
        self._noted: float | None = None  #: when rows were last written
        self._restless_since: float | None = None
        self._restless_again = self._start
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Take one frame."""
        seen = _Seen(time=frame.time, gray=frame.picture(_GLANCE_SIDE, "gray").copy())
        last_second = [old for old in self._recent if frame.time - old.time <= _STILL + _JITTER]
        self._recent = last_second or self._recent[-1:]  # a video may have fewer frames than that
        if frame.time >= self._start:
            found = likely_places(seen.gray)
            self._watch(seen, found)
            self._ask(frame, seen, found)
        elif not self._asked and frame.time <= self._start - _WARM_UP + 1 / _FPS:
            self._asked.append(_Seen(time=seen.time, gray=seen.gray, until=self._start + _STAYS_ON))
        self._recent.append(seen)

    def finish(self) -> Records:
        """The texts of the clip's span."""
        return {"screen_texts": self._rows}

    def _watch(self, seen: _Seen, found: Sequence[Box]) -> None:
        """Note the lines whose place looks as it did when they were read, and forget the others."""
        staying = [again for line in self._standing if (again := line.in_next(seen.gray, found)) is not None]
        is_less = len(staying) < len(self._standing)
        self._standing = staying
        if is_less or (staying and self._noted is not None and seen.time - self._noted >= _NOTE_AGAIN - _SLACK):
            self._note([line.noted() for line in staying], seen.time)

    def _ask(self, frame: Frame, seen: _Seen, found: Sequence[Box]) -> None:
        """Look at the places that are new, if they keep still or have been restless for long, and read what is text."""
        if not found and self._noted is None:
            self._note([], seen.time)
        new = [place for place in found if not self._was_asked(place, seen)]
        if not new:
            self._restless_since = None
            return
        still = [place for place in new if self._keeps_still(place, seen)]
        if not still and not self._is_restless_long(seen.time):
            return
        if not (self._reads.has(seen.time) and self._glances.has(seen.time)):
            return
        self._glances.spend()
        self._restless_since = None
        self._asked = [*self._asked, seen][-_REMEMBERED:]
        places = self._reader().locate(frame.picture(_GLANCE_SIDE))
        if not places:
            self._restless_again = max(self._restless_again, seen.time + (0.0 if still else _IN_VAIN))
            if not self._standing and (self._noted is None or self._rows[-1]["text"]):
                self._note([], seen.time)
        elif self._is_worth_reading(places, still, seen):
            self._read(frame, seen, found)

    def _is_worth_reading(self, places: Sequence[Box], still: Sequence[Box], seen: _Seen) -> bool:
        """Whether text keeps still where no line is known to stand; restless text is read once a clip."""
        known = [line.place for line in self._standing] + self._restless
        others = [place for place in places if all(place.iou(other) < _SAME_PLACE for other in known)]
        if any(
            self._keeps_still(place, seen) or any(_shared(place, other) is not None for other in still)
            for place in others
        ):
            return True
        if not others or seen.time < self._restless_again:
            return False
        self._restless_again = float("inf")
        return True

    def _is_restless_long(self, time: float) -> bool:
        if self._restless_since is None:
            self._restless_since = time
        return time - self._restless_since >= _PATIENCE - _SLACK and time >= self._restless_again

    def _was_asked(self, place: Box, seen: _Seen) -> bool:
        return any(seen.time < old.until and looks_same(seen.gray, old.gray, place) for old in self._asked)

    def _keeps_still(self, place: Box, seen: _Seen) -> bool:
        if not self._recent or seen.time - self._recent[0].time < _STILL - _JITTER:
            return False
        return all(looks_same(seen.gray, old.gray, place) for old in self._recent)

    def _read(self, frame: Frame, seen: _Seen, found: Sequence[Box]) -> None:
        self._reads.spend()
        picture = frame.picture(_MAX_SIDE)
        whole, small = frame.shape[1] / picture.shape[1], seen.gray.shape[1] / picture.shape[1]
        self._standing = []
        for line in self._reader().read(picture):
            place = _scaled(line.box, small)
            row = self._row(seen.time, line.text, _scaled(line.box, whole), confidence=line.confidence)
            strokes = [part for other in found if (part := _shared(place, other)) is not None] or [place]
            inked = [(part, ink(seen.gray, part)) for part in strokes]
            is_restless = not all(self._keeps_still(part, seen) for part in strokes)
            changes = is_restless and any(sign.isdigit() for sign in line.text)
            self._standing.append(_Line(row=row, place=place, strokes=inked, gray=seen.gray, changes=changes))
            if is_restless:
                self._restless.append(place)
        if self._restless:
            self._restless_again = float("inf")
        self._note([line.row for line in self._standing], seen.time)

    def _note(self, rows: list[Record], time: float) -> None:
        """Store what a frame held, or that it held nothing. What was noted of the same frame before it was read gives way."""
        moment = {"time": round_time(time), "known_at": known_time(time)}
        nothing = self._row(time, "", Box(x1=0, y1=0, x2=0, y2=0), confidence=1.0)
        while self._rows and self._rows[-1]["time"] == moment["time"]:
            self._rows.pop()
        self._rows.extend([row | moment for row in rows] or [nothing])
        self._noted = time

    def _row(self, time: float, text: str, box: Box, *, confidence: float) -> Record:
        x1, y1, x2, y2 = box.rounded()
        return {
            "time": round_time(time), "text": text, "x1": x1, "y1": y1, "x2": x2, "y2": y2,
            "confidence": confidence, "known_at": known_time(time), "producer": self._producer,
        }  # fmt: skip


def _scaled(box: Box, by: float) -> Box:
    return Box(x1=box.x1 * by, y1=box.y1 * by, x2=box.x2 * by, y2=box.y2 * by)


def _shared(one: Box, other: Box) -> Box | None:
    """What two places share, if that is half of the smaller one."""
    x1, y1, x2, y2 = max(one.x1, other.x1), max(one.y1, other.y1), min(one.x2, other.x2), min(one.y2, other.y2)
    if x2 <= x1 or y2 <= y1:
        return None
    both = Box(x1=x1, y1=y1, x2=x2, y2=y2)
    return both if both.area >= 0.5 * min(one.area, other.area) else None
