"""Real ONNX detectors of a few hundred bytes: each of 8 x 8 cells is a ``dog`` by its red and a ``bottle`` by its blue.

Written field by field as the format's protocol buffers, so that no package is needed to make them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from world_api.core import Image

SIDE, CELL, CLASSES = 64, 8, ("dog", "bottle")
RED, BLUE, GREY = (0, 0, 255), (255, 0, 0), (90, 90, 90)  #: BGR

_FLOAT, _INTEGER = 1, 7


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    content = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(content)) + content


def all_fields(number: int, values: Iterable[int | str | bytes]) -> bytes:
    return b"".join(field(number, value) for value in values)


def tensor(name: str, values: np.ndarray) -> bytes:
    kind = _INTEGER if values.dtype == np.int64 else _FLOAT
    return all_fields(1, values.shape) + field(2, kind) + field(8, name) + field(9, values.tobytes())


def value(name: str, shape: Sequence[int | str], *, is_integer: bool = False) -> bytes:
    sides = [field(1, field(1, side) if isinstance(side, int) else field(2, side)) for side in shape]
    return field(1, name) + field(2, field(1, field(1, _INTEGER if is_integer else _FLOAT) + field(2, b"".join(sides))))


def node(kind: str, inputs: Sequence[str], output: str, **attributes: int | Sequence[int]) -> bytes:
    found = all_fields(1, inputs) + field(2, output) + field(4, kind)
    for name, value in attributes.items():
        own = field(3, value) + field(20, 2) if isinstance(value, int) else all_fields(8, value) + field(20, 7)
        found += field(5, field(1, name) + own)
    return found


def _colours(layout: str) -> np.ndarray:
    """The weights of the classes for one pixel (C x 3): how much redder, and how much bluer it is than the rest."""
    red, blue = (2, 0) if layout == "yolox" else (0, 2)
    weights = np.full((len(CLASSES), 3), -0.5, dtype=np.float32)
    weights[0, red] = weights[1, blue] = 1.0
    return weights / (255.0 if layout == "yolox" else 1.0) / CELL**2


def tiny_detector(layout: str, *, notes: dict[str, str] | None = None) -> bytes:
    """An ONNX file of a layout that ``OnnxDetector`` knows; that of YOLOX takes one picture at a time."""
    cells = (SIDE // CELL) ** 2
    y, x = (grid.ravel() * CELL + CELL / 2 for grid in np.mgrid[: SIDE // CELL, : SIDE // CELL])
    place = np.stack([x, y, np.full(cells, CELL), np.full(cells, CELL)]).astype(np.float32)
    colours = _colours(layout)
    if layout == "yolox":
        place = np.concatenate([np.full((2, cells), 0.5), np.zeros((2, cells)), np.ones((1, cells))]).astype(np.float32)
    elif layout == "yolo-end-to-end":
        place, colours = np.concatenate([place[:2] - CELL / 2, place[:2] + CELL / 2]), colours[:1]
    elif layout == "rt-detr":
        place /= SIDE
    last = 1 if layout == "yolo-end-to-end" else 0  # the number of the class
    rows = len(place) + len(colours) + last
    weights = np.zeros((rows, 3, CELL, CELL), dtype=np.float32)
    weights[len(place) : len(place) + len(colours)] = colours[:, :, None, None]
    beside = np.zeros((1, rows, cells), dtype=np.float32)
    beside[0, : len(place)] = place
    nodes = [
        node("Conv", ["images", "weights"], "cells", kernel_shape=[CELL, CELL], strides=[CELL, CELL]),
        node("Reshape", ["cells", "shape"], "rows"),
        node("Add", ["rows", "beside"], "output" if layout == "yolo" else "sum"),
    ]
    tensors = [
        tensor("weights", weights), tensor("beside", beside), tensor("shape", np.array([0, rows, cells], np.int64))
    ]  # fmt: skip
    shape: list[int | str] = ["batch", rows, cells]
    if layout != "yolo":
        shape = ["batch", cells, rows]
        nodes.append(node("Transpose", ["sum"], "fine" if layout == "yolox" else "output", perm=[0, 2, 1]))
    if layout == "yolox":  # the coarse grids find nothing
        coarse = (SIDE // 16) ** 2 + (SIDE // 32) ** 2
        tensors.append(tensor("coarse", np.zeros((1, coarse, rows), np.float32)))
        nodes.append(node("Concat", ["fine", "coarse"], "output", axis=1))
        shape = [1, cells + coarse, rows]
    batch: int | str = 1 if layout == "yolox" else "batch"
    graph = all_fields(1, nodes) + field(2, "tiny") + all_fields(5, tensors)
    graph += field(11, value("images", [batch, 3, SIDE, SIDE])) + field(12, value("output", shape))
    properties = all_fields(14, [field(1, key) + field(2, value) for key, value in (notes or {}).items()])
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)) + properties


def write_tiny(folder: Path, layout: str, **how: dict[str, str]) -> Path:
    """Write the file into a folder."""
    path = folder / f"tiny-{layout}.onnx"
    path.write_bytes(tiny_detector(layout, **how))
    return path


def picture(
    *squares: tuple[tuple[int, int, int], int, int], width: int = SIDE, height: int = SIDE, side: int = CELL
) -> Image:
    """A grey picture with squares: colour (BGR), left, top."""
    drawn = np.full((height, width, 3), GREY, dtype=np.uint8)
    for colour, left, top in squares:
        drawn[top : top + side, left : left + side] = colour
    return drawn
