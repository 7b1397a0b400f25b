"""Entities and their trajectories."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from world_api.core.cost import Cost
from world_api.operations.arguments import EntityId, OptionalTimeRange, Query, Timestamp, VideoId
from world_api.operations.registry import operation
from world_api.operations.results import RegisteredEntity, StateAnswer, Trajectory
from world_api.world.session import Session

EntityHint = Annotated[
    str, Field(min_length=1, max_length=500, description='What the entity looks like, e.g. "the person in a red coat".')
]


@operation(category="entities", state="writes", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def register_entity(
    session: Session, *, video_id: VideoId, timestamp: Timestamp, entity_hint: EntityHint
) -> RegisteredEntity:
    """Give the thing that a hint names at a moment an entity id that later calls can use.

    Returns the known entity when it is the same one, and says how sure.
    """
    raise NotImplementedError


@operation(category="entities", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def get_entity_trajectory(session: Session, *, video_id: VideoId, entity_id: EntityId) -> Trajectory:
    """List every appearance of an entity: when, in which scene, and along which path."""
    raise NotImplementedError


@operation(category="entities", price=Cost(calls=1, seconds=0.01), depends_on_session=True)
def query_entity_state(
    session: Session,
    *,
    video_id: VideoId,
    entity_id: EntityId,
    time: Timestamp,
    query: Query,
    time_range: OptionalTimeRange = None,
) -> StateAnswer:
    """Ask about an entity at a moment: where it is, what it does, what it looks like, what is said meanwhile."""
    raise NotImplementedError
