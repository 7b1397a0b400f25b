"""The text of each segment as one document, with its postings and vectors, indexed once for the uncut world.

``prepare`` derives all tables of a world ahead of time, so that readers find them on disk.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from inspect import getsource
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.core.canonical import content_hash
from world_api.core.execution import OnceEach
from world_api.core.faults import StoreFault
from world_api.core.ports import TextEmbedder, Vectors
from world_api.search.indexes import Looks, VectorIndex
from world_api.search.passages import Passages, Texts, passages_of
from world_api.world.derived import Derived, NotKept, derived_folder, derived_lock
from world_api.world.manifest import Manifest, read_manifest
from world_api.world.store import World, list_worlds, world_folder
from world_api.world.tables import SESSION_TABLES, TABLES, matrix
from world_api.world.timeline import Positions, ranges
from world_api.world.view import WholeView

_LENGTHS = pa.schema([("length", pa.int64())])
_ENDS = pa.schema([("end", pa.int64())])
_POSTINGS = pa.schema([("document", pa.int64()), ("frequency", pa.int64())])


class WholeDocuments:
    """The documents of a world without a cut, indexed; shared by all sessions on it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._vectors: OnceEach[str, VectorIndex] = OnceEach()

    def read_all(self, embedder: TextEmbedder) -> None:
        """Load or derive all tables that are kept beside the world."""
        _ = (self._ends, self._postings, self.lengths, self.look_index, self.text_vectors(embedder))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many terms each document has."""
        return _column(self._world.derived.table("postings.lengths", lambda: self._made[2], schema=_LENGTHS), "length")

    def find(self, term: str) -> tuple[Positions, Positions]:
        """The documents that hold a term, rising, and how often each does."""
        number = self._number.get(term)
        if number is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        part = slice(int(self._ends[number - 1]) if number else 0, int(self._ends[number]))
        return self._documents[part], self._frequencies[part]

    def text_vectors(self, embedder: TextEmbedder) -> VectorIndex:
        """The documents' vectors."""
        return self._vectors.get(embedder.producer, lambda: self._embedded(embedder))

    def _embedded(self, embedder: TextEmbedder) -> VectorIndex:
        name = f"vectors.{embedder_key(embedder)}"
        schema = _vectors(self._count)
        table = self._world.derived.table(
            name, lambda: _kept(embedder.embed(self._texts())), schema=schema, rows=embedder.dimension
        )
        return VectorIndex(_columns(table, self._count))

    @cached_property
    def look_index(self) -> VectorIndex:
        """The mean look of each segment, zero where no frame of it was described."""
        view = self._world.once(WholeView)

        def make() -> pa.Table:
            return _kept(Looks(view).means(view.segments.starts, view.segments.ends))

        table = self._world.derived.table("looks.segments", make, schema=_vectors(self._count))
        return VectorIndex(_columns(table, self._count))

    @property
    def _count(self) -> int:
        return len(self._world.once(WholeView).segments)

    def _texts(self) -> list[str]:
        view = self._world.once(WholeView)
        passages = passages_of(view)
        return document_texts(passages, *passages.in_each(view.segments), count=len(view.segments))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self._world.once(Texts).terms.to_pylist())}

    @cached_property
    def _ends(self) -> Positions:
        return _column(self._world.derived.table("postings.ends", lambda: self._made[0], schema=_ENDS), "end")

    @cached_property
    def _documents(self) -> Positions:
        return _column(self._postings, "document")

    @cached_property
    def _frequencies(self) -> Positions:
        return _column(self._postings, "frequency")

    @cached_property
    def _postings(self) -> pa.Table:
        return self._world.derived.table("postings", lambda: self._made[1], schema=_POSTINGS)

    @cached_property
    def _made(self) -> tuple[pa.Table, pa.Table, pa.Table]:
        view, texts = self._world.once(WholeView), self._world.once(Texts)
        passages = passages_of(view)
        segment, passage = passages.in_each(view.segments)
        bag_ends, bag_terms, bag_counts = texts.bags
        number = passages.texts[passage]
        last = bag_ends[number] if len(number) else number
        first = np.where(number > 0, bag_ends[np.maximum(number, 1) - 1], 0) if len(number) else number
        places = ranges(first, last)
        count = len(view.segments)
        keys = bag_terms[places].astype(np.int64) * max(1, count) + np.repeat(segment, last - first)
        keys, inverse = np.unique(keys, return_inverse=True)
        frequencies = np.bincount(inverse, weights=bag_counts[places], minlength=len(keys)).astype(np.int64)
        term, document = keys // max(1, count), keys % max(1, count)
        # A concept counts once in a document, however many of its texts name it.
        concept = np.array([word.startswith("#") for word in texts.terms.to_pylist()], dtype=np.bool_)
        frequencies = np.where(concept[term], 1, frequencies) if len(term) else frequencies
        return (
            pa.table({"end": np.searchsorted(term, np.arange(len(concept)), side="right")}),
            pa.table({"document": document, "frequency": frequencies}),
            pa.table({"length": np.bincount(document, weights=frequencies, minlength=count).astype(np.int64)}),
        )


def document_texts(
    passages: Passages, segment: Positions, passage: Positions, *, count: int, first: int = 0
) -> list[str]:
    """The text of each of ``count`` segments from the ``first`` on: what its passages say, line by line."""
    lines: list[list[str]] = [[] for _ in range(count)]
    for at, number in zip((segment - first).tolist(), passages.texts[passage].tolist(), strict=True):
        lines[at].append(passages.text(number))
    return ["\n".join(own) for own in lines]


def embedder_key(embedder: TextEmbedder) -> str:
    """Hash of what vectors depend on beside the texts: the embedder and the source of its module."""
    try:
        source = getsource(import_module(type(embedder).__module__))
    except (OSError, TypeError, ImportError):
        source = ""  # a class made at a prompt has none; its producer has to identify it
    return content_hash([embedder.producer, embedder.dimension, type(embedder).__qualname__, source])[:16]


def _vectors(count: int) -> pa.Schema:
    return pa.schema([("values", pa.list_(pa.float32(), count))])


def quoted_texts(passages: Passages, segment: Positions, passage: Positions, *, count: int) -> list[str]:
    """The text of each segment as it is shown, without the further words that it is found by."""
    lines: list[list[str]] = [[] for _ in range(count)]
    for at, number in zip(segment.tolist(), passage.tolist(), strict=True):
        lines[at].append(passages.quoted(number))
    return ["\n".join(own) for own in lines]


def _kept(vectors: Vectors) -> pa.Table:
    """Vectors (n x dimension) as a table: one row a dimension, so that a search reads the ones it needs."""
    flat = pa.array(np.ascontiguousarray(vectors.T).reshape(-1))
    return pa.table({"values": pa.FixedSizeListArray.from_arrays(flat, len(vectors))})


def _columns(table: pa.Table, count: int) -> Vectors:
    """The vectors of such a table, dimension by dimension (dimension x count)."""
    columns: Vectors = matrix(table.column("values"), count)
    return columns


def _column(table: pa.Table, name: str) -> Positions:
    column: Positions = table.column(name).to_numpy()
    return column


#: The tables that answers come from, except those that sessions write.
READ = tuple(name for name in TABLES if name not in (*SESSION_TABLES, "key_frames", "track_looks"))

_WORLDS_OWN = ("world_damaged", "no_such_world", "other_schema_version", "bad_video_id")


def prepare(store: Path, video_id: str, embedder: TextEmbedder, *, rebuild: bool = False) -> None:
    """Derive a world's tables, tracks, segments and search indexes, and keep them beside it.

    What is kept already is not derived again, unless ``rebuild``; if all of it is kept, the store may be read-only. If another
    process does the same, the call waits.

    Raises:
        StoreFault: ``no_such_world``, ``world_damaged``, ``store_not_writable``, ``disk_full``.
    """
    folder = world_folder(store, video_id)
    manifest = _manifest(folder, video_id)  # a missing world leaves no trace
    try:
        with derived_lock(store, video_id):
            manifest = _manifest(folder, video_id)
            derived = Derived(derived_folder(store, manifest), keep=True, rebuild=rebuild)
            _read_all(folder, manifest, derived, embedder)
            derived.finish()
    except StoreFault as fault:
        if rebuild or fault.code != "store_not_writable":
            raise
        try:
            _read_all(folder, manifest, Derived(derived_folder(store, manifest), only_kept=True), embedder)
        except NotKept:
            raise fault from None


def _manifest(folder: Path, video_id: str) -> Manifest:
    """The manifest of a world under the name of its folder, which may have been copied."""
    return read_manifest(folder).model_copy(update={"video_id": video_id})


def _read_all(folder: Path, manifest: Manifest, derived: Derived, embedder: TextEmbedder) -> None:
    """Load or derive all tables of a world."""
    world = World(folder, manifest, derived=derived)
    for table in READ:
        world.rows(table)
    world.once(WholeView).read_all()
    world.once(Texts).read_all()
    world.once(WholeDocuments).read_all(embedder)


def prepare_all(store: Path, embedder: TextEmbedder, *, rebuild: bool = False) -> None:
    """Prepare every readable world of a store.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    for video_id in list_worlds(store):
        try:
            prepare(store, video_id, embedder, rebuild=rebuild)
        except StoreFault as fault:
            # `videoworld worlds` and `videoworld inspect --check` report what is wrong with a world.
            if fault.code not in _WORLDS_OWN:
                raise
