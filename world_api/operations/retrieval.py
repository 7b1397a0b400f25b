"""Semantic retrieval."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from world_api.core.cost import Cost
from world_api.operations.evidence import candidates, cite_hits, hits, nothing_found, optional_stretch, stretch
from world_api.operations.registry import operation
from world_api.operations.schema import Candidates, OptionalTimeRange, Query, SimilarSegments, TimeRange, TopK, VideoId
from world_api.operations.vision import said_of
from world_api.session.session import Session

Example = Annotated[TimeRange, Field(description="The example: a stretch of this video, in seconds.")]


@operation(category="retrieval", price=Cost(calls=1, seconds=0.005))
def search_segments_by_semantics(
    session: Session, *, video_id: VideoId, query: Query, top_k: TopK, time_range: OptionalTimeRange = None
) -> Candidates:
    """Find segments whose content is close in meaning to the query, if wanted only inside a time_range."""
    within = optional_stretch(session, video_id, time_range)
    found = session.searcher.by_meaning(query, top_k, within)
    return candidates(session, found)


@operation(category="retrieval", price=Cost(calls=1, seconds=0.005), looks=1)
def search_similar_to_example(
    session: Session, *, video_id: VideoId, example_segment: Example, top_k: TopK
) -> SimilarSegments:
    """Find segments that look like an example stretch; segments that overlap the example are left out."""
    example = stretch(session, video_id, example_segment.start_time, example_segment.end_time)
    found = session.searcher.by_example(example, said_of(session, example), top_k)
    return SimilarSegments(
        similar_segments=hits(session, found), evidence=cite_hits(session, found), hint=nothing_found(found)
    )
