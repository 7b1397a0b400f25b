"""The stages ``looks`` (a descriptor of the picture once a second) and ``key_frames`` (sharp frames that look new)."""

from __future__ import annotations

from collections import deque

import cv2

from world_api.build.descriptors import Look, look_of
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec
from world_api.core.spans import known_time, round_time
from world_api.media.frames import Frame

LOOK_SIDE = 160
_FPS = 4.0
#: Duration of a moment (seconds): at most one frame of it is kept.
_MOMENT = 2.0
#: The least cosine of two frames that look alike, and for how long (seconds) later frames are compared with a kept one.
_ALIKE, _MEMORY = 0.93, 10.0
_KEPT_SIDE, _JPEG_QUALITY = 960, 88
#: The longer side (pixels) of the picture that sharpness is measured in.
_SHARPNESS_SIDE = 288
#: A picture whose Laplacian varies less than this is blank; it is kept only if no other is.
_BLANK = 2.0


class LooksWorker:
    """Computes the descriptor of every frame that it gets."""

    def __init__(self, _clip: Clip) -> None:
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Process one frame."""
        vector = look_of(frame.picture(LOOK_SIDE))
        self._rows.append({"time": round_time(frame.time), "vector": vector, "known_at": known_time(frame.time)})

    def finish(self) -> Records:
        """Return the rows of ``looks``, one for each frame."""
        return {"looks": self._rows}


class Looks:
    """The stage ``looks``: a descriptor of the picture once a second."""

    spec = StageSpec(
        name="looks",
        version=2,
        tables=("looks",),
        sampling=Sampling(fps=1.0, max_side=LOOK_SIDE),
        quick=True,
    )
    open = LooksWorker


class KeyFramesWorker:
    """Chooses the key frames of one clip: the sharpest frame of every two seconds, if it looks new."""

    def __init__(self, clip: Clip) -> None:
        self._clip = clip
        self._best: tuple[Frame, float] | None = None  #: the sharpest frame of the current moment, and its sharpness
        self._moment = -1
        self._kept: deque[tuple[float, Look]] = deque()
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Remember the sharpest frame of each two seconds; when they are over, make it a key frame if it looks new."""
        moment = int(frame.time // _MOMENT)
        if moment != self._moment:
            self._decide()
            self._moment = moment
        sharpness = frame.derived(_sharpness)
        if self._best is None or sharpness > self._best[1]:
            # Its pixels are overwritten later. A copy costs less than making pictures, of which one in ten is needed.
            self._best = frame.derived(_kept), sharpness

    def finish(self) -> Records:
        """Return the rows of ``key_frames`` in the clip's span."""
        self._decide()
        return {"key_frames": self._rows}

    def _decide(self) -> None:
        """Keep the sharpest frame of the last two seconds, unless it is blank or looks like one kept shortly before."""
        if self._best is None:
            return
        (best, sharpness), self._best = self._best, None
        while self._kept and self._kept[0][0] < best.time - _MEMORY:
            self._kept.popleft()
        if sharpness < _BLANK and self._kept:
            return
        look = best.derived(_look)
        if any(float(look @ other) >= _ALIKE for _, other in self._kept):
            return
        self._kept.append((best.time, look))
        if self._clip.span.contains(best.time):
            self._rows.append(self._row(best, sharpness))

    def _row(self, best: Frame, sharpness: float) -> Record:
        """Store a frame as JPEG and return its row, which is known at the end of its two seconds."""
        _, jpeg = cv2.imencode(".jpg", best.picture(_KEPT_SIDE), [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
        return {
            "time": round_time(best.time),
            "image": self._clip.keep_image(jpeg.tobytes()),
            "sharpness": round(sharpness, 1),
            "known_at": known_time((best.time // _MOMENT + 1) * _MOMENT),
        }


class KeyFrames:
    """The stage ``key_frames``: sharp frames that look new, stored as JPEG."""

    spec = StageSpec(
        name="key_frames",
        version=4,
        tables=("key_frames",),
        sampling=Sampling(fps=_FPS, max_side=_KEPT_SIDE, warm_up=_MEMORY + _MOMENT),
        quick=True,
    )
    open = KeyFramesWorker


def _kept(frame: Frame) -> Frame:
    return frame.kept()


def _look(frame: Frame) -> Look:
    return look_of(frame.picture(LOOK_SIDE))


def _sharpness(frame: Frame) -> float:
    """Return the sharpness of a frame, the variance of the Laplacian."""
    # Other stages request this size in colour, too: making it gray costs less than another scaling.
    gray = cv2.cvtColor(frame.picture(_SHARPNESS_SIDE), cv2.COLOR_BGR2GRAY)
    _, deviation = cv2.meanStdDev(cv2.Laplacian(gray, cv2.CV_16S))
    return float(deviation[0, 0]) ** 2
