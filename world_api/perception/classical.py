"""Perception of the classical profile, without downloads: people and faces, text on screen, text vectors.

Sources: Dalal and Triggs, "Histograms of oriented gradients for human detection" (2005); Viola and Jones, "Rapid
object detection using a boosted cascade of simple features" (2001); feature hashing, Weinberger et al. (2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import DetectedObject, Image, TextLine, Vectors
from world_api.core.spans import Box
from world_api.core.vocabulary import concepts, content_words

#: The people detector's window is 64 x 128 pixels; smaller pictures are enlarged to hold it.
_WINDOW = (64, 128)
_LARGEST_SIDE = 640
#: The edge put around a picture, as a share of its height.
_EDGE = 0.2
#: Heights of a person, in pixels, inside the trained window, and the least score of a person there.
_PERSON_HEIGHTS = (96, 88, 104)
_PERSON_LIMIT = 0.2
#: Windows around a box, the likeliest first: a person's height in them, and their shift.
_PERSON_WINDOWS = tuple(
    (height, right, down) for right in (0, -3, 3) for down in (0, -4, 4) for height in _PERSON_HEIGHTS
)
#: If the scores of the first windows are all below this, those around have not been positive either.
_FIRST_WINDOWS, _HOPELESS = 9, -1.25
#: Raw scores that correspond to confidence 1.0.
_SURE_PERSON, _SURE_FACE = 2.0, 8.0
_OVERLAP = 0.4
#: Scale step of the people detector.
_FINE, _COARSE = 1.06, 1.12

#: Pixels of the longer side of the picture in which lines are found: coarsely, and before reading them.
_COARSE_SIDE, _FINE_SIDE = 320, 736
#: The least confidence of a place that may hold text, of a line that was read, and of one with a single character.
_PLACE, _LINE, _CHARACTER = 0.6, 0.5, 0.9
#: A block may be two lines if its confidence and its width over height are below these, and its share of the picture's
#: height is above this.
_DOUBTFUL, _LONG, _LARGE = 0.9, 3.5, 0.15
#: A gap of this share of a letter is a space.
_SPACE = 0.45

_WORD_WEIGHT, _CONCEPT_WEIGHT, _GRAM_WEIGHT = 2.0, 2.0, 0.5
_GRAM = 4


class ClassicalDetector:
    """Detects ``person`` and ``face`` with the models of OpenCV. Confidence is a scaled score and not calibrated."""

    producer = "opencv-hog-haar/1"

    def __init__(self) -> None:
        self._face_lock = Lock()  # OpenCV's cascade keeps the picture as state

    def categories(self) -> frozenset[str]:
        """Return the categories that this detector can detect."""
        return frozenset({"person", "face"})

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        """Return objects of a category in a BGR picture by falling confidence; none for an unknown category."""
        if category not in self.categories() or min(image.shape[:2]) < 16:
            return []
        return _surest(self._people(image, _FINE) if category == "person" else self._faces(image))

    def people(self, image: Image) -> Sequence[DetectedObject]:
        """Return the people in a BGR picture by falling confidence; faster than ``detect`` and less thorough."""
        return _surest(self._people(image, _COARSE)) if min(image.shape[:2]) >= 16 else []

    @cached_property
    def _hog(self) -> Any:
        import cv2

        hog = cv2.HOGDescriptor()
        hog.setSVMDetector(cv2.HOGDescriptor.getDefaultPeopleDetector())
        return hog

    def person_score(self, image: Image, box: Box) -> float:
        """Return a score of a box (pixels of ``image``): positive if it looks like one upright person; not calibrated.

        It is the first positive score of some windows around the box, else the highest one.
        """
        scores: list[float] = []
        for height, right, down in _PERSON_WINDOWS:
            scores.append(self._window_score(image, box, height=height, right=right, down=down) - _PERSON_LIMIT)
            if scores[-1] > 0.0 or (len(scores) == _FIRST_WINDOWS and max(scores) < _HOPELESS):
                break
        return max(scores)

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

        return np.asarray(cv2.HOGDescriptor.getDefaultPeopleDetector(), dtype=np.float32).ravel()

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
        # Windows are larger than people: without an edge, people that fill the picture would not be found.
        edge = int(_EDGE * resized.shape[0])
        framed = cv2.copyMakeBorder(resized, edge, edge, edge, edge, cv2.BORDER_REPLICATE)
        windows, scores = self._hog.detectMultiScale(framed, winStride=(8, 8), padding=(0, 0), scale=step)
        found = []
        for (x, y, w, h), score in zip(windows, np.ravel(scores), strict=True):
            # The trained windows leave a margin around the person.
            corners = np.array([x + w * 0.2, y + h * 0.1, x + w * 0.8, y + h * 0.92])
            x1, y1, x2, y2 = (float(value) for value in (corners - edge) / scale)
            box = Box(x1=x1, y1=y1, x2=x2, y2=y2).common(Box(x1=0.0, y1=0.0, x2=float(width), y2=float(height)))
            if box is not None:
                found.append(_found("person", box, float(score) / _SURE_PERSON))
        return found

    def _faces(self, image: Image) -> list[DetectedObject]:
        import cv2

        gray = cv2.equalizeHist(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
        with self._face_lock:
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
    """Return the objects by falling confidence, without those that overlap much with a more confident one."""
    kept: list[DetectedObject] = []
    for item in sorted(found, key=lambda item: (-item.confidence, item.box.x1, item.box.y1)):
        if all(item.box.iou(other.box) < _OVERLAP for other in kept):
            kept.append(item)
    return kept


class RapidOcrReader:
    """Reads English and Chinese text in BGR pictures with RapidOCR and the PP-OCR models that its package contains.

    Models are loaded at the first call.
    """

    def __init__(self) -> None:
        from importlib.metadata import version

        self.producer = f"rapidocr-{version('rapidocr')}/1"

    def read(self, image: Image) -> Sequence[TextLine]:
        """Return all lines of text in the image, top to bottom."""
        lines = [better for line in self._lines(image) for better in self._split_if_better(line, image)]
        sure = [line for line in lines if line.confidence >= (_LINE if len(line.text) > 1 else _CHARACTER)]
        return sorted(sure, key=lambda line: (line.box.y1, line.box.x1, line.text))

    def locate(self, image: Image) -> Sequence[Box]:
        """Return boxes that may contain lines of text, found in a small copy of the image; top to bottom."""
        found = _engine(_COARSE_SIDE)(image, use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None:
            return []
        boxes = [
            _around(corners, image) for corners, score in zip(found.boxes, found.scores, strict=True) if score >= _PLACE
        ]
        return sorted(boxes, key=lambda box: (box.y1, box.x1))

    def _lines(self, image: Image) -> list[TextLine]:
        found = _engine(_FINE_SIDE)(
            image, use_det=True, use_cls=False, use_rec=True, return_word_box=True, return_single_char_box=True
        )
        if found.txts is None or found.boxes is None:
            return []
        lines = zip(found.txts, found.boxes, found.scores, found.word_results, strict=True)
        return [
            TextLine(text=_spaced(text, characters), box=_around(corners, image), confidence=round(float(score), 3))
            for text, corners, score, characters in lines
            if text.strip()
        ]

    def _split_if_better(self, line: TextLine, image: Image) -> list[TextLine]:
        """Return the lines of both halves of a large, doubtful block if they are read with more confidence.

        Such a block may be two lines close together. In all other cases the line itself is returned.
        """
        box = line.box
        if line.confidence >= _DOUBTFUL or box.width > _LONG * box.height or box.height < _LARGE * image.shape[0]:
            return [line]
        halves: list[TextLine] = []
        left, middle = int(box.x1), int((box.y1 + box.y2) / 2)
        for top, bottom in ((int(box.y1), middle), (middle, int(box.y2))):
            for half in self._lines(np.ascontiguousarray(image[top:bottom, left : int(box.x2)])):
                halves.append(replace(half, box=half.box.moved(left, top)))
        surer = len(halves) >= 2 and min(half.confidence for half in halves) > line.confidence
        return halves if surer else [line]


@cache
def _engine(longer_side: int) -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "critical", "Det.limit_type": "max", "Det.limit_side_len": longer_side})


def _spaced(text: str, characters: Sequence[Sequence[Any]]) -> str:
    """Return the text with a space added between a lower-case letter and a capital more than 0.45 letter widths apart.

    ``characters``: for each character that is not a space, an entry whose last item is its corners (x, y).
    """
    if len(characters) != len(text.replace(" ", "")) or len(characters) < 3:
        return text.strip()
    edges = [(min(x for x, _ in corners), max(x for x, _ in corners)) for _, _, corners in characters]
    letter = sorted(right - left for left, right in edges)[len(edges) // 2]
    spaced, place = "", -1
    for sign in text:
        if sign != " ":
            place += 1
            wide = place > 0 and edges[place][0] - edges[place - 1][1] > _SPACE * letter
            if wide and sign.isupper() and spaced[-1:].islower():
                spaced += " "
        spaced += sign
    return spaced.strip()


def _around(corners: Iterable[Iterable[float]], image: Image) -> Box:
    """Return the upright box around four corners, inside the image."""
    height, width = image.shape[:2]
    xs, ys = zip(*((float(x), float(y)) for x, y in corners), strict=True)
    return Box(
        x1=max(0.0, min(xs)), y1=max(0.0, min(ys)), x2=min(float(width), max(xs)), y2=min(float(height), max(ys))
    )


class HashedTextEmbedder:
    """Embeds texts without a model, by hashed words and character n-grams.

    Texts that share words, word parts or Chinese character pairs are close; meaning beyond spelling is not captured. The hash is
    BLAKE2, so vectors are the same on every machine and Python version.
    """

    producer = "hashed-ngrams/1"
    dimension = 512
    #: Similarity that texts without a common word seldom exceed (hash collisions and shared word parts).
    noise_floor = 0.15
    understands = False
    calibration = None

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, as ``embed`` does."""
        return self.embed([text])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text (``len(texts) x 512``); zero for a text without words."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for feature, weight in _features(text).items():
                place, sign = _place(feature, self.dimension)
                vectors[row, place] += sign * weight
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit


def _features(text: str) -> dict[str, float]:
    """Return the weights, by name, of the features of a text (words, concepts, n-grams); they grow with the log of the counts."""
    counts = Counter(_occurrences(text))
    weights = {"w": _WORD_WEIGHT, "#": _CONCEPT_WEIGHT, "g": _GRAM_WEIGHT}
    return {feature: weights[feature[0]] * (1.0 + float(np.log(count))) for feature, count in counts.items()}


def _occurrences(text: str) -> Iterator[str]:
    for word in content_words(text):
        yield f"w{word}"
        padded = f"^{word}$"
        for start in range(max(0, len(padded) - _GRAM + 1)):
            yield f"g{padded[start : start + _GRAM]}"
    for concept in sorted(concepts(text)):
        yield f"#{concept}"


@lru_cache(maxsize=65536)
def _place(feature: str, dimension: int) -> tuple[int, float]:
    digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    return digest % dimension, 1.0 if digest >> 63 else -1.0
