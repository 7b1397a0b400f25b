"""Detection with what OpenCV carries: people by histograms of oriented gradients, faces by a cascade.

Sources: Dalal and Triggs, "Histograms of oriented gradients for human detection" (2005); Viola and Jones, "Rapid
object detection using a boosted cascade of simple features" (2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_api.core.boxes import Box
from world_api.core.ports import DetectedObject, Image

#: The people detector's window is 64 x 128 pixels; smaller pictures are enlarged to hold it.
_WINDOW = (64, 128)
_LARGEST_SIDE = 640
#: The edge put around a picture, as a share of its height.
_EDGE = 0.2
#: A person's height in pixels inside the trained window, and the score that tells people from other things there.
_PERSON_HEIGHTS = (96, 88, 104)
_PERSON_LIMIT = 0.2
#: The windows laid around a box, the likeliest first: a person's height in them, and how far they are pushed.
_PERSON_WINDOWS = tuple(
    (height, right, down) for right in (0, -3, 3) for down in (0, -4, 4) for height in _PERSON_HEIGHTS
)
#: Raw scores at which a detection counts as quite sure (they become 1.0).
_SURE_PERSON, _SURE_FACE = 2.0, 8.0
_OVERLAP = 0.4
#: The factor between two sizes at which people are looked for.
_FINE, _COARSE = 1.06, 1.12


class ClassicalDetector:
    """Knows ``person`` and ``face``. Confidence follows the detector's own score and is not calibrated."""

    producer = "opencv-hog-haar/1"

    def __init__(self) -> None:
        self._looking_for_faces = Lock()  # OpenCV's cascade keeps the picture it looks at

    def categories(self) -> frozenset[str]:
        """The category words this detector knows."""
        return frozenset({"person", "face"})

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        """Objects of that category in a BGR picture, the surest first; none for a category it does not know."""
        if category not in self.categories() or min(image.shape[:2]) < 16:
            return []
        return _surest(self._people(image, _FINE) if category == "person" else self._faces(image))

    def people(self, image: Image) -> Sequence[DetectedObject]:
        """The people in a BGR picture, the surest first; quicker than ``detect`` and less thorough."""
        return _surest(self._people(image, _COARSE)) if min(image.shape[:2]) >= 16 else []

    @cached_property
    def _hog(self) -> Any:
        import cv2

        hog = cv2.HOGDescriptor()
        hog.setSVMDetector(cv2.HOGDescriptor.getDefaultPeopleDetector())
        return hog

    def person_score(self, image: Image, box: Box) -> float:
        """How much a box (pixels of ``image``) looks like one upright person: positive for yes, unbounded, not calibrated.

        The score of the first of a few trained windows laid around the box that says yes, else the best one.
        """
        best = -np.inf
        for height, right, down in _PERSON_WINDOWS:
            best = max(best, self._window_score(image, box, height=height, right=right, down=down) - _PERSON_LIMIT)
            if best > 0.0:
                break
        return float(best)

    def _window_score(self, image: Image, box: Box, *, height: int, right: int, down: int) -> float:
        import cv2

        scale = height / max(box.height, 1.0)
        x, y = box.center
        place = np.array(
            [[scale, 0, _WINDOW[0] / 2 - x * scale + right], [0, scale, _WINDOW[1] / 2 - y * scale + down]], np.float32
        )
        window = cv2.warpAffine(image, place, _WINDOW, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return float(self._hog.compute(window).ravel() @ self._weights[:-1] + self._weights[-1])

    @cached_property
    def _weights(self) -> NDArray[np.float32]:
        import cv2

        weights: NDArray[np.float32] = np.asarray(
            cv2.HOGDescriptor.getDefaultPeopleDetector(), dtype=np.float32
        ).ravel()
        return weights

    @cached_property
    def _cascade(self) -> Any:
        import cv2

        return cv2.CascadeClassifier(str(Path(cv2.__file__).parent / "data" / "haarcascade_frontalface_default.xml"))

    def _people(self, image: Image, step: float) -> list[DetectedObject]:
        import cv2

        height, width = image.shape[:2]
        scale = min(1.0, _LARGEST_SIDE / max(height, width))
        scale = max(scale, (_WINDOW[0] + 2) / width, (_WINDOW[1] + 2) / height)
        resized = cv2.resize(
            image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        )
        # Windows are larger than people: without an edge around it, nobody who fills the picture would be found.
        edge = int(_EDGE * resized.shape[0])
        framed = cv2.copyMakeBorder(resized, edge, edge, edge, edge, cv2.BORDER_REPLICATE)
        windows, scores = self._hog.detectMultiScale(framed, winStride=(8, 8), padding=(0, 0), scale=step)
        found = []
        for (x, y, w, h), score in zip(windows, np.ravel(scores), strict=True):
            # The trained windows leave a margin around the person.
            corners = np.array([x + w * 0.2, y + h * 0.1, x + w * 0.8, y + h * 0.92])
            x1, y1, x2, y2 = (float(value) for value in (corners - edge) / scale)
            box = Box(x1=max(0.0, x1), y1=max(0.0, y1), x2=min(float(width), x2), y2=min(float(height), y2))
            if box.area > 0:
                found.append(_found("person", box, float(score) / _SURE_PERSON))
        return found

    def _faces(self, image: Image) -> list[DetectedObject]:
        import cv2

        gray = cv2.equalizeHist(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
        with self._looking_for_faces:
            boxes, _, weights = self._cascade.detectMultiScale3(
                gray, scaleFactor=1.1, minNeighbors=4, minSize=(20, 20), outputRejectLevels=True
            )
        found = []
        for (x, y, w, h), weight in zip(boxes, np.ravel(weights), strict=True):
            box = Box(x1=float(x), y1=float(y), x2=float(x + w), y2=float(y + h))
            found.append(_found("face", box, float(weight) / _SURE_FACE))
        return found


def _found(category: str, box: Box, confidence: float) -> DetectedObject:
    return DetectedObject(category=category, box=box, confidence=round(min(1.0, max(0.0, confidence)), 3))


def _surest(found: list[DetectedObject]) -> list[DetectedObject]:
    return _without_overlaps(sorted(found, key=lambda item: (-item.confidence, item.box.x1, item.box.y1)))


def _without_overlaps(ordered: Sequence[DetectedObject]) -> list[DetectedObject]:
    kept: list[DetectedObject] = []
    for item in ordered:
        if all(item.box.iou(other.box) < _OVERLAP for other in kept):
            kept.append(item)
    return kept
