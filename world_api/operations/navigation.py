"""Operations for navigation, semantic search, looking at a moment or a short interval, and facts about the video and its entities."""

from __future__ import annotations

from bisect import insort
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from world_api.core.cost import Cost
from world_api.core.identifiers import chapter_id, scene_id, segment_id
from world_api.core.spans import TimeSpan, round_time, without_spans
from world_api.operations.evidence import (
    brief,
    caption,
    cite_hits,
    cite_passages,
    evidence,
    hits,
    interval,
    interval_of,
    linked_entities,
    look_evidence,
    look_note,
    moment,
    nothing_found,
    optional_interval,
    said_of,
    seen_in,
    times,
)
from world_api.operations.matches import actions_in, find_objects, listed_entities, listed_voices
from world_api.operations.query_matches import (
    asks_for_looks,
    candidates,
    caption_of,
    judged_hits,
    searched_words,
    with_moments,
)
from world_api.operations.registry import operation
from world_api.operations.schema import (
    Action,
    Actions,
    Candidates,
    Caption,
    Detections,
    EndTime,
    Entity,
    EntityList,
    EvidenceItem,
    HeardVoice,
    JudgedWords,
    Metadata,
    OptionalTimeRange,
    Query,
    Resolution,
    Scene as SceneEntry,
    SceneList,
    SegmentInfo,
    SimilarSegments,
    StartTime,
    TimeRange,
    Timestamp,
    TopK,
    VideoId,
)
from world_api.search.pictures import MAY_SHOW, pictures_of
from world_api.session.session import Session
from world_api.world.timeline import Items, Positions, SceneInterval, Times
from world_api.world.view import View

#: A list of scenes is never longer than this; beyond it, scenes are grouped into chapters, which is what it is for.
MAX_ENTRIES = 60
#: Least distance of chapter starts in each round, as a share of the mean chapter length.
CHAPTER_SHARES = (1.0, 0.5, 0.25)


@operation(category="navigation", price=Cost(calls=1, seconds=0.002))
def list_scenes(session: Session, *, video_id: VideoId, time_range: OptionalTimeRange = None) -> SceneList:
    """List the scenes in time order, each with a brief caption.

    A long video is listed as chapters that group scenes; give a time_range to see the scenes inside it.
    """
    within = optional_interval(session, video_id, time_range)
    scenes, strengths = session.view.scenes, session.view.scene_strengths
    inside = _scenes_in(scenes, within) if within else np.arange(len(scenes))
    chapters = group_into_chapters(scenes.starts[inside], scenes.ends[inside], strengths[inside], MAX_ENTRIES)
    entries = [_entry(session, scenes, inside[first:end]) for first, end in chapters]
    grouped = len(chapters) < len(inside)
    return SceneList(
        scenes=entries,
        evidence=[evidence(session, interval_of(entry), "look", None) for entry in entries],
        hint="entries of kind chapter group several scenes; give a time_range to list the scenes inside"
        if grouped
        else "",
    )


@operation(category="navigation", price=Cost(calls=1, seconds=0.001))
def get_segment(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> SegmentInfo:
    """Name a span: its segment id, the scenes it covers, and its duration in seconds."""
    span = interval(session, video_id, start_time, end_time)
    spanned = _scenes_in(session.view.scenes, span)
    named = [scene_id(int(number)) for number in spanned]
    return SegmentInfo(
        **times(span),
        segment_id=segment_id(span),
        scene_id=named[0],
        scene_ids=named,
        duration=round_time(span.duration),
        evidence=[evidence(session, span, "metadata", None)],
        hint=f"it spans {len(named)} scenes; scene_id is the first" if len(named) > 1 else "",
    )


@operation(category="navigation", price=Cost(calls=1, seconds=0.005))
def search_segments_by_text(session: Session, *, video_id: VideoId, query: Query, top_k: TopK) -> Candidates:
    """Find segments by words: speech, text on screen, and what is seen.

    Good for names, quotes and descriptions of people ("a person in red"). The best match comes first.
    """
    session.check_video(video_id)
    found = session.searcher.by_text(
        searched_words(session, query), judged_hits(top_k), of_looks=asks_for_looks(session, query)
    )
    return with_moments(session, candidates(session, found, query, top_k), query)


def group_into_chapters(starts: Times, ends: Times, strengths: Times, limit: int) -> list[tuple[int, int]]:
    """Group neighbouring scenes into at most ``limit`` chapters; return the first and end position of each (half-open).

    Chapters begin at the strongest scene boundaries: first at those a mean chapter length apart, then at closer ones.
    Without this distance a quarter of an hour with many cuts would use up all chapters and leave hours undivided.
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


def _scenes_in(scenes: Items[SceneInterval], span: TimeSpan) -> Positions:
    """Return the positions of the scenes that overlap a span."""
    touching = scenes.touching(span)
    return touching[scenes.ends[touching] > span.start]


def _entry(session: Session, scenes: Items[SceneInterval], group: Positions) -> SceneEntry:
    span = TimeSpan(start=float(scenes.starts[group[0]]), end=float(scenes.ends[group[-1]]))
    single = len(group) == 1
    return SceneEntry(
        **times(span),
        scene_id=scene_id(int(group[0])) if single else chapter_id(int(group[0])),
        brief_caption=brief(session.view, span, [passage.text for passage in session.captions.inside(span)[:1]]),
        kind="scene" if single else "chapter",
        scenes=len(group),
    )


Example = Annotated[TimeRange, Field(description="The example span, in seconds.")]


@operation(category="retrieval", price=Cost(calls=1, seconds=0.005))
def search_segments_by_semantics(
    session: Session, *, video_id: VideoId, query: Query, top_k: TopK, time_range: OptionalTimeRange = None
) -> Candidates:
    """Find segments whose content is close in meaning to the query."""
    within = optional_interval(session, video_id, time_range)
    words = searched_words(session, query)
    found = session.searcher.by_meaning(words, judged_hits(top_k), within, of_looks=asks_for_looks(session, query))
    return with_moments(session, candidates(session, found, query, top_k, within), query)


@operation(category="retrieval", price=Cost(calls=1, seconds=0.005), looks=1)
def search_similar_to_example(
    session: Session, *, video_id: VideoId, example_segment: Example, top_k: TopK
) -> SimilarSegments:
    """Find segments that look like an example span, except those that overlap it."""
    example = interval(session, video_id, example_segment.start_time, example_segment.end_time)
    if not without_spans(example, session.view.holes):
        hint = "the example itself was not decoded, so nothing can be compared with it; give another span"
        return SimilarSegments(similar_segments=[], evidence=[], hint=hint)
    found = session.searcher.by_example(example, said_of(session, example), top_k)
    return SimilarSegments(
        similar_segments=hits(session, found), evidence=cite_hits(session, found), hint=nothing_found(found)
    )


#: What is said where no speaker encoder judged a video with speech.
SPEAKERS_NOT_JUDGED = "who speaks is not judged: this build did not distinguish voices"


def who_speaks(view: View) -> Literal["named", "judged", "not_judged"]:
    """Return how a world says who speaks: by names in subtitles or its truth, by voices, or not at all."""
    if any(view.rows("speech").column("speaker").unique().to_pylist()):
        return "named"
    return "judged" if view.judges_speakers else "not_judged"


@operation(category="meta", price=Cost(calls=1, seconds=0.002), depends_on_session=True)
def list_entities(session: Session, *, video_id: VideoId) -> EntityList:
    """List the people and things that were followed, and those registered since, with their ids."""
    session.check_video(video_id)
    listed = listed_entities(session)
    voices = listed_voices(session.view)
    return EntityList(
        entities=listed,
        voices=voices,
        evidence=[
            *(_cited(session, item, "tracker") for item in listed),
            *(_cited(session, voice, "speech") for voice in voices),
        ],
        hint=SPEAKERS_NOT_JUDGED
        if session.view.has_rows("speech") and who_speaks(session.view) == "not_judged"
        else "",
    )


def _cited(session: Session, item: Entity | HeardVoice, source: Literal["tracker", "speech"]) -> EvidenceItem:
    return evidence(session, TimeSpan(start=item.first_time, end=item.last_time), source, None, item.first_time)


@operation(category="meta", price=Cost(calls=1, seconds=0.001))
def get_video_metadata(session: Session, *, video_id: VideoId) -> Metadata:
    """Return duration, frame rate, resolution, and the categories of things that are distinguished."""
    session.check_video(video_id)
    view, manifest = session.view, session.view.world.manifest
    return Metadata(
        duration=round_time(view.duration),
        frame_rate=round(manifest.video.frame_rate, 3),
        resolution=Resolution(width=manifest.video.width, height=manifest.video.height),
        title=manifest.title,
        has_audio=manifest.video.has_audio,
        has_speech_text=view.has_rows("speech"),
        speakers=who_speaks(view) if view.has_rows("speech") else None,
        profile=manifest.profile,
        vocabulary=JudgedWords(categories=sorted(session.vocabulary.categories)),
        evidence=[evidence(session, view.span, "metadata", 1.0, 0.0)],
    )


ObjectCategory = Annotated[
    str,
    Field(
        min_length=1,
        max_length=100,
        description='What kind of thing, e.g. "person", "car"; "any" for everything.',
    ),
]
TextQuery = Annotated[
    str | None,
    Field(
        max_length=500,
        description='Which of them, in words, e.g. "a person in red".',
    ),
]


@operation(category="perception", price=Cost(calls=1, seconds=0.01), looks=1)
def describe_segment(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> Caption:
    """Describe a short span in words: what is seen, moves, is said and is written."""
    span = interval(session, video_id, start_time, end_time)
    seeing, seen = session.backends.seeing, seen_in(session, span)
    described = caption(session.view, span, seen_as=None if seen is None else seen.text)
    cited = cite_passages(session, described.passages, span)
    if seen is not None:
        cited = [look_evidence(session, seen, span), *cited]
    return Caption(
        **times(span),
        caption=described.text,
        entities=linked_entities(session, seeing.linked(seen) if seeing is not None and seen is not None else ()),
        evidence=cited or [evidence(session, span, "look", None)],
        hint="" if seen is None else look_note(seen),
    )


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

    With a time_range, every sighting of a thing in that span is considered, and timestamp says which is nearest.
    """
    at = moment(session, video_id, timestamp)
    within = optional_interval(session, video_id, time_range)
    return find_objects(session, at=at, category=category, text_query=text_query, within=within)


@operation(category="perception", price=Cost(calls=1, seconds=0.005), looks=1)
def recognize_actions(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> Actions:
    """Recognise what is done in a short span: labels such as "enters from the left", with confidence."""
    span = interval(session, video_id, start_time, end_time)
    seeing = session.backends.seeing
    look = None if seeing is None else seeing.actions(span, until=session.view.duration)
    named = [
        Action(**times(span), label=action.label, confidence=action.confidence, entity_id=None)
        for action in (look.actions if look else ())
    ]
    found = [(_with_caption(session, action), source) for action, source in actions_in(session, span)]
    cited = [evidence(session, interval_of(action), source, action.confidence) for action, source in found]
    guessed = ", ".join(word for word, _ in pictures_of(session.view).tags_in(span, "action"))
    notes = [look_note(look)] if look else []
    notes += [f"key frames {MAY_SHOW}{guessed}; that is possible only, no action was recognised"] if guessed else []
    return Actions(
        actions=[*named, *(action for action, _ in found)],
        evidence=[*([look_evidence(session, look, span)] if look else []), *cited],
        hint="; ".join(notes),
    )


def _with_caption(session: Session, action: Action) -> Action:
    """Return an action with what a caption says of it."""
    track = session.view.track_of_entity(action.entity_id) if action.entity_id else None
    caption = caption_of(session.view, interval_of(action), action.label, track)
    return (
        action
        if caption is None or caption.text == action.label
        else action.model_copy(update={"caption": caption.text})
    )
