"""Search over the segments of a view: by words, by meaning, by look; exhaustive scans; the catalogue of a store.

``prepare`` computes the indexes of a world ahead of time and keeps them beside it. ``Searcher`` ranks the segments of one view;
behind a causal cut it uses only what the cut lets through.
"""

from __future__ import annotations

from world_api.search.captions import Captions, Meanings
from world_api.search.documents import embedder_key, prepare, prepare_all
from world_api.search.indexes import (
    LexicalIndex,
    Rows,
    VectorIndex,
    best_first,
    fuse,
    holds_words,
    index_terms,
    nearest_of,
)
from world_api.search.passages import Passage, Passages, passages_of, unchanged_segments
from world_api.search.searcher import Searcher

__all__ = [
    "Captions",
    "LexicalIndex",
    "Meanings",
    "Passage",
    "Passages",
    "Rows",
    "Searcher",
    "VectorIndex",
    "best_first",
    "embedder_key",
    "fuse",
    "holds_words",
    "index_terms",
    "nearest_of",
    "passages_of",
    "prepare",
    "prepare_all",
    "unchanged_segments",
]
