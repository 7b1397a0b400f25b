"""The stage that writes ``screen_texts``: text read off a few chosen frames.

Reading a frame costs about a second, so it is rationed: a frame is glanced at only when the picture changed, read only
when the glance finds places that may hold text and they are not where text has just been read, and only so often a clip.

A frame that was looked at and held no text is noted, too, as a row with the text "": so readers see where a text ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2

from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec
from world_api.core.boxes import Box
from world_api.core.ports import Image, TextReader
from world_api.core.spans import known_time, round_time

_FPS, _MAX_SIDE, _GLANCE_SIDE, _THUMB_SIDE = 1.0, 1280, 320, 64
#: Most frames read in a clip; glances come at this rate (a second), saved up to so many.
_READS, _GLANCE_RATE, _SAVED_GLANCES = 4, 0.6, 3.0
#: A picture that stays the same is glanced at again, and text in the same places is read again, after so long (seconds).
_AGAIN = 10.0
#: After a frame in which nothing could be read, none is read for so long (seconds).
_REST = 5.0
#: Mean change (grey levels) of a block of the thumbnail that makes a picture another one.
_CHANGED = 12.0
#: When the same lines were seen again there is no glance for so long (seconds), unless this share of blocks changed.
_QUIET, _OTHER = 5.0, 0.5
_SAME_PLACE = 0.4


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """A frame that was read: when, where the glance had found places, and whether there was nothing to read after all."""

    time: float
    places: Sequence[Box]
    fruitless: bool


class ScreenTexts:
    """Text on the screen, read by what ``reader`` gives; it loads its models when the first frame needs them."""

    def __init__(self, reader: Callable[[], TextReader]) -> None:
        self._reader = reader
        self.spec = StageSpec(
            name="screen_texts",
            version=1,
            tables=("screen_texts",),
            sampling=Sampling(fps=_FPS, max_side=_MAX_SIDE),
            parameters={
                "reader": reader().producer,
                "reads": _READS,
                "glance_rate": _GLANCE_RATE,
                "again": _AGAIN,
                "rest": _REST,
                "quiet": _QUIET,
                "max_side": _MAX_SIDE,
            },
            libraries=("rapidocr", "onnxruntime", "numpy", "opencv-python-headless", "av"),
            modules=(
                "world_api.build.stages.screen_texts",
                "world_api.core.boxes",
                type(reader()).__module__,
            ),
        )

    def open(self, clip: Clip) -> ScreenTextsWorker:
        """A fresh worker."""
        return ScreenTextsWorker(clip, self._reader, self.spec.producer)


class ScreenTextsWorker:
    """Chooses and reads frames of one clip."""

    def __init__(self, clip: Clip, reader: Callable[[], TextReader], producer: str) -> None:
        self._reader = reader
        self._producer = producer
        self._glanced: tuple[float, Image] | None = None
        self._read: _Reading | None = None
        self._clip = clip
        self._glances = 0
        self._reads = 0
        self._quiet_until = 0.0
        self._is_noted_empty = False
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Take one frame."""
        allowed = _SAVED_GLANCES + _GLANCE_RATE * (frame.time - self._clip.span.start)
        if self._reads >= _READS or self._glances + 1 > allowed or not self._is_worth_a_glance(frame):
            return
        self._glances += 1
        picture = frame.picture(_GLANCE_SIDE)
        places = self._reader().locate(picture)
        if not places:
            self._note([], frame.time)
        elif not self._is_news(places, frame.time):
            self._quiet_until = frame.time + _QUIET
        else:
            lines = self._lines(frame)
            self._reads += 1
            self._read = _Reading(time=frame.time, places=places, fruitless=not lines)
            self._note(lines, frame.time)

    def finish(self) -> Records:
        """The texts of the clip's span."""
        return {"screen_texts": self._rows}

    def _note(self, lines: list[Record], time: float) -> None:
        """Store what a frame held; of frames without text that follow each other only the first."""
        if lines:
            self._rows.extend(lines)
        elif not self._is_noted_empty:
            self._rows.append(self._row(time, "", Box(x1=0, y1=0, x2=0, y2=0), confidence=1.0))
        self._is_noted_empty = not lines

    def _is_worth_a_glance(self, frame: Frame) -> bool:
        thumb = cv2.resize(
            frame.picture(_GLANCE_SIDE, "gray"), (_THUMB_SIDE, _THUMB_SIDE), interpolation=cv2.INTER_AREA
        )
        if self._glanced is not None:
            time, before = self._glanced
            changed = cv2.absdiff(thumb, before).reshape(8, 8, 8, 8).mean(axis=(1, 3)) >= _CHANGED
            is_other_picture = float(changed.mean()) >= _OTHER
            if frame.time < self._quiet_until and not is_other_picture:
                return False
            if frame.time - time < _AGAIN and not changed.any():
                return False
        self._glanced = (frame.time, thumb)
        return True

    def _is_news(self, places: Sequence[Box], time: float) -> bool:
        last = self._read
        if last is None or time - last.time >= _AGAIN:
            return True
        if last.fruitless and time - last.time < _REST:
            return False
        return any(all(box.iou(other) < _SAME_PLACE for other in last.places) for box in places)

    def _lines(self, frame: Frame) -> list[Record]:
        picture = frame.picture(_MAX_SIDE)
        scale = frame.shape[1] / picture.shape[1]
        rows = []
        for line in self._reader().read(picture):
            box = Box(x1=line.box.x1 * scale, y1=line.box.y1 * scale, x2=line.box.x2 * scale, y2=line.box.y2 * scale)
            rows.append(self._row(frame.time, line.text, box, confidence=line.confidence))
        return [row for row in rows if row["text"]]

    def _row(self, time: float, text: str, box: Box, *, confidence: float) -> Record:
        x1, y1, x2, y2 = box.rounded()
        return {
            "time": round_time(time), "text": text, "x1": x1, "y1": y1, "x2": x2, "y2": y2,
            "confidence": confidence, "known_at": known_time(time), "producer": self._producer,
        }  # fmt: skip
