"""The child processes of a build. They start before this process imports NumPy and what else takes long."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from world_api.media.process import ChildProcess, DecoderProcess

if TYPE_CHECKING:
    from world_api.build.stage import Stage
    from world_api.build.stage_process import RemoteStage
    from world_api.media.container import Limits
    from world_api.media.decoder import MediaWorker


class BuildProcesses:
    """The child processes of a build: one reads the video, and one runs each stage of ``makers``.

    ``makers`` maps the names of stages to functions (``module:function``) that create them. On a machine with one
    processor no stage gets a process, since stages would only wait for one another.
    """

    def __init__(self, limits: Limits, makers: Mapping[str, str]) -> None:
        self._limits = limits
        self._makers = makers
        self._decoder: DecoderProcess | None = None  #: until ``media`` takes it over
        self._stages: dict[str, ChildProcess] = {}
        self._placed: list[RemoteStage] = []

    def start(self) -> None:
        """Start all processes now, so that they are ready when they are needed."""
        if self._decoder is None:
            self._decoder = DecoderProcess(self._limits)
        if _processors() > 1 and not self._stages:
            self._stages = {name: start_stage(maker) for name, maker in self._makers.items()}

    @cached_property
    def media(self) -> MediaWorker:
        """Requests to the process that reads the video."""
        from world_api.media.decoder import MediaWorker

        return MediaWorker(self._limits, self._decoder)

    def place(self, stages: Sequence[Stage]) -> list[Stage]:
        """Return the stages in the same order, each that runs in a child process replaced by a ``RemoteStage``."""
        from world_api.build.stage_process import RemoteStage

        self._placed = [
            RemoteStage(stage.spec, self._makers[stage.spec.name], self._stages[stage.spec.name])
            for stage in stages
            if stage.spec.name in self._stages
        ]
        placed: dict[str, Stage] = {stage.spec.name: stage for stage in self._placed}
        return [placed.get(stage.spec.name, stage) for stage in stages]

    def close(self) -> None:
        """End the processes."""
        for stage in self._placed:
            stage.close()
        for process in self._stages.values():
            process.end()
        self.media.close()


def start_stage(maker: str) -> ChildProcess:
    """Return a new child process that runs the stage which ``maker`` (``module:function``) creates."""
    return ChildProcess("world_api.build.stage_process:serve", maker)


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
