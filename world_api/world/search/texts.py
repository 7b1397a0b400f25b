"""All different texts of a world, numbered, and the terms of each: what the rows say and how tracks are described.

Texts repeat (labels, descriptions, captions on screen), and what a segment says is made of them; so each is cut into
words once.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.world.arrays.followed import JoinedTracks
from world_api.world.arrays.items import Positions
from world_api.world.arrays.joining import coded
from world_api.world.arrays.whole import Whole
from world_api.world.disk.columns import one
from world_api.world.disk.stored import World
from world_api.world.once import made_once
from world_api.world.search.lexical import index_terms
from world_api.world.tracks import hint_in_chinese, hint_in_words

#: The tables whose rows say something, with the column that does; texts on screen are counted by stretches.
SPEAKING = {"speech": "text", "screen_texts": "text", "captions": "text", "actions": "label"}

_TERMS = pa.schema([("term", pa.string())])
_ENDS = pa.schema([("end", pa.int64())])
_BAGS = pa.schema([("term", pa.int32()), ("count", pa.int32())])
_TEXTS = pa.schema([("text", pa.string())])
_NUMBERS = pa.schema([("number", pa.int64())])


class Texts:
    """The texts of a whole world. A number stands for a text; the same text has one number."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read_all(self) -> None:
        """Read or make all that is kept beside the world."""
        _ = (self._texts, self._numbers, self.terms, self.bags)

    def text(self, number: int) -> str:
        """A text by its number."""
        found: str = self._texts[number].as_py()
        return found

    def of_rows(self, table: str) -> Positions:
        """The numbers of what the rows of a table of ``SPEAKING`` say."""
        return self._numbers[table]

    def confidences(self, table: str) -> NDArray[np.float64]:
        """How sure the rows of a table of ``SPEAKING`` are, 0 to 1."""
        found: NDArray[np.float64] = self._rows(table).column("confidence").to_numpy().astype(np.float64)
        return found

    def holding(self, term: str) -> Positions:
        """The numbers of the texts that hold a term, rising."""
        number = self._number_of.get(term)
        if number is None:
            return np.zeros(0, dtype=np.int64)
        ends, texts = self._by_term
        return texts[int(ends[number - 1]) if number else 0 : int(ends[number])]

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def of_tracks(self) -> Positions:
        """The numbers of the descriptions of all tracks."""
        return self._numbers["tracks"]

    @made_once
    def terms(self) -> pa.ChunkedArray:
        """The different terms of all texts; concepts begin with ``#``."""
        return self._world.derived.table("terms", lambda: self._bags[0], schema=_TERMS).column("term")

    @made_once
    def bags(self) -> tuple[Positions, NDArray[np.int32], NDArray[np.int32]]:
        """The terms of each text: where its own end (after those of the texts before it), term numbers, how often."""
        ends = self._world.derived.table("texts.ends", lambda: self._bags[1], schema=_ENDS)
        content = self._world.derived.table("texts.terms", lambda: self._bags[2], schema=_BAGS)
        return ends.column("end").to_numpy(), content.column("term").to_numpy(), content.column("count").to_numpy()

    @made_once
    def _number_of(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.terms.to_pylist())}

    @made_once
    def _by_term(self) -> tuple[Positions, Positions]:
        """The texts of each term: where its own end (after those of the terms before it), text numbers."""
        ends, terms, _ = self.bags
        texts = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        order = np.argsort(terms, kind="stable")
        return np.searchsorted(terms[order], np.arange(len(self._number_of)), side="right"), texts[order]

    @made_once
    def _texts(self) -> pa.ChunkedArray:
        return self._world.derived.table("texts", lambda: self._made[0], schema=_TEXTS).column("text")

    @made_once
    def _numbers(self) -> dict[str, Positions]:
        numbers = (
            self._world.derived.table("texts.numbers", lambda: self._made[1], schema=_NUMBERS)
            .column("number")
            .to_numpy()
        )
        lengths = [self._rows(table).num_rows for table in SPEAKING]
        parts = np.split(numbers, list(accumulate(lengths)))
        return dict(zip((*SPEAKING, "tracks"), parts, strict=True))

    @made_once
    def _made(self) -> tuple[pa.Table, pa.Table]:
        said = [one(self._rows(table).column(column)) for table, column in SPEAKING.items()]
        encoded = pa.concat_arrays([*said, _descriptions(self._world.once(Whole).tracks)]).dictionary_encode()
        numbers = encoded.indices.cast(pa.int64())
        return pa.table({"text": encoded.dictionary}), pa.table({"number": numbers})

    def _rows(self, table: str) -> pa.Table:
        return self._world.once(Whole).readings if table == "screen_texts" else self._world.rows(table)

    @made_once
    def _bags(self) -> tuple[pa.Table, pa.Table, pa.Table]:
        numbers: dict[str, int] = {}
        ends: list[int] = []
        terms: list[int] = []
        counts: list[int] = []
        for text in self._texts.to_pylist():
            for term, count in Counter(index_terms(text)).items():
                terms.append(numbers.setdefault(term, len(numbers)))
                counts.append(count)
            ends.append(len(terms))
        return (
            pa.table({"term": list(numbers)}, schema=_TERMS),
            pa.table({"end": ends}, schema=_ENDS),
            pa.table({"term": terms, "count": counts}, schema=_BAGS),
        )


def _descriptions(tracks: JoinedTracks) -> pa.Array:
    """What each track is described by, in both languages; made once for all tracks that look alike."""
    looks = pa.array([",".join(colours) for colours in tracks.colours.to_pylist()], pa.string())
    kinds, kind = coded(tracks.categories)
    colours, colour = coded(looks)
    pairs, inverse = np.unique(kind * max(1, len(colours)) + colour, return_inverse=True)
    described = []
    for pair in pairs.tolist():
        category = kinds[pair // len(colours)].as_py()
        named = [word for word in colours[pair % len(colours)].as_py().split(",") if word]
        described.append(f"{hint_in_words(category, named)} {hint_in_chinese(category, named)}".strip())
    return pa.array(described, pa.string()).take(pa.array(inverse))
