"""Writing a made world: hour by hour, so that memory does not grow with the film; the manifest last."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from eval.sandbox.worlds import language
from eval.sandbox.worlds.pace import HOUR, hour
from eval.sandbox.worlds.rows import HEIGHT, WIDTH, rows_of_hour
from world_api.core.spans import round_time
from world_api.world.files import hash_bytes, hash_file
from world_api.world.manifest import FileEntry, ImageEntry, Manifest, SourceFacts, VideoFacts, write_manifest
from world_api.world.storage import write_image, write_rows
from world_api.world.store import World, open_world, world_folder, world_hash
from world_api.world.tables import SCHEMA_VERSION, TABLES

#: Seconds of a made film that make one segment, measured over ten hours.
SECONDS_A_SEGMENT = 6.3
_IMAGES, _FRAME_RATE = 6, 25.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to make. ``file_seconds`` divides an hour: 30 is the builder's clip, 3600 keeps files few in a world of days."""

    seed: int
    duration: float
    file_seconds: float = 30.0
    tracks_a_second: float = 0.085

    @classmethod
    def of_segments(cls, segments: int, *, seed: int, file_seconds: float = 30.0) -> Plan:
        """A world of about so many segments, at most ten sightings each."""
        return cls(seed=seed, duration=round(segments * SECONDS_A_SEGMENT, 1), file_seconds=file_seconds)


def write_world(store: Path | str, video_id: str, plan: Plan) -> World:
    """Write the world of a film that never was; the same plan, the same rows.

    Raises:
        ValueError: ``file_seconds`` does not divide an hour, or the film is too short for a scene.
        StoreFault: ``bad_video_id``, ``store_not_writable``, ``disk_full``.
    """
    if HOUR % plan.file_seconds or plan.duration < 10.0:
        raise ValueError("file_seconds divides 3600, and a film lasts ten seconds or more")
    folder = world_folder(store, video_id)
    images = _write_images(folder, plan.seed)
    files = list(_write_hours(folder, plan, [image.path for image in images]))
    video = VideoFacts(
        duration=plan.duration, frame_rate=_FRAME_RATE, width=WIDTH, height=HEIGHT, rotation=0,
        frames=int(plan.duration * _FRAME_RATE), codec="none", has_audio=True,
    )  # fmt: skip
    manifest = Manifest(
        schema_version=SCHEMA_VERSION, video_id=video_id, profile="made", title=video_id,
        built_at="2026-01-01T00:00:00+00:00", project_version="0", clip_seconds=plan.file_seconds, stages=[], losses=[],
        source=SourceFacts(file_name=video_id, sha256=hash_bytes(repr(plan).encode()), bytes=0, container="none"),
        video=video, files=files, images=images, world_hash=world_hash(folder, video, files),
    )  # fmt: skip
    write_manifest(folder, manifest)
    return open_world(store, video_id)


def _write_hours(folder: Path, plan: Plan, images: list[str]) -> Iterator[FileEntry]:
    for number in range(math.ceil(plan.duration / HOUR)):
        rng = np.random.default_rng([plan.seed, number])
        pace = hour(rng, number, plan.duration, language.SHARES)
        tables = rows_of_hour(pace, rng, seed=plan.seed, images=images, tracks_a_second=plan.tracks_a_second)
        for name, rows in tables.items():
            yield from _write_table(folder, plan, number, name, rows)


def _write_table(folder: Path, plan: Plan, number: int, name: str, rows: pa.Table) -> Iterator[FileEntry]:
    """The rows of one hour, parted into files; links and the like, which have no time, by when they are known."""
    names = TABLES[name].schema.names
    by = "time" if "time" in names else "start" if "start" in names else "known_at"
    files = (rows.column(by).to_numpy() // plan.file_seconds).astype(np.int64)
    last = max(0, math.ceil(round_time(plan.duration) / plan.file_seconds) - 1)
    each_hour = int(HOUR // plan.file_seconds)
    for clip in range(number * each_hour, min(last, (number + 1) * each_hour - 1) + 1):
        # What is known only in the next hour stays with the last file of this one.
        there = files == clip if clip < (number + 1) * each_hour - 1 else files >= clip
        yield write_rows(folder, table=name, clip=clip, key="made", rows=rows.filter(pa.array(there)))


def _write_images(folder: Path, seed: int) -> list[ImageEntry]:
    """A handful of tiny pictures that all key frames share."""
    import cv2

    rng = np.random.default_rng([seed, _IMAGES])
    found = []
    for _ in range(_IMAGES):
        pixels = np.broadcast_to(rng.integers(0, 256, 3, dtype=np.uint8), (18, 32, 3))
        jpeg = cv2.imencode(".jpg", np.ascontiguousarray(pixels))[1].tobytes()
        path = write_image(folder, jpeg)
        found.append(ImageEntry(path=path, sha256=hash_file(folder / path), bytes=len(jpeg)))
    return found
