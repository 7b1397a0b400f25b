"""The catalogue of a store: LanceDB tables over the segments of every world, for searching across videos.

It is an index, not a truth: ``rebuild`` makes it again from the worlds in one batch, and a row whose world has
changed since is left out of answers. Nothing behind a causal cut reads it, since its statistics know every video whole.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from world_api.core.faults import StoreFault
from world_api.core.identifiers import segment_id
from world_api.core.ports import TextEmbedder
from world_api.core.spans import round_time
from world_api.world.disk.files import not_writable
from world_api.world.disk.manifest import read_manifest
from world_api.world.disk.stored import list_worlds, open_world, world_folder
from world_api.world.search.lexical import index_terms, query_terms
from world_api.world.search.passages import passages_by_segment
from world_api.world.view import View

FOLDER = ".catalogue"
TABLE = "segments"


@dataclass(frozen=True, kw_only=True)
class CatalogueHit:
    """A segment of some video that matches. ``score`` only orders."""

    video_id: str
    segment_id: str
    start_time: float
    end_time: float
    text: str
    score: float


def rebuild(store: Path, embedder: TextEmbedder) -> int:
    """Make the catalogue again from every readable world, in one batch; how many segments it holds.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    parts = []
    for video_id in list_worlds(store):
        try:
            parts.append(_rows(View(open_world(store, video_id), None), embedder))
        except StoreFault:
            continue  # a world of another version or a damaged one is told of by `videoworld worlds`
    rows = pa.concat_tables(parts) if parts else _schema(embedder.dimension).empty_table()
    with _locked(store):
        _write(store, rows)
    return int(rows.num_rows)


def enter(store: Path, video_id: str, embedder: TextEmbedder) -> None:
    """Put one world's segments in, in place of those it had.

    Raises:
        StoreFault: ``no_such_world``, ``store_not_writable``, ``disk_full``.
    """
    rows = _rows(View(open_world(store, video_id), None), embedder)
    with _locked(store):
        table = _open(store)
        if table is None or table.schema != rows.schema:
            _write(store, rows)
            return
        table.delete(f"video_id = '{video_id}'")
        table.add(rows)
        table.optimize()


def search(store: Path, query: str, top_k: int) -> list[CatalogueHit]:
    """Segments of all videos that share a word or a concept with the query, the best first.

    Raises:
        StoreFault: ``no_catalogue``.
    """
    table = _open(store)
    if table is None:
        raise StoreFault(
            "no_catalogue", f"store {store} has no catalogue", hint="`videoworld reindex` makes it from the worlds"
        )
    terms = " ".join(dict.fromkeys(query_terms(query)))
    if not terms:
        return []
    rows = table.search(terms, query_type="fts").limit(top_k).to_list()
    current: dict[str, str | None] = {}
    for row in rows:
        if row["video_id"] not in current:
            current[row["video_id"]] = _current_hash(store, row["video_id"])
    return [_hit(row) for row in rows if current[row["video_id"]] == row["world_hash"]]


def _schema(dimension: int) -> pa.Schema:
    return pa.schema(
        [
            ("video_id", pa.string()),
            ("world_hash", pa.string()),
            ("segment_id", pa.string()),
            ("start_time", pa.float64()),
            ("end_time", pa.float64()),
            ("text", pa.string()),
            ("terms", pa.string()),
            ("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


def _rows(view: View, embedder: TextEmbedder) -> pa.Table:
    """One row a segment. ``terms`` holds the project's own index terms, so both searches read words alike."""
    segments = view.segments
    texts = [
        "\n".join(f"{passage.text} {passage.terms}".strip() for passage in passages)
        for passages in passages_by_segment(view, segments)
    ]
    vectors = embedder.embed(texts)
    manifest = view.world.manifest
    return pa.table(
        {
            "video_id": [manifest.video_id] * len(segments),
            "world_hash": [manifest.world_hash] * len(segments),
            "segment_id": [segment_id(segment) for segment in segments],
            "start_time": [round_time(segment.start) for segment in segments],
            "end_time": [round_time(segment.end) for segment in segments],
            "text": texts,
            "terms": [" ".join(index_terms(text)) for text in texts],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), embedder.dimension),
        },
        schema=_schema(embedder.dimension),
    )


def _write(store: Path, rows: pa.Table) -> None:
    database = _connect(store)
    from lancedb.index import FTS

    table = database.create_table(TABLE, rows, mode="overwrite")
    # Terms come ready-made, so the index must take them as they are.
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


def _locked(store: Path) -> Any:
    from filelock import FileLock

    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(store, error) from error
    return FileLock(store / f"{FOLDER}.lock")


def _current_hash(store: Path, video_id: str) -> str | None:
    try:
        return read_manifest(world_folder(store, video_id)).world_hash
    except StoreFault:
        return None


def _hit(row: dict[str, Any]) -> CatalogueHit:
    return CatalogueHit(
        video_id=row["video_id"],
        segment_id=row["segment_id"],
        start_time=row["start_time"],
        end_time=row["end_time"],
        text=row["text"],
        score=round(float(row["_score"]), 4),
    )
