"""Background subtraction for a still camera: a background picture that is updated, and the blobs that differ from it.

The update is selective and removes ghosts, as in Cucchiara et al., "Detecting moving objects, ghosts, and shadows in
video streams" (2003): pixels of things are not updated, pixels of the background change slowly. A ghost is a "thing"
whose outline is in the background picture and not in the frame; its pixels are replaced by the frame's at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Image
from world_api.core.spans import Box

Mask = NDArray[np.uint8]
Floats = NDArray[np.float32]
Place = tuple[slice, slice]  #: rows and columns
Planes = tuple[Mask, Mask, Mask]  #: blue, green and red, each height x width

#: The least difference (of 255) of a channel from the background in the foreground.
_WEAK = 18
#: A shadow is darker by a factor in this range and its colour differs by less than this.
_SHADOW_DARKEST, _SHADOW_LIGHTEST, _SHADOW_COLOUR = 0.6, 1.25, 16.0
#: Along a ghost's outline the background's edges are stronger than the frame's by this factor.
_GHOST_RATIO = 1.3
#: Time constant (seconds) of the update.
_FOLLOW = 6.0
#: Seconds between two updates; more frequent ones would cost much and change nothing.
_STEP = 0.55
#: A larger difference (of 255) than this is not noise.
_NOISE_LIMIT = 12
#: The exposure is compared on a grid this coarse (pixels); factors nearer to 1 than this are ignored.
_GRID, _SAME_LIGHT = 12, 0.012


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Foreground masks of a picture, 0 or 255 in each pixel: ``weak`` includes shadows, ``solid`` does not."""

    weak: Mask
    solid: Mask

    @property
    def share(self) -> float:
        """The share of the picture that is solid foreground, 0 to 1."""
        return cv2.countNonZero(self.solid) / self.solid.size


class Smooth:
    """A small picture, blurred against noise: ``bgr``, and as ``planes`` its channels, three arrays, on which most work is faster."""

    def __init__(self, picture: Image) -> None:
        self.bgr: Image = cv2.GaussianBlur(picture, (3, 3), 0)
        blue, green, red = (cv2.extractChannel(self.bgr, channel) for channel in range(3))
        self.planes: Planes = (blue, green, red)

    @cached_property
    def gray(self) -> Image:
        """The picture in grey, height x width."""
        return np.asarray(cv2.cvtColor(self.bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.bgr.shape[0], self.bgr.shape[1]


class Scene:
    """The empty scene between two updates: ``planes``, its channels, and pictures made of them. Do not write into any."""

    def __init__(self, planes: Planes) -> None:
        self.planes = planes

    @cached_property
    def bgr(self) -> Image:
        """The picture, height x width x 3."""
        return np.asarray(cv2.merge(self.planes), dtype=np.uint8)

    @cached_property
    def gray(self) -> Image:
        """The picture in grey, height x width."""
        return np.asarray(cv2.cvtColor(self.bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)


class Background:
    """A model of the empty scene: running means of colour and noise for each pixel; ``scene`` is its picture."""

    def __init__(self, picture: Smooth) -> None:
        self._mean: list[Floats] = [plane.astype(np.float32) for plane in picture.planes]
        self._noise: Floats = np.full(picture.shape, 4.0, dtype=np.float32)
        self._owed = 0.0
        self._refresh()

    def difference(self, picture: Smooth) -> Difference:
        """Return where a picture differs from the background; a change of exposure is compensated."""
        expected = self._lit_like(picture)
        weak: Mask = cv2.compare(_largest_gap(picture.planes, expected), self._limit, cv2.CMP_GT)
        return Difference(weak=weak, solid=_without_shadow(weak, picture.planes, expected))

    def follow(self, picture: Smooth, things: Mask | None, elapsed: float) -> None:
        """Update the background where ``things`` (a mask; None: no things) is 0, at most every 0.55 seconds.

        ``elapsed``: seconds since the last call.
        """
        self._owed += elapsed
        if self._owed < _STEP:
            return
        rate = 1.0 - float(np.exp(-self._owed / _FOLLOW))
        free = None if things is None else cv2.compare(things, 0, cv2.CMP_EQ)
        gap = cv2.min(_largest_gap(picture.planes, self.scene.planes), _NOISE_LIMIT)
        cv2.accumulateWeighted(gap, self._noise, rate, free)
        for plane, mean in zip(picture.planes, self._mean, strict=True):
            cv2.accumulateWeighted(plane, mean, rate, free)
        self._owed = 0.0
        self._refresh()

    def replace(self, picture: Smooth, where: Mask) -> None:
        """Replace the background by a picture's pixels where the mask ``where`` is not 0."""
        for plane, mean in zip(picture.planes, self._mean, strict=True):
            np.copyto(mean, plane, where=where > 0)
        self._refresh()

    def edge_gain(self, picture: Smooth, place: Place, band: Mask) -> float:
        """Return the mean edge strength of the background minus 1.3 times that of ``picture``.

        It is positive at the outline of a ghost, a thing that is only in the background. ``place``: rows and columns to
        compare; ``band``: mask of the same size, the pixels that count.
        """
        return _edges(self.scene.gray[place], band) - _GHOST_RATIO * _edges(picture.gray[place], band)

    def _refresh(self) -> None:
        blue, green, red = (cv2.convertScaleAbs(mean) for mean in self._mean)
        self.scene = Scene((blue, green, red))
        self._grid = _grid(self.scene.planes) + 8.0
        self._limit: Mask = cv2.max(cv2.convertScaleAbs(self._noise, alpha=4.0), _WEAK)

    def _lit_like(self, picture: Smooth) -> Planes:
        """Return the background at a picture's exposure: each channel times the median ratio of picture to background."""
        gains: Floats = np.clip(_medians((_grid(picture.planes) + 8.0) / self._grid), 0.75, 1.33)
        if float(np.abs(gains - 1.0).max()) < _SAME_LIGHT:
            return self.scene.planes
        steps = np.minimum(np.arange(256, dtype=np.float32) * gains[:, None] + 0.5, 255).astype(np.uint8)
        blue, green, red = (cv2.LUT(plane, table) for plane, table in zip(self.scene.planes, steps, strict=True))
        return blue, green, red


def _grid(planes: Planes) -> Floats:
    return np.stack([plane[::_GRID, ::_GRID] for plane in planes]).astype(np.float32).reshape(3, -1)


def _medians(values: Floats) -> Floats:
    """Return the median of every row; NumPy's ``median`` takes three times as long for so few values."""
    ordered = np.sort(values, axis=1)
    count = values.shape[1]
    return np.asarray((ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2, dtype=np.float32)


def _largest_gap(one: Planes, other: Planes) -> Mask:
    gaps = (cv2.absdiff(now, then) for now, then in zip(one, other, strict=True))
    gap: Mask = reduce(cv2.max, gaps)
    return gap


def _without_shadow(weak: Mask, picture: Planes, expected: Planes) -> Mask:
    """Return the mask ``weak`` without shadows, pixels as bright as 0.6 to 1.25 times ``expected``, in nearly its colour."""
    places = np.flatnonzero((weak & 1).view(np.bool_))
    now = [np.take(plane, places).astype(np.float32) for plane in picture]
    then = [np.take(plane, places).astype(np.float32) for plane in expected]
    factor = (now[0] + now[1] + now[2] + 3.0) / (then[0] + then[1] + then[2] + 3.0)
    blue, green, red = (np.abs(lit - dark * factor) for lit, dark in zip(now, then, strict=True))
    off_colour = np.maximum(np.maximum(blue, green), red)
    shadow = (factor > _SHADOW_DARKEST) & (factor < _SHADOW_LIGHTEST) & (off_colour < _SHADOW_COLOUR)
    solid = weak.copy()
    solid.reshape(-1)[places[shadow]] = 0
    return solid


def _edges(gray: Image, band: Mask) -> float:
    """Return the mean strength of edges of a gray picture in the pixels of the mask ``band``."""
    across, down = cv2.spatialGradient(gray)
    strength = cv2.norm(across, cv2.NORM_L1, band) + cv2.norm(down, cv2.NORM_L1, band)
    return float(strength) / max(1, cv2.countNonZero(band))


#: The smallest thing that is tracked, as a share of the picture.
_SMALLEST = 0.002
#: A component with less solid area than this share of it is a shadow or a change of light.
_SOLID_SHARE = 0.15
#: Pixels around the foreground that its morphology needs.
_MARGIN = 10
#: Pixels around a blob in which its outline is compared.
_BAND = 3
_CLOSE = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 7))
_OPEN = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A connected part of the foreground: its box and its mask (0 or 255, of the box's size), in pixels of the small picture."""

    box: Box
    mask: Mask

    @cached_property
    def area(self) -> int:
        """The number of foreground pixels."""
        return cv2.countNonZero(self.mask)

    @property
    def place(self) -> tuple[slice, slice]:
        """The rows and columns of the picture that the mask covers."""
        x, y = int(self.box.x1), int(self.box.y1)
        return slice(y, y + self.mask.shape[0]), slice(x, x + self.mask.shape[1])

    def on(self, shape: tuple[int, int]) -> Mask:
        """Return a mask for a whole picture of that height and width: the blob in its place, 0 elsewhere."""
        whole = np.zeros(shape, dtype=np.uint8)
        whole[self.place] = self.mask
        return whole


def find_blobs(difference: Difference) -> list[Blob]:
    """Return the blobs of a difference, the largest first. Tiny ones and shadows are left out.

    The pixels of a blob are connected through weak foreground; its extent is the convex hull of its solid pixels. So a
    shirt in the colour of the wall remains a part of the person, but a shadow on the floor does not.
    """
    left, top, width, height = cv2.boundingRect(difference.weak)
    if width * height == 0:
        return []
    rows = slice(max(0, top - _MARGIN), top + height + _MARGIN)
    columns = slice(max(0, left - _MARGIN), left + width + _MARGIN)
    weak, solid = difference.weak[rows, columns], difference.solid[rows, columns]
    joined = cv2.morphologyEx(cv2.morphologyEx(weak, cv2.MORPH_OPEN, _OPEN), cv2.MORPH_CLOSE, _CLOSE)
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, _OPEN)
    smallest = _SMALLEST * difference.weak.size
    found = []
    # Takes a third of the time of labelling all pixels; what is inside a hole of a component becomes a part of it.
    for edge in cv2.findContours(joined, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]:
        x, y, width, height = cv2.boundingRect(edge)
        if width * height < smallest:
            continue
        window = slice(y, y + height), slice(x, x + width)
        component: Mask = np.zeros((height, width), dtype=np.uint8)
        cv2.drawContours(component, [edge], -1, 255, cv2.FILLED, offset=(-x, -y))
        component &= joined[window]
        if cv2.countNonZero(component) < smallest:
            continue
        blob = _trimmed(component, solid[window] & component, x + columns.start, y + rows.start)
        if blob is not None and blob.area >= smallest:
            found.append(blob)
    return sorted(found, key=lambda blob: (-blob.area, blob.box.x1, blob.box.y1))


def unite(blobs: list[Blob]) -> Blob:
    """Return one blob with the pixels of all ``blobs``."""
    if len(blobs) == 1:
        return blobs[0]
    places = [blob.place for blob in blobs]
    top, left = (min(place[axis].start for place in places) for axis in (0, 1))
    bottom, right = (max(place[axis].stop for place in places) for axis in (0, 1))
    mask = np.zeros((bottom - top, right - left), dtype=np.uint8)
    for blob, (rows, columns) in zip(blobs, places, strict=True):
        mask[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] |= blob.mask
    return Blob(box=Box(x1=left, y1=top, x2=right, y2=bottom), mask=mask)


def outline(blob: Blob, shape: tuple[int, int]) -> tuple[Place, Mask]:
    """Return the rows and columns of a blob and 3 pixels around, inside ``shape`` (height, width), and a mask of its edge there."""
    rows, columns = blob.place
    top, left = max(0, rows.start - _BAND), max(0, columns.start - _BAND)
    bottom, right = min(shape[0], rows.stop + _BAND), min(shape[1], columns.stop + _BAND)
    window = np.zeros((bottom - top, right - left), dtype=np.uint8)
    window[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] = blob.mask
    band: Mask = cv2.morphologyEx(window, cv2.MORPH_GRADIENT, _OPEN)
    return (slice(top, bottom), slice(left, right)), band


def _trimmed(component: Mask, solid: Mask, x: int, y: int) -> Blob | None:
    """Return the part of a component inside the convex hull of its ``solid`` pixels; None if too few are solid.

    Both masks are of the component's box; ``x``, ``y``: the left and top end of that in the picture.
    """
    if cv2.countNonZero(solid) < max(1.0, _SOLID_SHARE * cv2.countNonZero(component)):
        return None
    edges, _ = cv2.findContours(solid, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    hull = cv2.convexHull(np.concatenate(edges))
    inside = np.zeros_like(component)
    cv2.fillConvexPoly(inside, hull, 255)
    mask = component & inside
    left, top, width, height = cv2.boundingRect(mask)
    box = Box(x1=x + left, y1=y + top, x2=x + left + width, y2=y + top + height)
    return Blob(box=box, mask=np.ascontiguousarray(mask[top : top + height, left : left + width]))
