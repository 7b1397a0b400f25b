"""Looking at a frame that was not sampled when the world was built, once; the answer is kept outside the world.

Kept under (world and source, detector, arguments): the world itself never changes by being looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from world_api.core.boxes import Box
from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.core.ports import DetectedObject, FrameSource, ObjectDetector
from world_api.core.spans import round_time
from world_api.world.disk.files import write_atomically
from world_api.world.disk.manifest import Manifest
from world_api.world.disk.tables import SESSION_TABLES

#: Where answers are kept, inside the store and outside every world.
FOLDER = ".on-demand"


def world_key(manifest: Manifest) -> str:
    """What is looked at: the rows that sessions do not write, and the very file they were made from.

    Without the file two films could not be told apart of which few stages ran. What a session commits changes no picture.
    """
    rows = sorted(f"{entry.table} {entry.sha256}" for entry in manifest.files if entry.table not in SESSION_TABLES)
    return content_hash([manifest.source.sha256, manifest.video.model_dump(mode="json"), rows])


class FrameLooker:
    """Detection on demand over one world's video. ``cache`` None keeps nothing; ``world_key`` says whose frames they are."""

    def __init__(self, *, frames: FrameSource, detector: ObjectDetector, world_key: str, cache: Path | None) -> None:
        self._frames = frames
        self._detector = detector
        self._world_key = world_key
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
        found = self._detector.detect(self._frames.frame_played_at(time), category)
        records = [_record(item) for item in found]
        if place is not None:
            _keep(place, records)
        return [_restored(record) for record in records]  # as whoever asks next will read it

    def _place(self, time: float, category: str) -> Path | None:
        if self._cache is None:
            return None
        key = content_hash([self._detector.producer, "detect", round_time(time), category])
        return self._cache / self._world_key[:16] / f"{key[:32]}.json"


def _record(found: DetectedObject) -> dict[str, Any]:
    return {"category": found.category, "box": found.box.rounded(), "confidence": round(found.confidence, 4)}


def _restored(record: dict[str, Any]) -> DetectedObject:
    x1, y1, x2, y2 = record["box"]
    box = Box(x1=x1, y1=y1, x2=x2, y2=y2)
    return DetectedObject(category=record["category"], box=box, confidence=record["confidence"])


def _keep(place: Path, records: list[dict[str, Any]]) -> None:
    try:
        write_atomically(place, json.dumps(records).encode())
    except StoreFault:
        return  # a store that cannot be written to can still be asked


def _load(place: Path) -> list[DetectedObject] | None:
    try:
        return [_restored(record) for record in json.loads(place.read_bytes())]
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
