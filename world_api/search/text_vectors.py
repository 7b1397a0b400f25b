"""Search by meaning over single texts: lines, texts on screen, captions and hints, with the vectors of a sentence encoder.

Each distinct text of a world has one vector, which ``prepare`` stores beside the world under the identity of its encoder, so that
vectors of two encoders never meet. A segment ranks by its nearest text. Behind a causal cut only texts of visible passages
are compared; what only the cut has is embedded when it is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

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
_MOST_UNPREPARED = 5_000
#: Vectors of texts that are not stored, which are kept in memory.
_MOST_KEPT = 4 * _MOST_UNPREPARED


Mask = NDArray[np.bool_]
#: Whether something said or written is about a query.
Verdict = Literal["matched", "unmatched", "not_judged"]


class TextScores(NamedTuple):
    """The scores of texts, shape (n,) each: of those that are said or written, and of those of what is seen; 0 for the others."""

    lines: NDArray[np.float64]
    seen: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LinesAbout:
    """The verdict on a query over all visible lines.

    ``missed``: how many queries about something said got the verdict ``unmatched``, of how many.
    """

    verdict: Verdict
    missed: tuple[int, int]

    @property
    def in_words(self) -> str:
        """The verdict as the hint of a result says it."""
        if self.verdict == "matched":
            return "a line is about that, by a text encoder"
        if self.verdict == "not_judged":
            return "whether a line is about that is not judged"
        missed, of = self.missed
        said = f"no line is about that, by a text encoder that missed {missed} of {of} lines that were"
        return f"{said}; it does not judge what is seen"


class TextVectors:
    """The vectors of the distinct texts of a whole world by one encoder; row n is that of the text with number n."""

    def __init__(self, world: World, embedder: TextEmbedder, key: str) -> None:
        self._world, self._embedder = world, embedder
        self._stored = f"meanings.{key}"
        self._texts = world.once(Texts)
        #: text -> its vector, if it is not stored.
        self._kept: dict[str, Vector] = {}

    @property
    def are_all_ready(self) -> bool:
        """Whether the vectors of all texts are stored, or are few enough to be made at once."""
        return self.can_make(len(self._texts)) or self._world.derived.has(self._stored)

    @staticmethod
    def can_make(count: int) -> bool:
        """Whether so many vectors are few enough to be made when they are first searched."""
        return count <= _MOST_UNPREPARED

    def read_all(self) -> None:
        """Load the stored vectors; compute them if they are missing."""
        _ = self._values

    def __len__(self) -> int:
        return len(self._texts)

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts that need not be of the world, shape (n, dimension); new ones are embedded together."""
        found = {text: vector for text in dict.fromkeys(texts) if (vector := self._kept.get(text)) is not None}
        if missing := [text for text in dict.fromkeys(texts) if text not in found]:
            found.update(zip(missing, self._embedder.embed(missing), strict=True))
            self._kept = found if len(self._kept) + len(missing) > _MOST_KEPT else self._kept | found
        every = [found[text] for text in texts]
        return np.stack(every) if every else np.zeros((0, self._embedder.dimension), dtype=np.float32)

    def scores(self, query: str, lines: Mask, seen: Mask, *, others: Vectors) -> TextScores:
        """Return the inner products of a query with texts that are above the encoder's noise floor.

        Args:
            query: The query.
            lines: Which texts are said or written where it is searched, shape (n + m,): first those of the world, then others.
            seen: The same of the texts of what is seen.
            others: The vectors of the m other texts, shape (m, dimension).
        """
        vector, known = self._embedder.embed_query(query)[0], len(self)
        every = np.zeros(known + len(others))
        every[known:] = others @ vector
        if self.are_all_ready:
            for at in range(0, known, _AT_ONCE):
                part = self._values[at : at + _AT_ONCE]
                every[at : at + len(part)] = part.astype(np.float32) @ vector
        else:  # those that are searched alone are embedded
            numbers = np.flatnonzero((lines | seen)[:known])
            every[numbers] = self.of([self._texts.text(number) for number in numbers.tolist()]) @ vector
        every[every <= self._embedder.noise_floor] = 0.0
        return TextScores(lines=np.where(lines, every, 0.0), seen=np.where(seen, every, 0.0))

    def verdict(self, best: float, lines: int) -> LinesAbout | None:
        """Return the verdict for the greatest inner product with so many distinct lines; None without measured limits."""
        calibration = self._embedder.calibration
        if calibration is None:
            return None
        doubtful, sure = calibration.limits(lines)
        verdict: Verdict = "matched" if best >= sure else "unmatched" if best < doubtful else "not_judged"
        return LinesAbout(verdict=verdict, missed=calibration.present)

    @cached_property
    def _values(self) -> Vectors:
        """All vectors, in 16 bits, mapped from disk where they are stored."""
        width = self._embedder.dimension
        schema = pa.schema([("vector", pa.list_(pa.float16(), width))])
        table = self._world.derived.table(self._stored, self._make, schema=schema, rows=len(self))
        stored: Vectors = one(table.column("vector")).flatten().to_numpy().reshape(-1, width)
        return stored

    def _make(self) -> pa.Table:
        texts = [self._texts.text(number) for number in range(len(self))]
        flat = pa.array(self._embedder.embed(texts).astype(np.float16).reshape(-1))
        return pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, self._embedder.dimension)})
