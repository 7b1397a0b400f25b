"""Where PySceneDetect's rules see a new shot, from one look at each picture.

Its content, adaptive and threshold detectors each take every picture apart for themselves. Here the two figures they
decide by are worked out once: how much a picture differs from the one before (the mean distance of hue, saturation and
value, 0 to 255) and how bright it is. The rules over them are written anew: that package brings decoders, drawing and
event loops along, which take every build longer to load than all the pictures of a minute to look at. A test
holds all three to what its detectors find.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
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
#: The mean brightness of a picture that faded to black. A fade is dated where the picture is back, whatever came before:
#: so a clip need not hold the whole of it.
BLACK = 6
#: Neighbours that differ less than this on average do not differ.
_NO_DIFFERENCE, _MOST = 1e-5, 255.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """The number of a frame that a rule takes for the first of a shot."""

    kind: ChangeKind
    number: int


class ShotChanges:
    """Watches pictures in order; ``shortest`` is the frames of the shortest shot."""

    def __init__(self, *, shortest: int) -> None:
        self._count = 0
        self._last: NDArray[np.uint8] | None = None
        self._adaptive = _Adaptive(shortest)
        self._content = _Content(shortest)
        self._fades = _Fades(shortest)

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
    """The content rule: a difference that is a cut for certain. Of those that crowd together the last is one, once it is quiet."""

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._last_above = 0
        self._has_found = False  #: before the first cut nothing is taken for a crowd
        self._crowd_since: int | None = None

    def see(self, number: int, difference: float) -> list[int]:
        """Take the next difference; the numbers of the frames that are cuts."""
        is_above, was_quiet = difference >= CONTENT, number - self._last_above >= self._shortest
        self._last_above = number if is_above else self._last_above
        if self._crowd_since is not None:
            return self._end_crowd(self._crowd_since) if was_quiet and not is_above else []
        if not is_above:
            return []
        if was_quiet:
            self._has_found = True
            return [number]
        self._crowd_since = number if self._has_found else None
        return []

    def _end_crowd(self, since: int) -> list[int]:
        """A crowd shorter than the shortest shot goes on, however long it is quiet."""
        if self._last_above - since < self._shortest:
            return []
        self._crowd_since = None
        return [self._last_above]


class _Fades:
    """The threshold rule: black that is over."""

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._last_fade = 0
        self._is_black = False

    def see(self, number: int, brightness: float) -> list[int]:
        """Take the next brightness; the number of the frame with which the picture is back."""
        was_black, self._is_black = self._is_black, brightness < BLACK
        if not was_black or self._is_black or number - self._last_fade < self._shortest:
            return []
        self._last_fade = number
        return [number]


class _Adaptive:
    """The adaptive rule: a difference that stands out from those around it."""

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
