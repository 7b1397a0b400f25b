"""Writes small ONNX files from nodes over float tensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.tiny_detectors import all_fields, field, node, tensor, value

Shape = Sequence[int | str]
#: The operator, its inputs and its output; of one with attributes these, too.
Node = tuple[str, Sequence[str], str] | tuple[str, Sequence[str], str, Mapping[str, Sequence[int]]]


def write_onnx(
    path: Path,
    nodes: Sequence[Node],
    *,
    given: Mapping[str, Shape],
    made: Mapping[str, Shape],
    constants: Mapping[str, NDArray[np.float32]] | None = None,
    integers: Collection[str] = (),
) -> Path:
    """Write a model with inputs ``given`` and outputs ``made``, by name and shape; a text in a shape is a free dimension.

    ``integers``: the inputs that take whole numbers.
    """
    graph = all_fields(1, (node(*one[:3], **(one[3] if len(one) > 3 else {})) for one in nodes)) + field(2, "tiny")
    graph += all_fields(5, (tensor(name, values) for name, values in (constants or {}).items()))
    graph += all_fields(11, (value(name, shape, is_integer=name in integers) for name, shape in given.items()))
    graph += all_fields(12, (value(name, shape) for name, shape in made.items()))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))
    return path
