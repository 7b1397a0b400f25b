"""Pictures that are kept beside a report, so that a later one needs no video.

::

    FRAMES/VIDEO/12300-640x360-video.jpg     the frame on screen at 12.3 s of a video of 640 x 360 pixels
    FRAMES/VIDEO/12300-640x360-key_11800.jpg no video was there: the key frame at 11.8 s
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from eval.report.frames.choosing import FrameKey
from world_api.core.identifiers import is_name
from world_api.world.files import open_regular, write_atomically

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
