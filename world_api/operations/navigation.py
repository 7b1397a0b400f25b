"""Temporal and scene navigation."""

from __future__ import annotations

from world_api.core.cost import Cost
from world_api.operations.arguments import EndTime, OptionalTimeRange, Query, StartTime, TopK, VideoId
from world_api.operations.registry import operation
from world_api.operations.results import Candidates, SceneList, SegmentInfo
from world_api.world.session import Session


@operation(category="navigation", price=Cost(calls=1, seconds=0.002))
def list_scenes(session: Session, *, video_id: VideoId, time_range: OptionalTimeRange = None) -> SceneList:
    """List the scenes of the video in time order, each with a brief caption.

    A long video is listed as chapters that group scenes; give a time_range to see the scenes inside it.
    """
    raise NotImplementedError


@operation(category="navigation", price=Cost(calls=1, seconds=0.001))
def get_segment(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> SegmentInfo:
    """Name a stretch of the video: its segment id, the scene it lies in, and its duration in seconds."""
    raise NotImplementedError


@operation(category="navigation", price=Cost(calls=1, seconds=0.005))
def search_segments_by_text(session: Session, *, video_id: VideoId, query: Query, top_k: TopK) -> Candidates:
    """Find segments anywhere in the video by words: speech, text on screen, and what is seen.

    Good for names, quotes and descriptions of people ("a person in red"). The best match comes first.
    """
    raise NotImplementedError
