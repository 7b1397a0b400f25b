"""Temporal and scene navigation."""

from __future__ import annotations

from bisect import insort
from itertools import pairwise

import numpy as np

from world_api.core.cost import Cost
from world_api.core.identifiers import chapter_id, scene_id, segment_id
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.evidence import candidates, evidence, optional_stretch, stretch, times
from world_api.operations.registry import operation
from world_api.operations.schema import (
    Candidates,
    EndTime,
    OptionalTimeRange,
    Query,
    SceneList,
    SegmentInfo,
    StartTime,
    TopK,
    VideoId,
)
from world_api.operations.schema import Scene as SceneEntry
from world_api.operations.wording import brief
from world_api.session.session import Session
from world_api.world.items import Positions, Times
from world_api.world.timeline import Scenes

#: A list of scenes is never longer than this; beyond it, scenes are grouped into chapters.
MAX_ENTRIES = 60
#: How far apart chapters begin at least, round after round: shares of what they would last if all were equally long.
CHAPTER_SHARES = (1.0, 0.5, 0.25)


@operation(category="navigation", price=Cost(calls=1, seconds=0.002))
def list_scenes(session: Session, *, video_id: VideoId, time_range: OptionalTimeRange = None) -> SceneList:
    """List the scenes of the video in time order, each with a brief caption.

    A long video is listed as chapters that group scenes; give a time_range to see the scenes inside it.
    """
    within = optional_stretch(session, video_id, time_range)
    scenes = session.view.scenes
    inside = _scenes_in(scenes, within) if within else np.arange(len(scenes))
    chapters = group_into_chapters(scenes.starts[inside], scenes.ends[inside], scenes.strengths[inside], MAX_ENTRIES)
    entries = [_entry(session, scenes, inside[first:end]) for first, end in chapters]
    grouped = len(chapters) < len(inside)
    return SceneList(
        scenes=entries,
        evidence=[evidence(session, TimeSpan(start=e.start_time, end=e.end_time), "look", None) for e in entries],
        truncated=grouped,
        hint="entries of kind chapter group several scenes; give a time_range to list the scenes inside"
        if grouped
        else "",
    )


@operation(category="navigation", price=Cost(calls=1, seconds=0.001))
def get_segment(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> SegmentInfo:
    """Name a stretch of the video: its segment id, the scenes it spans, and its duration in seconds."""
    span = stretch(session, video_id, start_time, end_time)
    spanned = _scenes_in(session.view.scenes, span)
    named = [scene_id(int(number)) for number in spanned[:MAX_ENTRIES]]
    truncated = len(spanned) > len(named)
    hints = [f"it spans {len(spanned)} scenes; scene_id is the first"] if len(spanned) > 1 else []
    hints += [f"scene_ids are the first {len(named)}; list_scenes lists all"] if truncated else []
    return SegmentInfo(
        **times(span),
        segment_id=segment_id(span),
        scene_id=named[0],
        scene_ids=named,
        duration=round_time(span.duration),
        evidence=[evidence(session, span, "metadata", None)],
        truncated=truncated,
        hint="; ".join(hints),
    )


@operation(category="navigation", price=Cost(calls=1, seconds=0.005))
def search_segments_by_text(session: Session, *, video_id: VideoId, query: Query, top_k: TopK) -> Candidates:
    """Find segments anywhere in the video by words: speech, text on screen, and what is seen.

    Good for names, quotes and descriptions of people ("a person in red"). The best match comes first.
    """
    session.check_video(video_id)
    found = session.searcher.by_text(query, top_k)
    return candidates(session, found)


def group_into_chapters(starts: Times, ends: Times, strengths: Times, limit: int) -> list[tuple[int, int]]:
    """Group neighbouring scenes so that at most ``limit`` groups are left; each as first and end position.

    Groups begin where the picture changed most, but the strongest boundaries are first taken a mean chapter apart, then
    closer: else a restless quarter of an hour would take all of them and leave hours undivided.
    """
    if len(starts) <= limit:
        return [(i, i + 1) for i in range(len(starts))]
    mean = float(ends[-1] - starts[0]) / limit
    strongest = starts[1:][np.lexsort((starts[1:], -strengths[1:]))]
    chosen = [float(starts[0]), float(ends[-1])]
    for share in CHAPTER_SHARES:
        at = np.searchsorted(chosen, strongest, side="right")
        near = np.minimum(strongest - np.take(chosen, at - 1), np.take(chosen, at) - strongest)
        left = strongest[near >= share * mean]
        while len(left) and len(chosen) <= limit:
            insort(chosen, float(left[0]))
            left = left[1:][np.abs(left[1:] - left[0]) >= share * mean]
    return list(pairwise([*np.searchsorted(starts, chosen[:-1]).tolist(), len(starts)]))


def _scenes_in(scenes: Scenes, span: TimeSpan) -> Positions:
    """The scenes that a stretch shares some time with."""
    touching = scenes.touching(span)
    return touching[scenes.ends[touching] > span.start]


def _entry(session: Session, scenes: Scenes, group: Positions) -> SceneEntry:
    span = TimeSpan(start=float(scenes.starts[group[0]]), end=float(scenes.ends[group[-1]]))
    single = len(group) == 1
    return SceneEntry(
        **times(span),
        scene_id=scene_id(int(group[0])) if single else chapter_id(int(group[0])),
        brief_caption=brief(session.view, span, [passage.text for passage in session.captions.inside(span)[:1]]),
        kind="scene" if single else "chapter",
        scenes=len(group),
    )
