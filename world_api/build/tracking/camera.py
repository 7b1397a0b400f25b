"""Whether the camera stands still: what a background model needs to mean anything."""

from __future__ import annotations

import cv2
import numpy as np

from world_api.core.ports import Image

#: A cut or a flash: this share of the picture changes from one sample to the next.
_ABRUPT = 0.6
#: A pixel has changed when its grey value moved by more than this.
_CHANGED = 14
#: The whole picture moved when it shifted by more than so many pixels and the shift explains this share of the change.
_SHIFT, _EXPLAINED = 0.6, 0.35
#: After a sign of movement the camera counts as moving for so many seconds.
_SETTLE = 2.5
#: More breaks than this in that time are no cuts but a picture in motion.
_STORM = 2
#: More standing out than this, for longer than this, means that the background is wrong.
_TOO_MUCH = 0.55


class CameraWatch:
    """Watches samples in order and says when the picture breaks and whether the camera is steady."""

    def __init__(self) -> None:
        self._previous: Image | None = None
        self._previous_time = 0.0
        self._breaks: list[float] = []
        self._moving_until = -1.0

    def look(self, picture: Image, time: float) -> bool:
        """Take a picture (BGR); whether it breaks with the one before (a cut, or the first picture at all)."""
        gray = cv2.cvtColor(cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
        previous, elapsed = self._previous, time - self._previous_time
        self._previous, self._previous_time = gray, time
        if previous is None:
            return True
        changed = float((cv2.absdiff(gray, previous) > _CHANGED).mean())
        if changed > _ABRUPT:
            self._breaks = [earlier for earlier in self._breaks if time - earlier < _SETTLE] + [time]
            stormy = len(self._breaks) > _STORM
            self._moving_until = time + _SETTLE if stormy else time
            return True
        if elapsed < 0.7 and changed > 0.02 and _whole_picture_moved(previous, gray):
            self._moving_until = time + _SETTLE
        return False

    def background_failed(self, share: float, time: float) -> bool:
        """Whether so much stands out (share of the picture) that the background must be begun anew."""
        if share > _TOO_MUCH:
            self._moving_until = time + _SETTLE
            return True
        return False

    def is_steady(self, time: float) -> bool:
        """Whether tracks made at this time mean anything."""
        return time >= self._moving_until


def _whole_picture_moved(previous: Image, current: Image) -> bool:
    """Whether one shift of the whole picture explains most of what changed."""
    before, after = previous.astype(np.float32), current.astype(np.float32)
    window = cv2.createHanningWindow((before.shape[1], before.shape[0]), cv2.CV_32F)
    (right, down), _ = cv2.phaseCorrelate(before, after, window)
    if max(abs(right), abs(down)) < _SHIFT / 2:
        return False
    height, width = before.shape
    moved = cv2.warpAffine(
        before,
        np.array([[1, 0, right], [0, 1, down]], dtype=np.float32),
        (width, height),
        borderMode=cv2.BORDER_REPLICATE,
    )
    margin = slice(4, -4), slice(4, -4)
    unmoved_error = float(np.abs(after - before)[margin].mean())
    moved_error = float(np.abs(after - moved)[margin].mean())
    return moved_error < (1.0 - _EXPLAINED) * unmoved_error
