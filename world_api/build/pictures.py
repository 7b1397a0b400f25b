"""The stage ``pictures``: vectors and tags of key frames, and vectors of tracked things, by a model of whole pictures.

It decodes its frames itself, after key frames and tracks of a clip are stored. So another model makes only these rows again. Of
each track a few moments are looked at, chosen from what was seen up to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from world_api.build.stage import Clip, Record, Records, StageSpec, box_of
from world_api.core.ports import FrameSource, PictureTagger, RgbImage
from world_api.core.spans import Box, known_time

#: Seconds between two looked-at moments of a track; the least confidence and the least side (pixels) of a thing that is looked at.
_APART, _SURE, _SMALL = 10.0, 0.5, 32.0
#: The margin around a thing, as a share of its box: what is around helps to recognise it.
_MARGIN = 0.1
#: The longest side of the pictures that are decoded, and the number of pictures in memory.
_SIDE, _PICTURES = 960, 16
#: A frame's time was rounded to milliseconds, so that it is asked for half a millisecond later.
_HALF_MILLISECOND = 5e-4


class Pictures:
    """The stage ``pictures``. Its parameters name the model.

    Args:
        tagger: Makes tags and vectors.
        frames: Returns the frames of a video file.
        needs: The names of the stages that make key frames and tracks.
    """

    def __init__(self, tagger: PictureTagger, frames: Callable[[Path], FrameSource], *, needs: Sequence[str]) -> None:
        self._tagger = tagger
        self._frames = frames
        self.spec = StageSpec(
            name="pictures",
            version=1,
            tables=("picture_vectors", "picture_tags"),
            parameters=tagger.parameters,
            needs=tuple(needs),
            libraries=("onnxruntime", "pillow"),
            modules=(type(tagger).__module__,),
        )

    def make_rows(self, clip: Clip) -> Records:
        """Return the vectors and tags of a clip."""
        asked = [{**row, "track": ""} for row in clip.rows("key_frames", clip.span).to_pylist()]
        asked += _moments(clip, self.spec.needs)
        asked.sort(key=lambda row: (row["time"], row["track"]))
        vectors: list[Record] = []
        tags: list[Record] = []
        frames = self._frames(clip.source.path)
        for first in range(0, len(asked), _PICTURES):
            part = asked[first : first + _PICTURES]
            times = sorted({row["time"] for row in part})
            shown = frames.pictures_played_at([time + _HALF_MILLISECOND for time in times], _SIDE)
            pictures = dict(zip(times, shown, strict=True))
            part = [row for row in part if row["time"] in pictures]
            tagged = self._tagger.tag([_cut(clip, row, pictures[row["time"]]) for row in part])
            for row, found in zip(part, tagged, strict=True):
                stamp = {"time": row["time"], "known_at": known_time(row["known_at"])}
                if found.vector is not None and found.vector.any():
                    vectors.append({**stamp, "track": row["track"], "vector": found.vector.tolist()})
                tags += [{**stamp, **vars(tag)} for tag in (() if row["track"] else found.tags)]
        return {"picture_vectors": vectors, "picture_tags": tags}


def _moments(clip: Clip, makers: Sequence[str]) -> list[Record]:
    """Return the chosen sightings of the tracks of a clip: of each one that is clear, then none for some seconds."""
    rows = [row for row in clip.rows("sightings", clip.span).to_pylist() if row["producer"].partition("/")[0] in makers]
    last: dict[str, float] = {}
    chosen: list[Record] = []
    for row in sorted(rows, key=lambda row: (row["time"], row["track"])):
        box = box_of(row)
        is_clear = row["confidence"] >= _SURE and min(box.width, box.height) >= _SMALL
        if is_clear and row["time"] - last.get(row["track"], -np.inf) >= _APART:
            last[row["track"]] = row["time"]
            chosen.append(row)
    return chosen


def _cut(clip: Clip, row: Record, picture: RgbImage) -> RgbImage:
    """Return a decoded (BGR) picture as RGB: all of it, or what is around the box of a tracked thing."""
    if row["track"]:
        height, width = picture.shape[:2]
        scaled = box_of(row).scaled(width / clip.source.width, height / clip.source.height).enlarged(_MARGIN)
        box = scaled.common(Box(x1=0.0, y1=0.0, x2=float(width), y2=float(height)))
        if box is not None:
            x1, y1 = min(int(box.x1), width - 1), min(int(box.y1), height - 1)
            picture = picture[y1 : max(y1 + 1, round(box.y2)), x1 : max(x1 + 1, round(box.x2))]
    return np.ascontiguousarray(picture[..., ::-1])
