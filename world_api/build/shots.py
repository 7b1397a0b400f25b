"""The stages ``cuts`` and ``scene_cuts``: shot boundaries by PySceneDetect's rules, and those at which a scene ends.

PySceneDetect's content, adaptive and threshold detectors each analyse every picture. Here the two numbers on which they
decide are computed once: the mean difference of hue, saturation and value from the picture before (0 to 255), and the
brightness. The rules are PySceneDetect's own ``FlashFilter`` and ``ThresholdDetector``, and its adaptive rule, written
again because it cannot be used without its scoring; a test compares all three with the detectors.
"""

from __future__ import annotations

import math
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.descriptors import Look, look_of
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec
from world_api.core import execution
from world_api.core.ports import Image, Vectors
from world_api.core.spans import TimeSpan, known_time, round_time
from world_api.media.frames import Frame

#: A difference that is certainly a cut; the ratio to its surroundings, and the least difference, of one by the adaptive rule.
CONTENT, ADAPTIVE_RATIO, ADAPTIVE_CONTENT = 30.0, 3.0, 15.0
#: The frames on each side that the adaptive rule compares with; its results come this many frames late.
ADAPTIVE_WINDOW = 2
#: The brightness of a picture that faded to black, and the position of the fade in the black interval (-1 begin, 1 end). It is at
#: its end, so that a clip need not contain the whole of it.
BLACK, FADE_BIAS = 6, 1.0
#: If the differences around have a smaller mean than the first, the ratio to them is the second.
_NO_DIFFERENCE, _MOST = 1e-5, 255.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """A shot boundary found by one of the rules; ``number`` is the index of the first frame of the new shot."""

    kind: Literal["cut", "fade"]
    number: int


class ShotChanges:
    """Finds cuts and fades in pictures given in order; ``rate``: frames a second; ``shortest``: frames of the shortest shot."""

    def __init__(self, *, rate: float, shortest: int) -> None:
        # Imports the whole package: done while the first frames are decoded. Half of that would be for tqdm's progress bars.
        with execution.hidden("tqdm") if execution.is_command else nullcontext():
            from scenedetect import FrameTimecode
            from scenedetect.detector import FlashFilter
            from scenedetect.detectors import ThresholdDetector

        self._count = 0
        self._last: NDArray[np.uint8] | None = None
        self._timecode = partial(FrameTimecode, fps=rate)
        self._adaptive = _Adaptive(shortest)
        self._flashes = FlashFilter(FlashFilter.Mode.MERGE, shortest)
        self._fades = ThresholdDetector(BLACK, min_scene_len=shortest, fade_bias=FADE_BIAS)
        self._shortest = shortest
        self._last_sharp = 0  #: number of the last picture whose difference is large
        self._is_black: bool | None = None

    def see(self, picture: Image, *, brightness: float) -> list[Change]:
        """Process the next BGR picture and its brightness (0 to 255); return changes at this frame or earlier ones."""
        parts: NDArray[np.uint8] = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV)
        difference = 0.0 if self._last is None else mean_of(parts, self._last)
        self._last, number = parts, self._count
        self._count += 1
        cuts = [*self._adaptive.see(number, difference), *self._sharp_cuts(number, difference >= CONTENT)]
        found = [Change(kind="cut", number=cut) for cut in cuts]
        return found + [Change(kind="fade", number=fade) for fade in self._fades_at(number, brightness)]

    def _sharp_cuts(self, number: int, is_large: bool) -> list[int]:
        """Return the frame numbers of cuts: of large differences close together the first, and after a long run the last, too.

        ``is_large``: frame ``number`` differs much from the one before. PySceneDetect's slow filter runs only where needed.
        """
        if not is_large and number not in (0, self._last_sharp + self._shortest):
            return []
        self._last_sharp = number if is_large else self._last_sharp
        return [at.frame_num for at in self._flashes.filter(self._timecode(number), is_large)]

    def _fades_at(self, number: int, brightness: float) -> list[int]:
        """Return the frame numbers at which black ends; PySceneDetect's detector runs only where black begins or ends."""
        was_black, self._is_black = self._is_black, brightness < BLACK
        if self._is_black == was_black:
            return []
        # The detector uses only the mean of a picture, so one pixel is enough.
        return [at.frame_num for at in self._fades.process_frame(self._timecode(number), np.array([brightness]))]


class _Adaptive:
    """PySceneDetect's adaptive rule: a difference that is large compared with those around it."""

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._window: deque[float] = deque(maxlen=2 * ADAPTIVE_WINDOW + 1)
        self._last_cut = 0

    def see(self, number: int, difference: float) -> list[int]:
        """Process the next difference; return the number of the frame two before in a list if it is a cut, else []."""
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
    """Return the mean of all values of a picture, or, with ``other``, of their absolute differences from its values."""
    total = cv2.norm(picture, cv2.NORM_L1) if other is None else cv2.norm(picture, other, cv2.NORM_L1)
    return float(total) / picture.size


_MAX_SIDE = 128
_MAX_FPS = 30.0
#: The shortest shot, and the distance of two changes that are the same cut (seconds).
_SHORTEST_SHOT, _SAME = 0.5, 0.4
#: Next to a picture darker (0 to 255) than this only fades count: the hue of near-black pixels is noise.
_DARK = 16
#: The pictures on both sides of a cut are less similar than this (cosine); a burned-in clock that jumps is no cut.
_SAME_LOOK = 0.95
#: If a picture comes back within this time (seconds), it was a flash or a flicker and no cut.
_COMES_BACK = 0.5


@dataclass(frozen=True, kw_only=True)
class _Finding:
    """A change that a rule found, the time of its frame, and the time at which it is to be judged (seconds)."""

    change: Change
    time: float
    judged_at: float


class _Seen:
    """A frame: its number, time and brightness, and its descriptor."""

    def __init__(self, number: int, time: float, picture: Image) -> None:
        self.number, self.time = number, time
        self._picture = picture
        self.brightness = mean_of(picture)

    @cached_property
    def look(self) -> Look:
        """The descriptor of the frame."""
        return look_of(self._picture)


class CutsWorker:
    """Detects cuts in the window of one clip."""

    def __init__(self, clip: Clip) -> None:
        self._clip = clip
        rate = min(clip.source.frame_rate or _MAX_FPS, _MAX_FPS)
        shortest = max(2, round(_SHORTEST_SHOT * rate))
        self._changes = ShotChanges(rate=rate, shortest=shortest)
        self._count = 0
        # A change may be reported as late as the shortest shot, waits as long, and is compared with as much before it.
        around = max(shortest, round(_COMES_BACK * rate))
        self._seen: deque[_Seen] = deque(maxlen=shortest + 2 * around + ADAPTIVE_WINDOW + 2)
        self._findings: deque[_Finding] = deque()
        self._first_light: float | None = None
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Process one frame."""
        self._judge(frame.time)
        picture = frame.picture(_MAX_SIDE)
        seen = _Seen(self._count, frame.time, picture)
        self._count += 1
        self._seen.append(seen)
        if self._first_light is None and seen.brightness >= BLACK:
            self._first_light = frame.time
        for change in self._changes.see(picture, brightness=seen.brightness):
            self._await(change, now=frame.time)

    def finish(self) -> Records:
        """Return the rows of ``cuts`` in the clip's span."""
        self._judge(math.inf)
        span = self._clip.span
        return {"cuts": [row for row in self._rows if span.contains(row["time"]) and row["time"] >= _SHORTEST_SHOT]}

    def _await(self, change: Change, *, now: float) -> None:
        """Hold a change back until half a second after its frame: if the earlier picture returns, it was a flash."""
        time = self._seen[change.number - self._count].time
        last = self._findings[-1].judged_at if self._findings else 0.0
        self._findings.append(_Finding(change=change, time=time, judged_at=max(now, time + _COMES_BACK, last)))

    def _judge(self, now: float) -> None:
        """Judge the waiting changes whose ``judged_at`` is before ``now``."""
        while self._findings and self._findings[0].judged_at < now:
            self._note(self._findings.popleft())

    def _note(self, finding: _Finding) -> None:
        time = round_time(finding.time)
        if any(abs(row["time"] - time) < _SAME for row in self._rows):
            return
        # After black alone, a fade is the beginning of the first shot.
        opens = self._clip.number == 0 and (self._first_light is None or finding.time <= self._first_light)
        likeness = self._likeness(finding) if finding.change.kind == "cut" else None if opens else 0.0
        if likeness is None:
            return
        score, known = round(1.0 - max(0.0, likeness), 3), known_time(finding.judged_at)
        self._rows.append({"time": time, "score": score, "kind": finding.change.kind, "known_at": known})

    def _likeness(self, finding: _Finding) -> float | None:
        """Return the cosine of the descriptors on both sides of a cut.

        None if it is no cut (the earlier picture returns, or one side is nearly black) or the pictures are no longer
        kept.
        """
        at, number = finding.time, finding.change.number
        earlier = [seen for seen in self._seen if seen.number < number]
        after = [seen for seen in self._seen if seen.number >= number and seen.time < at + _COMES_BACK]
        if not earlier or not after or min(earlier[-1].brightness, after[0].brightness) < _DARK:
            return None
        before = [seen for seen in earlier if seen.time >= at - _COMES_BACK] or earlier[-1:]
        alike = np.stack([seen.look for seen in before]) @ np.stack([seen.look for seen in after]).T
        return None if float(alike.max()) >= _SAME_LOOK else float(before[-1].look @ after[0].look)


class Cuts:
    """The stage ``cuts``: hard cuts and fades through black."""

    spec = StageSpec(
        name="cuts",
        version=3,
        tables=("cuts",),
        sampling=Sampling(fps=_MAX_FPS, max_side=_MAX_SIDE, warm_up=4.0, look_ahead=2.0, picture=(_MAX_SIDE, "bgr")),
        quick=True,
        libraries=("scenedetect-headless",),
    )
    open = CutsWorker


#: A scene continues if a picture of the last this many seconds comes back within the next this many: the shot between was a
#: cutaway or a reverse shot.
_HORIZON, _RETURN = 20.0, 6.0
#: Two descriptors with this cosine or more belong to one scene.
_ALIKE = 0.84
#: Scenes that follow one another faster than this (seconds) are one scene.
_SHORTEST = 3.0


class SceneCuts:
    """The stage ``scene_cuts``: the cuts at which a scene ends, by the similarity of descriptors on both sides."""

    spec = StageSpec(
        name="scene_cuts",
        version=2,
        tables=("scene_cuts",),
        needs=("cuts", "looks"),
        rows_ahead=_RETURN,
    )

    def make_rows(self, clip: Clip) -> Records:
        """Return the rows of ``scene_cuts`` in the clip's span."""
        span = clip.span
        looks = clip.rows("looks", TimeSpan(start=span.start - _SHORTEST - _HORIZON, end=span.end + _RETURN))
        cuts = clip.rows("cuts", TimeSpan(start=span.start - _SHORTEST, end=span.end)).to_pylist()
        times, size = looks.column("time").to_numpy(), looks.schema.field("vector").type.list_size
        vectors = looks.column("vector").combine_chunks().flatten().to_numpy().reshape(-1, size)
        starts = [start for cut in cuts if (start := _judge(cut, times, vectors)) is not None]
        kept = [start for start in starts if span.contains(start["time"]) and not _is_held(start, starts)]
        return {"scene_cuts": kept}


def _judge(cut: Record, times: NDArray[np.float64], vectors: Vectors) -> Record | None:
    """Return a row with a strength (0 to 1) if a scene ends at a cut; None if a picture from before it returns or none is known.

    ``vectors``: the descriptors of the pictures at ``times``. A cut is judged by what is known six seconds after it.
    """
    at = cut["time"]
    new, old = (times >= at) & (times < at + _RETURN), (times >= at - _HORIZON) & (times < at)
    likeness = float((vectors[new] @ vectors[old].T).max()) if new.any() and old.any() else 1.0
    if likeness >= _ALIKE:
        return None
    strength = round(min(1.0, max(0.0, 1.0 - likeness)), 3)
    return {"time": at, "strength": strength, "known_at": known_time(max(cut["known_at"], at + _RETURN))}


def _is_held(start: Record, others: list[Record]) -> bool:
    """Whether one of ``others`` (rows of ``scene_cuts``) is less than three seconds before ``start`` and was known no later."""
    time = start["time"]
    return any(time - _SHORTEST < one["time"] < time and one["known_at"] <= start["known_at"] for one in others)
