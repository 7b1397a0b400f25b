"""Evidence: where a claim can be looked at again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from world_api.core.spans import TimeSpan

Source = Literal["speech", "screen_text", "detector", "tracker", "caption", "memory", "scene_graph", "look", "metadata"]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One reason to believe a result.

    ``confidence`` lies in ``[0, 1]`` or is None where nobody calibrated the source. ``frame_time`` is a
    time in seconds whose frame shows the evidence.
    """

    video_id: str
    span: TimeSpan
    source: Source
    confidence: float | None
    frame_time: float
