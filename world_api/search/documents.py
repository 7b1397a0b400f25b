"""The text of each segment as one document, with its postings and vectors, indexed once for the uncut world.

``prepare`` derives all tables of a world ahead of time, so that readers find them on disk.
"""

from __future__ import annotations

from collections.abc import Callable
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
from world_api.search.indexes import VectorIndex, VisualDescriptors
from world_api.search.passages import Passages, Texts, passages_of
from world_api.world.derived import Derived, derived_folder, derived_lock
from world_api.world.manifest import read_manifest
from world_api.world.store import World, list_worlds, world_folder
from world_api.world.tables import SESSION_TABLES, TABLES, matrix
from world_api.world.timeline import Positions, ranges
from world_api.world.view import WholeView


class WholeDocuments:
    """The documents of a world without a cut, indexed; shared by all sessions on it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._view = world.once(WholeView)
        self._texts = world.once(Texts)
        self._vectors: OnceEach[str, VectorIndex] = OnceEach()

    def read_all(self, embedder: TextEmbedder) -> None:
        """Load or derive all tables that are kept beside the world."""
        _ = (self.look_index, self.text_vectors(embedder))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many terms each document has."""
        return self._postings[3]

    def find(self, term: str) -> tuple[Positions, Positions]:
        """The documents that hold a term, rising, and how often each does."""
        terms, documents, frequencies, _ = self._postings
        number = self._texts.number_of.get(term, -1)
        part = slice(*np.searchsorted(terms, [number, number + 1]).tolist())
        return documents[part], frequencies[part]

    def text_vectors(self, embedder: TextEmbedder) -> VectorIndex:
        """The documents' vectors."""

        def make() -> pa.Table:
            passages = passages_of(self._view)
            return _kept(
                embedder.embed(document_texts(passages, *passages.in_each(self._view.segments), count=self._count))
            )

        name = f"vectors.{embedder_key(embedder)}"
        return self._vectors.get(name, lambda: self._index(name, make, rows=embedder.dimension))

    @cached_property
    def look_index(self) -> VectorIndex:
        """The mean look of each segment, zero where no frame of it was described."""
        segments = self._view.segments
        return self._index(
            "looks.segments", lambda: _kept(VisualDescriptors(self._view).means(segments.starts, segments.ends))
        )

    def _index(self, name: str, make: Callable[[], pa.Table], rows: int | None = None) -> VectorIndex:
        """The index of a table of vectors, which holds them dimension by dimension (dimension x count)."""
        schema = pa.schema([("values", pa.list_(pa.float32(), self._count))])
        table = self._world.derived.table(name, make, schema=schema, rows=rows)
        return VectorIndex(matrix(table.column("values"), self._count))

    @property
    def _count(self) -> int:
        return len(self._view.segments)

    @cached_property
    def _postings(self) -> tuple[Positions, Positions, Positions, Positions]:
        """The postings in order of their terms: number of the term, document, frequency; then the lengths of documents."""
        passages, texts, count = passages_of(self._view), self._texts, self._count
        segment, passage = passages.in_each(self._view.segments)
        bag_ends, bag_terms, bag_counts = texts.bags
        number = passages.texts[passage]
        firsts = np.concatenate([[0], bag_ends])[number]
        lasts = np.concatenate([[0], bag_ends])[number + 1]
        places = ranges(firsts, lasts)
        keys = bag_terms[places].astype(np.int64) * max(1, count) + np.repeat(segment, lasts - firsts)
        keys, inverse = np.unique(keys, return_inverse=True)
        frequencies = np.bincount(inverse, weights=bag_counts[places], minlength=len(keys)).astype(np.int64)
        term, document = keys // max(1, count), keys % max(1, count)
        # A concept counts once in a document, however many of its texts name it.
        concept = np.array([word.startswith("#") for word in texts.terms.to_pylist()], dtype=np.bool_)
        frequencies = np.where(concept[term], 1, frequencies)
        lengths = np.bincount(document, weights=frequencies, minlength=count).astype(np.int64)
        return term, document, frequencies, lengths


def document_texts(
    passages: Passages, segment: Positions, passage: Positions, *, count: int, first: int = 0, quoted: bool = False
) -> list[str]:
    """The text of each of ``count`` segments from the ``first`` on: what its passages say, line by line.

    ``quoted``: as it is shown, without the further words that it is found by.
    """
    numbers = passages.texts[passage].tolist()
    texts = map(passages.quoted, passage.tolist()) if quoted else map(passages.text, numbers)
    lines: list[list[str]] = [[] for _ in range(count)]
    for at, text in zip((segment - first).tolist(), texts, strict=True):
        lines[at].append(text)
    return ["\n".join(own) for own in lines]


def embedder_key(embedder: TextEmbedder) -> str:
    """Hash of what vectors depend on beside the texts: the embedder and the source of its module."""
    try:
        source = getsource(import_module(type(embedder).__module__))
    except (OSError, TypeError, ImportError):
        source = ""  # a class made at a prompt has none; its producer has to identify it
    return content_hash([embedder.producer, embedder.dimension, type(embedder).__qualname__, source])[:16]


def _kept(vectors: Vectors) -> pa.Table:
    """Vectors (n x dimension) as a table: one row a dimension, so that a search reads the ones it needs."""
    flat = pa.array(np.ascontiguousarray(vectors.T).reshape(-1))
    return pa.table({"values": pa.FixedSizeListArray.from_arrays(flat, len(vectors))})


#: The tables that answers come from, except those that sessions write.
READ = tuple(name for name in TABLES if name not in (*SESSION_TABLES, "key_frames", "track_looks"))

_WORLDS_OWN = ("world_damaged", "no_such_world", "other_schema_version", "bad_video_id")


def prepare(store: Path, video_id: str, embedder: TextEmbedder, *, rebuild: bool = False) -> None:
    """Derive a world's tables, tracks, segments and search indexes, and keep them beside it.

    What is kept already is not derived again, unless ``rebuild``; if all of it is kept, the store may be read-only. If another
    process does the same, the call waits.

    Raises StoreFault: ``no_such_world``, ``world_damaged``, ``store_not_writable``, ``disk_full``.
    """
    folder = world_folder(store, video_id)
    read_manifest(folder)  # a missing world leaves no trace
    try:
        with derived_lock(store, video_id):
            _read_all(folder, embedder, rebuild=rebuild).finish()
    except StoreFault as fault:
        if rebuild or fault.code != "store_not_writable":
            raise
        _read_all(folder, embedder)  # the first table that is not kept says where it cannot be written


def _read_all(folder: Path, embedder: TextEmbedder, *, rebuild: bool = False) -> Derived:
    """Load or derive all tables of a world under the name of its folder, which may have been copied."""
    manifest = read_manifest(folder).model_copy(update={"video_id": folder.name})
    derived = Derived(derived_folder(folder.parent, manifest), keep=True, rebuild=rebuild)
    world = World(folder, manifest, derived=derived)
    for table in READ:
        world.rows(table)
    world.once(WholeView).read_all()
    world.once(Texts).read_all()
    world.once(WholeDocuments).read_all(embedder)
    return derived


def prepare_all(store: Path, embedder: TextEmbedder, *, rebuild: bool = False) -> None:
    """Prepare every readable world of a store.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    for video_id in list_worlds(store):
        try:
            prepare(store, video_id, embedder, rebuild=rebuild)
        except StoreFault as fault:
            # `videoworld worlds` and `videoworld inspect --check` report what is wrong with a world.
            if fault.code not in _WORLDS_OWN:
                raise
