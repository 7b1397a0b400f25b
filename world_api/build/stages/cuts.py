"""The stage that writes ``cuts``: boundaries between shots, by PySceneDetect's detectors fed from the decode pass."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scenedetect import FrameTimecode
from scenedetect.detectors import AdaptiveDetector, ContentDetector, ThresholdDetector

from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec
from world_api.build.stages.looks import look_of
from world_api.core.spans import known_time, round_time

if TYPE_CHECKING:
    from scenedetect.detector import SceneDetector

    from world_api.core.ports import Image

_MAX_SIDE = 192
_MAX_FPS = 30.0
#: The shortest shot, and how near two detectors' findings are the same cut (seconds).
_SHORTEST_SHOT, _SAME = 0.5, 0.4
#: PySceneDetect's own scale (0 to 255): change for certain, and change that stands out from its surroundings.
_CONTENT, _ADAPTIVE_RATIO, _ADAPTIVE_CONTENT = 30.0, 3.0, 15.0
#: The mean brightness (0 to 255) of a picture that faded to black.
_BLACK = 6
#: Beside a picture darker than this only fades count: the colours of near-black pixels jump about.
_DARK = 16
#: The pictures on both sides of a cut look less alike than this (cosine); a burned-in clock that jumps is no cut.
_SAME_LOOK = 0.95
#: A picture that comes back within this time (seconds) had only flashed or flickered: there is no cut.
_COMES_BACK = 0.5
#: AdaptiveDetector's frames on each side, by which it lags behind; fades are dated to their end.
_ADAPTIVE_WINDOW, _FADE_END = 2, 1.0


@dataclass(frozen=True, kw_only=True)
class _Detector:
    kind: str
    engine: SceneDetector


@dataclass(frozen=True, kw_only=True)
class _Finding:
    """A frame (by number) that a detector takes for the first of a shot, and when (seconds) that is judged."""

    kind: str
    number: int
    judged_at: float


class Cuts:
    """Hard cuts and fades through black."""

    spec = StageSpec(
        name="cuts",
        version=1,
        tables=("cuts",),
        sampling=Sampling(fps=_MAX_FPS, max_side=_MAX_SIDE, warm_up=4.0, look_ahead=2.0),
        parameters={
            "max_side": _MAX_SIDE,
            "content": _CONTENT,
            "adaptive": [_ADAPTIVE_RATIO, _ADAPTIVE_CONTENT],
            "black": _BLACK,
            "same_look": _SAME_LOOK,
            "dark": _DARK,
            "comes_back": _COMES_BACK,
            "fade_bias": _FADE_END,
        },
        libraries=("scenedetect-headless", "opencv-python-headless", "av", "numpy"),
    )

    def open(self, clip: Clip) -> CutsWorker:
        """A fresh worker."""
        return CutsWorker(clip, self.spec.producer)


class CutsWorker:
    """Runs the detectors over the window of one clip."""

    def __init__(self, clip: Clip, producer: str) -> None:
        self._clip = clip
        self._producer = producer
        self._rate = min(clip.source.frame_rate or _MAX_FPS, _MAX_FPS)
        shortest = max(2, round(_SHORTEST_SHOT * self._rate))
        adaptive = AdaptiveDetector(
            _ADAPTIVE_RATIO, min_scene_len=shortest, window_width=_ADAPTIVE_WINDOW, min_content_val=_ADAPTIVE_CONTENT
        )
        # A fade is over where the picture is back, whatever came before: so a clip need not hold the whole of it.
        fades = ThresholdDetector(_BLACK, min_scene_len=shortest, fade_bias=_FADE_END)
        self._detectors = (
            _Detector(kind="cut", engine=adaptive),
            _Detector(kind="cut", engine=ContentDetector(_CONTENT, min_scene_len=shortest)),
            _Detector(kind="fade", engine=fades),
        )
        self._times: list[float] = []
        # A finding may be as old as the shortest shot when it comes, waits as long, and is compared with as much before.
        around = max(shortest, round(_COMES_BACK * self._rate))
        self._pictures: deque[Image] = deque(maxlen=shortest + 2 * around + _ADAPTIVE_WINDOW + 2)
        self._findings: deque[_Finding] = deque()
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Take one frame."""
        self._judge(frame.time)
        number = FrameTimecode(len(self._times), fps=self._rate)
        self._times.append(frame.time)
        picture = frame.picture(_MAX_SIDE)
        self._pictures.append(picture)
        for detector in self._detectors:
            for cut in detector.engine.process_frame(number, picture):
                self._await(cut.frame_num, kind=detector.kind, now=frame.time)

    def finish(self) -> Records:
        """The cuts of the clip's span."""
        self._judge(math.inf)
        return {
            "cuts": [
                row for row in self._rows if self._clip.span.contains(row["time"]) and row["time"] >= _SHORTEST_SHOT
            ]
        }

    def _await(self, number: int, *, kind: str, now: float) -> None:
        """Hold a finding back until it can be seen whether the picture comes back; in the order of finding."""
        judged_at = max(now, self._times[number] + _COMES_BACK)
        if self._findings:
            judged_at = max(judged_at, self._findings[-1].judged_at)
        self._findings.append(_Finding(kind=kind, number=number, judged_at=judged_at))

    def _judge(self, now: float) -> None:
        """Judge the findings whose moment is over, by the frames before it."""
        while self._findings and self._findings[0].judged_at < now:
            self._note(self._findings.popleft())

    def _note(self, finding: _Finding) -> None:
        time = round_time(self._times[finding.number])
        if any(abs(row["time"] - time) < _SAME for row in self._rows):
            return
        likeness = 0.0
        if finding.kind == "cut":
            sides = self._sides(finding.number)
            if sides is None or sides.has_dark or sides.likeness >= _SAME_LOOK or sides.comes_back:
                return
            likeness = sides.likeness
        self._rows.append(
            {
                "time": time,
                "score": round(1.0 - max(0.0, likeness), 3),
                "kind": finding.kind,
                "known_at": known_time(finding.judged_at),
                "producer": self._producer,
            }
        )

    def _sides(self, number: int) -> _Sides | None:
        """The frames around a cut; None where they are no longer at hand."""
        first = len(self._times) - len(self._pictures)
        if number <= first:
            return None
        at, pictures = self._times[number], list(self._pictures)
        before = [n for n in range(first, number) if self._times[n] >= at - _COMES_BACK] or [number - 1]
        after = [n for n in range(number, len(self._times)) if self._times[n] < at + _COMES_BACK]
        return _Sides(before=[pictures[n - first] for n in before], after=[pictures[n - first] for n in after])


class _Sides:
    """The pictures on both sides of what may be a cut, each in order and at least one."""

    def __init__(self, *, before: list[Image], after: list[Image]) -> None:
        self._before, self._after = before, after

    @property
    def has_dark(self) -> bool:
        """Whether one of the two pictures at the cut is nearly black."""
        return any(float(picture.mean()) < _DARK for picture in (self._before[-1], self._after[0]))

    @property
    def likeness(self) -> float:
        """The cosine of the looks of the two pictures at the cut."""
        return float(look_of(self._before[-1]) @ look_of(self._after[0]))

    @property
    def comes_back(self) -> bool:
        """Whether any picture after it looks like one before it."""
        before = np.stack([look_of(picture) for picture in self._before])
        after = np.stack([look_of(picture) for picture in self._after])
        return bool((before @ after.T).max() >= _SAME_LOOK)
