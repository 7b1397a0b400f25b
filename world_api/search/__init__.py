"""Search over the segments of a view: by words, by meaning, by look; exhaustive scans; the catalogue of a store.

``prepare`` computes the indexes of a world ahead of time and keeps them beside it. ``Searcher`` ranks the segments of one view;
behind a causal cut it uses only what the cut lets through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.search.captions import CaptionIndex as CaptionIndex
    from world_api.search.documents import embedder_key as embedder_key
    from world_api.search.documents import prepare as prepare
    from world_api.search.documents import prepare_all as prepare_all
    from world_api.search.indexes import Rows as Rows
    from world_api.search.indexes import VectorIndex as VectorIndex
    from world_api.search.indexes import holds_words as holds_words
    from world_api.search.indexes import index_terms as index_terms
    from world_api.search.indexes import nearest_of as nearest_of
    from world_api.search.passages import passages_of as passages_of
    from world_api.search.passages import unchanged_segments as unchanged_segments

__getattr__, __dir__, __all__ = lazy_names(__name__)
