"""Facts about the video and its entities."""

from __future__ import annotations

from world_api.core.cost import Cost
from world_api.operations.arguments import VideoId
from world_api.operations.registry import operation
from world_api.operations.results import Entities, Metadata
from world_api.world.session import Session


@operation(category="meta", price=Cost(calls=1, seconds=0.002), depends_on_session=True)
def list_entities(session: Session, *, video_id: VideoId) -> Entities:
    """List the entities: those identified when the world was built and those this session registered."""
    raise NotImplementedError


@operation(category="meta", price=Cost(calls=1, seconds=0.001))
def get_video_metadata(session: Session, *, video_id: VideoId) -> Metadata:
    """Tell the video's duration in seconds, its frame rate and its resolution in pixels."""
    raise NotImplementedError
