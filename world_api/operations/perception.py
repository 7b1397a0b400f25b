"""Local perception: looking at a moment or a short interval."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from world_api.core.cost import Cost
from world_api.operations.evidence import (
    caption,
    cite_passages,
    evidence,
    interval,
    interval_of,
    linked_entities,
    look_evidence,
    look_note,
    moment,
    optional_interval,
    seen_in,
    times,
)
from world_api.operations.matches import actions_in, find_objects
from world_api.operations.query_matches import caption_of
from world_api.operations.registry import operation
from world_api.operations.schema import (
    Action,
    Actions,
    Caption,
    Detections,
    EndTime,
    OptionalTimeRange,
    StartTime,
    Timestamp,
    VideoId,
)
from world_api.search.pictures import MAY_SHOW, pictures_of
from world_api.session.session import Session

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
