"""Pictures of the moments that answers are based on: choosing them, reading them from videos, storing them.

Pictures are stored beside a report, so that a later report needs no video::

    FRAMES/VIDEO/12300-640x360-video.jpg     the frame on screen at 12.3 s of a video of 640 x 360 pixels
    FRAMES/VIDEO/12300-640x360-key_11800.jpg there was no video: the key frame at 11.8 s
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from controller.display import evidence_of, number_of
from controller.episode import Episode
from eval.datasets.items import Item
from eval.runs.records import configuration_of
from eval.runs.stored_run import Run
from world_api.core.canonical import canonical_json, json_object
from world_api.core.faults import StoreFault, VideoWorldError
from world_api.core.files import open_regular, write_atomically
from world_api.core.identifiers import is_name

if TYPE_CHECKING:
    from world_api.core.ports import Image
    from world_api.world.store import World

#: A frame: the video's id and the time in seconds.
FrameKey = tuple[str, float]
#: Finds the world of a video, if this machine has one.
Worlds = Callable[[str], "World | None"]

_CITED, _REFERENCE, _SEEN = 6, 3, 6  #: most moments of each kind
_SAME = 0.051  #: seconds; moments are rounded to a tenth
_DEEPEST = 12  #: levels of a result that are searched for boxes
_MAX_BOXES = 12
_SIDE = 320  #: pixels of the longer side of a picture
_QUALITY = 70
_AT_ONCE = 24  #: pictures in memory while a video is read
_MOST_BYTES = 2_000_000  #: of a stored picture; usual ones have about ten thousand
_DURATIONS = "durations.json"
_LONGEST = 1e7  #: seconds
_JPEG = b"\xff\xd8\xff"
_NAME = re.compile(r"(\d{1,12})-(\d{1,5})x(\d{1,5})-(?:video|key_(\d{1,12}))\.jpg", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class LabelledBox:
    """A box in pixels of the displayed frame, with the label that a tool gave it (may be empty)."""

    x1: float
    y1: float
    x2: float
    y2: float
    label: str


_Boxes = list[tuple[float, LabelledBox]]
Why = Literal["cited", "reference", "seen"]


@dataclass(frozen=True, kw_only=True)
class ShownMoment:
    """A moment of a video, to a tenth of a second. ``why`` is the reason for showing it.

    Any frame from ``start`` to ``end`` (seconds) shows it; if it has boxes, only the frame at ``time``.
    """

    video_id: str
    time: float
    why: Why
    start: float
    end: float
    boxes: tuple[LabelledBox, ...] = ()

    @classmethod
    def at(
        cls, video: str, time: float, why: Why, start: float, end: float, boxes: tuple[LabelledBox, ...] = ()
    ) -> Self:
        """Return a moment with its time rounded to a tenth of a second, at least 0."""
        return cls(video_id=video, time=round(max(0.0, time), 1), why=why, start=start, end=end, boxes=boxes)

    def is_shown_by(self, time: float) -> bool:
        """Whether a frame at this time shows the moment."""
        if self.boxes:
            return abs(time - self.time) < _SAME
        return self.start - _SAME < time < self.end + _SAME


def moments_of(episode: Episode, item: Item) -> list[ShownMoment]:
    """Return the moments to show: cited ones, those of the reference's evidence, those that tools saw; each once per reason."""
    boxes = {call.id: list(_boxes(call.result)) for call in episode.calls}
    kept: list[ShownMoment] = []
    reference = (
        ShownMoment.at(item.video_id, (span.start + span.end) / 2, "reference", span.start, span.end)
        for span in item.spans[:_REFERENCE]
    )
    for moment in (*_cited(episode, boxes), *reference, *islice(_seen(episode, boxes), _SEEN)):
        if not any(moment.is_shown_by(other.time) and other.why == moment.why for other in kept):
            kept.append(moment)
    return kept


def _cited(episode: Episode, boxes: Mapping[str, _Boxes]) -> Iterator[ShownMoment]:
    """Yield a moment for each cited interval: at a box or evidence of the calls that returned it, else at its middle."""
    for span in episode.spans[:_CITED]:
        calls = [call for call in episode.calls if call.id in span.returned_by]
        boxed = [time for call in calls for time, _ in boxes[call.id] if span.start_time <= time <= span.end_time]
        end = max(span.end_time, span.start_time + _SAME)
        times = [time for call in calls for time, _, _ in evidence_of(call) if span.start_time <= time < end]
        time = next(iter(boxed or times), (span.start_time + span.end_time) / 2)
        drawn = _boxes_at(time, (box for call in calls for box in boxes[call.id]))
        yield ShownMoment.at(episode.task.video_id, time, "cited", span.start_time, span.end_time, drawn)


def _seen(episode: Episode, boxes: Mapping[str, _Boxes]) -> Iterator[ShownMoment]:
    for call in episode.calls:
        boxed = dict.fromkeys(time for time, _ in boxes[call.id])
        for time, start, end in [*((time, time, time) for time in boxed), *evidence_of(call)][:2]:
            yield ShownMoment.at(episode.task.video_id, time, "seen", start, end, _boxes_at(time, boxes[call.id]))


def _boxes_at(time: float, boxes: Iterable[tuple[float, LabelledBox]]) -> tuple[LabelledBox, ...]:
    near = [box for at, box in boxes if abs(at - time) < _SAME]
    return tuple(dict.fromkeys(near))[:_MAX_BOXES]


def _boxes(value: Any, depth: int = 0) -> Iterator[tuple[float, LabelledBox]]:
    """Yield all boxes with their times, at any depth of a result."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        box, time = value.get("bbox"), number_of(value.get("timestamp"))
        sides = [number_of(side) for side in box] if isinstance(box, Sequence) else []
        if time is not None and len(sides) == 4 and None not in sides:
            x1, y1, x2, y2 = (float(side or 0.0) for side in sides)
            label = str(value.get("entity_hint") or value.get("category") or "")[:80]
            yield time, LabelledBox(x1=x1, y1=y1, x2=x2, y2=y2, label=label)
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _boxes(inner, depth + 1)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The frames to show, sorted by video and time, and the number of moments without a frame (``left_out``)."""

    frames: tuple[FrameKey, ...]
    left_out: int
    _by_video: Mapping[str, list[float]] = field(repr=False)

    def frame_of(self, moment: ShownMoment) -> FrameKey | None:
        """Return the nearest chosen frame (video's id, seconds) that shows a moment; None if there is none."""
        times = [time for time in self._by_video.get(moment.video_id, ()) if moment.is_shown_by(time)]
        return (moment.video_id, min(times, key=lambda time: (abs(time - moment.time), time))) if times else None


def choose(moments: Mapping[str, Sequence[ShownMoment]], *, most: int) -> Chosen:
    """Choose at most ``most`` frames for the moments of all samples.

    The first moments of all samples come first, then the second ones, and so on. A moment that a chosen frame already
    shows needs no other frame.
    """
    by_video: dict[str, list[float]] = {}
    count = left_out = 0
    for rank in range(max(map(len, moments.values()), default=0)):
        for moment in (held[rank] for held in moments.values() if rank < len(held)):
            times = by_video.setdefault(moment.video_id, [])
            if any(moment.is_shown_by(time) for time in times):
                continue
            if count < most:
                times.append(moment.time)
                count += 1
            else:
                left_out += 1
    frames = tuple((video, time) for video in sorted(by_video) for time in sorted(by_video[video]))
    return Chosen(frames=frames, left_out=left_out, _by_video=by_video)


@dataclass(frozen=True, kw_only=True)
class ReportPicture:
    """A JPEG, its time, the size of the displayed frame, and whether it is only a key frame near the moment."""

    jpeg: bytes
    time: float
    width: int
    height: int
    is_key_frame: bool = False


class PictureCache:
    """A folder of stored pictures."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, frame: FrameKey) -> ReportPicture | None:
        """Return a stored picture, preferably from the video, else a key frame; None if there is no valid one."""
        video, time = frame
        folder = self._folder / video
        if not is_name(video) or folder.is_symlink():
            return None
        names = sorted(path.name for path in folder.glob(f"{_milliseconds(time)}-*.jpg"))
        matched = [found for name in names if (found := _NAME.fullmatch(name))]
        if not matched:
            return None
        size_and_source = matched[-1]
        try:
            with open_regular(folder / size_and_source[0]) as file:
                jpeg = file.read(_MOST_BYTES + 1)
        except OSError:
            return None
        if not jpeg.startswith(_JPEG) or len(jpeg) > _MOST_BYTES:
            return None
        _, width, height, key_frame = size_and_source.groups()
        return ReportPicture(
            jpeg=jpeg,
            time=time if key_frame is None else int(key_frame) / 1000,
            width=max(1, int(width)),
            height=max(1, int(height)),
            is_key_frame=key_frame is not None,
        )

    def put(self, frame: FrameKey, picture: ReportPicture) -> None:
        """Store a picture, unless the video's id cannot name a folder. Raises StoreFault: ``store_not_writable``, ``disk_full``."""
        video, time = frame
        if not is_name(video):
            return
        source = f"key_{_milliseconds(picture.time)}" if picture.is_key_frame else "video"
        name = f"{_milliseconds(time)}-{picture.width}x{picture.height}-{source}.jpg"
        write_atomically(self._folder / video / name, picture.jpeg)

    def durations(self) -> dict[str, float]:
        """Return the lengths of videos in seconds, by video, that were stored; empty without valid ones."""
        try:
            with open_regular(self._folder / _DURATIONS) as file:
                kept = json_object(file.read(_MOST_BYTES)) or {}
        except OSError:
            return {}
        return {
            video: length for video, length in kept.items() if isinstance(length, int | float) and 0 < length < _LONGEST
        }

    def put_durations(self, durations: Mapping[str, float]) -> None:
        """Store the lengths of videos. Raises StoreFault: ``store_not_writable``, ``disk_full``."""
        write_atomically(self._folder / _DURATIONS, canonical_json(durations).encode())


def durations_of(videos: Iterable[str], cache: PictureCache, worlds: Worlds) -> dict[str, float]:
    """Return the lengths of videos in seconds: stored ones, else those of their worlds, which are then stored."""
    kept = cache.durations()
    made = dict(kept)
    for video in sorted(set(videos) - kept.keys()):
        world = worlds(video)
        if world is not None:
            made[video] = round(world.manifest.video.duration, 2)
    if made != kept:
        with suppress(StoreFault):  # the run is read-only
            cache.put_durations(made)
    return made


def _milliseconds(time: float) -> int:
    return round(time * 1000)


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """The pictures that were found, and by video the reason why others are missing."""

    pictures: Mapping[FrameKey, ReportPicture]
    absent: Mapping[str, str] = field(default_factory=dict)


def pictures_of(frames: Sequence[FrameKey], cache: PictureCache, worlds: Worlds) -> Gallery:
    """Return the pictures of frames: stored ones, else from the video, else key frames. New ones are stored."""
    found: dict[FrameKey, ReportPicture] = {}
    absent: dict[str, str] = {}
    by_video: dict[str, list[FrameKey]] = defaultdict(list)
    for frame in frames:
        kept = cache.get(frame)
        if kept is not None:
            found[frame] = kept
        # A stored key frame is replaced by the frame itself once the video is available.
        if kept is None or kept.is_key_frame:
            by_video[frame[0]].append(frame)
    for video in sorted(by_video):
        wanted = sorted(by_video[video], key=lambda frame: frame[1])
        made, why = _from_world(worlds(video), wanted, needed=[frame for frame in wanted if frame not in found])
        for frame, picture in made.items():
            with suppress(StoreFault):  # the run is read-only; the page has its pictures anyway
                cache.put(frame, picture)
        found |= made
        if any(frame not in found for frame in wanted):
            absent[video] = why
    return Gallery(pictures=found, absent=absent)


def _from_world(
    world: World | None, wanted: Sequence[FrameKey], *, needed: Sequence[FrameKey]
) -> tuple[dict[FrameKey, ReportPicture], str]:
    """Return the ``wanted`` frames of the video, else key frames for ``needed``; and why some are missing, or ""."""
    if world is None:
        return {}, "its world is not on this machine"
    from world_api.api import source_path

    source, why = source_path(world), "its video is not on this machine"
    if source is not None:
        try:
            return _from_video(source, world, wanted), ""
        except VideoWorldError as fault:
            why = f"its video cannot be read ({fault.code})"
    try:
        return _from_key_frames(world, needed), why
    except (VideoWorldError, OSError):
        return {}, why


def _from_video(source: Path, world: World, wanted: Sequence[FrameKey]) -> dict[FrameKey, ReportPicture]:
    from world_api.media.decoder import VideoFrames

    video = world.manifest.video
    frames = VideoFrames(source)
    made: dict[FrameKey, ReportPicture] = {}
    try:
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            for frame, image in zip(some, frames.pictures_played_at([time for _, time in some], _SIDE), strict=True):
                made[frame] = ReportPicture(jpeg=_jpeg(image), time=frame[1], width=video.width, height=video.height)
    finally:
        frames.close()
    return made


def _from_key_frames(world: World, needed: Sequence[FrameKey]) -> dict[FrameKey, ReportPicture]:
    """Return for each frame the nearest key frame, if the world has any."""
    from world_api.page.world_page import small_key_frame

    rows, video = world.rows("key_frames"), world.manifest.video
    stored = list(zip(rows.column("time").to_pylist(), rows.column("image").to_pylist(), strict=True))
    made: dict[FrameKey, ReportPicture] = {}
    for frame in needed if stored else ():
        time, name = min(stored, key=lambda one: abs(one[0] - frame[1]))
        jpeg = small_key_frame(world, name, side=_SIDE, quality=_QUALITY)
        if jpeg is not None:
            made[frame] = ReportPicture(jpeg=jpeg, time=time, width=video.width, height=video.height, is_key_frame=True)
    return made


def _jpeg(image: Image) -> bytes:
    import cv2

    _, encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return bytes(encoded.tobytes())


def worlds_of(run: Run, store: Path | None) -> Worlds:
    """Return a function that finds the world of a video in a store; by default the store of the run's configuration.

    Of several worlds one whose video is available is preferred. Only worlds with the hashes of the run are used.
    """
    place = store
    if store is None:
        with suppress(VideoWorldError):  # the configuration is gone, as in a bundle from another machine
            place = configuration_of(run.folder).store

    def find(video_id: str) -> World | None:
        from world_api.api import source_path

        known = run.manifest.worlds.get(video_id, {})
        found = [_world(place, profile, video_id, known[profile]) for profile in sorted(known) if place is not None]
        return min(filter(None, found), key=lambda world: source_path(world) is None, default=None)

    return find


def _world(store: Path, profile: str, video_id: str, known: str) -> World | None:
    from world_api.world.store import open_world

    for place in (store / profile, store):
        with suppress(VideoWorldError):
            world = open_world(place, video_id)
            if world.manifest.world_hash == known:
                return world
    return None
