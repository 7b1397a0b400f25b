"""Temporal and scene navigation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from world_api.core.cost import Cost
from world_api.core.identifiers import chapter_id, segment_id
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.answering.asking import optional_stretch, stretch
from world_api.operations.answering.citing import MAX_EVIDENCE, cite_hits, evidence, hits, nothing_found, times
from world_api.operations.answering.wording import brief
from world_api.operations.declaring.arguments import EndTime, OptionalTimeRange, Query, StartTime, TopK, VideoId
from world_api.operations.declaring.registry import operation
from world_api.operations.declaring.results import Candidates, SceneList, SegmentInfo
from world_api.operations.declaring.results import Scene as SceneEntry
from world_api.world.sessions.session import Session
from world_api.world.view import Scene

#: A list of scenes is never longer than this; beyond it, scenes are grouped into chapters.
MAX_ENTRIES = 60


@operation(category="navigation", price=Cost(calls=1, seconds=0.002))
def list_scenes(session: Session, *, video_id: VideoId, time_range: OptionalTimeRange = None) -> SceneList:
    """List the scenes of the video in time order, each with a brief caption.

    A long video is listed as chapters that group scenes; give a time_range to see the scenes inside it.
    """
    within = optional_stretch(session, video_id, time_range)
    scenes = [scene for scene in session.view.scenes if within is None or scene.span.overlaps(within)]
    chapters = group_into_chapters(scenes, MAX_ENTRIES)
    entries = [_entry(session, chapter) for chapter in chapters]
    grouped = len(chapters) < len(scenes)
    return SceneList(
        scenes=entries,
        evidence=[evidence(session, scene.span, "look", None) for scene in scenes[:MAX_EVIDENCE]],
        truncated=grouped,
        hint="entries of kind chapter group several scenes; give a time_range to list the scenes inside"
        if grouped
        else "",
    )


@operation(category="navigation", price=Cost(calls=1, seconds=0.001))
def get_segment(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> SegmentInfo:
    """Name a stretch of the video: its segment id, the scene it lies in, and its duration in seconds."""
    span = stretch(session, video_id, start_time, end_time)
    return SegmentInfo(
        **times(span),
        segment_id=segment_id(span),
        scene_id=session.view.scene_at(span.start).scene_id,
        duration=round_time(span.duration),
        evidence=[evidence(session, span, "metadata", None)],
    )


@operation(category="navigation", price=Cost(calls=1, seconds=0.005))
def search_segments_by_text(session: Session, *, video_id: VideoId, query: Query, top_k: TopK) -> Candidates:
    """Find segments anywhere in the video by words: speech, text on screen, and what is seen.

    Good for names, quotes and descriptions of people ("a person in red"). The best match comes first.
    """
    session.check_video(video_id)
    found = session.searcher.by_text(query, top_k)
    return Candidates(candidates=hits(session, found), evidence=cite_hits(session, found), hint=nothing_found(found))


def group_into_chapters(scenes: Sequence[Scene], limit: int) -> list[list[Scene]]:
    """Group neighbouring scenes so that at most ``limit`` groups are left.

    Groups begin where the picture changed most: the ``limit`` strongest scene boundaries.
    """
    if len(scenes) <= limit:
        return [[scene] for scene in scenes]
    inner = sorted(range(1, len(scenes)), key=lambda i: (-scenes[i].strength, scenes[i].span.start))
    starts = [0, *sorted(inner[: limit - 1]), len(scenes)]
    return [list(scenes[a:b]) for a, b in pairwise(starts)]


def _entry(session: Session, scenes: Sequence[Scene]) -> SceneEntry:
    span = TimeSpan(start=scenes[0].span.start, end=scenes[-1].span.end)
    single = len(scenes) == 1
    return SceneEntry(
        **times(span),
        scene_id=scenes[0].scene_id if single else chapter_id(scenes[0].ordinal),
        brief_caption=brief(session.view, span),
        kind="scene" if single else "chapter",
        scenes=len(scenes),
    )
