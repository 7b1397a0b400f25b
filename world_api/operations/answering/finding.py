"""Finding things in a moment or a stretch: detections, actions, and the thing that a hint names."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from world_api.core.boxes import Box
from world_api.core.evidence import Source
from world_api.core.faults import OperationFault
from world_api.core.lexicon import ANYTHING, before_turning, categories_in, colours_in
from world_api.core.ports import DetectedObject
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.answering.citing import times
from world_api.operations.answering.identity import best_match, match_hint, not_used, registered_near, tracks_at
from world_api.operations.answering.wording import motions, size_class
from world_api.operations.declaring.results import Action, Detection
from world_api.world.sessions.session import SEEN, Registration, Session
from world_api.world.tracks import Track

#: Confidence is scaled by this where a description has words that cannot be checked on what was measured.
UNCHECKED = 0.6
#: Labels made from boxes alone.
MOTION_CONFIDENCE = 0.6


@dataclass(frozen=True, kw_only=True)
class FoundObject:
    """A detection with the stretch and the source that support it."""

    detection: Detection
    span: TimeSpan
    source: Source


@dataclass(frozen=True, kw_only=True)
class FoundObjects:
    """What was found, the surest first; the words of the description that made no difference; a hint for when nothing was."""

    objects: list[FoundObject]
    unused_words: list[str]
    hint: str


def find_objects(
    session: Session, *, at: float, category: str, text_query: str | None, within: TimeSpan | None
) -> FoundObjects:
    """Objects of a category near a moment.

    Stored tracks answer first. Where none does and a detector knows the category, that very frame is looked at.
    """
    wanted = _wanted(category)
    near = session.view.tracks_in(within) if within else tracks_at(session, at)
    candidates = [track for track in near if wanted is None or track.category in wanted]
    sighted = [(track, item) for track in candidates if (item := _from_track(session, track, at, text_query, within))]
    found = [item for _, item in sighted]
    unused = not_used([track for track, _ in sighted], text_query) if text_query else []
    if not found and not candidates:
        found = _look(session, at, category, text_query)
    found.sort(key=lambda item: (-(item.detection.confidence or 0.0), item.detection.bbox))
    hint = "" if found else _why_nothing(session, category, wanted, bool(near))
    return FoundObjects(objects=found, unused_words=unused, hint=hint)


def actions_in(session: Session, span: TimeSpan) -> list[tuple[Action, Source]]:
    """What is done in a stretch: stored actions, else motions read off the tracks; in time order."""
    found: list[tuple[Action, Source]] = []
    for said in session.view.actions.during(span):
        track = session.view.tracks.find(said.subject)
        action = Action(
            **times(said.span.clip(span) or said.span),
            label=said.text,
            confidence=said.confidence,
            entity_id=track.entity_id if track else None,
        )
        found.append((action, "caption"))
    told = {action.entity_id for action, _ in found}
    for track in session.view.tracks_in(span):
        if track.entity_id not in told:
            for motion in motions(session.view, track, span):
                part = motion.span.clip(span) or motion.span
                label = f"{track.hint} {motion.label}"
                action = Action(**times(part), label=label, confidence=MOTION_CONFIDENCE, entity_id=track.entity_id)
                found.append((action, "tracker"))
    for move in session.view.camera_movements.during(span):
        shown = move.span.clip(span)
        if shown is not None and shown.duration > 0:
            action = Action(**times(shown), label=move.label, confidence=MOTION_CONFIDENCE, entity_id=None)
            found.append((action, "look"))
    return sorted(found, key=lambda pair: (pair[0].start_time, pair[0].end_time, pair[0].label))


def identify(session: Session, at: float, hint: str) -> Registration:
    """The thing a hint names at a moment: a tracked one, else one detected in that very frame.

    Raises:
        OperationFault: ``nothing_matches``.
    """
    tracks = tracks_at(session, at)
    if (matched := best_match(tracks, hint)) is not None:
        track, match = matched
        position = track.nearest(at)
        box = track.box(position)
        sure = track.confidence * (UNCHECKED if match.unchecked else 1.0)
        time = round_time(float(track.times[position]))
        return _registration(
            entity_id=track.entity_id, label=hint, category=track.category, time=time, box=box, confidence=sure
        )
    if (seen := _detected(session, at, hint)) is not None:
        box = seen.box
        earlier = registered_near(session, box.rounded(), at)
        source = session.view.world.manifest.source.sha256
        digest = sha256(f"{source}|{round_time(at)}|{box.rounded()}".encode()).hexdigest()[:10]
        entity_id = earlier.entity_id if earlier else f"{SEEN}{digest}"
        sure = seen.confidence * UNCHECKED
        return _registration(
            entity_id=entity_id, label=hint, category=seen.category, time=round_time(at), box=box, confidence=sure
        )
    there = ", ".join(track.hint for track in tracks[:5])
    raise OperationFault(
        "nothing_matches",
        f"nothing at {at:g} s matches {hint[:80]!r}",
        hint=f"there is: {there}"
        if there
        else "nothing is tracked there; detect_objects or search_segments_by_text finds moments",
    )


def _wanted(category: str) -> frozenset[str] | None:
    """The canonical categories asked for; None for everything."""
    folded = category.strip().casefold()
    if folded in ANYTHING:
        return None
    return categories_in(category) or frozenset({folded.replace(" ", "_")})


def _from_track(
    session: Session, track: Track, at: float, text_query: str | None, within: TimeSpan | None
) -> FoundObject | None:
    match = match_hint(track, text_query) if text_query else None
    if match is not None and not match.fits:
        return None
    part = track.between(within) if within else slice(0, len(track.times))
    position = part.start + int(np.argmin(np.abs(track.times[part] - at)))
    time = float(track.times[position])
    span = track.appearance_at(time) or TimeSpan(start=time, end=time)
    sure = float(track.confidences[position]) * (UNCHECKED if match is not None and match.unchecked else 1.0)
    box = track.box(position)
    detection = Detection(
        **times(span),
        bbox=box.rounded(),
        category=track.category,
        confidence=round(min(1.0, sure), 2),
        entity_hint=f"{track.hint} ({size_class(box, session.view)})",
        entity_id=track.entity_id,
        timestamp=round_time(time),
    )
    return FoundObject(detection=detection, span=span, source="tracker")


def _look(session: Session, at: float, category: str, text_query: str | None) -> list[FoundObject]:
    """Detections on that very frame. A description with colours is not answered: the frame's boxes carry none."""
    if text_query and colours_in(before_turning(text_query)[0]):
        return []
    found = []
    for seen in _detections(session, at, category):
        moment = TimeSpan(start=at, end=at)
        detection = Detection(
            **times(moment),
            bbox=seen.box.rounded(),
            category=seen.category,
            confidence=round(seen.confidence * (UNCHECKED if text_query else 1.0), 2),
            entity_hint=f"{seen.category} ({size_class(seen.box, session.view)})",
            entity_id=None,
            timestamp=round_time(at),
        )
        found.append(FoundObject(detection=detection, span=moment, source="detector"))
    return found


def _detected(session: Session, at: float, hint: str) -> DetectedObject | None:
    hint, _ = before_turning(hint)
    if colours_in(hint):
        return None
    for category in sorted(categories_in(hint)):
        if seen := _detections(session, at, category):
            return seen[0]
    return None


def _detections(session: Session, at: float, category: str) -> list[DetectedObject]:
    looker = session.backends.looker
    if looker is None:
        return []
    known = sorted((_wanted(category) or frozenset()) & looker.categories())
    return [seen for word in known for seen in looker.detect(at, word)]


def _why_nothing(session: Session, category: str, wanted: frozenset[str] | None, something: bool) -> str:
    looker = session.backends.looker
    profile = session.view.world.manifest.profile
    stored = session.view.tracks.categories
    known = stored | (looker.categories() if looker else frozenset())
    if wanted is not None and not wanted & known:
        return f"profile {profile} cannot tell whether a {category[:40]} is there; it knows " + (
            ", ".join(sorted(known)) or "no categories in this video"
        )
    return "something else is there; ask for category any" if something else "nothing of the kind at this moment"


def _registration(
    *, entity_id: str, label: str, category: str, time: float, box: Box, confidence: float
) -> Registration:
    x1, y1, x2, y2 = box.rounded()
    return Registration(
        entity_id=entity_id,
        label=label,
        category=category,
        time=time,
        box=(x1, y1, x2, y2),
        confidence=round(min(1.0, confidence), 2),
        committed=False,
    )
