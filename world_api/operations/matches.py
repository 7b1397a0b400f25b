"""Matches of descriptions with tracks, detections and registered entities; actions in an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from world_api.core.faults import MediaFault, OperationFault
from world_api.core.ports import DetectedObject, Source
from world_api.core.spans import Box, TimeSpan, parts_within, round_time, without_spans
from world_api.core.vocabulary import NEUTRALS, ParsedDescription
from world_api.operations.evidence import (
    MAX_RANGES,
    evidence,
    has_ended,
    holes_in_words,
    interval_of,
    motions,
    ranges,
    size_class,
    times,
)
from world_api.operations.schema import Action, Detection, Detections, Entity, LookAlike
from world_api.session.session import SEEN, Registration, Session
from world_api.world.tracks import Side, Track

#: A registered thing without a track is the same one when its box overlaps at least this much, at most so many seconds
#: away in the same shot.
SAME_BOX, SAME_MOMENT = 0.5, 0.6


@dataclass(frozen=True, kw_only=True)
class HintMatch:
    """How well a track fits a description: which required colours it has (words such as ``red``, ``grey or black``).

    ``held`` words were measured and hold, ``missing`` words were measured and do not hold, ``unjudged`` words, also
    the category of an unrecognised thing, were not measured. ``excluded``: a negated word holds, or the track is of another category.
    """

    held: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    excluded: bool = False

    @property
    def fits(self) -> bool:
        """Whether every word was measured and holds, and nothing excludes the track."""
        return not self.excluded and not self.lacks

    @property
    def fits_partly(self) -> bool:
        """Whether nothing excludes the track, and some word holds or no word was measured not to hold."""
        return not self.excluded and (bool(self.held) or not self.missing)

    @property
    def lacks(self) -> list[str]:
        """The words that do not hold or were not measured."""
        return [*self.missing, *self.unjudged]

    @property
    def share(self) -> float:
        """The share of the description's words that were measured and hold, 0 to 1; 1 if there are no words."""
        return len(self.held) / (len(self.held) + len(self.lacks)) if self.lacks else 1.0


def match_description(track: Track, reading: ParsedDescription) -> HintMatch:
    """Compare a description with the category and the colours of a track.

    A neutral colour alone ("in black", "in grey or black") describes the whole outfit, so it must be the track's main
    colour; negated, it must be none of its colours. A moving object that was not recognised may be of any category, and
    a track without colours may have any colour.
    """
    unknown_kind = track.category == "moving_object"
    unjudged: list[str] = []
    other_kind = False
    if reading.kinds and track.category not in reading.kinds:
        other_kind = not unknown_kind
        unjudged += sorted(reading.kinds) if unknown_kind else []
    wanted = reading.wanted
    shown = frozenset(track.colours) - (NEUTRALS.difference(track.colours[:1]) if len(wanted) == 1 else frozenset())
    if not track.colours:
        unjudged += colours_in_words(reading)
    return HintMatch(
        held=tuple(_one_of(colours) for colours in wanted if colours & shown),
        missing=tuple(_one_of(colours) for colours in wanted if track.colours and not colours & shown),
        unjudged=tuple(unjudged),
        excluded=other_kind
        or track.category in reading.negated_kinds
        or not reading.negated_colours.isdisjoint(track.colours),
    )


def colours_in_words(reading: ParsedDescription) -> list[str]:
    """Return the colours that a description requires or excludes: ``red``, ``grey or black``, ``not white``."""
    return [*map(_one_of, reading.wanted), *(f"not {colour}" for colour in sorted(reading.negated_colours))]


def _one_of(colours: frozenset[str]) -> str:
    return " or ".join(sorted(colours))


def best_match(tracks: Sequence[Track], reading: ParsedDescription) -> tuple[Track, HintMatch] | None:
    """Return the track that fits a description best, and how it fits; None if no track fits even partly.

    Tracks that fit in every word are preferred. If no word can be judged, a single track is returned, but none of
    several.
    """
    if not reading.is_judged and len(tracks) != 1:
        return None
    matches = [(track, match_description(track, reading)) for track in tracks]
    fitting = [(track, match) for track, match in matches if match.fits]
    partly = [(track, match) for track, match in matches if match.fits_partly]
    return max(
        fitting or partly, key=lambda pair: (pair[1].share, len(pair[0].colours), pair[0].confidence), default=None
    )


def listed_entities(session: Session, limit: int) -> tuple[list[Entity], int]:
    """Return at most ``limit`` entities, and the number of all entities.

    Tracks come first, then registrations without a track, each in order of first appearance.
    """
    registered = {item.entity_id: item for item in session.registrations()}
    tracks = session.view.tracks
    beyond = [item for item in registered.values() if session.view.track_of_entity(item.entity_id) is None]
    beyond.sort(key=lambda item: (item.time, item.entity_id))
    listed = [_entity(session, track, registered.get(track.entity_id)) for track in tracks[:limit]]
    listed += [_entity(session, item, item) for item in beyond[: limit - len(listed)]]
    return listed, len(tracks) + len(beyond)


def _entity(session: Session, thing: Track | Registration, own: Registration | None) -> Entity:
    track = thing if isinstance(thing, Track) else None
    span = session.view.frame_at(thing.time) if isinstance(thing, Registration) else thing.span
    by_session = own is not None and not own.committed
    return Entity(
        entity_id=thing.entity_id,
        hint=thing.hint,
        label=own.label if own else None,
        category=thing.category,
        origin="session" if by_session else "build",
        first_time=round_time(span.start),
        last_time=round_time(span.end),
        appearances=len(track.appearances) if track else 1,
        size=track.size if track else None,
        enters_from=track.enters_from(track.appearances[0]) if track else None,
        leaves_to=side_left(session, track, track.appearances[-1]) if track else None,
        may_be=look_alikes(session, thing.entity_id),
    )


def side_left(session: Session, track: Track, appearance: TimeSpan) -> Side | None:
    """Return the side to which a track left at the end of an appearance; None for no side, or if it has not ended."""
    return track.leaves_to(appearance) if has_ended(session.view, appearance) else None


def look_alikes(session: Session, entity_id: str) -> list[LookAlike]:
    """Return the entities that an entity may be the same as; empty for a registration without a track."""
    return [LookAlike(entity_id=item.entity_id, score=item.score) for item in session.view.may_be(entity_id)]


def find_entity(session: Session, entity_id: str) -> Track | Registration:
    """Return the entity with an id: its track, or its registration if it has no track.

    Raises OperationFault: ``unknown_entity``.
    """
    if (track := session.view.track_of_entity(entity_id)) is not None:
        return track
    for item in session.registrations():
        if item.entity_id == entity_id:
            return item
    raise OperationFault(
        "unknown_entity",
        f"there is no entity {entity_id[:80]!r} here",
        hint="list_entities gives the known ids; register_entity makes one from a hint and a moment",
    )


#: Factor for a confidence if a description has words that cannot be judged.
UNCHECKED = 0.6
#: Confidence of actions that are derived from boxes only.
MOTION_CONFIDENCE = 0.6


#: A list of detections is never longer than this.
MAX_DETECTIONS = 60


def find_objects(
    session: Session, *, at: float, category: str, text_query: str | None, within: TimeSpan | None
) -> Detections:
    """Find objects of a category at a moment, or in the interval ``within`` if it is given.

    They are stored tracks. If there is none of the category and a detector knows it, the frame at the moment is
    examined; if the video is missing, the result says that it was not. If nothing fits all words of ``text_query``,
    objects that fit some are returned with the words that they lack.
    """
    kind = session.vocabulary.read_category(category)
    description = session.vocabulary.read(text_query or "", of=kind.kinds)
    reading = kind.joined(description)
    described = replace(reading, kinds=description.kinds if kind.kinds is None else None)
    near = session.view.tracks_in(within) if within else session.view.tracks_at(at)
    candidates = [track for track in near if reading.kinds is None or track.category in reading.kinds]
    matches = [(track, match_description(track, described)) for track in candidates]
    fitting = [pair for pair in matches if pair[1].fits] or [pair for pair in matches if pair[1].fits_partly]
    found = [_from_track(session, track, match, reading, at, within) for track, match in fitting]
    missing: MediaFault | None = None
    if not candidates and (within is None or within.contains(at)):
        found, missing = _look(session, at, reading)
    found.sort(key=lambda item: (len(item[0].lacks), -(item[0].confidence or 0.0), item[0].bbox))
    shown = found[:MAX_DETECTIONS]
    asked = within or session.view.frame_at(at)
    looked_at = at if within is None and not candidates else None
    examined, unexamined = _examined(session, asked, reading.kinds, looked_at)
    if within is None and missing is not None:
        examined, unexamined = [], [asked]
    # Words that name no category that can be judged: without them nothing can be said.
    unjudged = list(reading.unmatched) if reading.kinds == frozenset() else []
    hint = ""
    if not found and (
        examined or reading.kinds == frozenset() or missing is not None
    ):  # else only that it was not decoded
        hint = _why_nothing(session, category, reading, candidates or near, missing, within)
    if found and all(item.lacks for item, _ in found):
        hint = "nothing was seen to fit all words; what may is given with what it lacks"
    if left_out := len(found) - len(shown):
        hint = f"{left_out} less sure ones are left out; give a text_query or a shorter time_range"
    return Detections(
        detections=[item for item, _ in shown],
        unused_words=list(reading.unmatched),
        matched=list(reading.matched),
        unmatched=list(reading.unmatched),
        not_found=[] if shown or unjudged else ranges(examined),
        not_judged=unjudged,
        not_examined=[] if unjudged else ranges(unexamined),
        evidence=[
            evidence(session, interval_of(item), source, item.confidence, item.timestamp) for item, source in shown
        ],
        truncated=left_out > 0 or max(len(examined), len(unexamined)) > MAX_RANGES,
        hint=hint,
    )


def _examined(
    session: Session, asked: TimeSpan, kinds: frozenset[str] | None, looked_at: float | None
) -> tuple[list[TimeSpan], list[TimeSpan]]:
    """Return the parts of the interval ``asked`` that were searched for these categories, and those that were not.

    Stored rows cover every decoded moment, the detector the frame ``looked_at`` (None: it was not used). ``kinds`` None: any category.
    """
    stored = session.view.vocabulary.categories
    is_stored = bool(stored) and (kinds is None or kinds <= stored)
    by_detector = kinds is not None and kinds <= session.vocabulary.categories
    if looked_at is not None and not is_stored and by_detector and not session.view.is_in_hole(looked_at):
        return [session.view.frame_at(looked_at)], []
    if not is_stored:
        return [], [asked]
    return without_spans(asked, session.view.holes), parts_within(session.view.holes, asked)


def actions_in(session: Session, span: TimeSpan) -> list[tuple[Action, Source]]:
    """Return the actions in an interval with their sources, in time order.

    These are stored actions, motions of tracks without stored actions, and camera movements.
    """
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
    named = {action.entity_id for action, _ in found}
    for track in session.view.tracks_in(span):
        if track.entity_id not in named:
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


@dataclass(frozen=True, kw_only=True)
class IdentifiedEntity:
    """What a hint describes: its registration, the parsed hint, and the words that do not hold or were not measured."""

    registration: Registration
    reading: ParsedDescription
    lacks: list[str]


def identify(session: Session, at: float, hint: str) -> IdentifiedEntity:
    """Find the thing that a hint describes at a moment.

    It is a track. If nothing of the hint's category is tracked then, it is a detection in the frame at that moment.

    Raises OperationFault: ``nothing_matches``; ``bad_arguments`` for a blank hint.
    """
    if not hint.strip():
        raise OperationFault("bad_arguments", "entity_hint is blank", hint="say what the entity looks like")
    tracks = session.view.tracks_at(at)
    reading = session.vocabulary.read(hint)
    matched = best_match(tracks, reading)
    is_tracked = any(track.category in (reading.kinds or ()) for track in tracks)
    looks = matched is None and not is_tracked
    detections, missing = _detections(session, at, reading.kinds) if looks else ([], None)
    if matched is not None:
        track, match = matched
        position = track.nearest(at, session.view.shot_at(at))
        entity_id, category, box, time = track.entity_id, track.category, track.box(position), track.times[position]
        sure, lacks = track.confidence * _sureness(match, reading), match.lacks
    elif detections:
        seen = detections[0]
        entity_id, category, box, time = _seen_id(session, at, seen.box), seen.category, seen.box, at
        sure, lacks = seen.confidence * UNCHECKED, colours_in_words(reading)
    else:
        raise _nothing_matches(session, at, hint, reading, tracks, missing)
    x1, y1, x2, y2 = box.rounded()
    registration = Registration(
        entity_id=entity_id,
        label=hint,
        category=category,
        time=round_time(time),
        box=(x1, y1, x2, y2),
        confidence=round(min(1.0, sure), 2),
        committed=False,
    )
    return IdentifiedEntity(registration=registration, reading=reading, lacks=lacks)


def _seen_id(session: Session, at: float, box: Box) -> str:
    """Return the id of a registration whose box overlaps with a detected box at about the same time; else a new id."""
    for item in session.registrations():
        is_near = math.isclose(item.time, at, abs_tol=SAME_MOMENT) and session.view.shot_at(at).contains(item.time)
        if is_near and item.place.iou(box) >= SAME_BOX:
            return item.entity_id
    source = session.view.world.manifest.source.sha256
    return SEEN + sha256(f"{source}|{round_time(at)}|{box.rounded()}".encode()).hexdigest()[:10]


def _nothing_matches(
    session: Session,
    at: float,
    hint: str,
    reading: ParsedDescription,
    tracks: Sequence[Track],
    missing: MediaFault | None,
) -> OperationFault:
    why = f"nothing at {at:g} s matches {hint[:80]!r}"
    if not reading.is_judged:
        words = ", ".join(reading.unmatched[:8])
        why = f"cannot tell what at {at:g} s is {hint[:80]!r}: {words or 'it names nothing that'} cannot be judged"
    there = ", ".join(track.hint for track in tracks[:5])
    nothing = "nothing is tracked there; detect_objects or search_segments_by_text finds moments"
    unseen = _unseen(missing) if missing else holes_in_words(session.view, session.view.frame_at(at))
    return OperationFault("nothing_matches", why, hint=unseen or (f"there is: {there}" if there else nothing))


def _unseen(missing: MediaFault) -> str:
    """Return the hint that a frame could not be looked at because the video is missing."""
    return f"the frame was not looked at: {missing.message}; {missing.hint}"


def _sureness(match: HintMatch, reading: ParsedDescription) -> float:
    """Return the factor (0 to 1) for a confidence: the share of the words that hold, reduced if any cannot be judged."""
    return match.share * (UNCHECKED if reading.unmatched or match.unjudged else 1.0)


def _from_track(
    session: Session, track: Track, match: HintMatch, reading: ParsedDescription, at: float, within: TimeSpan | None
) -> tuple[Detection, Source]:
    time = at if within is None else min(max(at, within.start), within.end)
    position = track.nearest(time, within or session.view.shot_at(at))
    sure = float(track.confidences[position]) * _sureness(match, reading)
    box = track.box(position)
    detection = Detection(
        **times(track.appearance_of(position)),
        bbox=box.rounded(),
        category=track.category,
        confidence=round(min(1.0, sure), 2),
        entity_hint=f"{track.hint} ({size_class(box, session.view)})",
        entity_id=track.entity_id,
        timestamp=round_time(track.times[position]),
        lacks=match.lacks,
    )
    return detection, "tracker"


def _look(
    session: Session, at: float, reading: ParsedDescription
) -> tuple[list[tuple[Detection, Source]], MediaFault | None]:
    """Return detections in the frame at a moment; if the video is missing, none and the fault (else None).

    They have no colours, so they lack all colours of the description.
    """
    detections, missing = _detections(session, at, reading.kinds)
    lacks = colours_in_words(reading)
    sureness = UNCHECKED if lacks or reading.unmatched else 1.0
    return [
        (
            Detection(
                **times(session.view.frame_at(at)),
                bbox=seen.box.rounded(),
                category=seen.category,
                confidence=round(seen.confidence * sureness, 2),
                entity_hint=f"{seen.category} ({size_class(seen.box, session.view)})",
                entity_id=None,
                timestamp=round_time(at),
                lacks=lacks,
            ),
            "detector",
        )
        for seen in detections
    ], missing


def _detections(
    session: Session, at: float, kinds: frozenset[str] | None
) -> tuple[list[DetectedObject], MediaFault | None]:
    """Return what a detector finds of ``kinds`` (None: nothing) in a frame; if the video is missing, nothing and the fault."""
    looker = session.backends.looker
    if looker is None or session.view.is_in_hole(at):  # the frame ends decoders
        return [], None
    words = sorted((kinds or frozenset()) & looker.categories())
    try:
        return [seen for word in words for seen in looker.detect(at, word)], None
    except MediaFault as fault:
        if fault.code != "source_missing":
            raise
        return [], fault


def _why_nothing(
    session: Session,
    category: str,
    reading: ParsedDescription,
    there: Sequence[Track],
    missing: MediaFault | None,
    within: TimeSpan | None,
) -> str:
    profile = session.view.world.manifest.profile
    if reading.kinds == frozenset():
        known = ", ".join(sorted(session.vocabulary.categories)) or "no categories in this video"
        return f"profile {profile} cannot tell whether anything there is {category[:40]!r}; it knows {known}"
    if missing is not None:
        return _unseen(missing)
    if not there:
        return f"nothing of the kind {'at this moment' if within is None else 'in this span'}"
    if reading.kinds is None or there[0].category in reading.kinds:
        return f"of other looks there is: {', '.join(dict.fromkeys(track.hint for track in there[:5]))}"
    return "something else is there; ask for category any"
