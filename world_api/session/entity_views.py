"""What a vision model gets of tracked entities: the best pictures of one, and the entities of an interval.

A caption refers to entities by their ids in round brackets; ids that are not those of the interval are removed from it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from world_api.core.ports import Image
from world_api.core.spans import Box, TimeSpan, round_time
from world_api.world.tracks import AT_EDGE, Track
from world_api.world.view import View

#: Crops of an entity that are compared, and those that are sent: the sharpest of each third of their time.
MAX_CANDIDATES, MAX_VIEWS = 9, 3
#: A sighting is among the best if its box has at least this share of the area of the largest one.
_LARGE = 0.5
#: Boxes that no edge of the picture cuts off are preferred unless they are smaller than this share of the median area.
_NOT_TINY = 0.25
#: Entities of an interval that a caption may name, at most: the largest ones.
MAX_NAMED = 12
#: Seconds between a frame and a sighting whose box still counts as that of the frame; an unchanged picture is examined so seldom.
_NEAR = 1.0
_THOUSAND = 1000
_SHARPNESS_SIDE = 128  #: pixels; crops are compared at one size

_ID = r"ent_[A-Za-z0-9_]+"  #: ASCII, so that a Chinese word may follow without a space
_DONE = "\0"  #: marks ids that are links already
_BRACKETED = re.compile(rf"\s*[\[(（]\s*({_ID}(?:[\s,;、]+(?:and\s+)?{_ID})*)\s*[\])）]")
_BARE = re.compile(rf"(?<![A-Za-z0-9_{_DONE}]){_ID}")
_LINK = re.compile(rf" ?\(({_ID})\)")


@dataclass(frozen=True, kw_only=True)
class LookSpot:
    """A time (seconds) and a box in its frame (pixels of the displayed frame); ``box`` is None for the whole frame."""

    time: float
    box: Box | None


def best_views(track: Track) -> list[LookSpot]:
    """Return up to ``MAX_CANDIDATES`` times and boxes at which a track is seen best, in time order.

    These are large boxes that the picture's edges do not cut off, if there are any, spread over the track's time.
    """
    x1, y1, x2, y2 = track.boxes.astype(np.float64).T
    areas = (x2 - x1) * (y2 - y1)
    usable = np.flatnonzero(~track.slivers) if not track.slivers.all() else np.arange(len(areas))
    width, height = track.picture
    across, down = AT_EDGE * width, AT_EDGE * height
    is_whole = (x1 > across) & (y1 > down) & (x2 < width - across) & (y2 < height - down)
    whole = usable[is_whole[usable] & (areas[usable] >= _NOT_TINY * np.median(areas[usable]))]
    pool = whole if len(whole) else usable
    pool = pool[areas[pool] >= _LARGE * areas[pool].max()]
    chosen = np.unique(np.linspace(0, len(pool) - 1, num=min(MAX_CANDIDATES, len(pool))).round().astype(int))
    return [LookSpot(time=round_time(float(track.times[at])), box=track.box(at)) for at in pool[chosen].tolist()]


def sharpest(crops: Sequence[Image]) -> list[int]:
    """Return the positions of up to ``MAX_VIEWS`` crops, in their order: of each third the sharpest one.

    Sharpness is the variance of the Laplacian at one size (Pech-Pacheco et al., 2000).
    """
    import cv2

    def sharpness(crop: Image) -> float:
        grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
        scale = _SHARPNESS_SIDE / max(grey.shape)
        size = max(1, round(grey.shape[1] * scale)), max(1, round(grey.shape[0] * scale))
        return float(cv2.Laplacian(cv2.resize(grey, size, interpolation=cv2.INTER_AREA), cv2.CV_64F).var())

    scores = [sharpness(crop) for crop in crops]
    parts = np.array_split(np.arange(len(crops)), min(MAX_VIEWS, len(crops)))
    return [max(part.tolist(), key=scores.__getitem__) for part in parts]


def entities_in(view: View, span: TimeSpan, times: Sequence[float]) -> list[dict[str, Any]]:
    """Return JSON records of the largest entities in frames of an interval, by their ids: ``id``, ``kind``, ``hint``, ``boxes``.

    Each box is ``[time, x1, y1, x2, y2]``: the frame's time in seconds, and thousandths of the picture's width and height.
    """
    found: list[tuple[float, dict[str, Any]]] = []
    for track in view.tracks_in(span):
        width, height = track.picture
        boxes, area = [], 0.0
        for time in times:
            position = track.nearest(time)
            if track.appearance_at(time) is not None and abs(float(track.times[position]) - time) <= _NEAR:
                box = track.box(position)
                sides = (box.x1 / width, box.y1 / height, box.x2 / width, box.y2 / height)
                boxes.append([time, *(max(0, min(_THOUSAND, round(_THOUSAND * side))) for side in sides)])
                area += box.area
        if boxes:
            record = {"id": track.entity_id, "kind": track.category, "hint": track.hint, "boxes": boxes}
            found.append((area, record))
    found.sort(key=lambda item: (-item[0], item[1]["id"]))
    return sorted((record for _, record in found[:MAX_NAMED]), key=lambda record: str(record["id"]))


def with_links(text: str, hints: dict[str, str]) -> tuple[str, str]:
    """Return a caption in which ids of ``hints`` are links, ``words (id)``, and a note if it named ids that are not.

    ``hints``: the hint of each entity that it may name, which stands before an id that has no words of its own.
    """
    unknown: set[str] = set()

    def bracketed(match: re.Match[str]) -> str:
        ids = re.findall(_ID, match[1])
        unknown.update(name for name in ids if name not in hints)
        return "".join(f" ({_DONE}{name})" for name in dict.fromkeys(ids) if name in hints)

    def bare(match: re.Match[str]) -> str:
        if match.group() in hints:
            return f"{hints[match.group()]} ({_DONE}{match.group()})"
        unknown.add(match.group())
        return ""

    marked = _BARE.sub(bare, _BRACKETED.sub(bracketed, text.replace(_DONE, " ")))
    linked = " ".join(marked.replace(_DONE, "").split())
    count = len(unknown)
    note = (
        f"{count} id{'s' * (count > 1)} of no entity in this part {'were' if count > 1 else 'was'} left out"
        if count
        else ""
    )
    return linked, note


def linked_ids(text: str, known: Collection[str]) -> list[str]:
    """Return the ids of ``known`` entities that a caption links, each once, in the order of the text."""
    return [name for name in dict.fromkeys(_LINK.findall(text)) if name in known]


def without_links(text: str) -> str:
    """Return a caption without the ids that it links, as it is searched."""
    return _LINK.sub("", text)
