"""Looking at a frame that was not sampled when the world was built, once; the answer is kept outside the world.

Kept under (world hash, detector, arguments): the world itself never changes by being looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from world_api.core.boxes import Box
from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.core.ports import DetectedObject, FrameSource, ObjectDetector
from world_api.core.spans import round_time
from world_api.world.disk.files import write_atomically

#: Where answers are kept, inside the store and outside every world.
FOLDER = ".on-demand"


class FrameLooker:
    """Detection on demand over one world's video. ``cache`` None keeps nothing."""

    def __init__(self, *, frames: FrameSource, detector: ObjectDetector, world_hash: str, cache: Path | None) -> None:
        self._frames = frames
        self._detector = detector
        self._world_hash = world_hash
        self._cache = cache

    @property
    def producer(self) -> str:
        """What detects, and its version."""
        return self._detector.producer

    def categories(self) -> frozenset[str]:
        """The category words it knows."""
        return self._detector.categories()

    def detect(self, time: float, category: str) -> Sequence[DetectedObject]:
        """Objects of a category in the frame played at a time (seconds), the surest first.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        place = self._place(time, category)
        if place is not None and place.is_file() and (kept := _load(place)) is not None:
            return kept
        found = list(self._detector.detect(self._frames.frame_played_at(time), category))
        if place is not None:
            _keep(place, found)
        return found

    def _place(self, time: float, category: str) -> Path | None:
        if self._cache is None:
            return None
        key = content_hash([self._detector.producer, "detect", round_time(time), category])
        return self._cache / self._world_hash[:16] / f"{key[:32]}.json"


def _keep(place: Path, found: Sequence[DetectedObject]) -> None:
    records = [
        {"category": item.category, "box": item.box.rounded(), "confidence": round(item.confidence, 4)}
        for item in found
    ]
    try:
        write_atomically(place, json.dumps(records).encode())
    except StoreFault:
        return  # a store that cannot be written to can still be asked


def _load(place: Path) -> list[DetectedObject] | None:
    try:
        records = json.loads(place.read_bytes())
        return [
            DetectedObject(
                category=record["category"],
                box=Box(x1=record["box"][0], y1=record["box"][1], x2=record["box"][2], y2=record["box"][3]),
                confidence=record["confidence"],
            )
            for record in records
        ]
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None
