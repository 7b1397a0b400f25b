"""What a model that looks adds to an answer, where a session has one: what it saw, where that can be looked at again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from world_api.core.spans import Box, TimeSpan
from world_api.operations.evidence import evidence, times
from world_api.operations.schema import Action, EvidenceItem
from world_api.session.session import Registration, Session
from world_api.session.vision import MAX_SPOTS, Spot, Vision
from world_api.session.vision_cache import CachedLook
from world_api.world.tracks import Track


def seen_in(session: Session, span: TimeSpan) -> CachedLook | None:
    """What a model sees in a stretch; None where the session has none.

    Raises:
        MediaFault: ``source_missing``, ``undecodable``.
        BackendFault: as the model names it.
    """
    seeing = session.backends.seeing
    return None if seeing is None else seeing.caption(span, until=session.view.duration)


def done_in(session: Session, span: TimeSpan) -> tuple[list[Action], CachedLook] | None:
    """The actions that a model sees in a stretch, each with the whole of it; None where the session has no model.

    Raises:
        MediaFault: ``source_missing``, ``undecodable``.
        BackendFault: as the model names it.
    """
    seeing = session.backends.seeing
    if seeing is None:
        return None
    sight = seeing.actions(span, until=session.view.duration)
    found = [
        Action(**times(span), label=action.label, confidence=action.confidence, entity_id=None)
        for action in sight.actions
    ]
    return found, sight


def asked_about(
    session: Session, seeing: Vision, entity: Track | Registration, at: float, query: str, span: TimeSpan
) -> CachedLook | None:
    """A question about an entity, answered from pictures of it around a moment; None where none shows it then.

    Raises:
        MediaFault: ``source_missing``, ``undecodable``.
        BackendFault: as the model names it.
    """
    spots = _spots(entity, at, span)
    if not spots:
        return None
    return seeing.state(spots, query, subject=entity.hint, until=session.view.duration)


def said_of(session: Session, example: TimeSpan) -> list[str]:
    """What captions say of an example, for captions of the same meaning to be found; nothing where none can be.

    Where there are captions elsewhere and none of the example, a model looks at it.

    Raises:
        MediaFault: ``source_missing``, ``undecodable``.
        BackendFault: as the model names it.
    """
    if session.backends.meanings is None or not session.captions.passages:
        return []
    own = [passage.text for passage in session.captions.inside(example)]
    if len(own) == len(session.captions.passages):
        return []
    if own:
        return own
    seen = seen_in(session, example)
    return [] if seen is None else [seen.text]


def sight_evidence(session: Session, sight: CachedLook, span: TimeSpan) -> EvidenceItem:
    """Where a sight can be looked at again: its stretch, and the middle one of its frames."""
    shown = sight.frame_times[len(sight.frame_times) // 2]
    return evidence(session, span, "caption", sight.confidence, shown)


def sight_note(sight: CachedLook) -> str:
    """Who looked at what, and what it says it cannot tell."""
    first, last = sight.frame_times[0], sight.frame_times[-1]
    count = len(sight.frame_times)
    where = f"1 frame at {first:g} s" if count == 1 else f"{count} frames from {first:g} to {last:g} s"
    note = f"seen by {sight.producer} in {where}, nothing between them was looked at"
    return f"{note}; not certain: {sight.uncertain}" if sight.uncertain else note


def _spots(entity: Track | Registration, at: float, span: TimeSpan) -> list[Spot]:
    """The moments and places to look at: the sighting nearest to the moment, and others spread over the stretch."""
    if isinstance(entity, Registration):
        x1, y1, x2, y2 = entity.box
        return [Spot(time=entity.time, box=Box(x1=x1, y1=y1, x2=x2, y2=y2))]
    near = _sightings(entity, span)
    if not near:
        return []
    nearest = min(near, key=lambda position: abs(float(entity.times[position]) - at))
    spread = np.linspace(0, len(near) - 1, num=min(MAX_SPOTS, len(near))).round().astype(int)
    chosen = sorted({nearest, *(near[place] for place in spread.tolist())})
    while len(chosen) > MAX_SPOTS:
        chosen.remove(min((p for p in chosen if p != nearest), key=lambda p: abs(float(entity.times[p]) - at)))
    return [Spot(time=float(entity.times[position]), box=entity.box(position)) for position in chosen]


def _sightings(track: Track, span: TimeSpan) -> Sequence[int]:
    """The sightings in a part of an appearance, without slivers where there are others."""
    part = track.during(span)
    inside = list(range(part.start, part.stop))
    clear = [position for position in inside if not track.slivers[position]]
    return clear or inside
