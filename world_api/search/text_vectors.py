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

#: Texts that are compared in full. Of more, the nearest ones in ``_NEAR`` dimensions are chosen first.
_EXACT, _NEAR, _CHOSEN = 20_000, 96, 1500
#: Texts of a world without stored vectors that are embedded when they are first searched; ``reindex`` stores those of larger ones.
MOST_UNPREPARED = 5_000
#: Rows from which the directions are computed in which texts differ most.
_SAMPLE = 20_000
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
        _ = self._values, self._reduced

    def __len__(self) -> int:
        return len(self._texts)

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of other texts, shape (n, dimension)."""
        found = [self._other(text) for text in texts]
        return np.stack(found) if found else np.zeros((0, self._embedder.dimension), dtype=np.float32)

    def scores(self, query: Vector, among: Sequence[NDArray[np.bool_]]) -> list[NDArray[np.float64]]:
        """Return the inner products of a query with the nearest texts of each of several sets, 0 for others, shape (n,) each.

        ``among`` (n) says which texts are in a set. In a large world at most ``_CHOSEN`` of a set have one: these are
        chosen in fewer dimensions. Products are exact.
        """
        if len(self) <= _EXACT:
            every = (self._values @ query).astype(np.float64)
            return [np.where(own, every, 0.0) for own in among]
        axes, rows = self._reduced
        near, found = rows @ (axes.T @ query), []
        for own in among:
            numbers = np.flatnonzero(own)
            if len(numbers) > _CHOSEN:
                numbers = np.sort(numbers[np.argpartition(-near[numbers], _CHOSEN)[:_CHOSEN]])
            scores = np.zeros(len(self))
            scores[numbers] = self._values[numbers].astype(np.float32) @ query
            found.append(scores)
        return found

    @cached_property
    def _values(self) -> Vectors:
        """All vectors; in a large world in 16 bits, mapped from disk."""
        width = self._embedder.dimension
        schema = pa.schema([("vector", pa.list_(pa.float16(), width))])
        table = self._world.derived.table(self._stored, self._make, schema=schema, rows=len(self))
        stored: Vectors = one(table.column("vector")).flatten().to_numpy().reshape(-1, width)
        return stored if len(stored) > _EXACT else stored.astype(np.float32)

    def _make(self) -> pa.Table:
        texts = [_content(self._texts.text(number)) for number in range(len(self))]
        flat = pa.array(self._embedder.embed(texts).astype(np.float16).reshape(-1))
        return pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, self._embedder.dimension)})

    @cached_property
    def _reduced(self) -> tuple[Vectors, Vectors]:
        """The directions in which the vectors differ most (dimension x fewer), and the vectors in these; none in a small world."""
        width = min(_NEAR, self._embedder.dimension)
        schema = pa.schema([("values", pa.list_(pa.float32(), width))])

        def make() -> pa.Table:
            sample = self._values[:: max(1, len(self) // _SAMPLE)].astype(np.float32)
            axes = np.linalg.eigh(sample.T @ sample)[1][:, -width:].astype(np.float32)
            rows = [self._values[at : at + 4096].astype(np.float32) @ axes for at in range(0, len(self), 4096)]
            flat = pa.array(np.concatenate([axes, *rows]).reshape(-1))
            return pa.table({"values": pa.FixedSizeListArray.from_arrays(flat, width)})

        if len(self) <= _EXACT:
            return np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.float32)
        rows = self._embedder.dimension + len(self)
        table = self._world.derived.table(f"{self._stored}.near", make, schema=schema, rows=rows)
        values: Vectors = one(table.column("values")).flatten().to_numpy().reshape(-1, width)
        return values[: self._embedder.dimension], values[self._embedder.dimension :]


def _content(text: str) -> str:
    return _SPEAKER.sub("", text)
