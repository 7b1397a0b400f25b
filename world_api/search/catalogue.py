"""The catalogue of a store: a LanceDB table over the segments of every world, for searching across videos.

It is only an index: ``rebuild`` makes it again from the worlds in one batch, and rows of worlds that were rebuilt since are
left out of answers. Nothing behind a causal cut reads it, since its statistics cover whole videos.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.core.files import file_lock, not_writable
from world_api.core.identifiers import segment_id
from world_api.core.spans import round_time
from world_api.search.documents import document_texts, quoted_texts
from world_api.search.indexes import index_terms, query_terms
from world_api.search.passages import passages_of
from world_api.world.manifest import Manifest, read_manifest
from world_api.world.store import list_worlds, open_world, world_folder
from world_api.world.tables import SESSION_TABLES
from world_api.world.view import View

FOLDER = ".catalogue"
TABLE = "segments"
#: Factor by which more rows are fetched than wanted, since rows of worlds that were rebuilt are dropped.
SPARE = 4


@dataclass(frozen=True, kw_only=True)
class CatalogueHit:
    """A segment of some video that matches. ``score`` only orders."""

    video_id: str
    segment_id: str
    start_time: float
    end_time: float
    text: str
    score: float


def rebuild(store: Path) -> int:
    """Make the catalogue again from every readable world, in one batch; how many segments it holds.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``, ``catalogue_damaged``.
    """
    with _locked(store):
        return _rebuild(store)


def _bring_up_to_date(store: Path) -> None:
    """Add the segments of worlds that are new or were rebuilt, and delete those of worlds that are gone.

    If nothing changed, nothing is written and no lock is taken: a store may be read-only.
    """
    if not any(_changes(store)):
        return
    with _locked(store), _named_faults(store):
        stale, fresh = _changes(store)
        table = _open(store)
        if table is None or table.schema != SCHEMA:
            _rebuild(store)
            return
        for video_id in stale:
            table.delete(f"video_id = '{video_id}'")
        if parts := [part for video_id in fresh if (part := _rows_of(store, video_id)) is not None]:
            table.add(pa.concat_tables(parts))
            table.optimize()


def _changes(store: Path) -> tuple[list[str], list[str]]:
    """The videos to delete from the catalogue, and those to add."""
    there = {video_id: built for video_id in list_worlds(store) if (built := _current(store, video_id)) is not None}
    with _named_faults(store):
        table = _open(store)
        if table is None or table.schema != SCHEMA:
            return [], list(there) or [""]
        known = table.search().select(["video_id", "built"]).to_arrow().group_by(["video_id", "built"]).aggregate([])
    held = set(zip(known.column("video_id").to_pylist(), known.column("built").to_pylist(), strict=True))
    stale = [video_id for video_id, built in held if there.get(video_id) != built]
    fresh = [video_id for video_id in there if (video_id, there[video_id]) not in held]
    return sorted(stale), sorted(fresh)


def _rows_of(store: Path, video_id: str) -> pa.Table | None:
    """The rows of a world; None if it cannot be read, which `videoworld worlds` reports."""
    try:
        return _rows(View(open_world(store, video_id), None))
    except StoreFault:
        return None


def _rebuild(store: Path) -> int:
    parts = [part for video_id in list_worlds(store) if (part := _rows_of(store, video_id)) is not None]
    rows = pa.concat_tables(parts) if parts else SCHEMA.empty_table()
    with _named_faults(store):
        _write(store, rows)
    return int(rows.num_rows)


def search(store: Path, query: str, top_k: int) -> list[CatalogueHit]:
    """Segments of all videos that share a word or a concept with the query, the best first.

    Worlds that came since the last search are put in first, all in one batch.

    Raises:
        StoreFault: ``no_such_store``, ``store_not_writable``, ``disk_full``, ``catalogue_damaged``.
    """
    if not store.is_dir():
        raise StoreFault("no_such_store", f"there is no store {store}", hint="`videoworld build VIDEO` makes one")
    _bring_up_to_date(store)
    with _named_faults(store):
        table = _open(store)
    terms = " ".join(dict.fromkeys(query_terms(query)))
    if not terms:
        return []
    with _named_faults(store):
        rows = table.search(terms, query_type="fts").limit(top_k * SPARE).to_list()
    current = {video_id: _current(store, video_id) for video_id in {row["video_id"] for row in rows}}
    return [_hit(row) for row in rows if current[row["video_id"]] == row["built"]][:top_k]


SCHEMA = pa.schema(
    [
        ("video_id", pa.string()),
        ("built", pa.string()),
        ("segment_id", pa.string()),
        ("start_time", pa.float64()),
        ("end_time", pa.float64()),
        ("shown", pa.string()),
        ("terms", pa.string()),
    ]
)


def _rows(view: View) -> pa.Table:
    """One row a segment. ``shown`` is for readers; ``terms`` holds our own index terms, so both searches read words alike."""
    segments = view.segments
    passages = passages_of(view)
    inside = passages.in_each(segments)
    texts = document_texts(passages, *inside, count=len(segments))
    manifest = view.world.manifest
    return pa.table(
        {
            "video_id": [manifest.video_id] * len(segments),
            "built": [_built(manifest)] * len(segments),
            "segment_id": [segment_id(segment) for segment in segments],
            "start_time": [round_time(segment.start) for segment in segments],
            "end_time": [round_time(segment.end) for segment in segments],
            "shown": quoted_texts(passages, *inside, count=len(segments)),
            "terms": [" ".join(index_terms(text)) for text in texts],
        },
        schema=SCHEMA,
    )


def _built(manifest: Manifest) -> str:
    """Hash of the files that segments come from: all files of rows except those that sessions committed."""
    files = [[entry.path, entry.sha256] for entry in manifest.files if entry.table not in SESSION_TABLES]
    return content_hash(sorted(files))[:32]


def _write(store: Path, rows: pa.Table) -> None:
    database = _connect(store)
    from lancedb.index import FTS

    table = database.create_table(TABLE, rows, mode="overwrite")
    # Terms are already normalised.
    index = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, lower_case=False, ascii_folding=False)
    table.create_index("terms", config=index, replace=True)


def _open(store: Path) -> Any:
    if not (store / FOLDER).is_dir():
        return None
    database = _connect(store)
    return database.open_table(TABLE) if TABLE in _names(database) else None


def _names(database: Any) -> Sequence[str]:
    return list(database.list_tables().tables)


def _connect(store: Path) -> Any:
    # Lance's native log tells of every table it creates; it reads its level when it is loaded.
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb

    try:
        return lancedb.connect(store / FOLDER)
    except OSError as error:
        raise not_writable(store, error) from error


@contextmanager
def _named_faults(store: Path) -> Iterator[None]:
    """Turn LanceDB's plain errors (disk, half-written index, a rewrite by another process) into ``catalogue_damaged``."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        raise StoreFault(
            "catalogue_damaged",
            f"the catalogue of {store} cannot be used: {str(error).splitlines()[0][:200]}",
            hint="try again; if it stays, `videoworld reindex` makes it again",
        ) from error


def _locked(store: Path) -> AbstractContextManager[None]:
    return file_lock(store / f"{FOLDER}.lock")


def _current(store: Path, video_id: str) -> str | None:
    try:
        return _built(read_manifest(world_folder(store, video_id)))
    except StoreFault:
        return None


def _hit(row: dict[str, Any]) -> CatalogueHit:
    return CatalogueHit(
        video_id=row["video_id"],
        segment_id=row["segment_id"],
        start_time=row["start_time"],
        end_time=row["end_time"],
        text=row["shown"],
        score=round(float(row["_score"]), 4),
    )
