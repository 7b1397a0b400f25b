"""Where pictures come from: the shelf, else the world's video where this machine has it, else the world's key frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eval.report.frames.choosing import FrameKey
from eval.report.frames.shelf import Kept, Shelf
from world_api.core.faults import StoreFault, VideoWorldError

if TYPE_CHECKING:
    from world_api.core.ports import Image
    from world_api.world.disk.stored import World

SIDE = 320  #: pixels of the longer side
_QUALITY = 70
_AT_ONCE = 24  #: pictures that are held while a video is read

#: Finds the world of a video, if this machine has one.
Worlds = Callable[[str], "World | None"]


def no_worlds(_: str) -> World | None:
    """Where there are none."""
    return None


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """The pictures that could be had, and why others could not, by video."""

    pictures: Mapping[FrameKey, Kept]
    absent: Mapping[str, str] = field(default_factory=dict)


def pictures_of(frames: Sequence[FrameKey], shelf: Shelf, worlds: Worlds) -> Gallery:
    """The pictures of these frames; those that were not kept yet are put on the shelf, where that can be written."""
    found: dict[FrameKey, Kept] = {}
    absent: dict[str, str] = {}
    by_video: dict[str, list[FrameKey]] = defaultdict(list)
    for frame in frames:
        kept = shelf.take(frame)
        # A key frame gives way to the frame itself, once the video is there.
        if kept is not None:
            found[frame] = kept
        if kept is None or kept.is_key_frame:
            by_video[frame[0]].append(frame)
    for video in sorted(by_video):
        wanted = sorted(by_video[video], key=lambda frame: frame[1])
        made, why = _from_world(worlds(video), wanted, needed=[frame for frame in wanted if frame not in found])
        for frame, picture in made.items():
            with suppress(StoreFault):  # of a run that may only be read; the page has its pictures all the same
                shelf.put(frame, picture)
        found |= made
        if any(frame not in found for frame in wanted):
            absent[video] = why
    return Gallery(pictures=found, absent=absent)


def _from_world(
    world: World | None, wanted: Sequence[FrameKey], *, needed: Sequence[FrameKey]
) -> tuple[dict[FrameKey, Kept], str]:
    """Frames of the video, else key frames for those that have nothing; and why some are missing."""
    if world is None:
        return {}, "its world is not on this machine"
    from world_api.profiles import source_path

    source = source_path(world)
    why = "its video is not on this machine"
    if source is not None:
        try:
            return _from_video(source, world, wanted), ""
        except VideoWorldError as fault:
            why = f"its video cannot be read ({fault.code})"
    try:
        return _from_key_frames(world, needed), why
    except (VideoWorldError, OSError):
        return {}, why


def _from_video(source: Path, world: World, wanted: Sequence[FrameKey]) -> dict[FrameKey, Kept]:
    from world_api.media.decoder import VideoFrames

    video = world.manifest.video
    frames = VideoFrames(source)
    made: dict[FrameKey, Kept] = {}
    try:
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            for frame, image in zip(some, frames.pictures_played_at([time for _, time in some], SIDE), strict=True):
                made[frame] = Kept(jpeg=_jpeg(image), time=frame[1], width=video.width, height=video.height)
    finally:
        frames.close()
    return made


def _from_key_frames(world: World, needed: Sequence[FrameKey]) -> dict[FrameKey, Kept]:
    """The key frame that stands nearest, where the world has any."""
    from world_api.world.disk.storage import read_image

    rows = world.rows("key_frames")
    times, names = rows.column("time").to_pylist(), rows.column("image").to_pylist()
    video = world.manifest.video
    made: dict[FrameKey, Kept] = {}
    for frame in needed if times else ():
        nearest = min(range(len(times)), key=lambda place: abs(times[place] - frame[1]))
        jpeg = _shrunk(read_image(world.folder, names[nearest]))
        if jpeg is not None:
            made[frame] = Kept(
                jpeg=jpeg, time=times[nearest], width=video.width, height=video.height, is_key_frame=True
            )
    return made


def _shrunk(jpeg: bytes | None) -> bytes | None:
    import cv2
    import numpy as np

    image = None if jpeg is None else cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        return None
    scale = SIDE / max(image.shape[:2])
    if scale >= 1:
        return _jpeg(image)
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    return _jpeg(cv2.resize(image, size, interpolation=cv2.INTER_AREA))


def _jpeg(image: Image) -> bytes:
    import cv2

    _, encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return bytes(encoded.tobytes())
