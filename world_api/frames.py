"""Frames of a world's video, with the boxes of what is tracked in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from world_api.api import source_path
from world_api.core.faults import StoreFault

if TYPE_CHECKING:
    from world_api.core.ports import Image
    from world_api.world.tracks import Track
    from world_api.world.view import View

#: Colours of boxes (BGR).
_PERSON_COLOUR, _THING_COLOUR = (0, 94, 213), (115, 158, 0)


def frames_played_at(view: View, times: Sequence[float], *, boxes: bool = False) -> Iterator[Image]:
    """Yield the frames (BGR) that a player shows at rising visible moments, in seconds; with ``boxes`` drawn in them.

    Raises StoreFault: ``source_missing``; MediaFault: the video cannot be decoded.
    """
    from world_api.media.decoder import VideoFrames

    world = view.world
    if (source := source_path(world)) is None:
        video_id = world.manifest.video_id
        raise StoreFault(
            "source_missing",
            f"the video of {video_id} is not on this machine",
            hint=f"put {world.manifest.source.file_name} where it was built from, or use `videoworld inspect {video_id} "
            "--html FILE`, which has the key frames",
        )
    with closing(VideoFrames(source)) as video:
        for time in times:
            (picture,) = video.pictures_played_at([time], None)
            yield with_boxes(picture, view.tracks_at(time), time, view) if boxes else picture


def with_boxes(picture: Image, tracks: Sequence[Track], time: float, view: View) -> Image:
    """Return a copy of a frame (BGR) with the box of each track at a moment, and its id and looks above."""
    import cv2

    drawn = picture.copy()
    video, (height, width) = view.world.manifest.video, picture.shape[:2]
    size = max(1, round(height / 360))
    for track in tracks:
        box = track.box(track.nearest(time, view.shot_at(time))).scaled(width / video.width, height / video.height)
        colour = _PERSON_COLOUR if track.category == "person" else _THING_COLOUR
        x, y = round(box.x1), round(box.y1)
        cv2.rectangle(drawn, (x, y), (round(box.x2), round(box.y2)), colour, 2 * size)
        text, font, scale = f"{track.entity_id} {track.hint}", cv2.FONT_HERSHEY_SIMPLEX, 0.42 * size
        (wide, _), _ = cv2.getTextSize(text, font, scale, 4 * size)
        place = (max(0, min(x, width - wide)), max(12 * size, y - 4 * size))
        for thickness, ink in ((4 * size, (0, 0, 0)), (size, (255, 255, 255))):
            cv2.putText(drawn, text, place, font, scale, ink, thickness, cv2.LINE_AA)
    return drawn
