"""Optical character recognition with RapidOCR and the PP-OCR models its package carries: no download, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from world_api.core.boxes import Box
from world_api.core.ports import Image, TextLine

#: Pixels of the longer side at which lines are looked for: coarsely, and before they are read.
_COARSE, _FINE = 320, 736
#: The least confidence of a place that may hold text, of a line that was read, and of one with a single character.
_PLACE, _LINE, _CHARACTER = 0.6, 0.5, 0.9
#: A block that may be two lines: its confidence, its width over height, its share of the picture's height.
_DOUBTFUL, _LONG, _LARGE = 0.9, 3.5, 0.15
#: A gap of this share of a letter is a space.
_SPACE = 0.45


class RapidOcrReader:
    """Reads English and Chinese text off BGR pictures. Models are loaded at the first call."""

    producer = f"rapidocr-{version('rapidocr')}/1"

    def read(self, image: Image) -> Sequence[TextLine]:
        """All lines of text in the image, top to bottom."""
        lines = [better for line in self._lines(image) for better in self._split_if_better(line, image)]
        sure = [line for line in lines if line.confidence >= (_LINE if len(line.text) > 1 else _CHARACTER)]
        return sorted(sure, key=lambda line: (line.box.y1, line.box.x1, line.text))

    def locate(self, image: Image) -> Sequence[Box]:
        """Where lines of text may be, from a quick look at a small copy; top to bottom."""
        found = self._coarse(image, use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None:
            return []
        boxes = [
            _around(corners, image) for corners, score in zip(found.boxes, found.scores, strict=True) if score >= _PLACE
        ]
        return sorted(boxes, key=lambda box: (box.y1, box.x1))

    def _lines(self, image: Image) -> list[TextLine]:
        found = self._fine(
            image, use_det=True, use_cls=False, use_rec=True, return_word_box=True, return_single_char_box=True
        )
        if found.txts is None or found.boxes is None:
            return []
        return [
            TextLine(text=_spaced(text, characters), box=_around(corners, image), confidence=round(float(score), 3))
            for text, corners, score, characters in zip(
                found.txts, found.boxes, found.scores, found.word_results, strict=True
            )
            if text.strip()
        ]

    def _split_if_better(self, line: TextLine, image: Image) -> list[TextLine]:
        """Large lines set tightly are taken for one: read the halves of a doubtful block, and keep the surer reading."""
        box = line.box
        if line.confidence >= _DOUBTFUL or box.width > _LONG * box.height or box.height < _LARGE * image.shape[0]:
            return [line]
        halves: list[TextLine] = []
        middle = int((box.y1 + box.y2) / 2)
        for top, bottom in ((int(box.y1), middle), (middle, int(box.y2))):
            left = int(box.x1)
            part = self._lines(np.ascontiguousarray(image[top:bottom, left : int(box.x2)]))
            halves.extend(_moved(half, right=left, down=top) for half in part)
        surer = len(halves) >= 2 and min(half.confidence for half in halves) > line.confidence
        return halves if surer else [line]

    @cached_property
    def _coarse(self) -> Any:
        return _engine(_COARSE)

    @cached_property
    def _fine(self) -> Any:
        return _engine(_FINE)


def _engine(longer_side: int) -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "critical", "Det.limit_type": "max", "Det.limit_side_len": longer_side})


def _spaced(text: str, characters: Sequence[Sequence[Any]]) -> str:
    """Put back a space the recogniser dropped: a gap as wide as half a letter before a capital after a small letter."""
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


def _moved(line: TextLine, *, right: int, down: int) -> TextLine:
    box = line.box
    moved = Box(x1=box.x1 + right, y1=box.y1 + down, x2=box.x2 + right, y2=box.y2 + down)
    return TextLine(text=line.text, box=moved, confidence=line.confidence)


def _around(corners: Iterable[Iterable[float]], image: Image) -> Box:
    """The upright box around four corners, inside the image."""
    height, width = image.shape[:2]
    xs, ys = zip(*((float(x), float(y)) for x, y in corners), strict=True)
    return Box(
        x1=max(0.0, min(xs)), y1=max(0.0, min(ys)), x2=min(float(width), max(xs)), y2=min(float(height), max(ys))
    )
