"""Where PySceneDetect's rules see a new shot, from one look at each picture.

Its content, adaptive and threshold detectors each take every picture apart for themselves. Here the two figures they
decide by are worked out once: how much a picture differs from the one before (the mean distance of hue, saturation and
value, 0 to 255) and how bright it is. The rules over them are PySceneDetect's own ``FlashFilter`` and
``ThresholdDetector``, and its adaptive rule, which cannot be had without its scoring; a test holds all three to what
the detectors themselves find.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from scenedetect import FrameTimecode
from scenedetect.detector import FlashFilter
from scenedetect.detectors import ThresholdDetector

if TYPE_CHECKING:
    from world_api.core.ports import Image

ChangeKind = Literal["cut", "fade"]

#: A difference that is a cut for certain, and one that is if it stands out from its surroundings so many times.
CONTENT, ADAPTIVE_RATIO, ADAPTIVE_CONTENT = 30.0, 3.0, 15.0
#: The frames on each side that a difference must stand out from: that rule lags behind by as many.
ADAPTIVE_WINDOW = 2
#: The mean brightness of a picture that faded to black, and where in the black a fade is dated (-1 begin, 1 end). A fade
#: is over where the picture is back, whatever came before: so a clip need not hold the whole of it.
BLACK, FADE_BIAS = 6, 1.0
#: Neighbours that differ less than this on average do not differ.
_NO_DIFFERENCE, _MOST = 1e-5, 255.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """The number of a frame that a rule takes for the first of a shot."""

    kind: ChangeKind
    number: int


class ShotChanges:
    """Watches pictures in order; ``rate`` is frames a second, ``shortest`` the frames of the shortest shot."""

    def __init__(self, *, rate: float, shortest: int) -> None:
        self._rate = rate
        self._seen = 0
        self._last: NDArray[np.uint8] | None = None
        self._adaptive = _Adaptive(shortest)
        self._content = FlashFilter(FlashFilter.Mode.MERGE, shortest)
        self._fades = ThresholdDetector(BLACK, min_scene_len=shortest, fade_bias=FADE_BIAS)

    def see(self, picture: Image, *, brightness: float) -> list[Change]:
        """Take the next BGR picture and its mean brightness; returns what can be said by now, about it or earlier ones."""
        difference = self._difference(picture)
        number = FrameTimecode(self._seen, fps=self._rate)
        self._seen += 1
        found = [Change(kind="cut", number=earlier) for earlier in self._adaptive.see(difference)]
        found += [Change(kind="cut", number=at.frame_num) for at in self._content.filter(number, difference >= CONTENT)]
        # Of a picture the detector takes nothing but the mean, so one pixel of that brightness stands for it.
        found += [
            Change(kind="fade", number=at.frame_num) for at in self._fades.process_frame(number, np.array([brightness]))
        ]
        return found

    def _difference(self, picture: Image) -> float:
        parts: NDArray[np.uint8] = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV)
        last, self._last = self._last, parts
        return 0.0 if last is None else mean_of(parts, last)


class _Adaptive:
    """PySceneDetect's adaptive rule: a difference that stands out from those around it."""

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._window: deque[float] = deque(maxlen=2 * ADAPTIVE_WINDOW + 1)
        self._seen = 0
        self._last_cut = 0

    def see(self, difference: float) -> list[int]:
        """Take the next difference; the number of the frame in the middle of the window, where it is a cut."""
        self._window.append(difference)
        number = self._seen - ADAPTIVE_WINDOW
        self._seen += 1
        if len(self._window) < 2 * ADAPTIVE_WINDOW + 1:
            return []
        middle = self._window[ADAPTIVE_WINDOW]
        if middle < ADAPTIVE_CONTENT or number - self._last_cut < self._shortest:
            return []
        around = (sum(self._window) - middle) / (2 * ADAPTIVE_WINDOW)
        if (middle / around if around >= _NO_DIFFERENCE else _MOST) < ADAPTIVE_RATIO:
            return []
        self._last_cut = number
        return [number]


def mean_of(picture: NDArray[np.uint8], other: NDArray[np.uint8] | None = None) -> float:
    """The mean of all values of a picture, or of their distances from another's."""
    total = cv2.norm(picture, cv2.NORM_L1) if other is None else cv2.norm(picture, other, cv2.NORM_L1)
    return float(total) / picture.size
