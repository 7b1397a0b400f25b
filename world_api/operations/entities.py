"""Entities and their trajectories."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from world_api.core.cost import Cost
from world_api.core.evidence import Source
from world_api.core.spans import TimeSpan
from world_api.operations.answering.asking import moment, optional_stretch
from world_api.operations.answering.citing import evidence, times
from world_api.operations.answering.finding import identify
from world_api.operations.answering.identity import find_entity, look_alikes, side_left
from world_api.operations.answering.looking import asked_about, sight_evidence, sight_note
from world_api.operations.answering.states import facts_in_words, read_question, seen_around, state_in_words
from world_api.operations.answering.wording import path_in_words
from world_api.operations.declaring.arguments import EntityId, OptionalTimeRange, Query, Timestamp, VideoId
from world_api.operations.declaring.registry import operation
from world_api.operations.declaring.results import RegisteredEntity, StateAnswer, Trajectory, TrajectoryPart
from world_api.world.sessions.seeing import Sight
from world_api.world.sessions.session import Registration, Session
from world_api.world.tracks import Track

#: A trajectory lists at most this many appearances.
MAX_PARTS = 40

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
    at = moment(session, video_id, timestamp)
    found = identify(session, at, entity_hint)
    chosen = found.registration
    known = {item.entity_id: item for item in session.registrations()}
    seen_before = chosen.entity_id in known or session.view.track_of_entity(chosen.entity_id) is not None
    if chosen.entity_id not in known or known[chosen.entity_id].label != entity_hint:
        session.register(chosen)
    track = session.view.track_of_entity(chosen.entity_id)
    return RegisteredEntity(
        entity_id=chosen.entity_id,
        hint=chosen.hint if track is None else track.hint,
        label=entity_hint,
        already_known=seen_before,
        confidence=chosen.confidence,
        may_be=look_alikes(session, chosen.entity_id),
        matched=list(found.asked.matched),
        unmatched=list(found.asked.unmatched),
        lacks=found.lacks,
        evidence=[evidence(session, session.view.frame_at(chosen.time), chosen.source, chosen.confidence, chosen.time)],
    )


@operation(category="entities", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def get_entity_trajectory(session: Session, *, video_id: VideoId, entity_id: EntityId) -> Trajectory:
    """List every appearance of an entity: when, in which scene, and along which path."""
    session.check_video(video_id)
    entity = find_entity(session, entity_id)
    if isinstance(entity, Registration):
        parts = [_seen_once(session, entity)]
        size = None
    else:
        parts = [_appearance(session, entity, span) for span in entity.appearances]
        size = entity.size
    shown = parts[:MAX_PARTS]
    return Trajectory(
        trajectory=shown,
        size=size,
        may_be=look_alikes(session, entity_id),
        evidence=[
            evidence(session, TimeSpan(start=p.start_time, end=p.end_time), "tracker", entity.confidence, p.start_time)
            for p in shown
        ],
        truncated=len(parts) > len(shown),
        hint=f"{len(parts) - len(shown)} later appearances are left out" if len(parts) > len(shown) else "",
    )


@operation(category="entities", price=Cost(calls=1, seconds=0.01), looks=1, depends_on_session=True)
def query_entity_state(
    session: Session,
    *,
    video_id: VideoId,
    entity_id: EntityId,
    time: Timestamp,
    query: Query,
    time_range: OptionalTimeRange = None,
) -> StateAnswer:
    """Ask about an entity at a moment: where it is, what it does, what it looks like, what is said meanwhile.

    With a time_range, the moment must lie in it.
    """
    at = moment(session, video_id, time)
    within = optional_stretch(session, video_id, time_range)
    entity = find_entity(session, entity_id)
    seeing, span = session.backends.seeing, seen_around(session, entity, at, within)
    asked = read_question(session, query)
    if seeing is not None and span is not None and not asked.is_measured:
        sight = asked_about(session, seeing, entity, at, query, span)
        if sight is not None:
            return _seen_state(session, entity, at, span, sight)
    answer, span, confidence = state_in_words(session, entity, at, asked, within)
    return StateAnswer(
        answer=answer,
        confidence=confidence,
        matched=asked.matched,
        unmatched=asked.unmatched,
        not_judged=[] if asked.matched else asked.unmatched,
        evidence=[evidence(session, span, _source(entity), confidence, _inside(at, span))],
    )


def _source(entity: Track | Registration) -> Source:
    """What an entity was seen by."""
    return entity.source if isinstance(entity, Registration) else "tracker"


def _inside(time: float, span: TimeSpan) -> float:
    """The time of a stretch that is nearest to another."""
    return min(max(time, span.start), span.end)


def _seen_state(session: Session, entity: Track | Registration, at: float, span: TimeSpan, sight: Sight) -> StateAnswer:
    """What a model sees of an entity, beside what was measured of it."""
    looked = TimeSpan(start=sight.frame_times[0], end=session.view.frame_at(sight.frame_times[-1]).end)
    facts = facts_in_words(session, entity, at, span)
    return StateAnswer(
        answer=f"{sight.text.rstrip('.')}. Measured of {entity.entity_id}, followed as {entity.hint}: {facts}.",
        confidence=sight.confidence,
        evidence=[
            sight_evidence(session, sight, looked),
            evidence(session, span, _source(entity), None, _inside(at, span)),
        ],
        hint=sight_note(sight),
    )


def _appearance(session: Session, track: Track, span: TimeSpan) -> TrajectoryPart:
    return TrajectoryPart(
        **times(span),
        scene_id=session.view.scene_at(span.start).scene_id,
        path_repr=path_in_words(session.view, track, span),
        enters_from=track.enters_from(span),
        leaves_to=side_left(session, track, span),
    )


def _seen_once(session: Session, thing: Registration) -> TrajectoryPart:
    return TrajectoryPart(
        **times(session.view.frame_at(thing.time)),
        scene_id=session.view.scene_at(thing.time).scene_id,
        path_repr=f"seen once, at box {[round(v) for v in thing.box]}",
        enters_from=None,
        leaves_to=None,
    )
