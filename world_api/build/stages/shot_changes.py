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
from functools import partial
from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

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
        self._count = 0
        self._last: NDArray[np.uint8] | None = None
        self._adaptive = _Adaptive(shortest)
        self._content = _Content(rate, shortest)
        self._fades = _Fades(rate, shortest)

    def see(self, picture: Image, *, brightness: float) -> list[Change]:
        """Take the next BGR picture and its mean brightness; returns what can be said by now, about it or earlier ones."""
        difference, number = self._difference(picture), self._count
        self._count += 1
        cuts = [*self._adaptive.see(number, difference), *self._content.see(number, difference)]
        found = [Change(kind="cut", number=cut) for cut in cuts]
        return found + [Change(kind="fade", number=fade) for fade in self._fades.see(number, brightness)]

    def _difference(self, picture: Image) -> float:
        parts: NDArray[np.uint8] = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV)
        last, self._last = self._last, parts
        return 0.0 if last is None else mean_of(parts, last)


class _Content:
    """PySceneDetect's content rule: a difference that is a cut for certain, and one of those that crowd together."""

    def __init__(self, rate: float, shortest: int) -> None:
        # Brings all of the package along: imported while the first frames are decoded.
        from scenedetect import FrameTimecode
        from scenedetect.detector import FlashFilter

        self._shortest = shortest
        self._timecode = partial(FrameTimecode, fps=rate)
        self._filter = FlashFilter(FlashFilter.Mode.MERGE, shortest)
        self._last_above = 0

    def see(self, number: int, difference: float) -> list[int]:
        """Take the next difference; the numbers of the frames that are cuts."""
        above = difference >= CONTENT
        # Asking costs more than the answer is worth: it can only change here, or where the shortest shot is over.
        if not above and number not in (0, self._last_above + self._shortest):
            return []
        self._last_above = number if above else self._last_above
        return [at.frame_num for at in self._filter.filter(self._timecode(number), above)]


class _Fades:
    """PySceneDetect's threshold rule: black that is over."""

    def __init__(self, rate: float, shortest: int) -> None:
        from scenedetect import FrameTimecode
        from scenedetect.detectors import ThresholdDetector

        self._timecode = partial(FrameTimecode, fps=rate)
        self._detector = ThresholdDetector(BLACK, min_scene_len=shortest, fade_bias=FADE_BIAS)
        self._is_black: bool | None = None

    def see(self, number: int, brightness: float) -> list[int]:
        """Take the next brightness; the number of the frame with which the picture is back."""
        was, self._is_black = self._is_black, brightness < BLACK
        if self._is_black == was:
            return []  # only a change of state says anything
        # Of a picture the detector takes nothing but the mean, so one pixel of that brightness stands for it.
        pixel = np.array([brightness])
        return [at.frame_num for at in self._detector.process_frame(self._timecode(number), pixel)]


class _Adaptive:
    """PySceneDetect's adaptive rule: a difference that stands out from those around it."""

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._window: deque[float] = deque(maxlen=2 * ADAPTIVE_WINDOW + 1)
        self._last_cut = 0

    def see(self, number: int, difference: float) -> list[int]:
        """Take the next difference; the number of the frame in the middle of the window, where it is a cut."""
        self._window.append(difference)
        if len(self._window) < 2 * ADAPTIVE_WINDOW + 1:
            return []
        middle = self._window[ADAPTIVE_WINDOW]
        candidate = number - ADAPTIVE_WINDOW
        if middle < ADAPTIVE_CONTENT or candidate - self._last_cut < self._shortest:
            return []
        around = (sum(self._window) - middle) / (2 * ADAPTIVE_WINDOW)
        if (middle / around if around >= _NO_DIFFERENCE else _MOST) < ADAPTIVE_RATIO:
            return []
        self._last_cut = candidate
        return [candidate]


def mean_of(picture: NDArray[np.uint8], other: NDArray[np.uint8] | None = None) -> float:
    """The mean of all values of a picture, or of their distances from another's."""
    total = cv2.norm(picture, cv2.NORM_L1) if other is None else cv2.norm(picture, other, cv2.NORM_L1)
    return float(total) / picture.size
