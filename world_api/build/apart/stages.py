"""What a build holds in place of a stage that works in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from world_api.build.apart.process import StageProcess
from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Records, Stage, StageSpec, Worker


class StageApart:
    """A stage by another process; ``stage`` is the same one here, which says what it is."""

    def __init__(self, stage: Stage, process: StageProcess) -> None:
        self._stage = stage
        self._process = process

    @property
    def spec(self) -> StageSpec:
        """What it is."""
        return self._stage.spec

    def open(self, clip: Clip) -> Worker:
        """A fresh worker for one clip."""
        self._process.open(clip)
        return WorkerApart(clip.number, self._process)

    def show(self, workers: Sequence[Worker], frame: Frame) -> None:
        """Give a frame to workers of this stage."""
        self._process.see([worker.number for worker in workers if isinstance(worker, WorkerApart)], frame)

    def settle(self) -> None:
        """Wait until no frame is looked at any more."""
        self._process.settle()


class Apart:
    """The processes of one build: ``makers`` are the functions (``module:function``) that make stages there, by name.

    Where there is one processor they would only wait for one another, and there are none.
    """

    def __init__(self, makers: Mapping[str, str]) -> None:
        self._makers = makers
        self._processes: dict[str, StageProcess] = {}

    def start(self) -> None:
        """Start the processes now, so that they get ready while this one does something else."""
        if _processors() > 1 and not self._processes:
            self._processes = {name: StageProcess(maker) for name, maker in self._makers.items()}

    def place(self, stages: Sequence[Stage]) -> list[Stage]:
        """The stages, those of the processes there."""
        return [
            StageApart(stage, self._processes[stage.spec.name]) if stage.spec.name in self._processes else stage
            for stage in stages
        ]

    def close(self) -> None:
        """End the processes."""
        while self._processes:
            self._processes.popitem()[1].close()


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerApart:
    """One clip of a stage in another process."""

    def __init__(self, number: int, process: StageProcess) -> None:
        self.number = number
        self._process = process

    def see(self, frame: Frame) -> None:
        """Take one sampled frame of the clip's window."""
        self._process.see([self.number], frame)
        self._process.settle()

    def finish(self) -> Records:
        """The rows of the clip's own span, by table."""
        return self._process.finish(self.number)
