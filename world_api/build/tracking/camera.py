"""Whether the camera stands still: what a background model needs to mean anything."""

from __future__ import annotations

from collections import deque

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Image

#: A cut or a flash: this share of the picture changes from one sample to the next, by more than so many grey levels.
_ABRUPT, _CHANGED = 0.6, 14
#: Below this share of changed pixels nothing of size has moved since the sample before.
_STILL = 0.02
#: The camera moves when in this share of the parts of the picture a corner went further than so many pixels.
_MOVED_SHARE, _SHIFT = 0.7, 0.3
#: It drifts when one shift, turn and zoom of at least so many pixels fits this much more corners than standing still does.
_DRIFT, _DRIFT_GAIN, _FITS = 0.6, 0.2, 0.5
#: The age (seconds) of the sample that drift is measured against.
_YOUNGEST, _OLDEST = 1.2, 3.0
#: After a sign of movement the camera counts as moving for so many seconds.
_SETTLE = 2.5
#: More breaks than this in that time are no cuts but a picture in motion.
_STORM = 2
#: More standing out than this means that the background is wrong.
_TOO_MUCH = 0.55
#: The picture's parts (rows, columns), how strong a corner must be, and how many parts must have one.
_GRID, _CORNER, _FEWEST_CORNERS = (5, 8), 4e-4, 8

Points = NDArray[np.float32]  #: n x 1 x 2, (x, y)


class CameraWatch:
    """Watches samples in order and says when the picture breaks and whether the camera is steady."""

    #: How long after a break (seconds) drift can be told at all.
    settling = _YOUNGEST + 0.4

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Image]] = deque()
        self._breaks: list[float] = []
        self._moving_until = -1.0
        self._looks = 0

    def look(self, picture: Image, time: float) -> bool:
        """Take a picture (BGR); whether it breaks with the one before (a cut, or the first picture at all)."""
        gray = cv2.cvtColor(cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
        broke = self._breaks_with_last(gray, time)
        if broke:
            self._seen.clear()
        elif self._moves(gray, time):
            self._moving_until = time + _SETTLE
        while self._seen and time - self._seen[0][0] > _OLDEST:
            self._seen.popleft()
        self._seen.append((time, gray))
        return broke

    def background_failed(self, share: float, time: float) -> bool:
        """Whether so much stands out (share of the picture) that the background must be begun anew."""
        if share > _TOO_MUCH:
            self._moving_until = time + _SETTLE
            return True
        return False

    def is_steady(self, time: float) -> bool:
        """Whether tracks made at this time mean anything."""
        return time >= self._moving_until

    def _breaks_with_last(self, gray: Image, time: float) -> bool:
        if not self._seen:
            return True
        if _changed_share(self._seen[-1][1], gray) <= _ABRUPT:
            return False
        self._breaks = [earlier for earlier in self._breaks if time - earlier < _SETTLE] + [time]
        self._moving_until = time + _SETTLE if len(self._breaks) > _STORM else time
        return True

    def _moves(self, gray: Image, time: float) -> bool:
        last_time, last = self._seen[-1]
        if time - last_time < 0.7 and _changed_share(last, gray) > _STILL and moved_share(last, gray) > _MOVED_SHARE:
            return True
        self._looks += 1
        if self._looks % 2:
            return False
        older = [picture for at, picture in self._seen if time - at >= _YOUNGEST]
        return bool(older) and drifts(older[-1], gray)


def moved_share(previous: Image, current: Image) -> float:
    """The share of the picture's parts that moved, among those with a corner to follow; 0 where too few have one."""
    corners = _strongest_corners(previous)
    if len(corners) < _FEWEST_CORNERS:
        return 0.0
    reached, found = _followed(previous, current, corners)
    way = np.abs(reached - corners)[:, 0].max(axis=1)
    # A corner that is lost has been covered or has gone far.
    return float(np.mean((way > _SHIFT) | ~found))


def drifts(previous: Image, current: Image) -> bool:
    """Whether a slow shift, turn or zoom of the whole picture explains it better than a camera that stands still."""
    corners = _strongest_corners(previous)
    if len(corners) < _FEWEST_CORNERS:
        return False
    reached, found = _followed(previous, current, corners)
    if np.count_nonzero(found) < _FEWEST_CORNERS:
        return False
    motion, fits = cv2.estimateAffinePartial2D(corners[found], reached[found], ransacReprojThreshold=_FITS)
    if motion is None:
        return False
    still = np.abs(reached - corners)[:, 0].max(axis=1) < _FITS
    gain = (np.count_nonzero(fits) - np.count_nonzero(still & found)) / len(corners)
    height, width = previous.shape
    ends = np.array([[0, 0], [width, 0], [0, height], [width, height]], dtype=np.float64)
    way = np.abs(ends @ motion[:, :2].T + motion[:, 2] - ends).max()
    return bool(gain >= _DRIFT_GAIN and way >= _DRIFT)


def _changed_share(previous: Image, current: Image) -> float:
    return float((cv2.absdiff(current, previous) > _CHANGED).mean())


def _followed(previous: Image, current: Image, corners: Points) -> tuple[Points, NDArray[np.bool_]]:
    """Where corners went, and which of them were found again."""
    reached, found, _ = cv2.calcOpticalFlowPyrLK(previous, current, corners, None, winSize=(9, 9), maxLevel=2)
    return reached, found[:, 0] > 0


def _strongest_corners(gray: Image) -> Points:
    """The strongest corner of each part of the picture, where it is strong enough."""
    strength = cv2.cornerMinEigenVal(gray, 5)
    rows, columns = _GRID
    height, width = strength.shape[0] // rows, strength.shape[1] // columns
    found = []
    for row in range(rows):
        for column in range(columns):
            cell = strength[row * height : (row + 1) * height, column * width : (column + 1) * width]
            place = int(cell.argmax()) if cell.size else 0
            if cell.size and cell.flat[place] > _CORNER:
                found.append((column * width + place % width, row * height + place // width))
    return np.array(found, dtype=np.float32).reshape(-1, 1, 2)
