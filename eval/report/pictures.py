"""The moments of an episode that a reader wants to see: what was cited, what the reference says, what tools saw.

Choosing the pictures of a page: few enough for the file, so that as many episodes as possible have theirs.

Pictures that are kept beside a report, so that a later one needs no video.

::

    FRAMES/VIDEO/12300-640x360-video.jpg     the frame on screen at 12.3 s of a video of 640 x 360 pixels
    FRAMES/VIDEO/12300-640x360-key_11800.jpg no video was there: the key frame at 11.8 s


Where pictures come from: the shelf, else the world's video where this machine has it, else the world's key frames.

The worlds of a run, where this machine has them: for the pictures of a report.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from controller.episode import CallRecord, Episode
from eval.datasets.items import Item
from eval.runs.reading import Run
from eval.runs.running.opened import configuration_of
from eval.runs.running.workshop import store_of
from eval.runs.running.worlds import store_for
from world_api.core.faults import StoreFault, VideoWorldError
from world_api.core.identifiers import is_name
from world_api.world.disk.files import open_regular, write_atomically

if TYPE_CHECKING:
    from world_api.core.ports import Image
    from world_api.world.disk.stored import World

Why = Literal["cited", "reference", "seen"]

_CITED, _REFERENCE, _SEEN = 6, 3, 6  #: most moments of each kind
_SAME = 0.051  #: seconds; moments are told to a tenth
_DEEPEST = 12  #: of a result that is searched
_MAX_BOXES = 12


@dataclass(frozen=True, kw_only=True)
class LabelledBox:
    """A box in pixels of the displayed frame, with what a tool took it for."""

    x1: float
    y1: float
    x2: float
    y2: float
    label: str

    def record(self) -> list[Any]:
        """The wire form."""
        return [self.x1, self.y1, self.x2, self.y2, self.label]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A moment of a video, to a tenth of a second. Any frame from ``start`` to ``end`` shows it; with boxes, only its own does."""

    video_id: str
    time: float
    why: Why
    start: float
    end: float
    boxes: tuple[LabelledBox, ...] = ()

    def is_shown_by(self, time: float) -> bool:
        """Whether a frame of that time shows it."""
        if self.boxes:
            return abs(time - self.time) < _SAME
        return self.start - _SAME < time < self.end + _SAME


@dataclass(frozen=True, kw_only=True)
class _Piece:
    """Evidence in a result: where a tool says that something can be seen."""

    time: float
    start: float
    end: float


def moments_of(episode: Episode, item: Item) -> list[Moment]:
    """The moments of an episode, those that matter most first, each time once."""
    boxes = {call.id: list(_boxes(call.result)) for call in episode.calls}
    found = [*_cited(episode, boxes), *_reference(item), *_seen(episode, boxes)]
    kept: list[Moment] = []
    for moment in found:
        if not any(moment.is_shown_by(other.time) and other.why == moment.why for other in kept):
            kept.append(moment)
    return kept


def _cited(episode: Episode, boxes: Mapping[str, list[tuple[float, LabelledBox]]]) -> Iterator[Moment]:
    """The frame in which a tool saw it, where one says; else the middle."""
    for span in episode.spans[:_CITED]:
        calls = [call for call in episode.calls if call.id in span.returned_by]
        boxed = [time for call in calls for time, _ in boxes[call.id] if span.start_time <= time <= span.end_time]
        told = [
            piece.time
            for call in calls
            for piece in _pieces(call)
            if span.start_time <= piece.time < max(span.end_time, span.start_time + _SAME)
        ]
        time = next(iter(boxed or told), (span.start_time + span.end_time) / 2)
        drawn = _at(time, (box for call in calls for box in boxes[call.id]))
        yield _moment(episode.task.video_id, time, "cited", span.start_time, span.end_time, drawn)


def _reference(item: Item) -> Iterator[Moment]:
    for span in item.spans[:_REFERENCE]:
        yield _moment(item.video_id, (span.start + span.end) / 2, "reference", span.start, span.end)


def _seen(episode: Episode, boxes: Mapping[str, list[tuple[float, LabelledBox]]]) -> Iterator[Moment]:
    number = 0
    video = episode.task.video_id
    for call in episode.calls:
        boxed = dict.fromkeys(time for time, _ in boxes[call.id])
        told = [(time, time, time) for time in boxed] + [(one.time, one.start, one.end) for one in _pieces(call)]
        for time, start, end in told[:2]:
            if number == _SEEN:
                return
            number += 1
            yield _moment(video, time, "seen", start, end, _at(time, boxes[call.id]))


def _moment(video: str, time: float, why: Why, start: float, end: float, boxes: tuple[LabelledBox, ...] = ()) -> Moment:
    return Moment(video_id=video, time=round(max(0.0, time), 1), why=why, start=start, end=end, boxes=boxes)


def _at(
    time: float, boxes: Iterator[tuple[float, LabelledBox]] | list[tuple[float, LabelledBox]]
) -> tuple[LabelledBox, ...]:
    near = [box for at, box in boxes if abs(at - time) < _SAME]
    return tuple(dict.fromkeys(near))[:_MAX_BOXES]


def _pieces(call: CallRecord) -> Iterator[_Piece]:
    evidence = call.result.get("evidence")
    for piece in evidence if isinstance(evidence, list) else ():
        if isinstance(piece, Mapping):
            times = [_number(piece.get(key)) for key in ("frame_time", "start_time", "end_time")]
            if times[0] is not None and times[1] is not None and times[2] is not None:
                yield _Piece(time=times[0], start=times[1], end=times[2])


def _boxes(value: Any, depth: int = 0) -> Iterator[tuple[float, LabelledBox]]:
    """Boxes with their times, wherever in a result they stand."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        box, time = value.get("bbox"), _number(value.get("timestamp"))
        if time is not None and isinstance(box, Sequence) and len(box) == 4:
            sides = [_number(side) for side in box]
            if all(side is not None for side in sides):
                x1, y1, x2, y2 = (side for side in sides if side is not None)
                label = str(value.get("entity_hint") or value.get("category") or "")[:80]
                yield time, LabelledBox(x1=x1, y1=y1, x2=x2, y2=y2, label=label)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _boxes(one, depth + 1)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


#: A frame of a video, by the moment at which it plays.
FrameKey = tuple[str, float]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The frames to show, in the order of videos and times, and how many moments go without."""

    frames: tuple[FrameKey, ...]
    left_out: int
    _by_video: Mapping[str, list[float]] = field(repr=False)

    def frame_of(self, moment: Moment) -> FrameKey | None:
        """The frame that shows a moment; the nearest of several."""
        times = [time for time in self._by_video.get(moment.video_id, ()) if moment.is_shown_by(time)]
        return (moment.video_id, min(times, key=lambda time: (abs(time - moment.time), time))) if times else None


def choose(moments: Mapping[str, Sequence[Moment]], *, most: int) -> Chosen:
    """Frames for the moments of all samples, at most so many.

    First the first moment of every sample is served, then the second, and so on; a moment that a chosen frame shows already
    costs nothing.
    """
    by_video: dict[str, list[float]] = {}
    count = left_out = 0
    deepest = max(map(len, moments.values()), default=0)
    for rank in range(deepest):
        for sample in moments:
            wanted = moments[sample][rank : rank + 1]
            for moment in wanted:
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


_NAME = re.compile(r"(\d{1,12})-(\d{1,5})x(\d{1,5})-(?:video|key_(\d{1,12}))\.jpg", re.ASCII)
_MOST_BYTES = 2_000_000  #: of a picture; ours have about ten thousand
_JPEG = b"\xff\xd8\xff"


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A picture: its JPEG, when it plays, how large the displayed frame is, and whether it is a key frame that stands near."""

    jpeg: bytes
    time: float
    width: int
    height: int
    is_key_frame: bool = False


class Shelf:
    """A folder of kept pictures."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, dict[int, str]] = {}

    def take(self, frame: FrameKey) -> Kept | None:
        """A kept picture; None where there is none, or it is no picture."""
        video, time = frame
        name = self._of(video).get(_milliseconds(time))
        matched = _NAME.fullmatch(name) if name is not None else None
        if name is None or matched is None:
            return None
        try:
            with open_regular(self._folder / video / name) as file:
                jpeg = file.read(_MOST_BYTES + 1)
        except OSError:
            return None
        if not jpeg.startswith(_JPEG) or len(jpeg) > _MOST_BYTES:
            return None
        near = matched[4]
        return Kept(
            jpeg=jpeg,
            time=time if near is None else int(near) / 1000,
            width=max(1, int(matched[2])),
            height=max(1, int(matched[3])),
            is_key_frame=near is not None,
        )

    def put(self, frame: FrameKey, kept: Kept) -> None:
        """Keep a picture.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        video, time = frame
        if not is_name(video):
            return
        source = f"key_{_milliseconds(kept.time)}" if kept.is_key_frame else "video"
        name = f"{_milliseconds(time)}-{kept.width}x{kept.height}-{source}.jpg"
        write_atomically(self._folder / video / name, kept.jpeg)
        self._of(video)[_milliseconds(time)] = name

    def _of(self, video: str) -> dict[int, str]:
        """The names of a video's pictures by their moments; of the video itself rather than a key frame."""
        if video not in self._names:
            folder = self._folder / video
            is_ours = is_name(video) and folder.is_dir() and not folder.is_symlink()
            names = sorted(path.name for path in folder.iterdir()) if is_ours else []
            matched = [(found, name) for name in names if (found := _NAME.fullmatch(name))]
            self._names[video] = {int(found[1]): name for found, name in matched}
        return self._names[video]


def _milliseconds(time: float) -> int:
    return round(time * 1000)


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
    from world_api.build.media.apart.worker import VideoFrames

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


def worlds_of(run: Run, store: Path | None) -> Worlds:
    """Finds the world of a video in a store, or in that of the run's configuration; the one that has its video comes first.

    A world that is not the one of the run (it was built again, of another file) is not taken.
    """
    place = store if store is not None else _own_store(run)

    def find(video_id: str) -> World | None:
        from world_api.profiles import source_path

        known = run.manifest.worlds.get(video_id, {})
        found = [] if place is None else [_world(place, profile, video_id, known[profile]) for profile in sorted(known)]
        there = [world for world in found if world is not None]
        return min(there, key=lambda world: source_path(world) is None, default=None)

    return find


def _world(store: Path, profile: str, video_id: str, known: str) -> World | None:
    from world_api.world.disk.stored import open_world

    for place in (store_for(store, profile), store):
        try:
            world = open_world(place, video_id)
        except VideoWorldError:
            continue
        if world.manifest.world_hash == known:
            return world
    return None


def _own_store(run: Run) -> Path | None:
    """The store that the run was made with; None where nobody can tell any more, as in a bundle from elsewhere."""
    try:
        return store_of(configuration_of(run.folder))
    except VideoWorldError:
        return None
