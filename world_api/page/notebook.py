"""Cards: fragments of HTML that notebooks show, with key frames, their boxes, a timeline and a table. They hold no script.

Texts of the video are data: the template escapes every one.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from world_api.core.identifiers import clock_text, visible
from world_api.core.spans import TimeSpan, merge_spans
from world_api.page.html import asset, fill
from world_api.page.world_page import small_key_frame

if TYPE_CHECKING:
    from world_api.core.ports import Image
    from world_api.core.spans import Box
    from world_api.world.view import View

#: Colours that can be seen on light and on dark pages.
COLOURS = {
    "scenes": "#6f9dcb",
    "people": "#d55e00",
    "things": "#009e73",
    "speech": "#0072b2",
    "texts": "#a8841a",
    "sounds": "#7a5ca8",
}
FOUND = "#c2528b"
_NOT_DECODED = "#777"
#: The longer side of a picture in pixels and its JPEG quality; the most bars of a lane; the longest text of a cell.
_SIDE, _QUALITY, _MOST_BARS, _LONGEST = 320, 70, 200, 300


@dataclass(frozen=True, kw_only=True)
class PictureBox:
    """A box in a picture, in per cent of its width and height."""

    left: float
    top: float
    width: float
    height: float
    label: str
    colour: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A JPEG in Base64, with boxes."""

    data: str
    caption: str
    boxes: Sequence[PictureBox] = ()


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A part of a lane, in per cent of its length."""

    left: float
    width: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A row of the timeline."""

    name: str
    colour: str
    bars: Sequence[Bar]


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a notebook shows of an object; ``end`` is the end of the timeline, as text, and ``notes`` what is not known."""

    title: str
    facts: Sequence[str] = ()
    text: Sequence[str] = ()
    notes: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    lanes: Sequence[Lane] = ()
    end: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    foot: Sequence[str] = ()

    def html(self) -> str:
        """Return the card as HTML."""
        return fill(asset(__package__, "notebook.html.jinja"), style=asset(__package__, "notebook.css"), card=self)


def lane(view: View, name: str, colour: str, items: Iterable[tuple[TimeSpan, str]]) -> Lane:
    """Return a lane with a bar for each interval; of very many, those that are close together share one."""
    found = sorted(items, key=lambda item: item[0])
    if len(found) > _MOST_BARS:
        joined = merge_spans((span for span, _ in found), gap=view.duration / _MOST_BARS)
        found = [(span, "") for span in joined]
    length = max(view.duration, 1e-9)
    bars = [
        Bar(
            left=round(100 * span.start / length, 3),
            width=round(100 * span.duration / length, 3),
            label=visible(f"{clock_text(span.start)}-{clock_text(span.end)} {text}"[:_LONGEST]),
        )
        for span, text in found
    ]
    return Lane(name=name, colour=colour, bars=bars)


def world_lanes(view: View) -> list[Lane]:
    """Return a lane for each kind of thing that a view holds, and one for what was not decoded."""
    tracks = [(track, span) for track in view.tracks for span in track.appearances]
    items: dict[str, list[tuple[TimeSpan, str]]] = {
        "scenes": [(scene.span, scene.scene_id) for scene in view.scenes],
        "people": [(span, f"{track.entity_id} {track.hint}") for track, span in tracks if track.category == "person"],
        "things": [(span, f"{track.entity_id} {track.hint}") for track, span in tracks if track.category != "person"],
        "speech": [(line.span, line.text) for line in view.speech],
        "texts": [(text.span, text.text) for text in view.screen_texts],
        "sounds": [(sound.span, sound.text) for sound in view.sounds],
    }
    lanes = [lane(view, name, COLOURS[name], found) for name, found in items.items() if found]
    holes = [(hole, "not decoded") for hole in view.holes]
    return [*lanes, *([lane(view, "not decoded", _NOT_DECODED, holes)] if holes else [])]


def key_pictures(view: View, times: Sequence[float]) -> list[Picture]:
    """Return for each moment the nearest stored key frame, with the boxes of what is tracked in it; each picture once.

    The caption is the time of the picture, which is seldom the very moment.
    """
    rows = view.rows("key_frames").select(["time", "image"])
    known = np.asarray(rows.column("time").to_pylist(), dtype=np.float64)
    names, found, used = rows.column("image").to_pylist(), [], set()
    for time in times if len(known) else ():
        nearest = int(np.abs(known - time).argmin())
        if nearest in used:
            continue
        used.add(nearest)
        jpeg = small_key_frame(view.world, names[nearest], side=_SIDE, quality=_QUALITY)
        if jpeg is None:
            continue
        at = float(known[nearest])
        found.append(_picture(view, jpeg, clock_text(at), track_boxes(view, at)))
    return found


def spread_pictures(view: View, most: int) -> list[Picture]:
    """Return pictures of key frames, evenly chosen over a view."""
    times = view.rows("key_frames").column("time").to_pylist()
    places = np.unique(np.linspace(0, len(times) - 1, min(len(times), most)).round().astype(int))
    return key_pictures(view, [times[place] for place in places.tolist()])


def drawn_picture(view: View, image: Image, caption: str, boxes: Iterable[tuple[Box, str, str]]) -> Picture:
    """Return a frame (BGR) as a picture, with boxes: each in pixels of the displayed frame, with category and label."""
    import cv2

    scale = min(1.0, _SIDE / max(image.shape[:2]))
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else image
    _, encoded = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return _picture(view, encoded.tobytes(), caption, boxes)


def track_boxes(view: View, time: float) -> list[tuple[Box, str, str]]:
    """Return the box (pixels) of each track at a moment, with its category, id and looks."""
    shot = view.shot_at(time)
    return [
        (track.box(track.nearest(time, shot)), track.category, f"{track.entity_id} {track.hint}")
        for track in view.tracks_at(time)
    ]


def _picture(view: View, jpeg: bytes, caption: str, boxes: Iterable[tuple[Box, str, str]]) -> Picture:
    width, height = view.world.manifest.video.width / 100, view.world.manifest.video.height / 100
    drawn = [
        PictureBox(
            left=round(box.x1 / width, 2),
            top=round(box.y1 / height, 2),
            width=round((box.x2 - box.x1) / width, 2),
            height=round((box.y2 - box.y1) / height, 2),
            label=visible(label),
            colour=COLOURS["people" if category == "person" else "things"],
        )
        for box, category, label in boxes
    ]
    return Picture(data=b64encode(jpeg).decode("ascii"), caption=visible(caption), boxes=drawn)
