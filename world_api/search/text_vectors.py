"""Search by meaning over single texts: lines, texts on screen, captions and hints, with the vectors of a sentence encoder.

Each distinct text of a world has one vector, which ``prepare`` stores beside the world under the identity of its encoder, so that
vectors of two encoders never meet. A segment ranks by its nearest text. Behind a causal cut only texts of visible passages
are compared; what only the cut has is embedded when it is searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.core.ports import TextEmbedder, Vector, Vectors
from world_api.search.passages import Texts
from world_api.world.store import World
from world_api.world.tables import one

#: Vectors that are compared at once, which bounds the memory of their copies in 32 bits.
_AT_ONCE = 8192
#: Texts of a world without stored vectors that are embedded when they are first searched; ``reindex`` stores those of larger ones.
MOST_UNPREPARED = 5_000
#: The name before a line: it says who speaks, not what about.
_SPEAKER = re.compile(r"^[^\W\d_][\w .'-]{0,30}[:：]\s*(?=\S)")


class TextVectors:
    """The vectors of the distinct texts of a whole world by one encoder; row n is that of the text with number n."""

    def __init__(self, world: World, embedder: TextEmbedder, key: str) -> None:
        self._world, self._embedder = world, embedder
        self._stored = f"meanings.{key}"
        self._texts = world.once(Texts)
        #: Vectors of texts that are not stored; recent ones are cached.
        self._other = lru_cache(4096)(lambda text: embedder.embed([_content(text)])[0])

    @property
    def is_ready(self) -> bool:
        """Whether the vectors are stored, or are few enough to be made at once."""
        return len(self._texts) <= MOST_UNPREPARED or self._world.derived.has(self._stored)

    def read_all(self) -> None:
        """Load the stored vectors; compute them if they are missing."""
        _ = self._values

    def __len__(self) -> int:
        return len(self._texts)

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of other texts, shape (n, dimension)."""
        found = [self._other(text) for text in texts]
        return np.stack(found) if found else np.zeros((0, self._embedder.dimension), dtype=np.float32)

    def scores(self, query: Vector, among: Sequence[NDArray[np.bool_]]) -> list[NDArray[np.float64]]:
        """Return the inner products of a query with the texts of each of several sets, 0 for others, shape (n,) each.

        ``among`` (n) says which texts are in a set.
        """
        every = np.zeros(len(self))
        for at in range(0, len(self), _AT_ONCE):
            every[at : at + _AT_ONCE] = self._values[at : at + _AT_ONCE].astype(np.float32) @ query
        return [np.where(own, every, 0.0) for own in among]

    @cached_property
    def _values(self) -> Vectors:
        """All vectors, in 16 bits, mapped from disk where they are stored."""
        width = self._embedder.dimension
        schema = pa.schema([("vector", pa.list_(pa.float16(), width))])
        table = self._world.derived.table(self._stored, self._make, schema=schema, rows=len(self))
        stored: Vectors = one(table.column("vector")).flatten().to_numpy().reshape(-1, width)
        return stored

    def _make(self) -> pa.Table:
        texts = [_content(self._texts.text(number)) for number in range(len(self))]
        flat = pa.array(self._embedder.embed(texts).astype(np.float16).reshape(-1))
        return pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, self._embedder.dimension)})


def _content(text: str) -> str:
    return _SPEAKER.sub("", text)
