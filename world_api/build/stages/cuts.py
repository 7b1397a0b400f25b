"""The stage that writes ``cuts``: boundaries between shots, by PySceneDetect's detectors fed from the decode pass."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
#: How many frames the detectors may lag behind.
_LAG = 8


@dataclass(frozen=True, kw_only=True)
class _Detector:
    kind: str
    engine: SceneDetector


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
        adaptive = AdaptiveDetector(_ADAPTIVE_RATIO, min_scene_len=shortest, min_content_val=_ADAPTIVE_CONTENT)
        self._detectors = (
            _Detector(kind="cut", engine=adaptive),
            _Detector(kind="cut", engine=ContentDetector(_CONTENT, min_scene_len=shortest)),
            _Detector(kind="fade", engine=ThresholdDetector(_BLACK, min_scene_len=shortest)),
        )
        self._times: list[float] = []
        self._pictures: deque[Image] = deque(maxlen=_LAG)
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Take one frame."""
        number = FrameTimecode(len(self._times), fps=self._rate)
        self._times.append(frame.time)
        picture = frame.picture(_MAX_SIDE)
        self._pictures.append(picture)
        for detector in self._detectors:
            for cut in detector.engine.process_frame(number, picture):
                self._note(cut, kind=detector.kind, now=frame.time)

    def finish(self) -> Records:
        """The cuts of the clip's span."""
        return {
            "cuts": [
                row for row in self._rows if self._clip.span.contains(row["time"]) and row["time"] >= _SHORTEST_SHOT
            ]
        }

    def _note(self, cut: FrameTimecode, *, kind: str, now: float) -> None:
        time = round_time(self._times[cut.frame_num])
        if any(abs(row["time"] - time) < _SAME for row in self._rows):
            return
        likeness = self._likeness(cut.frame_num) if kind == "cut" else 0.0
        if likeness >= _SAME_LOOK or (kind == "cut" and self._is_dark(cut.frame_num)):
            return
        self._rows.append(
            {
                "time": time,
                "score": round(1.0 - max(0.0, likeness), 3),
                "kind": kind,
                "known_at": known_time(now),
                "producer": self._producer,
            }
        )

    def _likeness(self, number: int) -> float:
        """How alike the frames before and after a cut look; 0 where they are no longer at hand."""
        sides = self._sides(number)
        return float(look_of(sides[0]) @ look_of(sides[1])) if len(sides) == 2 else 0.0

    def _is_dark(self, number: int) -> bool:
        return any(float(picture.mean()) < _DARK for picture in self._sides(number))

    def _sides(self, number: int) -> list[Image]:
        """The frames before and after a cut, where they are still at hand."""
        place = number - (len(self._times) - len(self._pictures))
        return [self._pictures[place - 1], self._pictures[place]] if place >= 1 else []
