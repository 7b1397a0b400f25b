"""Writes small ONNX files without the package ``onnx``: a list of nodes over float tensors (protocol buffers by hand)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FLOAT, _INTS, _OPSET, _IR = 1, 7, 13, 8
Shape = Sequence["int | str"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """An operator with its inputs, outputs and lists of integers as attributes."""

    kind: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    ints: Mapping[str, Sequence[int]] = field(default_factory=dict)


def write_onnx(
    path: Path,
    *,
    nodes: Sequence[Node],
    given: Mapping[str, Shape],
    made: Mapping[str, Shape],
    constants: Mapping[str, NDArray[np.float32]] | None = None,
) -> Path:
    """Write a model with inputs ``given`` and outputs ``made``, by name and shape; a text in a shape is a free dimension."""
    graph = b"".join(_bytes(1, _node(node)) for node in nodes) + _text(2, "tiny")
    graph += b"".join(_bytes(5, _tensor(name, values)) for name, values in (constants or {}).items())
    graph += b"".join(_bytes(11, _value(name, shape)) for name, shape in given.items())
    graph += b"".join(_bytes(12, _value(name, shape)) for name, shape in made.items())
    path.write_bytes(_number(1, _IR) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, _OPSET)))
    return path


def _node(node: Node) -> bytes:
    names = b"".join(_text(1, name) for name in node.inputs) + b"".join(_text(2, name) for name in node.outputs)
    attributes = b"".join(
        _bytes(5, _text(1, name) + b"".join(_number(8, value) for value in values) + _number(20, _INTS))
        for name, values in node.ints.items()
    )
    return names + _text(4, node.kind) + attributes


def _tensor(name: str, values: NDArray[np.float32]) -> bytes:
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, _FLOAT) + _text(8, name) + _bytes(9, values.astype("<f4").tobytes())


def _value(name: str, shape: Shape) -> bytes:
    dims = b"".join(_bytes(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, _FLOAT) + _bytes(2, dims)))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value)


def _bytes(tag: int, value: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(value)) + value


def _text(tag: int, value: str) -> bytes:
    return _bytes(tag, value.encode())
