"""Stages that judge what people look like, at a few moments of each track; they write ``person_looks``.

A stage decodes the frames of its moments itself, after the tracks of a clip are stored. So a model runs a few times per
track and not per frame, and another model makes only its own rows again. Moments are chosen from what was seen up to them:
four soon, later ones further apart, and only where a person is large and not covered by another one.

Clothes and hair are found by the proportions of an upright body, without a pose model, inside an outline that GrabCut
(Rother et al., 2004) draws in the person's box. People who are not visible from head to foot are not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.colours import colour_shares, colours_near, near_names
from world_api.build.stage import Clip, Record, Records, StageSpec, box_of
from world_api.core.outfits import HAIR, HAIR_COLOURS, LOWER, NEAR, UPPER
from world_api.core.ports import BodyEmbedder, Face, FaceDetector, FaceEmbedder, FrameSource, Image
from world_api.core.spans import Box, known_time

#: Seconds between two moments of a track: between the first ones, later ones, and the number of first ones.
_SOON, _LATER, _FIRST = 0.5, 4.0, 4
#: The least confidence and height (pixels of the picture) of a person who is judged.
_SURE, _TALL = 0.5, 64.0
#: Another person's box may cover this share of a person's box.
_COVERED = 0.2
#: Height over width of a person who is visible from head to foot, least and most.
_WHOLE = (1.7, 4.2)
#: A box whose side or bottom is this near (pixels) to the picture's edge is cut off there.
_EDGE = 2.0
#: The longest side of the pictures that are decoded, and the number of pictures in memory.
_SIDE, _PICTURES = 1280, 8
#: A frame's time was rounded to milliseconds, so that it is asked for half a millisecond later.
_HALF_MILLISECOND = 5e-4


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A person in a picture: the box in pixels of the picture, and whether all of the person is visible in it.

    ``others``: the boxes of other people.
    """

    picture: Image
    box: Box
    is_whole: bool
    others: Sequence[Box]

    def crop(self, box: Box) -> Image:
        """Return the part of the picture in a box; it has at least one pixel."""
        height, width = self.picture.shape[:2]
        x1, y1 = min(max(0, round(box.x1)), width - 1), min(max(0, round(box.y1)), height - 1)
        return self.picture[y1 : max(y1 + 1, round(box.y2)), x1 : max(x1 + 1, round(box.x2))]


class Judge(Protocol):
    """Judges people in a picture. ``name``, ``version``: of its stage; ``parameters``: all that its rows depend on."""

    name: str
    version: int
    parameters: Mapping[str, Any]
    #: Whether it judges only people who are visible from head to foot.
    needs_whole: bool

    def judge(self, figures: Sequence[Figure]) -> Sequence[Sequence[Record]]:
        """Return for each figure rows with the columns part, words, vector and score."""


class PersonLooks:
    """A stage: one judge at the chosen moments of each track of a person.

    Args:
        judge: Judges what the pictures show.
        frames: Returns the frames of a video file.
        needs: The names of the stages that make tracks of people.
    """

    def __init__(self, judge: Judge, frames: Callable[[Path], FrameSource], *, needs: Sequence[str]) -> None:
        self._judge = judge
        self._frames = frames
        self.spec = StageSpec(
            name=judge.name,
            version=judge.version,
            tables=("person_looks",),
            parameters=judge.parameters,
            needs=tuple(needs),
            modules=(type(judge).__module__,),
        )

    def make_rows(self, clip: Clip) -> Records:
        """Return what was judged of the people of a clip."""
        chosen = _moments(clip, self.spec.needs, needs_whole=self._judge.needs_whole)
        times = sorted({row["time"] for row, _ in chosen})
        frames = self._frames(clip.source.path)
        rows: list[Record] = []
        for first in range(0, len(times), _PICTURES):
            own = times[first : first + _PICTURES]
            pictures = frames.pictures_played_at([time + _HALF_MILLISECOND for time in own], _SIDE)
            shown = dict(zip(own, pictures, strict=True))
            seen = [
                (row, self._figure(clip, row, others, shown[row["time"]]))
                for row, others in chosen
                if row["time"] in shown
            ]
            for (row, _), judged in zip(seen, self._judge.judge([figure for _, figure in seen]), strict=True):
                stamp = {"track": row["track"], "time": row["time"], "known_at": known_time(row["known_at"])}
                rows.extend({"words": [], "vector": [], **one, **stamp} for one in judged)
        return {"person_looks": rows}

    def _figure(self, clip: Clip, row: Record, others: Sequence[Box], picture: Image) -> Figure:
        scale = picture.shape[1] / clip.source.width, picture.shape[0] / clip.source.height
        boxes = [box.scaled(*scale) for box in others]
        return Figure(
            picture=picture, box=box_of(row).scaled(*scale), is_whole=_is_whole(clip, box_of(row)), others=boxes
        )


def _moments(clip: Clip, makers: Sequence[str], *, needs_whole: bool) -> list[tuple[Record, list[Box]]]:
    """Return the chosen sightings of the people of a clip, each with the boxes of the other people then, by time and track.

    ``makers``: the stages whose sightings count; other stages may or may not have added some yet.
    """
    rows = [row for row in clip.rows("sightings", clip.span).to_pylist() if row["category"] == "person"]
    rows = [row for row in rows if row["producer"].partition("/")[0] in makers]
    rows.sort(key=lambda row: (row["time"], row["track"]))
    chosen: list[tuple[Record, list[Box]]] = []
    counts: dict[str, tuple[int, float]] = {}  # of each track, the number of its moments and the last one
    for time, there in groupby(rows, key=lambda row: float(row["time"])):
        at_once = list(there)
        for row in at_once:
            count, last = counts.get(row["track"], (0, -np.inf))
            if time - last < (_SOON if count < _FIRST else _LATER) - 1e-6:
                continue
            others = [box_of(other) for other in at_once if other is not row]
            if _is_clear(clip, row, others) and (not needs_whole or _is_whole(clip, box_of(row))):
                chosen.append((row, others))
                counts[row["track"]] = count + 1, time
    return chosen


def _is_clear(clip: Clip, row: Record, others: Sequence[Box]) -> bool:
    """Whether a sighting is confident, large, and not covered by another person."""
    box = box_of(row)
    tall = box.height * min(1.0, _SIDE / max(clip.source.width, clip.source.height))
    covered = max((box.common_area(other) for other in others), default=0.0)
    return bool(row["confidence"] >= _SURE) and tall >= _TALL and covered <= _COVERED * box.area


def _is_whole(clip: Clip, box: Box) -> bool:
    """Whether a box has the shape of a whole person and is not cut off at the sides or the bottom of the picture."""
    inside = box.x1 > _EDGE and box.x2 < clip.source.width - _EDGE and box.y2 < clip.source.height - _EDGE
    return inside and _WHOLE[0] <= box.height / max(box.width, 1.0) <= _WHOLE[1]


# --- bodies and faces ---------------------------------------------------------------------------------------------------


class BodyJudge:
    """Vectors of whole figures (part ``body``)."""

    name = "bodies"
    needs_whole = True
    version = 1

    def __init__(self, embedder: BodyEmbedder) -> None:
        self._embedder = embedder
        self.parameters: Mapping[str, Any] = {"embedder": embedder.producer}

    def judge(self, figures: Sequence[Figure]) -> list[list[Record]]:
        """Return a row with a vector for each figure of which the model gives one."""
        vectors = self._embedder.embed([figure.crop(figure.box) for figure in figures])
        return [
            [{"part": "body", "vector": vector.tolist(), "score": 1.0}] if vector.any() else [] for vector in vectors
        ]


#: The part of a person's box in which the face is, as a share of its height, and the margin around it (share of the width).
_FACE_PART, _FACE_MARGIN = 0.5, 0.15
#: A face is that of the person whose box it is in if its centre is in the upper part of the box, this share of its height.
_FACE_HEIGHT = 0.4
#: From this height of a whole figure (pixels) on a face would be found if there was one.
_FACE_VISIBLE = 160.0


class FaceJudge:
    """Vectors of faces (part ``face``), and whether a person faces the camera or away from it (part ``facing``).

    A whole figure on which no face is found, and large enough to find one, faces away. Without ``embedder`` only the latter is judged.
    """

    name = "faces"
    needs_whole = False
    version = 1

    def __init__(self, detector: FaceDetector, embedder: FaceEmbedder | None) -> None:
        self._detector = detector
        self._embedder = embedder
        self.parameters: Mapping[str, Any] = {
            "detector": detector.producer,
            "embedder": "" if embedder is None else embedder.producer,
        }

    def judge(self, figures: Sequence[Figure]) -> list[list[Record]]:
        """Return a row about ``facing``, unless that cannot be seen, and one with the vector of a clear face."""
        return [self._judge(figure) for figure in figures]

    def _judge(self, figure: Figure) -> list[Record]:
        face = own_face(self._detector, figure)
        if face is None:
            is_away = figure.is_whole and figure.box.height >= _FACE_VISIBLE
            return [{"part": "facing", "words": ["away"], "score": 1.0}] if is_away else []
        rows: list[Record] = [{"part": "facing", "words": ["camera"], "score": face.confidence}]
        for vector in () if self._embedder is None else self._embedder.embed(figure.picture, [face]):
            if vector.any():
                rows.append({"part": "face", "vector": vector.tolist(), "score": face.confidence})
        return rows


def own_face(detector: FaceDetector, figure: Figure) -> Face | None:
    """Return the most confident face of a figure, in pixels of the whole picture; None if none is found."""
    box = figure.box
    top = Box(x1=box.x1, y1=box.y1, x2=box.x2, y2=box.y1 + _FACE_PART * box.height).enlarged(_FACE_MARGIN)
    left, upper = max(0.0, float(round(top.x1))), max(0.0, float(round(top.y1)))
    for face in detector.faces(np.ascontiguousarray(figure.crop(top))):
        if _is_own(place := face.box.moved(left, upper), figure):
            return replace(face, box=place, landmarks=face.landmarks + np.array([left, upper], np.float32))
    return None


def _is_own(face: Box, figure: Figure) -> bool:
    """Whether a face (pixels of the whole picture) is where that of a figure is, and not where that of another person is."""

    def has(box: Box) -> bool:
        return Box(x1=box.x1, y1=box.y1, x2=box.x2, y2=box.y1 + _FACE_HEIGHT * max(box.height, 2 * box.width)).holds(
            face.center
        )

    return has(figure.box) and not any(has(other) for other in figure.others)


# --- clothes and hair ---------------------------------------------------------------------------------------------------

#: The height (pixels) of the picture of a figure in which its outline is drawn, and the margin around the figure.
_HEIGHT, _MARGIN = 160, 0.1
#: Shares of a figure's box: an ellipse and a place of the head that may be the person, and a strip that certainly is (left,
#: top, right, bottom).
_ELLIPSE, _HEAD, _CORE = (0.42, 0.49), (0.32, 0.0, 0.68, 0.2), (0.36, 0.22, 0.64, 0.5)
_ROUNDS = 3
#: Rows of an upright figure, shares of its height from the top, in which the upper and the lower clothes are seen.
_BANDS = {UPPER: (0.2, 0.48), LOWER: (0.68, 0.88)}
#: A further colour is named if it covers this share of what the first one covers.
_BESIDE = 0.5
#: The part of the box in which hair is seen from behind: left, top, right, bottom. From the front it is above the forehead,
#: which begins at this share of the face's box. If it is not known which, only the crown counts.
_BEHIND, _FOREHEAD, _CROWN = (0.3, 0.02, 0.7, 0.17), 0.12, (0.35, 0.0, 0.65, 0.05)
#: An outline with less than this share of the box, or more, is not that of a person.
_FILLED = (0.25, 0.9)
#: Hair: the greatest value of black, the least saturation of coloured hair, the least value of blonde and of white hair.
_BLACK, _COLOURED, _BLONDE, _WHITE = 62, 56, 118, 170
#: The range of hues (OpenCV's 0 to 180) of brown and blonde hair.
_HAIR_HUES = (4, 26)
#: Only a colour of hair with this share of it is named, and others with the smaller share beside it: then neither is sure.
_MOST_HAIR, _MORE_HAIR = 0.4, 0.2


class ClothesJudge:
    """Colours of upper and lower clothes and of hair (parts ``upper``, ``lower``, ``hair``), by proportions of the body.

    Beside each row is one with the words that may be right as well (parts ``near_upper`` ...).
    """

    name = "clothes"
    needs_whole = True
    version = 3

    def __init__(self, detector: FaceDetector | None) -> None:
        self._detector = detector
        self.parameters: Mapping[str, Any] = {"detector": "" if detector is None else detector.producer}

    def judge(self, figures: Sequence[Figure]) -> list[list[Record]]:
        """Return a row for each part of each figure in which a colour is named."""
        return [self._judge(figure) for figure in figures]

    def _judge(self, figure: Figure) -> list[Record]:
        around = figure.box.enlarged(_MARGIN, _MARGIN / 2)
        crop = figure.crop(around)
        scale = _HEIGHT / crop.shape[0]
        small = cv2.resize(
            crop, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        )
        left, top = max(0.0, float(round(around.x1))), max(0.0, float(round(around.y1)))
        box = figure.box.moved(-left, -top).scaled(scale, scale)
        outline = _outline(small, box)
        if outline is None:
            return []
        rows: list[Record] = []
        for part, (upper, lower) in _BANDS.items():
            pixels = _pixels(small, outline, box, (0.0, upper, 1.0, lower))
            shares = colour_shares(pixels)
            most = max(shares.values(), default=0.0)
            if shares:
                named = [colour for colour, share in shares.items() if share >= _BESIDE * most]
                rows.append({"part": part, "words": named, "score": most})
                rows.append({"part": NEAR + part, "words": colours_near(pixels, named), "score": most})
        pixels = _pixels(small, outline, box, self._hair_part(figure))
        if hair := _hair_colours(pixels):
            most = max(hair.values())
            rows.append({"part": HAIR, "words": list(hair), "score": most})
            rows.append({"part": NEAR + HAIR, "words": _hair_near(pixels, list(hair)), "score": most})
        return rows

    def _hair_part(self, figure: Figure) -> tuple[float, float, float, float]:
        """Return where a figure's hair is, as shares of its box (left, top, right, bottom)."""
        if self._detector is None:
            return _CROWN
        face = own_face(self._detector, figure)
        if face is None:
            return _BEHIND if figure.box.height >= _FACE_VISIBLE else _CROWN
        left, right = ((side - figure.box.x1) / figure.box.width for side in (face.box.x1, face.box.x2))
        forehead = face.box.y1 + _FOREHEAD * face.box.height - figure.box.y1
        return left, 0.0, right, forehead / figure.box.height


def _outline(crop: Image, box: Box) -> Image | None:
    """Return a mask (height x width; 1: the person) of the figure in a box of a small picture; None if it fails."""
    mask = np.full(crop.shape[:2], cv2.GC_BGD, dtype=np.uint8)
    mask[_slices(box, (0.0, 0.0, 1.0, 1.0))] = cv2.GC_PR_BGD
    centre = round(box.center[0]), round(box.center[1])
    axes = max(1, round(_ELLIPSE[0] * box.width)), max(1, round(_ELLIPSE[1] * box.height))
    cv2.ellipse(mask, centre, axes, 0.0, 0.0, 360.0, cv2.GC_PR_FGD, -1)
    mask[_slices(box, _HEAD)] = cv2.GC_PR_FGD
    mask[_slices(box, _CORE)] = cv2.GC_FGD
    if not (mask == cv2.GC_BGD).any() or not (mask == cv2.GC_FGD).any():
        mask[0, :] = mask[:, 0] = mask[:, -1] = cv2.GC_BGD
    cv2.setRNGSeed(1)  # its clusters begin at random pixels
    try:
        cv2.grabCut(crop, mask, None, np.zeros((1, 65)), np.zeros((1, 65)), _ROUNDS, cv2.GC_INIT_WITH_MASK)
    except cv2.error:
        return None
    person = ((mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)).astype(np.uint8)
    filled = float(person.sum()) / max(box.area, 1.0)
    return person if _FILLED[0] <= filled <= _FILLED[1] else None


def _slices(box: Box, part: tuple[float, float, float, float]) -> tuple[slice, slice]:
    left, top, right, bottom = part
    rows = slice(max(0, round(box.y1 + top * box.height)), max(0, round(box.y1 + bottom * box.height)))
    return rows, slice(max(0, round(box.x1 + left * box.width)), max(0, round(box.x1 + right * box.width)))


def _pixels(crop: Image, outline: Image, box: Box, part: tuple[float, float, float, float]) -> Image:
    """Return the pixels (n x 3) of a part of a figure that are inside its outline."""
    place = _slices(box, part)
    found: Image = crop[place][outline[place] > 0]
    return found


def _hair_colours(pixels: Image) -> dict[str, float]:
    """Return the colours of hair that cover much of some pixels (n x 3, BGR), and their shares, the largest first.

    Empty if none covers most of them.
    """
    if len(pixels) < 12:
        return {}
    shares = np.bincount(_hair_names(pixels), minlength=len(HAIR_COLOURS) + 1)[:-1] / len(pixels)
    if shares.max() < _MOST_HAIR:
        return {}
    order = np.argsort(-shares, kind="stable")
    return {HAIR_COLOURS[number]: float(shares[number]) for number in order if shares[number] >= _MORE_HAIR}


def _hair_near(pixels: Image, words: Sequence[str]) -> list[str]:
    """Return the other colours of hair that pixels with some colours may have: much of what looks black is dark brown."""
    names = _hair_names(pixels)
    own = (np.median(pixels[names == HAIR_COLOURS.index(word)], axis=0) for word in words)
    near = {number for centre in own for number in near_names(centre, _hair_names) if number < len(HAIR_COLOURS)}
    near |= {HAIR_COLOURS.index("brown")} if "black" in words else set()
    return [other for number, other in enumerate(HAIR_COLOURS) if number in near and other not in words]


def _hair_names(pixels: Image) -> NDArray[np.uint8]:
    """Return for each pixel (n x 3, BGR) the position of its colour in ``HAIR_COLOURS``, their number if it is none."""
    hue, saturation, value = np.moveaxis(cv2.cvtColor(pixels[None], cv2.COLOR_BGR2HSV)[0], 1, 0)
    is_warm = (hue >= _HAIR_HUES[0]) & (hue <= _HAIR_HUES[1]) & (saturation >= _COLOURED)
    is_plain = saturation < _COLOURED
    kinds = {
        "black": value < _BLACK,
        "brown": (value >= _BLACK) & (value < _BLONDE) & is_warm,
        "yellow": (value >= _BLONDE) & is_warm,
        "grey": (value >= _BLACK) & (value < _WHITE) & is_plain,
        "white": (value >= _WHITE) & is_plain,
    }
    numbers = np.full(len(pixels), len(HAIR_COLOURS), dtype=np.uint8)
    for number, colour in enumerate(HAIR_COLOURS):
        numbers[kinds[colour]] = number
    return numbers
