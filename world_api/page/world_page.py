"""The page of a world: one file of HTML with its key frames, the boxes of its tracks, and everything it holds on one timeline.

It is made from the rows of a view, so that a causal cut holds for it, too. Texts of the video are data of the page and never
markup. If the video's file is beside the page it is played; otherwise, and under a cut, the nearest key frame is shown.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from world_api.core.faults import StoreFault
from world_api.core.files import open_regular, write_atomically
from world_api.core.spans import TimeSpan
from world_api.operations.evidence import brief
from world_api.page.html import asset, packed, render
from world_api.world.storage import read_image
from world_api.world.tracks import chinese_hint

if TYPE_CHECKING:
    from world_api.world.store import World
    from world_api.world.tracks import Track
    from world_api.world.view import View

#: The longer side of a picture in pixels, its JPEG quality, the most pictures of a page and how many are in one block.
_SIDE, _QUALITY, _MOST_PICTURES, _AT_ONCE = 480, 72, 360, 24
#: The most boxes of a page, and the least time between two of one track, in seconds.
_MOST_BOXES, _LEAST_STEP = 120_000, 0.2
_DECIMALS = 2  #: of a time in seconds
_MOST_TEXT = 2_000  #: characters of a scene
_SCRIPT, _STYLE, _TEMPLATE = "world.js", "world.css", "world.html.jinja"
#: A page that is opened as a file has no origin of its own, and its neighbours are files.
_BESIDE = "'self' file:"


_DOCTYPE = b"<!doctype html>"


def refuse_other_file(path: Path) -> None:
    """Raise StoreFault, ``file_exists``, if a folder, or a file that is no page, is where a page shall be written."""
    try:
        with open_regular(path) as file:
            is_page = file.read(len(_DOCTYPE)).lower() == _DOCTYPE
    except (FileNotFoundError, NotADirectoryError):  # writing says what is wrong
        return
    except OSError:
        is_page = False
    if not is_page:
        raise StoreFault("file_exists", f"{path} exists and is no page", hint="choose another file, or remove this one")


def write_world_page(view: View, path: Path, *, episode: Mapping[str, Any] | None = None) -> int:
    """Write the page of a view to a file and return its size in bytes.

    ``episode`` is shown with it: its ``lines``, the ``spans`` of its answer, and its ``calls``, each with ``head``, ``text`` and
    the ``spans`` of its evidence; spans are pairs of seconds.

    Raises StoreFault: ``world_damaged``, ``store_not_writable``, ``disk_full``.
    """
    pictures = list(_pictures(view))
    record = world_record(view)
    is_beside = bool(record["file"]) and path.with_name(record["file"]).is_file()
    shown = {
        "pictures": [time for time, _ in pictures],
        "at_once": _AT_ONCE,
        "episode": episode,
        "is_beside": is_beside,
    }
    blocks = {"world": packed(record | shown)}
    for first in range(0, len(pictures), _AT_ONCE):
        blocks[f"pictures-{first // _AT_ONCE}"] = packed(
            [_base64(data) for _, data in pictures[first : first + _AT_ONCE]]
        )
    text = render(
        asset(__package__, _TEMPLATE),
        style=asset(__package__, _STYLE),
        script=asset(__package__, _SCRIPT),
        blocks=blocks,
        media=_BESIDE if view.complete else "",
        title=view.world.manifest.title,
    )
    data = text.encode()
    write_atomically(path, data)
    return len(data)


def world_record(view: View) -> dict[str, Any]:
    """Return what a page shows of a view, as JSON values; times in seconds, boxes in pixels of the displayed frame.

    Intervals are lists that begin with start and end. ``boxes`` of a thing is one flat list: time, x1, y1, x2, y2 of each
    sighting, one every ``step`` seconds at most.
    """
    manifest, tracks = view.world.manifest, list(view.tracks)
    step = max(_LEAST_STEP, sum(len(track.times) for track in tracks) * _mean_gap(tracks) / _MOST_BOXES)
    return {
        "id": manifest.video_id,
        "title": manifest.title,
        "profile": manifest.profile,
        "hash": manifest.world_hash,
        # Under a cut the video would show what comes after it.
        "file": manifest.source.file_name if view.complete else "",
        "duration": _seconds(view.duration),
        "size": [manifest.video.width, manifest.video.height],
        "holes": [_interval(hole) for hole in view.holes],
        "step": _seconds(step),
        "shots": [_interval(shot) for shot in view.shots],
        "scenes": [
            [*_interval(scene.span), scene.scene_id, brief(view, scene.span, most=_MOST_TEXT)] for scene in view.scenes
        ],
        "things": [_thing(track, step) for track in tracks],
        "actions": [[*_interval(said.span), said.text] for said in view.actions],
        "captions": [[*_interval(said.span), said.text] for said in view.captions],
        "speech": [[*_interval(line.span), line.text, line.said_by] for line in view.speech],
        "texts": [[*_interval(text.span), text.text] for text in view.screen_texts],
        "sounds": [[*_interval(sound.span), sound.text] for sound in view.sounds],
        "memories": [
            [_seconds(row["start"]), _seconds(row["end"]), row["content"]]
            for row in view.rows("memories").select(["start", "end", "content"]).to_pylist()
        ],
    }


def _thing(track: Track, step: float) -> dict[str, Any]:
    steps = np.floor(track.times / step).astype(np.int64)
    kept = np.flatnonzero(np.diff(steps, prepend=steps[0] - 1) > 0)
    values = np.column_stack([track.times[kept], np.round(track.boxes[kept])]).ravel()
    return {
        "id": track.entity_id,
        "hint": track.hint,
        "chinese": chinese_hint(track),
        "category": track.category,
        "spans": [_interval(span) for span in track.appearances],
        "boxes": [_seconds(value) for value in values.tolist()],
    }


def _mean_gap(tracks: Sequence[Track]) -> float:
    """Return the usual time between two sightings of a track, in seconds."""
    gaps = [float(np.median(np.diff(track.times))) for track in tracks if len(track.times) > 1]
    return float(np.median(gaps)) if gaps else _LEAST_STEP


def _seconds(value: float) -> float | int:
    number = round(float(value), _DECIMALS)
    return int(number) if number.is_integer() else number


def _interval(span: TimeSpan) -> list[float | int]:
    return [_seconds(span.start), _seconds(span.end)]


def _pictures(view: View) -> Iterator[tuple[float, bytes]]:
    """Yield key frames as JPEG with their times: all of them, or as many as a page holds, evenly chosen."""
    rows = view.rows("key_frames").select(["time", "image"]).to_pylist()
    for place in np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST_PICTURES)).round().astype(int)).tolist():
        jpeg = small_key_frame(view.world, rows[place]["image"], side=_SIDE, quality=_QUALITY)
        if jpeg is not None:
            yield _seconds(rows[place]["time"]), jpeg


def small_key_frame(world: World, name: str, *, side: int, quality: int) -> bytes | None:
    """Return a stored key frame as JPEG, its longer side at most ``side`` pixels; None if it is damaged or gone."""
    import cv2

    data = read_image(world.folder, name)
    image = None if data is None else cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        return None
    scale = min(1.0, side / max(image.shape[:2]))
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    small = image if scale == 1 else cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    _, encoded = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return bytes(encoded.tobytes())


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
