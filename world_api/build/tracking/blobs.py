"""Blobs: connected things in a difference picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from world_api.build.tracking.background import Difference, Mask, Place
from world_api.core.boxes import Box

#: The smallest thing that is followed, as a share of the picture.
_SMALLEST = 0.002
#: A component with less solid area than this share of it is a shadow or a change of light.
_SOLID_SHARE = 0.15
#: Pixels around what stands out that its morphology needs.
_MARGIN = 10
#: Pixels around a blob in which its outline is looked at.
_BAND = 3
_CLOSE = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 7))
_OPEN = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))


@dataclass(frozen=True, kw_only=True)
class Blob:
    """One thing that stands out: its box and its mask (0 or 255, as large as the box), in pixels of the small picture."""

    box: Box
    mask: Mask

    @cached_property
    def area(self) -> int:
        """Pixels of the mask."""
        return cv2.countNonZero(self.mask)

    @property
    def place(self) -> tuple[slice, slice]:
        """Where the mask lies: rows and columns."""
        x, y = int(self.box.x1), int(self.box.y1)
        return slice(y, y + self.mask.shape[0]), slice(x, x + self.mask.shape[1])

    def on(self, shape: tuple[int, int]) -> Mask:
        """The mask on an empty picture of that height and width."""
        whole = np.zeros(shape, dtype=np.uint8)
        whole[self.place] = self.mask
        return whole


def find_blobs(difference: Difference) -> list[Blob]:
    """The things in a difference picture, the largest first.

    Things hang together through their weak pixels; their extent is the outline (convex hull) of their solid ones. So
    a shirt in the wall's colour stays part of its wearer, and a shadow on the floor does not.
    """
    left, top, width, height = cv2.boundingRect(difference.weak)
    if width * height == 0:
        return []
    rows = slice(max(0, top - _MARGIN), top + height + _MARGIN)
    columns = slice(max(0, left - _MARGIN), left + width + _MARGIN)
    weak, solid = difference.weak[rows, columns], difference.solid[rows, columns]
    joined = cv2.morphologyEx(cv2.morphologyEx(weak, cv2.MORPH_OPEN, _OPEN), cv2.MORPH_CLOSE, _CLOSE)
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, _OPEN)
    # The algorithm is the usual one; only so can labels be had in two bytes, which takes less than half the time.
    count, labels, facts, _ = cv2.connectedComponentsWithStatsWithAlgorithm(joined, 8, cv2.CV_16U, cv2.CCL_SPAGHETTI)
    smallest = _SMALLEST * difference.weak.size
    found = []
    for label in np.flatnonzero(facts[1:count, cv2.CC_STAT_AREA] >= smallest) + 1:
        x, y, width, height, _ = facts[label].tolist()
        window = slice(y, y + height), slice(x, x + width)
        component: Mask = cv2.compare(labels[window], int(label), cv2.CMP_EQ)
        blob = _trimmed(component, solid[window] & component, x + columns.start, y + rows.start)
        if blob is not None and blob.area >= smallest:
            found.append(blob)
    return sorted(found, key=lambda blob: (-blob.area, blob.box.x1, blob.box.y1))


def unite(blobs: list[Blob]) -> Blob:
    """One blob that covers several."""
    if len(blobs) == 1:
        return blobs[0]
    x1 = int(min(blob.box.x1 for blob in blobs))
    y1 = int(min(blob.box.y1 for blob in blobs))
    x2 = int(max(blob.box.x2 for blob in blobs))
    y2 = int(max(blob.box.y2 for blob in blobs))
    mask = np.zeros((y2 - y1, x2 - x1), dtype=np.uint8)
    for blob in blobs:
        rows, columns = blob.place
        mask[rows.start - y1 : rows.stop - y1, columns.start - x1 : columns.stop - x1] |= blob.mask
    return Blob(box=Box(x1=x1, y1=y1, x2=x2, y2=y2), mask=mask)


def outline(blob: Blob, shape: tuple[int, int]) -> tuple[Place, Mask]:
    """A band of three pixels along the blob's edge, and the place of a picture (height, width) that it lies in."""
    rows, columns = blob.place
    top, left = max(0, rows.start - _BAND), max(0, columns.start - _BAND)
    bottom, right = min(shape[0], rows.stop + _BAND), min(shape[1], columns.stop + _BAND)
    window = np.zeros((bottom - top, right - left), dtype=np.uint8)
    window[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] = blob.mask
    band: Mask = cv2.morphologyEx(window, cv2.MORPH_GRADIENT, _OPEN)
    return (slice(top, bottom), slice(left, right)), band


def _trimmed(component: Mask, solid: Mask, x: int, y: int) -> Blob | None:
    """The part of a component inside the hull of its solid pixels; None for a mere shadow."""
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
