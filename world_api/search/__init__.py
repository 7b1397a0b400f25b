"""Search over the segments of a view: by words, by meaning, by look; exhaustive scans; the catalogue of a store.

``prepare`` computes the indexes of a world ahead of time and stores them beside it. ``Searcher`` ranks the segments of
one view; behind a causal cut it uses only visible rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.search.indexes import Rows, VectorIndex, holds_words, index_terms, nearest_of
    from world_api.search.passages import CaptionIndex, passages_of, unchanged_segments
    from world_api.search.searcher import embedder_key, prepare, prepare_all

__getattr__, __dir__, __all__ = lazy_names(__name__)
