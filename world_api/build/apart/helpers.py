"""The processes beside a build: one that reads the video, and one for each stage that works apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from world_api.build.apart.stages import Apart
from world_api.build.media.apart.worker import MediaWorker
from world_api.build.media.limits import Limits


class Helpers:
    """The processes of one build. Those that are not started are started when they are needed, or not at all."""

    def __init__(self, limits: Limits, apart: Mapping[str, str]) -> None:
        self.media = MediaWorker(limits)
        self.apart = Apart(apart)

    def start(self, video: Path | None = None) -> None:
        """Start all now, so that they get ready, and probe the video, while this process does something else."""
        self.media.start(video)
        self.apart.start()

    def close(self) -> None:
        """End them."""
        self.apart.close()
        self.media.close()
