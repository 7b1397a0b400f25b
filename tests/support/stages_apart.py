"""Stages that tests have made in another process."""

from __future__ import annotations

import os
import signal

from world_api.build import Clip, Records, Sampling, StageSpec
from world_api.core import BackendFault
from world_api.media import Frame


class Brightness:
    """Tells how bright each frame is, as a score of a cut, in three sizes, one of which is another from frame to frame."""

    spec = StageSpec(
        name="brightness", version=1, tables=("cuts",), sampling=Sampling(fps=2.0, max_side=64, warm_up=5.0)
    )

    def open(self, clip: Clip) -> BrightnessWorker:
        return BrightnessWorker(clip)


class BrightnessWorker:
    def __init__(self, clip: Clip) -> None:
        self._clip = clip
        self._rows: list[dict[str, object]] = []

    def see(self, frame: Frame) -> None:
        if not self._clip.span.contains(frame.time):
            return
        sizes = [frame.picture(64), frame.picture(), frame.picture(24 + 8 * (len(self._rows) % 3), "gray")]
        assert sizes[1].shape[:2] == frame.shape
        told = sum(float(picture.mean()) for picture in sizes)
        self._rows.append(
            {"time": frame.time, "score": told, "kind": "cut", "known_at": frame.time, "producer": "brightness/1"}
        )

    def finish(self) -> Records:
        return {"cuts": self._rows}


class Failing(Brightness):
    """Fails at its first frame, by name or not, or takes its process along."""

    def __init__(self, how: str) -> None:
        self._how = how

    def open(self, clip: Clip) -> FailingWorker:
        return FailingWorker(clip, self._how)


class FailingWorker(BrightnessWorker):
    def __init__(self, clip: Clip, how: str) -> None:
        super().__init__(clip)
        self._how = how

    def see(self, frame: Frame) -> None:
        if self._how == "named":
            raise BackendFault("out_of_order", "the detector is out of order", hint="mend it")
        if self._how == "unnamed":
            raise ZeroDivisionError
        os.kill(os.getpid(), signal.SIGKILL)


def named() -> Failing:
    return Failing("named")


def unnamed() -> Failing:
    return Failing("unnamed")


def dying() -> Failing:
    return Failing("dying")
