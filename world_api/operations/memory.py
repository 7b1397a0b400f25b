"""Hierarchical memory: what the caller writes down, reads back and merges. Kept in the session's overlay."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from world_api.core.cost import Cost
from world_api.operations.arguments import Level, Query, TimeRange, TopK, VideoId
from world_api.operations.registry import operation
from world_api.operations.results import Memories, MergedEvent, WrittenMemory
from world_api.world.session import Session

Content = Annotated[str, Field(min_length=1, max_length=20_000, description="What to remember, in words.")]
About = Annotated[TimeRange, Field(description="The stretch the memory is about, in seconds.")]
EventIds = Annotated[list[str], Field(min_length=2, max_length=100, description="Ids of event memories to merge.")]


@operation(category="memory", state="writes", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def write_memory(
    session: Session, *, video_id: VideoId, level: Level, time_range: About, content: Content
) -> WrittenMemory:
    """Write a memory about a stretch of the video, to be found again with read_memory."""
    raise NotImplementedError


@operation(category="memory", price=Cost(calls=1, seconds=0.002), depends_on_session=True)
def read_memory(session: Session, *, video_id: VideoId, level: Level, query: Query, top_k: TopK) -> Memories:
    """Search the memories of one level by words; the best match comes first."""
    raise NotImplementedError


@operation(category="memory", state="writes", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def merge_events(session: Session, *, video_id: VideoId, event_ids: EventIds) -> MergedEvent:
    """Merge event memories into one of the whole stretch; the parts are kept and linked."""
    raise NotImplementedError
