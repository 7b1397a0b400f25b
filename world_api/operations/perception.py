"""Local perception: looking at a moment or a short stretch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from world_api.core.cost import Cost
from world_api.operations.arguments import EndTime, OptionalTimeRange, StartTime, Timestamp, VideoId
from world_api.operations.registry import operation
from world_api.operations.results import Actions, Caption, Detections
from world_api.world.session import Session

ObjectCategory = Annotated[
    str,
    Field(min_length=1, max_length=100, description='What kind of thing, e.g. "person", "car"; "any" for everything.'),
]
TextQuery = Annotated[
    str | None,
    Field(max_length=500, description='Which one, in words, e.g. "a person in red"; null for all of the category.'),
]


@operation(category="perception", price=Cost(calls=1, seconds=0.01))
def describe_segment(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> Caption:
    """Describe a short stretch in words: who and what is seen, what moves, what is said, what is written."""
    raise NotImplementedError


@operation(category="perception", price=Cost(calls=1, seconds=0.1))
def detect_objects(
    session: Session,
    *,
    video_id: VideoId,
    timestamp: Timestamp,
    category: ObjectCategory,
    text_query: TextQuery = None,
    time_range: OptionalTimeRange = None,
) -> Detections:
    """Detect objects of a category at a moment, with boxes in pixels.

    With a time_range, every sighting of a thing in that stretch is considered, and timestamp says which is nearest.
    """
    raise NotImplementedError


@operation(category="perception", price=Cost(calls=1, seconds=0.005))
def recognize_actions(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> Actions:
    """Recognise what is done in a short stretch: labels such as "enters from the left", with confidence."""
    raise NotImplementedError
