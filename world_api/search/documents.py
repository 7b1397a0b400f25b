"""The text of each segment as one document, with postings and vectors, indexed once for the world without a cut.

``prepare`` computes all tables of a world ahead of time, so that readers find them on disk.
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
    """The indexed documents (texts of the segments) of a world without a causal cut; all its sessions share them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._view = world.once(WholeView)
        self._texts = world.once(Texts)
        self._vectors: OnceEach[str, VectorIndex] = OnceEach()

    def read_all(self, embedder: TextEmbedder) -> None:
        """Load the stored tables of this class, and compute those that are missing."""
        _ = (self.look_index, self.text_vectors(embedder))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of terms in each document, shape (n,)."""
        return self._postings[3]

    def find(self, term: str) -> tuple[Positions, Positions]:
        """Return the documents that contain a term, in rising order, and how often each contains it."""
        terms, documents, frequencies, _ = self._postings
        number = self._texts.number_of.get(term, -1)
        part = slice(*np.searchsorted(terms, [number, number + 1]).tolist())
        return documents[part], frequencies[part]

    def text_vectors(self, embedder: TextEmbedder) -> VectorIndex:
        """Return the index of the documents' vectors."""

        def make() -> pa.Table:
            passages = passages_of(self._view)
            return _kept(
                embedder.embed(document_texts(passages, *passages.in_each(self._view.segments), count=self._count))
            )

        name = f"vectors.{embedder_key(embedder)}"
        return self._vectors.get(name, lambda: self._index(name, make, rows=embedder.dimension))

    @cached_property
    def look_index(self) -> VectorIndex:
        """The index of the mean look of each segment; a zero vector if no frame of the segment was described."""
        segments = self._view.segments
        return self._index(
            "looks.segments", lambda: _kept(VisualDescriptors(self._view).means(segments.starts, segments.ends))
        )

    def _index(self, name: str, make: Callable[[], pa.Table], rows: int | None = None) -> VectorIndex:
        """Load or make a table of vectors, stored dimension by dimension (dimension x count), and return its index."""
        schema = pa.schema([("values", pa.list_(pa.float32(), self._count))])
        table = self._world.derived.table(name, make, schema=schema, rows=rows)
        return VectorIndex(matrix(table.column("values"), self._count))

    @property
    def _count(self) -> int:
        return len(self._view.segments)

    @cached_property
    def _postings(self) -> tuple[Positions, Positions, Positions, Positions]:
        """The postings in order of terms: term numbers, documents and frequencies; then the length of each document."""
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
    """Return the text of each of ``count`` segments from position ``first`` on: its passages, one per line.

    ``segment`` and ``passage`` are the pairs of ``Passages.in_each``. ``quoted``: the texts as users see them, without
    the additional words for search (in another language).
    """
    numbers = passages.texts[passage].tolist()
    texts = map(passages.quoted, passage.tolist()) if quoted else map(passages.text, numbers)
    lines: list[list[str]] = [[] for _ in range(count)]
    for at, text in zip((segment - first).tolist(), texts, strict=True):
        lines[at].append(text)
    return ["\n".join(own) for own in lines]


def embedder_key(embedder: TextEmbedder) -> str:
    """Return a hash of what vectors depend on besides the texts: the embedder and the source code of its module."""
    try:
        source = getsource(import_module(type(embedder).__module__))
    except (OSError, TypeError, ImportError):
        source = ""  # a class defined interactively has none; its producer has to identify it
    return content_hash([embedder.producer, embedder.dimension, type(embedder).__qualname__, source])[:16]


def _kept(vectors: Vectors) -> pa.Table:
    """Return vectors (n x dimension) as a table with one row per dimension: a search reads only those that it needs."""
    flat = pa.array(np.ascontiguousarray(vectors.T).reshape(-1))
    return pa.table({"values": pa.FixedSizeListArray.from_arrays(flat, len(vectors))})


#: The tables that answers come from, except those that sessions write.
READ = tuple(name for name in TABLES if name not in (*SESSION_TABLES, "key_frames", "track_looks"))

_WORLDS_OWN = ("world_damaged", "no_such_world", "other_schema_version", "bad_video_id")


def prepare(store: Path, video_id: str, embedder: TextEmbedder, *, rebuild: bool = False) -> None:
    """Compute a world's tables, tracks, segments and search indexes, and store them beside it.

    Stored ones are computed again only with ``rebuild``; if all are stored, the store may be read-only. The call waits
    while another process does the same.

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
        _read_all(folder, embedder)  # the first missing table raises the fault, with its path


def _read_all(folder: Path, embedder: TextEmbedder, *, rebuild: bool = False) -> Derived:
    """Load or compute all tables of a world. Its id is the name of the folder, which may be a copy of another one."""
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
    """Prepare every world of a store; worlds that cannot be read are skipped.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    for video_id in list_worlds(store):
        try:
            prepare(store, video_id, embedder, rebuild=rebuild)
        except StoreFault as fault:
            # `videoworld worlds` and `videoworld inspect --check` report what is wrong with a world.
            if fault.code not in _WORLDS_OWN:
                raise
