"""The stage ``detections``: ``sightings`` of things that a detector recognises, and the motion of the ``camera``.

The detector examines two frames a second. A frame that looks like the last one it examined is not examined again for
some seconds: nothing has moved, so everything is where it was. Detections are joined to tracks inside a clip and a shot;
the stage ``stitches`` links tracks over the ends of clips. The rows of a track are held back until it is confirmed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import cv2
import numpy as np

from world_api.build.association import Affine, Association, Followed
from world_api.build.camera_motion import CameraNotes, CameraWatch, glance
from world_api.build.colours import colour_words
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec, box_columns
from world_api.core.ports import DetectedObject, Image, SceneDetector
from world_api.core.spans import Box, known_time, round_time
from world_api.media.frames import Frame

#: Frames a second that the camera's motion is measured in, and of those that are examined.
_FPS, _EXAMINED = 4.0, 2.0
#: Seconds before and after a clip: a track is confirmed after three detections.
_WARM_UP, _LOOK_AHEAD = 3.0, 1.5
#: Two pictures look the same if at most this share of their values (three a pixel) differs by more than this many levels; a
#: frame that looks like the last examined one is not examined for this long (seconds).
_SAME, _LEVELS, _LONGEST = 0.002, 14, 2.0
#: The place of a track looks unchanged if at most this share of its values differs.
_SAME_PLACE = 0.06
#: The longer side (pixels) of the pictures that are compared and whose colours are named; seconds for which colour words hold.
_SMALL_SIDE, _COLOURS = 288, 1.4
#: The part of a box that certainly shows the thing: left, top, right, bottom as shares of it.
_INNER = (0.25, 0.15, 0.75, 0.85)


@dataclass(kw_only=True)
class Awaited:
    """A picture that waits for the detector, and then what is in it (pixels of the picture)."""

    picture: Image
    found: Sequence[DetectedObject] | None = None


class Detecting:
    """Examines pictures in batches. Clips overlap; a frame that two of their workers want is examined once."""

    def __init__(self, detector: SceneDetector) -> None:
        self._detector = detector
        self._waiting: list[Awaited] = []

    def ask(self, frame: Frame) -> Awaited:
        """Return a frame's picture, put in line to be examined; use ``frame.derived(ask)``, so that it is done once."""
        awaited = Awaited(picture=np.ascontiguousarray(frame.picture(self._detector.side)))
        self._waiting.append(awaited)
        if len(self._waiting) >= self._detector.batch:
            self.flush()
        return awaited

    def flush(self) -> None:
        """Examine all pictures that wait."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            for awaited, found in zip(
                waiting, self._detector.detect_all([one.picture for one in waiting]), strict=True
            ):
                awaited.found = found


class Detections:
    """The stage ``detections``: tracks with boxes, a category and colour words. Its parameters name what is judged.

    ``missed`` there has for a category the sightings that were missed, of how many, and their least height as a share of the
    picture's longer side.
    """

    def __init__(self, detector: SceneDetector) -> None:
        self._detector = detector
        self._detecting = Detecting(detector)
        self.spec = StageSpec(
            name="detections",
            version=1,
            tables=("sightings", "camera"),
            sampling=Sampling(fps=_FPS, max_side=detector.side, warm_up=_WARM_UP, look_ahead=_LOOK_AHEAD),
            parameters={
                "detector": detector.producer,
                "categories": sorted(detector.categories()),
                "missed": {
                    category: [missed, of, round(height / detector.side, 4)]
                    for category, (missed, of, height) in sorted(detector.missed.items())
                },
            },
            libraries=("onnxruntime",),
            modules=(type(detector).__module__,),
        )

    def open(self, clip: Clip) -> DetectionsWorker:
        """Return a new worker for one clip."""
        return DetectionsWorker(clip, self._detecting, sure=self._detector.sure)


@dataclass(frozen=True, kw_only=True)
class _Moment:
    """An examined frame, until the detector's answer is there.

    ``shape``: height and width of the frame; ``small``: a small picture of it; ``motion``: of the picture since the moment
    before, in pixels of ``awaited``; ``is_new``: whether the frame is examined, or looks like the one before.
    """

    time: float
    shape: tuple[int, int]
    small: Image
    motion: Affine | None
    begins_shot: bool
    awaited: Awaited
    is_new: bool


@dataclass(kw_only=True)
class _Notes:
    """What is noted of one track: its name (empty until it is confirmed), rows held back, colours.

    ``small`` is the small picture of the frame in which it was detected last.
    """

    name: str = ""
    pending: list[Record] = field(default_factory=list)
    colours: list[str] = field(default_factory=list)
    next_colours: float = 0.0
    small: Image | None = None


class DetectionsWorker:
    """Tracks what is detected in the window of one clip."""

    def __init__(self, clip: Clip, detecting: Detecting, *, sure: float) -> None:
        self._clip = clip
        self._detecting = detecting
        self._watch = CameraWatch()
        self._camera = CameraNotes(clip)
        self._association = Association(sure)
        self._notes: dict[int, _Notes] = {}
        self._names = 0
        self._rows: list[Record] = []
        self._waiting: deque[_Moment] = deque()
        self._step = -1  #: the step of ``1 / _EXAMINED`` seconds of the last frame that was due
        self._begins_shot = True
        #: Time, small picture and answer of the last examined frame.
        self._examined: tuple[float, Image, Awaited] | None = None
        self._last_time = 0.0  #: of the last frame that was due

    def see(self, frame: Frame) -> None:
        """Process one sampled frame."""
        look = frame.derived(glance)
        self._begins_shot |= self._watch.see(look)
        self._camera.note(self._watch, frame.time)
        step = int(frame.time * _EXAMINED + 1e-6)
        if step == self._step and not self._begins_shot:
            return
        self._step = step
        small = frame.picture(_SMALL_SIDE)
        is_new = self._begins_shot or not self._is_same(small, frame.time)
        if self._examined is None or is_new:
            self._examined = frame.time, small, frame.derived(self._detecting.ask)
        awaited = self._examined[2]
        motion = self._watch.motion_since(self._last_time, awaited.picture.shape[1])
        self._waiting.append(
            _Moment(
                time=frame.time, shape=frame.shape, small=small, motion=motion,
                begins_shot=self._begins_shot, awaited=awaited, is_new=is_new,
            )
        )  # fmt: skip
        self._last_time, self._begins_shot = frame.time, False
        self._follow()

    def finish(self) -> Records:
        """Return the rows of the clip's span, by table."""
        self._detecting.flush()
        self._follow()
        return {"sightings": self._rows, "camera": self._camera.rows}

    def _is_same(self, small: Image, time: float) -> bool:
        """Whether a frame (its small picture and time) looks like the last examined one, which was not long ago."""
        if self._examined is None:
            return False
        examined_at, before, _ = self._examined
        return time - examined_at <= _LONGEST and _changed(before, small) <= _SAME

    def _follow(self) -> None:
        """Assign the detections of the moments whose answer is there to tracks, in order of time."""
        while self._waiting and (found := self._waiting[0].awaited.found) is not None:
            moment = self._waiting.popleft()
            if moment.begins_shot:
                self._association.clear()
            seen = self._association.step(
                found,
                moment.time,
                is_new=moment.is_new,
                motion=moment.motion,
                unchanged=partial(self._is_unchanged, moment),
            )
            for track in seen:
                self._note(track, moment)
            alive = {track.number for track in self._association.alive}
            self._notes = {number: notes for number, notes in self._notes.items() if number in alive}

    def _is_unchanged(self, moment: _Moment, track: Followed) -> bool:
        """Whether the place of a track looks as it did when the thing was last detected there."""
        before = self._notes[track.number].small
        if before is None or before.shape != moment.small.shape:
            return False
        place = _part(track.box, moment.awaited.picture, moment.small)
        return before[place].size > 0 and _changed(before[place], moment.small[place]) <= _SAME_PLACE

    def _note(self, track: Followed, moment: _Moment) -> None:
        """Note a sighting in the clip's span, and write all that were held back once the track is confirmed."""
        notes = self._notes.setdefault(track.number, _Notes())
        if track.detected == moment.time:
            notes.small = moment.small
        if moment.time >= notes.next_colours:
            notes.colours = _colours(track.box, moment)
            notes.next_colours = moment.time + _COLOURS
        if self._clip.span.contains(moment.time):
            (height, width), (high, wide) = moment.shape, moment.awaited.picture.shape[:2]
            columns = box_columns(track.box.scaled(width / wide, height / high))
            facts = {"confidence": round(track.confidence, 3), "colours": notes.colours}
            notes.pending.append({"time": round_time(moment.time), **columns, **facts})
        if track.confirmed and notes.pending:
            notes.name = notes.name or self._next_name()
            stamp = {"track": notes.name, "category": track.category, "known_at": known_time(moment.time)}
            self._rows.extend(row | stamp for row in notes.pending)
            notes.pending.clear()

    def _next_name(self) -> str:
        """Return a new track name, unique in the video, as the stage ``moving_things`` names its tracks."""
        self._names += 1
        part = f"_{self._clip.part}" if self._clip.part else ""
        return f"t{self._clip.number:04d}_{self._names:02d}{part}"


def _changed(before: Image, now: Image) -> float:
    """Return the share of values that differ between two pictures of one size, 0 to 1."""
    different = cv2.threshold(cv2.absdiff(before, now), _LEVELS, 1, cv2.THRESH_BINARY)[1]
    return float(np.count_nonzero(different)) / max(int(different.size), 1)


def _part(box: Box, whole: Image, picture: Image) -> tuple[slice, slice]:
    """Return where a box (pixels of ``whole``) is in a picture of another size, as slices of its rows and columns."""
    scaled = box.scaled(picture.shape[1] / whole.shape[1], picture.shape[0] / whole.shape[0])
    (left, right), (top, bottom) = (scaled.x1, scaled.x2), (scaled.y1, scaled.y2)
    return slice(max(0, int(top)), max(0, round(bottom))), slice(max(0, int(left)), max(0, round(right)))


def _colours(box: Box, moment: _Moment) -> list[str]:
    """Return the colour words of what the inner part of a box shows, the largest share first."""
    left, top, right, bottom = _INNER
    inner = Box(
        x1=box.x1 + left * box.width, y1=box.y1 + top * box.height,
        x2=box.x1 + right * box.width, y2=box.y1 + bottom * box.height,
    )  # fmt: skip
    part = np.ascontiguousarray(moment.small[_part(inner, moment.awaited.picture, moment.small)])
    return colour_words(part, np.full(part.shape[:2], 255, dtype=np.uint8)) if part.size else []
