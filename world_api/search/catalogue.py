"""The catalogue of a store: a LanceDB table over the segments of every world, for searching across videos.

It is only an index: ``rebuild`` makes it again from the worlds in one batch, and every search first replaces the rows of worlds
that changed. Nothing behind a causal cut reads it, since its statistics cover whole videos.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.core.files import file_lock, not_writable
from world_api.core.identifiers import segment_id
from world_api.core.spans import round_time
from world_api.search.indexes import index_terms, query_terms
from world_api.search.passages import passages_of
from world_api.search.searcher import document_texts
from world_api.world.storage import Manifest, read_manifest
from world_api.world.store import list_worlds, open_world, world_folder
from world_api.world.tables import SESSION_TABLES
from world_api.world.view import View, open_view

FOLDER = ".catalogue"
TABLE = "segments"
SCHEMA = pa.schema(
    [
        ("video_id", pa.string()), ("built", pa.string()), ("segment_id", pa.string()), ("start_time", pa.float64()),
        ("end_time", pa.float64()), ("shown", pa.string()), ("terms", pa.string()),
    ]
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CatalogueHit:
    """A matching segment of one of the videos; times in seconds. ``score`` is only for ordering."""

    video_id: str
    segment_id: str
    start_time: float
    end_time: float
    text: str
    score: float


def rebuild(store: Path) -> int:
    """Create the catalogue again from every readable world, in one batch; return the number of segments in it.

    Raises StoreFault: ``store_not_writable``, ``disk_full``, ``catalogue_damaged``.
    """
    with file_lock(store / f"{FOLDER}.lock"), _database(store) as database:
        rows = _rows(store, list(_built(store)))
        _write(database, rows)
        return int(rows.num_rows)


def search(store: Path, query: str, top_k: int) -> list[CatalogueHit]:
    """Return segments of all videos that share a word or a concept with the query, ordered from best to worst.

    Worlds that changed since the last search are indexed before it, in one batch; if none changed, nothing is written.

    Raises StoreFault: ``no_such_store``, ``store_not_writable``, ``disk_full``, ``catalogue_damaged``.
    """
    if not store.is_dir():
        raise StoreFault("no_such_store", f"there is no store {store}", hint="`videoworld build VIDEO` makes one")
    terms = " ".join(dict.fromkeys(query_terms(query)))
    with _database(store) as database:
        built = _built(store)
        stale, fresh = _changes(_table(database), built)
        if stale or fresh:
            with file_lock(store / f"{FOLDER}.lock"):
                _update(store, database, built)
        table = _table(database)
        found = table.search(terms, query_type="fts").limit(top_k).to_list() if terms and table is not None else []
    return [
        CatalogueHit(
            **{name: row[name] for name in ("video_id", "segment_id", "start_time", "end_time")},
            text=row["shown"],
            score=round(float(row["_score"]), 4),
        )
        for row in found
    ]


def _update(store: Path, database: Any, built: dict[str, str]) -> None:
    """Delete the segments of removed and rebuilt worlds, add those of new and rebuilt ones; ``built``: see ``_built``."""
    table = _table(database)
    stale, fresh = _changes(table, built)
    if table is None:
        _write(database, _rows(store, fresh))
        return
    for video_id in stale:
        table.delete(f"video_id = '{video_id}'")
    if fresh:
        table.add(_rows(store, fresh))
        table.optimize()


def _changes(table: Any, built: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the sorted ids of the videos to delete from the catalogue, and of those to add; rebuilt ones are in both."""
    held: set[tuple[str, str]] = set()
    if table is not None:
        known = table.search().select(["video_id", "built"]).to_arrow().group_by(["video_id", "built"]).aggregate([])
        held = set(zip(known.column("video_id").to_pylist(), known.column("built").to_pylist(), strict=True))
    stale = [video_id for video_id, when in held if built.get(video_id) != when]
    return sorted(stale), sorted(video_id for video_id, when in built.items() if (video_id, when) not in held)


def _rows(store: Path, video_ids: Iterable[str]) -> pa.Table:
    """Return a table with one row for each segment of these worlds; worlds that cannot be read are left out.

    ``shown`` is the text for users. ``terms`` are the terms that searches in one video use, so that both find the same
    words.
    """
    parts = [SCHEMA.empty_table()]
    for video_id in video_ids:
        with suppress(StoreFault):
            parts.append(_rows_of(open_view(open_world(store, video_id), None)))
    return pa.concat_tables(parts)


def _rows_of(view: View) -> pa.Table:
    segments, passages, manifest = view.segments, passages_of(view), view.world.manifest
    inside = passages.in_each(segments)
    texts = document_texts(passages, *inside, count=len(segments))
    return pa.table(
        {
            "video_id": [manifest.video_id] * len(segments),
            "built": [_hash(manifest)] * len(segments),
            "segment_id": [segment_id(segment) for segment in segments],
            "start_time": [round_time(segment.start) for segment in segments],
            "end_time": [round_time(segment.end) for segment in segments],
            "shown": document_texts(passages, *inside, count=len(segments), quoted=True),
            "terms": [" ".join(index_terms(text)) for text in texts],
        },
        schema=SCHEMA,
    )


def _built(store: Path) -> dict[str, str]:
    """Return the ids of the readable worlds of a store, each with a hash of its files of rows that no session committed."""
    found = {}
    for video_id in list_worlds(store):
        with suppress(StoreFault):
            found[video_id] = _hash(read_manifest(world_folder(store, video_id)))
    return found


def _hash(manifest: Manifest) -> str:
    """Return a hash of all files of rows except those that sessions committed."""
    files = [[entry.path, entry.sha256] for entry in manifest.files if entry.table not in SESSION_TABLES]
    return content_hash(sorted(files))[:32]


def _write(database: Any, rows: pa.Table) -> None:
    from lancedb.index import FTS

    table = database.create_table(TABLE, rows, mode="overwrite")
    # Terms are already normalised.
    index = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, lower_case=False, ascii_folding=False)
    table.create_index("terms", config=index, replace=True)


def _table(database: Any) -> Any:
    """Return the table of the catalogue; None if there is none, or one with another schema."""
    if TABLE not in database.list_tables().tables:
        return None
    table = database.open_table(TABLE)
    return table if table.schema == SCHEMA else None


@contextmanager
def _database(store: Path) -> Iterator[Any]:
    """Open the database; raise its errors (disk, damaged index, rewrite by another process) as a named fault.

    Raises StoreFault: ``store_not_writable``, ``disk_full``, ``catalogue_damaged``.
    """
    # Lance's native log reports every table it creates; its level is read when the library is loaded.
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb

    try:
        database = lancedb.connect(store / FOLDER)
    except OSError as error:
        raise not_writable(store, error) from error
    try:
        yield database
    except (RuntimeError, ValueError, OSError) as error:
        raise StoreFault(
            "catalogue_damaged",
            f"the catalogue of {store} cannot be used: {str(error).splitlines()[0][:200]}",
            hint="try again; if it stays, `videoworld reindex` makes it again",
        ) from error
