"""Search in the captions of a vision model: by words, and by meaning if the session has a model that embeds texts."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from world_api.core.canonical import content_hash
from world_api.core.cost import Spent, charge
from world_api.core.faults import BackendFault, StoreFault
from world_api.core.files import exclusive, write_atomically
from world_api.core.ports import EmbeddingModel, Vectors
from world_api.core.spans import TimeSpan
from world_api.search.indexes import index_terms
from world_api.search.passages import Passage
from world_api.world.timeline import MAX_SECONDS, Items, Positions

#: Seconds; a caption of a longer interval is too general to find a part of it.
LONGEST = 3 * MAX_SECONDS
#: A caption belongs to a segment if they share at least this part of the shorter of the two.
SHARE = 0.3
#: Texts embedded per request.
_BATCH = 64
#: Tolerance of the length of a unit vector of 32-bit floats.
_OFF_UNIT = 1e-3


class CaptionIndex:
    """The captions that a session searches, fixed while it is open. ``digest`` is a hash of them, empty for none."""

    def __init__(self, said: Sequence[tuple[TimeSpan, str, float]] = ()) -> None:
        """Index captions, in any order as (interval, text, time of a frame); those of long intervals are left out."""
        kept = sorted((item for item in said if item[0].duration <= LONGEST), key=lambda item: (item[0], item[1]))
        self.passages = tuple(
            Passage(span=span, text=text, source="caption", confidence=None, frame_time=shown)
            for span, text, shown in kept
        )
        content = [[p.span.start, p.span.end, p.text] for p in self.passages]
        self.digest = content_hash(content)[:32] if content else ""

    def in_each(self, segments: Items[TimeSpan]) -> list[list[int]]:
        """Return for each segment the captions that belong to it, as positions in ``passages``, in order."""
        found: list[list[int]] = [[] for _ in range(len(segments))]
        for number, passage in enumerate(self.passages):
            for at in segments_of(passage, segments):
                found[at].append(number)
        return found

    def holding(self, terms: frozenset[str]) -> list[Passage]:
        """Return the captions that contain all of ``terms``, in time order; none if there are no terms."""
        return [passage for passage, own in zip(self.passages, self._terms, strict=True) if terms and terms <= own]

    @cached_property
    def _terms(self) -> list[frozenset[str]]:
        return [frozenset(index_terms(passage.text)) for passage in self.passages]

    def inside(self, span: TimeSpan) -> list[Passage]:
        """Return the captions that overlap an interval, in time order."""
        return [passage for passage in self.passages if passage.span.overlap(span) > 0]


def segments_of(caption: Passage, segments: Items[TimeSpan]) -> list[int]:
    """Return the positions of the segments that a caption belongs to: those that share enough time with it."""
    found = []
    for at in segments.touching(caption.span).tolist():
        shared = segments[at].overlap(caption.span)
        if shared > 0 and shared >= SHARE * min(segments[at].duration, caption.span.duration):
            found.append(at)
    return found


class _KeptVector(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[2] = 2
    digest: str = ""  #: hash of the other fields
    text: str
    tokens: int = Field(ge=0)
    estimated: bool
    vector: str  #: 32-bit floats, little endian, in base 64

    def sealed(self) -> _KeptVector:
        """Return a copy in which ``digest`` is the hash of the other fields."""
        return self.model_copy(update={"digest": self._content()})

    @property
    def is_sound(self) -> bool:
        """Whether ``digest`` matches the content and the vector has unit length (or is all zero)."""
        values = self.values().astype(np.float64)
        length = float(np.linalg.norm(values))
        return self.digest == self._content() and values.size > 0 and (length == 0 or abs(length - 1) <= _OFF_UNIT)

    def _content(self) -> str:
        return content_hash(self.model_dump(mode="json", exclude={"digest"}))

    def values(self) -> Vectors:
        """Return the vector as 32-bit floats, shape (dimension,)."""
        found: Vectors = np.frombuffer(base64.b64decode(self.vector, validate=True), dtype="<f4").astype(np.float32)
        return found


class Meanings:
    """A cache of text vectors from a paid model, in a folder; in memory if the folder cannot be written.

    A caption is charged only when its vector is requested from the model; a query is charged each time, even if it is
    cached.
    """

    def __init__(self, embedder: EmbeddingModel, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder / content_hash(embedder.producer)[:16]
        self._memory: dict[str, _KeptVector] = {}
        self.producer = embedder.producer

    def of_captions(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape (n, dimension).

        Raises BackendFault: the faults of the model; ``embedding_changed`` if cached vectors have another length.
        """
        self._fill(texts)
        vectors = [self._vector(text) for text in texts]
        if len({len(vector) for vector in vectors}) != 1:
            raise self._changed()
        return np.stack(vectors)

    def of_query(self, text: str) -> Vectors:
        """Return the vector of a query, shape (1, dimension).

        Raises BackendFault: the faults of the model.
        """
        if not self._fill([text]):
            name = self._name(text)
            kept = self._memory[name]
            charge(
                Spent(
                    purpose="perception", model=self._embedder.name, request=name, prompt=kept.tokens, completion=0,
                    estimated=kept.estimated, physical=False,
                )
            )  # fmt: skip
        return self._vector(text)[np.newaxis]

    def likeness(self, texts: Sequence[str], queries: Vectors) -> Vectors:
        """Return for each text the cosine with the nearest of the query vectors, shape (n,).

        Raises BackendFault: the faults of the model; ``embedding_changed`` if vectors differ in length.
        """
        vectors = self.of_captions(texts)
        if vectors.shape[1] != queries.shape[1]:
            raise self._changed()
        near: Vectors = (vectors @ queries.T).max(axis=1)
        return near

    def _changed(self) -> BackendFault:
        return BackendFault(
            "embedding_changed",
            f"{self._embedder.name} makes vectors of another length than those kept from it",
            hint="another model is served under its name; delete .on-demand/meanings in the store",
        )

    def _fill(self, texts: Sequence[str]) -> bool:
        """Request the missing vectors from the model; return whether any were missing."""
        if not self.missing(texts):
            return False
        with exclusive(self._folder, "meanings"):
            missing = self.missing(texts)
            for first in range(0, len(missing), _BATCH):
                self._ask(missing[first : first + _BATCH])
        return bool(missing)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Return the distinct texts that have no cached vector."""
        return [text for text in dict.fromkeys(texts) if self._find(text) is None]

    def _ask(self, texts: list[str]) -> None:
        name = self._name(texts[0]) if len(texts) == 1 else content_hash([self.producer, texts])[:32]
        embedded = self._embedder.embed_texts(texts, name)
        share, rest = divmod(embedded.spent.prompt, len(texts))
        for place, (text, vector) in enumerate(zip(texts, embedded.vectors, strict=True)):
            packed = base64.b64encode(vector.astype("<f4").tobytes()).decode()
            tokens = share + (place < rest)
            kept = _KeptVector(text=text, tokens=tokens, estimated=embedded.spent.estimated, vector=packed).sealed()
            self._memory[self._name(text)] = kept
            with suppress(StoreFault):  # a read-only store can still be queried
                write_atomically(self._folder / f"{self._name(text)}.json", kept.model_dump_json().encode())

    def _find(self, text: str) -> _KeptVector | None:
        name = self._name(text)
        if name not in self._memory:
            try:
                kept = _KeptVector.model_validate_json((self._folder / f"{name}.json").read_bytes())
                sound = kept.text == text and kept.is_sound
            except (OSError, ValueError):  # ValueError: not such a record, or no numbers in it
                return None
            if sound:
                self._memory[name] = kept
        return self._memory.get(name)

    def _vector(self, text: str) -> Vectors:
        return self._memory[self._name(text)].values()

    def _name(self, text: str) -> str:
        return content_hash([self.producer, text])[:32]


def by_meaning(captions: CaptionIndex, meanings: Meanings, queries: Vectors, segments: Items[TimeSpan]) -> Positions:
    """Return the positions of the segments that have a caption, ranked by their caption nearest to a query vector."""
    own = captions.in_each(segments)
    said = [at for at, numbers in enumerate(own) if numbers]
    if not said:
        return np.zeros(0, dtype=np.int64)
    near = meanings.likeness([p.text for p in captions.passages], queries)
    scores = np.array([max(near[number] for number in own[at]) for at in said])
    order: Positions = np.array(said, dtype=np.int64)[np.argsort(-scores, kind="stable")]
    return order
