"""Columns of Arrow tables as single arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def one(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array; without a copy where it is one already, as in a table that is mapped from disk."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [_empty(column.type)])


def matrix(column: pa.ChunkedArray, width: int) -> NDArray[Any]:
    """A column of equally long lists as rows of a matrix (n x width)."""
    flat: NDArray[np.float32] = one(column).flatten().to_numpy()
    return flat.reshape(-1, width)


def _empty(kind: pa.DataType) -> pa.Array:
    return pa.array([], type=kind)
