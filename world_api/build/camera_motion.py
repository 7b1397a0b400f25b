"""Camera motion: how the whole picture moved from one time to another, by optical flow of corners.

Sources: Shi and Tomasi, "Good features to track" (1994); Lucas and Kanade's pyramidal flow as in OpenCV; a motion of four
parameters (shift, turn, zoom) by RANSAC.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record
from world_api.core.ports import Image
from world_api.core.spans import known_time, round_time
from world_api.media.frames import Frame

#: The parts of the picture (rows, columns), the least strength of a corner, and the fewest corners needed.
PARTS, _CORNER, _FEWEST_CORNERS = (5, 8), 4e-4, 8
#: A corner has moved if it went further than the first; it fits a motion if its error is at most the second (pixels).
_SHIFT, _FITS = 0.3, 0.5

Points = NDArray[np.float32]  #: n x 1 x 2, (x, y)


@dataclass(frozen=True)
class Look:
    """A gray picture and its time (seconds)."""

    time: float
    gray: Image
    _flows: dict[float, Flow] = field(default_factory=dict, repr=False)

    def flow_from(self, earlier: Look) -> Flow:
        """Return how corners moved since an earlier look; computed once, since windows of clips overlap."""
        if earlier.time not in self._flows:
            self._flows[earlier.time] = Flow(earlier, self)
        return self._flows[earlier.time]

    @cached_property
    def corners(self) -> Points:
        """The strongest corner of each of 5 x 8 parts of the picture, without weak ones; (x, y) in pixels."""
        strength = cv2.cornerMinEigenVal(self.gray, 5)
        rows, columns = PARTS
        height, width = strength.shape[0] // rows, strength.shape[1] // columns
        if height == 0 or width == 0:
            return np.empty((0, 1, 2), dtype=np.float32)
        cells = strength[: rows * height, : columns * width].reshape(rows, height, columns, width)
        cells = cells.transpose(0, 2, 1, 3).reshape(rows * columns, height * width)
        best = cells.argmax(axis=1)
        strong = np.flatnonzero(cells[np.arange(len(cells)), best] > _CORNER)
        x = (strong % columns) * width + best[strong] % width
        y = (strong // columns) * height + best[strong] // width
        return np.stack([x, y], axis=1).astype(np.float32).reshape(-1, 1, 2)


#: The longer side (pixels) of the pictures in which motion is measured.
_GLANCE_SIDE = 160


def glance(frame: Frame) -> Look:
    """Return the small gray picture of a frame; use ``frame.derived(glance)``, so that it is made once."""
    return Look(frame.time, frame.picture(_GLANCE_SIDE, "gray"))


@dataclass(frozen=True, kw_only=True)
class Motion:
    """A motion of the whole picture: a point (x, y) moves to ``matrix @ (x, y, 1)``.

    ``fit``: share of corners that it explains, 0 to 1; ``gain``: that share minus the share of corners that did not
    move. ``shape``: height and width of the picture.
    """

    matrix: NDArray[np.float64]
    shape: tuple[int, int]
    gain: float
    fit: float

    @property
    def shift(self) -> tuple[float, float]:
        """The movement of the picture's centre, right and down, in pixels."""
        height, width = self.shape
        middle = np.array([width / 2, height / 2])
        right, down = self.matrix[:, :2] @ middle + self.matrix[:, 2] - middle
        return float(right), float(down)

    @property
    def largest_shift(self) -> float:
        """The largest movement of a corner of the picture to one side, up or down, in pixels."""
        height, width = self.shape
        ends = np.array([[0, 0], [width, 0], [0, height], [width, height]], dtype=np.float64)
        return float(np.abs(ends @ self.matrix[:, :2].T + self.matrix[:, 2] - ends).max())


class Flow:
    """The movement of the corners of an earlier picture to a later one; ``known``: whether there are enough corners."""

    def __init__(self, earlier: Look, later: Look) -> None:
        self._corners = earlier.corners
        self._shape = (earlier.gray.shape[0], earlier.gray.shape[1])
        self.known = len(self._corners) >= _FEWEST_CORNERS
        if self.known:
            moved_to, found, _ = cv2.calcOpticalFlowPyrLK(
                earlier.gray, later.gray, self._corners, None, winSize=(9, 9), maxLevel=2
            )
            self._moved_to, self._found = moved_to, found[:, 0] > 0
            self._way = np.abs(moved_to - self._corners)[:, 0].max(axis=1)

    @property
    def moved(self) -> float:
        """The share of corners that moved or were lost, 0 to 1; 0 if there are too few corners."""
        # A lost corner was covered or moved far.
        return np.count_nonzero((self._way > _SHIFT) | ~self._found) / len(self._corners) if self.known else 0.0

    @cached_property
    def motion(self) -> Motion | None:
        """The motion of the whole picture that explains most corners; None if there is none, or too few corners."""
        if not self.known or np.count_nonzero(self._found) < _FEWEST_CORNERS:
            return None
        matrix, fits = cv2.estimateAffinePartial2D(
            self._corners[self._found], self._moved_to[self._found], ransacReprojThreshold=_FITS
        )
        if matrix is None:
            return None
        still, fitting = np.count_nonzero((self._way < _FITS) & self._found), np.count_nonzero(fits)
        every = len(self._corners)
        return Motion(matrix=matrix, shape=self._shape, gain=float(fitting - still) / every, fit=float(fitting) / every)


#: A cut or a flash changes this share of the picture from one sample to the next, by more than this many grey levels.
_ABRUPT, _CHANGED = 0.6, 14
#: Between samples too far apart to follow corners, a cut changes this share beyond a change of light, in this share of the parts
#: of the picture, each by that share. Two rooms in similar colours differ by no more, and a person in a room changes few parts.
_UNLIKE, _ALL_OVER, _PART = 0.25, 0.7, 0.1
#: The light is compared on a grid this coarse (pixels).
_GRID = 8
#: Below this share of changed pixels nothing large has moved since the sample before.
_STILL = 0.02
#: Below this share of pixels that differ by more than this many levels there is not even a slow drift.
_ALIKE, _HARDLY = 0.01, 6
#: The camera moves if this share of corners moved and one motion of the whole picture explains them (as in a drift), or if the
#: second share moved in any way.
_MOVED_SHARE, _ALL_MOVED = 0.7, 0.85
#: It drifts if a shift, turn and zoom of at least this many pixels fits this share of corners more than no motion does.
_DRIFT, _DRIFT_GAIN = 0.6, 0.2
#: A moving camera changes the whole picture: if fewer parts than these change, only things have moved.
_MOVED_PARTS, _DRIFTED_PARTS = 0.4, 0.2
#: The age (seconds) of the sample that drift is measured against.
_YOUNGEST, _OLDEST = 1.2, 3.0
#: Two samples are neighbours if they are no further apart than this (seconds).
_NEIGHBOURS = 0.7
#: After a sign of movement the camera counts as moving for this many seconds.
_SETTLE = 2.5
#: More breaks than this in that time are not cuts but a moving picture.
_STORM = 2
#: If a larger share of the picture than this is foreground, the background is wrong.
_TOO_MUCH = 0.55
#: A motion is reported if it fits this share of the corners, over this long (seconds), this fast (picture widths a second).
_FIT, _REPORT_SECONDS, _SLOWEST = 0.5, 1.0, 0.012
#: It shakes if its movements add up to this many times the resulting movement.
_SHAKE = 3.0

CameraKind = Literal["still", "pan_left", "pan_right", "tilt_up", "tilt_down", "zoom_in", "zoom_out", "turn", "shake"]


@dataclass(frozen=True, kw_only=True)
class CameraMove:
    """The camera's movement in about a second; ``strength``: the picture's speed in its widths a second, 0 if still."""

    kind: CameraKind
    strength: float


@dataclass(frozen=True, kw_only=True)
class _Step:
    """The motion of the picture between two times (seconds); ``motion`` is None if it was still."""

    start: float
    end: float
    motion: Motion | None


class CameraWatch:
    """Finds cuts and camera motion in sampled pictures, which it gets in time order."""

    #: The time after a break (seconds) from which on drift can be measured.
    settling = _YOUNGEST + 0.4

    def __init__(self) -> None:
        self._seen: deque[Look] = deque()
        self._steps: deque[_Step] = deque()
        self._drift: _Step | None = None
        self._breaks: list[float] = []
        self._moving_until = -1.0
        self._looks = 0

    def see(self, look: Look) -> bool:
        """Process the next picture; return whether a shot begins with it (the first one, or after a cut or flash)."""
        time = look.time
        broke = self._breaks_with_last(look)
        if broke:
            self._seen.clear()
            self._steps.clear()
            self._drift = None
        elif self._moves(look):
            self._moving_until = time + _SETTLE
        while self._seen and time - self._seen[0].time > _OLDEST:
            self._seen.popleft()
        while self._steps and time - self._steps[0].start > _OLDEST:
            self._steps.popleft()
        self._seen.append(look)
        return broke

    def leave_out(self, count: int) -> None:
        """Count pictures before the next break that are not processed, since every other one is compared for drift."""
        self._looks += count

    def background_failed(self, share: float, time: float) -> bool:
        """Whether too large a share of the picture is foreground; if so, the camera counts as moving for 2.5 seconds.

        The background is wrong then and must be replaced.
        """
        if share > _TOO_MUCH:
            self._moving_until = time + _SETTLE
            return True
        return False

    def is_steady(self, time: float) -> bool:
        """Whether the camera is steady at this time, so that a background model works."""
        return time >= self._moving_until

    def motion_since(self, time: float, width: int) -> NDArray[np.float64] | None:
        """Return the picture's motion since a time (2 x 3, in pixels of a picture of this width); None if unknown."""
        steps = [step for step in self._steps if step.start >= time - 1e-6]
        if not self._seen or sum(step.end - step.start for step in steps) < 0.7 * (self._seen[-1].time - time):
            return None
        whole = np.eye(3)
        for step in steps:
            if step.motion is not None:
                whole = np.vstack([step.motion.matrix, [0.0, 0.0, 1.0]]) @ whole
        whole[:2, 2] *= width / self._seen[-1].gray.shape[1]
        return whole[:2]

    def changes(self) -> Image | None:
        """Return a mask (0 or 1) of where the last two pictures differ beyond the camera's motion; None if unknown."""
        if len(self._seen) < 2 or not self._steps or self._steps[-1].end < self._seen[-1].time:
            return None
        before, now, motion = self._seen[-2].gray, self._seen[-1].gray, self._steps[-1].motion
        if motion is not None:
            size = (now.shape[1], now.shape[0])
            before = cv2.warpAffine(before, motion.matrix, size, borderMode=cv2.BORDER_TRANSPARENT, dst=now.copy())
        found: Image = cv2.threshold(cv2.absdiff(before, now), _CHANGED, 1, cv2.THRESH_BINARY)[1]
        return found

    def move(self, time: float) -> CameraMove | None:
        """Return the camera's movement in the second before ``time``; None if unknown."""
        steps = [step for step in self._steps if step.start >= time - _REPORT_SECONDS - 1e-6]
        known = sum(step.end - step.start for step in steps)
        if known < 0.7 * _REPORT_SECONDS:
            return None
        move = _move([step.motion for step in steps], known)
        if move is None or move.kind != "still" or self._drift is None or time - self._drift.end > _REPORT_SECONDS:
            return move
        return _move([self._drift.motion], self._drift.end - self._drift.start)

    def _breaks_with_last(self, look: Look) -> bool:
        if not self._seen:
            return True
        if not is_break(self._seen[-1], look):
            return False
        self._breaks = [earlier for earlier in self._breaks if look.time - earlier < _SETTLE] + [look.time]
        self._moving_until = look.time + _SETTLE if len(self._breaks) > _STORM else look.time
        return True

    def _moves(self, look: Look) -> bool:
        last = self._seen[-1]
        if look.time - last.time < _NEIGHBOURS:
            motion, flow = None, None
            changed = _changed_share(last.gray, look.gray, _CHANGED) > _STILL
            if changed and _changed_parts(last.gray, look.gray) >= _MOVED_PARTS:
                flow = look.flow_from(last)
                motion = flow.motion
            if flow is None or motion is not None:
                self._steps.append(_Step(start=last.time, end=look.time, motion=motion))
            together = motion is not None and motion.gain >= _DRIFT_GAIN
            if flow is not None and flow.moved > (_MOVED_SHARE if together else _ALL_MOVED):
                return True
        self._looks += 1
        return self._looks % 2 == 0 and self._drifts(look)

    def _drifts(self, look: Look) -> bool:
        """Whether a slow motion of the whole picture explains its change since a look at least 1.2 seconds before."""
        self._drift = None
        older = next((seen for seen in reversed(self._seen) if look.time - seen.time >= _YOUNGEST), None)
        if older is None or _changed_share(older.gray, look.gray, _HARDLY) <= _ALIKE:
            return False
        motion = look.flow_from(older).motion if _changed_parts(older.gray, look.gray) >= _DRIFTED_PARTS else None
        if motion is None or motion.gain < _DRIFT_GAIN or motion.largest_shift < _DRIFT:
            return False
        self._drift = _Step(start=older.time, end=look.time, motion=motion)
        return True


#: Seconds between two rows about the camera.
_CAMERA_STEP = 1.0


class CameraNotes:
    """Collects the rows of the table ``camera`` of one clip: once a second, if the motion is known."""

    def __init__(self, clip: Clip) -> None:
        self._span = clip.span
        self.rows: list[Record] = []

    def note(self, watch: CameraWatch, time: float) -> None:
        """Add a row about the camera's motion at a time, if one is due."""
        last = self.rows[-1]["time"] if self.rows else self._span.start - _CAMERA_STEP
        if not self._span.contains(time) or time - last < _CAMERA_STEP - 1e-6:
            return
        if (move := watch.move(time)) is not None:
            row = {"time": round_time(time), "kind": move.kind, "strength": move.strength, "known_at": known_time(time)}
            self.rows.append(row)


def is_break(before: Look, after: Look) -> bool:
    """Whether there is a cut or a flash between two pictures.

    Between samples close in time, only a change of most of the picture counts: other cuts are found as camera motion,
    since the corners have moved. Between samples further apart, a smaller change counts if it is not one of light and
    affects most parts of the picture.
    """
    share = _changed_share(before.gray, after.gray, _CHANGED)
    if after.time - before.time < _NEIGHBOURS or not _UNLIKE < share <= _ABRUPT:
        return share > _ABRUPT
    changed = _changed_beyond_light(before.gray, after.gray)
    parts = cv2.resize(changed, PARTS[::-1], interpolation=cv2.INTER_AREA)
    return float(changed.mean()) > _UNLIKE and float((parts > _PART).mean()) > _ALL_OVER


def _move(motions: Iterable[Motion | None], seconds: float) -> CameraMove | None:
    """Return the camera's movement from successive motions of the picture (None: still) that took ``seconds`` in all.

    It is their strongest component (pan, tilt, zoom or turn), ``shake``, or ``still``; None if one motion fits badly.
    """
    right = down = zoom = turn = way = 0.0
    width = 1.0
    for motion in motions:
        if motion is None:
            continue
        if motion.fit < _FIT:
            return None
        width = float(motion.shape[1])
        across, along = motion.shift
        right, down, way = right + across, down + along, way + math.hypot(across, along)
        cosine, sine = motion.matrix[0, 0], motion.matrix[1, 0]  #: times the factor by which things grow
        zoom, turn = zoom + math.log(max(math.hypot(cosine, sine), 1e-3)), turn + math.atan2(sine, cosine)
    parts: dict[CameraKind, float] = {
        # The picture moves to the left when the camera pans to the right.
        "pan_left" if right > 0 else "pan_right": abs(right) / width,
        "tilt_up" if down > 0 else "tilt_down": abs(down) / width,
        "zoom_in" if zoom > 0 else "zoom_out": abs(zoom) / 2,
        "turn": abs(turn) / 2,
    }
    kind = max(parts, key=lambda name: parts[name])
    if way / width > _SHAKE * max(parts[kind], _SLOWEST * seconds):
        return CameraMove(kind="shake", strength=round(way / width / seconds, 3))
    speed = parts[kind] / seconds
    is_still = speed < _SLOWEST
    return CameraMove(kind="still" if is_still else kind, strength=0.0 if is_still else round(speed, 3))


def _changed_share(previous: Image, current: Image, levels: int) -> float:
    return float(np.count_nonzero(cv2.absdiff(current, previous) > levels)) / current.size


def _changed_beyond_light(previous: Image, current: Image) -> NDArray[np.float32]:
    """Return 1 in pixels that differ after a change of light is compensated, else 0."""
    gain = float(np.median((current[::_GRID, ::_GRID] + 8.0) / (previous[::_GRID, ::_GRID] + 8.0)))
    lit = cv2.convertScaleAbs(previous, alpha=gain, beta=8.0 * (gain - 1.0))
    return np.asarray(cv2.absdiff(current, lit) > _CHANGED, dtype=np.float32)


def _changed_parts(previous: Image, current: Image) -> float:
    """Return the share of the 5 x 8 parts of the picture, 0 to 1, in which some pixels changed by more than 6 levels."""
    changed = cv2.threshold(cv2.absdiff(current, previous), _HARDLY, 255, cv2.THRESH_BINARY)[1]
    parts = cv2.resize(changed, PARTS[::-1], interpolation=cv2.INTER_AREA)
    return float(np.count_nonzero(parts) / parts.size)
