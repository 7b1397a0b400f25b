"""Optical character recognition with RapidOCR and the PP-OCR models its package carries: no download, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

from world_api.core.boxes import Box
from world_api.core.ports import Image, TextLine

#: Pixels of the longer side at which lines are looked for: coarsely, and before they are read.
_COARSE, _FINE = 320, 736
#: The least confidence of a place that may hold text, and of a line that was read.
_PLACE, _LINE = 0.6, 0.5


class RapidOcrReader:
    """Reads English and Chinese text off BGR pictures. Models are loaded at the first call."""

    producer = f"rapidocr/{version('rapidocr')}"

    def read(self, image: Image) -> Sequence[TextLine]:
        """All lines of text in the image, top to bottom."""
        found = self._fine(image, use_det=True, use_cls=False, use_rec=True)
        if found.txts is None or found.boxes is None:
            return []
        lines = [
            TextLine(text=text.strip(), box=_around(corners, image), confidence=round(float(score), 3))
            for text, corners, score in zip(found.txts, found.boxes, found.scores, strict=True)
            if text.strip() and score >= _LINE
        ]
        return sorted(lines, key=lambda line: (line.box.y1, line.box.x1, line.text))

    def locate(self, image: Image) -> Sequence[Box]:
        """Where lines of text may be, from a quick look at a small copy; top to bottom."""
        found = self._coarse(image, use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None:
            return []
        boxes = [
            _around(corners, image) for corners, score in zip(found.boxes, found.scores, strict=True) if score >= _PLACE
        ]
        return sorted(boxes, key=lambda box: (box.y1, box.x1))

    @cached_property
    def _coarse(self) -> Any:
        return _engine(_COARSE)

    @cached_property
    def _fine(self) -> Any:
        return _engine(_FINE)


def _engine(longer_side: int) -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "critical", "Det.limit_type": "max", "Det.limit_side_len": longer_side})


def _around(corners: Iterable[Iterable[float]], image: Image) -> Box:
    """The upright box around four corners, inside the image."""
    height, width = image.shape[:2]
    xs, ys = zip(*((float(x), float(y)) for x, y in corners), strict=True)
    return Box(
        x1=max(0.0, min(xs)), y1=max(0.0, min(ys)), x2=min(float(width), max(xs)), y2=min(float(height), max(ys))
    )
