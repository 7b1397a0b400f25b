"""How descriptions match tracks, detections, entities and texts; actions in an interval; what a search shows of its query.

In a search a word is seen if a caption or an action has it, or if a track has the kind and colours that it names. A word in
speech or in a text on screen is only mentioned; that is enough if the query is a quote, or for words after "says" or in quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import chain

import numpy as np

from world_api.core.faults import MediaFault, OperationFault
from world_api.core.lexicon import COLOURS, NEUTRALS, STOP_WORDS
from world_api.core.ports import DetectedObject, Source
from world_api.core.spans import Box, TimeSpan, parts_within, round_time, without_spans
from world_api.core.vocabulary import CHINESE, LATIN, ParsedDescription, coloured_nouns, concepts, fold
from world_api.operations.evidence import (
    cite_hits,
    evidence,
    has_ended,
    holes_in_words,
    interval_of,
    motions,
    nothing_found,
    ranges,
    segment_hit,
    size_class,
    times,
)
from world_api.operations.recorded import RecordedTexts, SpokenTexts, has_units, has_word, recorded_words, terms_of_word
from world_api.operations.schema import Action, Candidates, Detection, Detections, Entity, LookAlike
from world_api.search.indexes import holds_words
from world_api.search.passages import Passage, passages_of
from world_api.search.searcher import SegmentHit, terms_of
from world_api.session.session import SEEN, Registration, Session
from world_api.world.store import World
from world_api.world.tracks import Side, Track

#: A registered thing without a track is the same one when its box overlaps at least this much, at most so many seconds
#: away in the same shot.
SAME_BOX, SAME_MOMENT = 0.5, 0.6


#: Category of tracks of which no category was recognised, so that they may be of any.
UNRECOGNISED = "moving_object"


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
        return self.may_fit or (not self.excluded and bool(self.held))

    @property
    def may_fit(self) -> bool:
        """Whether nothing excludes the track, and no word was measured not to hold."""
        return not self.excluded and not self.missing

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
    colour; negated, it must be none of its colours. A moving object that was not recognised may be of any category, but
    a person only if too few of its sightings could be looked at; a track without colours may have any colour. Looks of parts
    ("brown hair") are those of the track's outfit.
    """
    unknown_kind = track.category == UNRECOGNISED and not (
        reading.kinds == frozenset({"person"}) and track.was_looked_at
    )
    unjudged: list[str] = []
    other_kind = False
    if reading.kinds and track.category not in reading.kinds:
        other_kind = not unknown_kind
        unjudged += sorted(reading.kinds) if unknown_kind else []
    wanted = reading.wanted
    shown = frozenset(track.colours) - (NEUTRALS.difference(track.colours[:1]) if len(wanted) == 1 else frozenset())
    if not track.colours:
        unjudged += colours_in_words(replace(reading, looks=frozenset()))
    looks = sorted(reading.looks)
    worn = {look: track.outfit.words(look.part) for look in looks}
    is_person = track.category == "person"
    unjudged += [str(look) for look in looks if is_person and not worn[look]]
    return HintMatch(
        held=(
            *(_one_of(colours) for colours in wanted if colours & shown),
            *(str(look) for look in looks if look.word in worn[look]),
        ),
        missing=(
            *(_one_of(colours) for colours in wanted if track.colours and not colours & shown),
            *(str(look) for look in looks if look.word not in worn[look] and (worn[look] or not is_person)),
        ),
        unjudged=tuple(unjudged),
        excluded=other_kind
        or track.category in reading.negated_kinds
        or not reading.negated_colours.isdisjoint(track.colours),
    )


def match_look(session: Session, track: Track, reading: ParsedDescription) -> HintMatch:
    """Compare a description with a track as ``match_description`` does, also its garments and words that nothing judges.

    Where the truth names people by the colour of a garment ("the person in the red coat"), this is the track's main
    colour, so that one with another main colour has no garment of the colour asked for.
    """
    match, garments = match_description(track, reading), _named_garments(session, reading)
    is_main = all(not colours.isdisjoint(track.colours[:1]) for colours in reading.wanted)
    rest = tuple(word for word in reading.unmatched if word not in garments)
    return replace(
        match,
        held=(*match.held, *(garments if is_main else ())),
        missing=(*match.missing, *(() if is_main else garments)),
        unjudged=(*match.unjudged, *rest),
    )


def _named_garments(session: Session, reading: ParsedDescription) -> tuple[str, ...]:
    """Return the unmatched words of a description that the truth's texts have right after a colour, beside a person."""
    if session.view.world.manifest.profile != "oracle" or not reading.wanted or reading.kinds != frozenset({"person"}):
        return ()
    named = session.view.once(RecordedTexts).worn
    return tuple(word for word in reading.unmatched if has_word(named, word))


def colours_in_words(reading: ParsedDescription) -> list[str]:
    """Return the colours and looks that a description requires or excludes: ``red``, ``grey or black``, ``not white``."""
    negated = (f"not {colour}" for colour in sorted(reading.negated_colours))
    return [*map(_one_of, reading.wanted), *map(str, sorted(reading.looks)), *negated]


def _one_of(colours: frozenset[str]) -> str:
    return " or ".join(sorted(colours))


def listed_entities(session: Session) -> list[Entity]:
    """Return all entities: tracks, then registrations without a track, each in order of first appearance."""
    registered = {item.entity_id: item for item in session.registrations()}
    tracks = session.view.tracks
    beyond = [item for item in registered.values() if session.view.track_of_entity(item.entity_id) is None]
    beyond.sort(key=lambda item: (item.time, item.entity_id))
    listed = [_entity(session, track, registered.get(track.entity_id)) for track in tracks]
    return [*listed, *(_entity(session, item, item) for item in beyond)]


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


#: Categories that a hint lists, at most.
MAX_KINDS = 12


def find_objects(
    session: Session, *, at: float, category: str, text_query: str | None, within: TimeSpan | None
) -> Detections:
    """Find objects of a category at a moment, or in the interval ``within`` if it is given.

    They are stored tracks. If there is none of the category and a detector knows it, the frame at the moment is
    examined; if the video is missing, the result says that it was not. Objects of which words were not measured, or the
    category was not recognised, are returned with these words as what they lack; if nothing fits all words of
    ``text_query``, so are objects that fit only some.
    """
    kind = session.vocabulary.read_category(category)
    description = session.vocabulary.read(text_query or "", of=kind.kinds)
    reading = kind.joined(description)
    if kind.kinds is None and description.kinds == frozenset():
        reading = replace(reading, kinds=description.kinds)
    described = reading if kind.kinds else replace(reading, kinds=description.kinds)
    reading, deeds = _read_deeds(session, reading, f"{category} {text_query or ''}")
    near = session.view.tracks_in(within) if within else session.view.tracks_at(at)
    of_kind = [track for track in near if reading.kinds is None or track.category in reading.kinds]
    stored = (reading.kinds or frozenset()) & session.view.vocabulary.categories
    may_be = UNRECOGNISED if stored and UNRECOGNISED not in stored else None
    unrecognised = [track for track in near if track.category == may_be]
    asked = within or session.view.frame_at(at)
    garments = _named_garments(session, reading)
    described = replace(described, unmatched=garments)
    reading = replace(
        reading,
        matched=(*reading.matched, *garments),
        unmatched=tuple(word for word in reading.unmatched if word not in garments),
    )
    matches = [
        (track, _judge_deeds(session, track, match_look(session, track, described), deeds, asked))
        for track in (*of_kind, *unrecognised)
    ]
    is_found = any(match.fits for _, match in matches)
    fitting = [(track, match) for track, match in matches if (match.may_fit if is_found else match.fits_partly)]
    inside = within or session.view.shot_at(at)
    found = [_from_track(track, match, reading, at, inside) for track, match in fitting]
    missing: MediaFault | None = None
    if not of_kind and (within is None or within.contains(at)):
        looked, missing = _look(session, at, replace(reading, unmatched=(*deeds, *reading.unmatched)))
        found += looked
    found.sort(key=lambda one: (len(one.lacks), -one.sure, one.box.rounded()))
    shown = [(_detection(session, one), one.source) for one in found]
    looked_at = at if within is None and not of_kind else None
    examined, unexamined = _examined(session, asked, reading.kinds, looked_at)
    if within is None and missing is not None:
        examined, unexamined = [], [asked]
    # Words that name no category that can be judged: without them nothing can be said.
    unjudged = list(reading.unmatched) if reading.kinds == frozenset() else []
    hint = ""
    # If nothing was examined, the registry reports the hole.
    if not found and (examined or reading.kinds == frozenset() or missing is not None):
        hint = _why_nothing(session, category, reading, of_kind or near, missing, within)
    if found and all(one.lacks for one in found):
        hint = "nothing was seen to fit all words; what may is given with what it lacks"
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
        hint=hint,
    )


def _read_deeds(session: Session, reading: ParsedDescription, text: str) -> tuple[ParsedDescription, list[str]]:
    """Return a parsed text in which words that the world's truth would record are judged, and these words.

    A thing that the truth records without a box may be anywhere, so that nothing is judged of it.
    """
    recorded = recorded_words(session.view, text, session.vocabulary)
    units = {
        word: [unit for unit in LATIN.findall(word) if unit not in STOP_WORDS] or [word] for word in reading.unmatched
    }
    deeds = [word for word in reading.unmatched if recorded.issuperset(units[word])]
    named = [unit for word in deeds for unit in units[word] if not concepts(unit) & COLOURS.keys()]
    if reading.kinds == frozenset() and any(has_word(session.view.once(RecordedTexts).terms, unit) for unit in named):
        return reading, []
    rest = tuple(word for word in reading.unmatched if word not in deeds)
    return replace(reading, matched=(*reading.matched, *deeds), unmatched=rest), deeds


def _judge_deeds(session: Session, track: Track, match: HintMatch, words: Sequence[str], span: TimeSpan) -> HintMatch:
    """Add to a match the words that the truth judges of the track's actions in an interval: held, or missing."""
    if not words:
        return match
    labels = [action.text for action in session.view.actions.during(span) if action.subject == track.track_id]
    own = frozenset(term for label in labels for term in terms_of(label, ""))
    held = tuple(word for word in words if has_word(own, word))
    missing = tuple(word for word in words if word not in held)
    return replace(match, held=(*match.held, *held), missing=(*match.missing, *missing))


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
    view = session.view
    subjects = [(said, view.tracks.find(said.subject)) for said in view.actions.during(span)]
    found: list[tuple[TimeSpan, str, float | None, str | None, Source]] = [
        (said.span, said.text, said.confidence, track.entity_id if track else None, "caption")
        for said, track in subjects
    ]
    named = {track.entity_id for _, track in subjects if track}
    for track in view.tracks_in(span):
        if track.entity_id not in named:
            for motion in motions(view, track, span):
                label = f"{track.hint} {motion.label}"
                found.append((motion.span, label, MOTION_CONFIDENCE, track.entity_id, "tracker"))
    for move in view.camera_movements.during(span):
        if (shown := move.span.clip(span)) is not None and shown.duration > 0:
            found.append((shown, move.label, MOTION_CONFIDENCE, None, "look"))
    actions = [
        (Action(**times(own.clip(span) or own), label=label, confidence=sure, entity_id=entity_id), source)
        for own, label, sure, entity_id, source in found
    ]
    return sorted(actions, key=lambda pair: (pair[0].start_time, pair[0].end_time, pair[0].label))


@dataclass(frozen=True, kw_only=True)
class IdentifiedEntity:
    """What a hint describes: its registration, the parsed hint, and the words that do not hold or were not measured."""

    registration: Registration
    reading: ParsedDescription
    lacks: list[str]


def identify(session: Session, at: float, hint: str) -> IdentifiedEntity:
    """Find the thing that a hint describes at a moment.

    It is a track. If nothing of the hint's category is tracked then, it is a detection in the frame at that moment.

    Raises OperationFault: ``nothing_matches``; ``not_judged`` for a hint that names a kind outside the vocabulary;
    ``bad_arguments`` for a blank hint.
    """
    if not hint.strip():
        raise OperationFault("bad_arguments", "entity_hint is blank", hint="say what the entity looks like")
    tracks = session.view.tracks_at(at)
    reading, deeds = _read_deeds(session, session.vocabulary.read(hint), hint)
    if reading.kinds == frozenset() and not reading.unmatched:
        raise _nothing_matches(session, at, hint, reading, tracks, None)
    if reading.kinds == frozenset():
        raise OperationFault(
            "not_judged",
            f"cannot tell whether anything at {at:g} s is {hint[:80]!r}; {_judged_kinds(session)}",
            hint="register what can be judged (a person, colours of clothes), or search for the words and look there",
        )
    is_tracked = any(track.category in (reading.kinds or ()) for track in tracks)
    matches = [
        (track, _judge_deeds(session, track, match_description(track, reading), deeds, session.view.frame_at(at)))
        for track in tracks
    ]
    # A description of which no word can be judged is that of a single track, and of none of several.
    can_match = reading.is_judged or bool(deeds) or len(tracks) == 1
    partly = [pair for pair in matches if can_match and pair[1].fits_partly]
    detections, missing = ([], None) if partly or is_tracked else _detections(session, at, reading.kinds)
    if partly:
        track, match = max(partly, key=lambda pair: (pair[1].share, len(pair[0].colours), pair[0].confidence))
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
    return IdentifiedEntity(registration=registration, reading=reading, lacks=[*lacks, *reading.unmatched])


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
    if not (reading.is_judged or reading.matched):
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


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A thing that fits a description: where and when it was seen, how sure that is, and the words that it lacks."""

    seen: Track | DetectedObject
    span: TimeSpan
    at: float
    box: Box
    sure: float
    lacks: list[str]
    source: Source


def _from_track(track: Track, match: HintMatch, reading: ParsedDescription, at: float, inside: TimeSpan) -> _Sighting:
    position = track.nearest(min(max(at, inside.start), inside.end), inside)
    sure = round(min(1.0, float(track.confidences[position]) * _sureness(match, reading)), 2)
    time, box, lacks = track.times[position], track.box(position), [*match.lacks, *reading.unmatched]
    return _Sighting(track, track.appearance_of(position), time, box, sure, lacks, "tracker")


def _look(session: Session, at: float, reading: ParsedDescription) -> tuple[list[_Sighting], MediaFault | None]:
    """Return detections in the frame at a moment; if the video is missing, none and the fault (else None).

    They have no colours, so they lack all colours of the description.
    """
    detections, missing = _detections(session, at, reading.kinds)
    lacks, span = [*colours_in_words(reading), *reading.unmatched], session.view.frame_at(at)
    factor = UNCHECKED if lacks else 1.0
    return [
        _Sighting(seen, span, at, seen.box, round(min(1.0, seen.confidence * factor), 2), lacks, "detector")
        for seen in detections
    ], missing


def _detection(session: Session, found: _Sighting) -> Detection:
    seen, box = found.seen, found.box
    track = seen if isinstance(seen, Track) else None
    return Detection(
        **times(found.span),
        bbox=box.rounded(),
        category=seen.category,
        confidence=found.sure,
        entity_hint=f"{track.hint if track else seen.category} ({size_class(box, session.view)})",
        entity_id=track.entity_id if track else None,
        timestamp=round_time(found.at),
        lacks=found.lacks,
    )


def _detections(
    session: Session, at: float, kinds: frozenset[str] | None
) -> tuple[list[DetectedObject], MediaFault | None]:
    """Return what a detector finds of ``kinds`` (None: nothing) in a frame; if the video is missing, nothing and the fault."""
    looker = session.backends.looker
    if looker is None or session.view.is_in_hole(at):  # the frame ends decoders
        return [], None
    # A truth has every sighting of its kinds.
    known = session.view.vocabulary.categories if session.view.world.manifest.profile == "oracle" else frozenset()
    words = sorted((kinds or frozenset()) & looker.categories() - known)
    try:
        return [seen for word in words for seen in looker.detect(at, word)], None
    except MediaFault as fault:
        if fault.code != "source_missing":
            raise
        return [], fault


def _judged_kinds(session: Session) -> str:
    known = sorted(session.vocabulary.categories)
    more = f" and {len(known) - MAX_KINDS} others (get_video_metadata lists them)" if len(known) > MAX_KINDS else ""
    said = ", ".join(known[:MAX_KINDS]) + more if known else "no categories in this video"
    return f"profile {session.view.world.manifest.profile} judges {said}"


def _why_nothing(
    session: Session,
    category: str,
    reading: ParsedDescription,
    there: Sequence[Track],
    missing: MediaFault | None,
    within: TimeSpan | None,
) -> str:
    if reading.kinds == frozenset():
        asked = " ".join(reading.unmatched) or category
        return f"cannot tell whether anything there is {asked[:40]!r}; {_judged_kinds(session)}"
    if missing is not None:
        return _unseen(missing)
    if not there:
        still = (
            "" if session.view.world.manifest.profile in {"oracle", "neural"} else "; what never moves is not tracked"
        )
        return f"nothing of the kind was tracked {'at this moment' if within is None else 'in this span'}{still}"
    if reading.kinds is None or there[0].category in reading.kinds:
        return f"of other looks there is: {', '.join(dict.fromkeys(track.hint for track in there[:5]))}"
    return "something else is there; ask for category any"


# --- what a search shows of its query -------------------------------------------------------------------------------------

_UNITS = re.compile(r"[a-z0-9']+|[㐀-䶿一-鿿]")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」")
_BEARER = r"\b(?:lines?|signs?|labels?|titles?|text|captions?|subtitles?|screen)"
#: What introduces the words of a line. If no line has what is ``written`` or ``said``, it is absent; what is asked and
#: told, and titles, may be there in other words.
_CUES: dict[str, re.Pattern[str]] = {
    kind: re.compile(
        rf"(?:{cue})(?P<line>.*?)(?=\b(?:in|at|on|near|by|while|when|before|after|during|and|but)\b|[,;.?!，。；？！]|$)"
    )
    for kind, cue in {
        "written": rf"{_BEARER} (?:(?:that|which|with|the) )*(?:words?|says?|saying|said|reads?|reading)\b"
        r"|\bwords?\b(?! (?:of|for|on|in)\b)|写着",
        "said": r"\b(?:sa(?:y|ys|id|ying)|mention(?:s|ed|ing)?|(?:talk(?:s|ed|ing)?|sp(?:eaks?|oke|oken|eaking)) (?:about|of))\b"
        r"|提到|谈到|说到|讲到|台词",
        "": rf"{_BEARER} about\b|\b(?:asks?|asked|tells?|told|quotes?|quoted|text|titles?|captions?|subtitles?)\b"
        r"|(?<![小听传])说(?![明服])|告诉|问(?!题)|字幕|标题|文字",
    }.items()
}
#: After these, what is said is not given word for word: to whom, and reported speech.
_REPORTED = re.compile(r"\b(?:to|with|from|for|of|that|he|she|they|it|if|whether|how|why|where)\b")
#: A query of at least this many English words or Chinese characters that a line has word for word is a quote.
QUOTE_WORDS = 6


def lines_in(folded: str) -> tuple[str, dict[str, list[str]]]:
    """Split a query (folded text) into what is seen, and the words of lines by what introduces them (keys of ``_CUES``).

    What is in quotes is ``said`` if the query says so, else ``written``: then it may be either. The words under these
    are absent if no line has them; those under ``""`` may be there in other words.
    """
    found: dict[str, list[str]] = {kind: [] for kind in _CUES}
    quoted = [word for quote in _QUOTED.findall(folded) for word in _contents(quote)]
    rest = _QUOTED.sub(" ", folded)
    has_said = not _CUES["written"].search(rest) and any(_CUES[kind].search(rest) for kind in ("said", ""))
    found["said" if has_said else "written"] += quoted

    def take(cue: re.Match[str], kind: str) -> str:
        line = cue["line"]
        exact = len(line) if (reported := _REPORTED.search(line)) is None else reported.start()
        found[kind] += _contents(line[:exact])
        found[""] += _contents(line[exact:])
        return " " if quoted or _contents(line) else cue.group()

    for kind, words in _CUES.items():
        rest = words.sub(partial(take, kind=kind), rest)
    return rest, found


def _contents(text: str) -> list[str]:
    """Return the words of a text that have content: English words, and whole runs of Chinese characters."""
    return [word for word in LATIN.findall(text) if word not in STOP_WORDS] + CHINESE.findall(text)


class QueryJudge:
    """Judges which words of a query each hit of its search lacks, and then what was judged of all of them."""

    def __init__(self, session: Session, query: str) -> None:
        self._session = session
        seen, lines = lines_in(fold(query))
        reading = session.vocabulary.read(seen)
        # In a world without pictures, such as a dialogue, all that there is is said.
        self._is_dialogue = session.view.world.manifest.video.frames == 0
        self._lines = lines | {"said": [*lines["said"], *(reading.unmatched if self._is_dialogue else ())]}
        self._spoken = frozenset(chain(*self._lines.values()))
        self._words = tuple(dict.fromkeys((*reading.unmatched, *chain(*lines.values()))))
        if self._spoken and not reading.unmatched and not reading.wanted:
            reading = replace(reading, kinds=None)  # who speaks need not be seen
        self._reading = reading
        self._looks = [*sorted(reading.kinds or ()), *(f"not {kind}" for kind in sorted(reading.negated_kinds))]
        self._looks += colours_in_words(reading)
        # The colour of a thing that no row judges has to be beside that thing in a caption.
        self._coloured = frozenset(pair for pair in coloured_nouns(seen) if pair[0] not in {*chain(*reading.wanted)})
        self._recorded = recorded_words(session.view, query, session.vocabulary)
        names_things = bool(concepts(query) - {"text"})
        self._may_be_quote = bool(self._spoken) or not names_things or len(_UNITS.findall(fold(query))) >= QUOTE_WORDS
        self._query = query
        #: For each hit the judged words that it lacks, the terms of each of its texts, and those of longer captions.
        self._hits: list[tuple[list[str], list[frozenset[str]], frozenset[str]]] = []
        self._spans: set[TimeSpan] = set()

    def add(self, span: TimeSpan, passages: Sequence[Passage]) -> None:
        """Add a hit: a segment and its passages."""
        self._spans.add(span)
        said = [passage for passage in passages if passage.source in ("speech", "screen_text")]
        if self._may_be_quote and any(holds_words(p.text, self._query) for p in said):
            self._hits.append(([], [frozenset(chain(*map(_terms_of_passage, said)))], frozenset()))
            return
        reading, view = self._reading, self._session.view
        seen = [passage for passage in passages if passage.source == "caption"]
        lacking: list[str] = []
        if reading.is_judged:
            matches = (match_description(track, reading) for track in view.tracks_in(span))
            found = min((match.lacks for match in matches if not match.excluded), key=len, default=self._looks)
            if found and not any(self._shows_looks(passage) for passage in seen):
                lacking = list(found)
            # What another person does is not what the one described does.
            seen = [passage for passage in seen if self._is_of_described(passage)]
        wide = [passage for passage in seen if passage.span.overlap(span) * 2 < passage.span.duration]
        exact = [self._seen_in(passage) for passage in seen if passage not in wide]
        if self._spoken:
            heard = [self._heard_in(passage) for passage in said]
            exact = [*exact, *heard, *(one | other for one in exact for other in heard)]
        # A summary of a scene is about several people, so it does not show what the one with these looks does.
        more = () if reading.wanted else map(self._seen_in, wide)
        self._hits.append((lacking, exact, frozenset(chain(*more))))

    @cached_property
    def lacks(self) -> list[list[str]]:
        """For each hit that was added the words that it is not shown to have.

        One caption has to have all of them. What some hit has exactly, another does not have because of a caption of a
        much longer interval, such as a scene.
        """
        exact = {word for word in self._words if any(has_word(own, word) for _, each, _ in self._hits for own in each)}
        found = []
        for lacking, each, wide in self._hits:
            rest = [word for word in self._words if word not in exact and not has_word(wide, word)]
            missing = ([word for word in self._words if word in exact and not has_word(own, word)] for own in each)
            own = min(missing, key=len, default=[word for word in self._words if word in exact])
            found.append([*lacking, *(word for word in self._words if word in own or word in rest)])
        return found

    def _heard_in(self, line: Passage) -> frozenset[str]:
        """Return the terms of the words asked for that a line has itself, and of who says it.

        There are none if the one who speaks is described and this line is not known to be theirs.
        """
        if self._reading.wanted and not self._session.vocabulary.shows(line.speaker, self._reading):
            return frozenset()
        terms, own = _terms_of_passage(line), terms_of(line.speaker, "")
        is_heard = has_word if self._is_dialogue else has_units
        return own.union(*(terms_of(word, "") for word in self._spoken if is_heard(terms, word)))

    def _is_of_described(self, passage: Passage) -> bool:
        """Whether a caption may be of the thing described: an action of its track, or a text with all its colours."""
        if passage.subject and (track := self._session.view.tracks.find(passage.subject)) is not None:
            return match_description(track, self._reading).fits
        return not self._reading.wanted or self._shows_looks(passage)

    def _shows_looks(self, passage: Passage) -> bool:
        return self._session.vocabulary.shows(_QUOTED.sub(" ", passage.text), self._reading)

    def _seen_in(self, caption: Passage) -> frozenset[str]:
        """Return the terms of a caption without colours that the query asks for of something else."""
        terms = _terms_of_passage(caption)
        apart = self._coloured - coloured_nouns(_QUOTED.sub(" ", caption.text)) if self._coloured else ()
        return terms.difference(*(chain(*terms_of_word(colour)[0], terms_of_word(colour)[1]) for colour, _ in apart))

    @cached_property
    def unmatched(self) -> list[str]:
        """The words that no hit has and that nothing here can judge."""
        never = [word for word in self._words if all(word in lacking for lacking in self.lacks)]
        return [word for word in never if not self._is_recorded(word)]

    @property
    def matched(self) -> list[str]:
        """The words that were judged or that a hit has."""
        unmatched = self.unmatched
        return list(dict.fromkeys(w for w in (*self._reading.matched, *self._words) if w not in unmatched))

    def _is_recorded(self, word: str) -> bool:
        """Whether a word that is not there would be recorded: by the truth of an oracle world, or as said or written.

        A word is not known not to be said if all that is said is in another script.
        """
        view = self._session.view
        if word in self._recorded or (self._is_dialogue and word in self._spoken):
            return word in self._recorded or view.has_rows("speech")
        if not view.once(SpokenTexts).has_script_of(word):
            return False
        if word in self._lines["said"]:
            return view.has_rows("speech")
        return word in self._lines["written"] and view.reads_screen

    def not_found(self, within: TimeSpan | None) -> list[TimeSpan]:
        """Return what was searched, if every word was judged and no segment has all of them, nor may any track; else nothing.

        A word that only captions of a model may have is not judged: they do not mention everything. Nor is a query
        without any word that has content.
        """
        if not (self._words or self._reading.is_judged):
            return []
        if not all(self.lacks):
            return []
        # Where nothing has the looks, other words make no difference.
        if not self._reading.is_judged or self._any_track_may_fit(within):
            is_judged = bool(self._words) and all(map(self._is_recorded, self._words))
            if not is_judged or self._any_segment_fits(within):
                return []
        view = self._session.view
        return without_spans(within or view.span, view.holes)

    def _any_segment_fits(self, within: TimeSpan | None) -> bool:
        """Whether a segment has all words, though it is none of the hits, which are as many as were asked for."""
        if not self._words:
            return False
        view, lexical = self._session.view, self._session.searcher.lexical
        named_in_speech = view.world.once(_terms_of_speakers)
        having = np.ones(len(view.segments), dtype=np.bool_)
        for word in self._words:
            if not has_word(named_in_speech, word):  # the index has no speakers
                units, concepts_ = terms_of_word(word)
                each = np.logical_and.reduce([lexical.holding(own) for own in units])
                having &= each | (bool(concepts_) & np.logical_and.reduce([lexical.holding([c]) for c in concepts_]))
        every = QueryJudge(self._session, self._query)
        every._hits = [*self._hits]
        for place in np.flatnonzero(having).tolist():
            span = view.segments[place]
            if span not in self._spans and (within is None or span.overlaps(within)):
                every.add(span, passages_in(self._session, span))
        return not all(every.lacks)

    def _any_track_may_fit(self, within: TimeSpan | None) -> bool:
        view = self._session.view
        tracks = view.tracks.of_each_look if within is None else view.tracks_in(within)
        return any(match_description(track, self._reading).may_fit for track in tracks)


def _terms_of_speakers(world: World) -> frozenset[str]:
    """Return the terms of the names of all speakers."""
    speakers = filter(None, world.rows("speech").column("speaker").unique().to_pylist())
    return terms_of(" ".join(speakers), "")


def _terms_of_passage(passage: Passage) -> frozenset[str]:
    """Return the terms of a passage with its speaker's name; what a caption quotes is said and not seen."""
    text = _QUOTED.sub(" ", passage.text) if passage.source == "caption" else f"{passage.text} {passage.speaker}"
    return terms_of(text.strip(), passage.terms)


def candidates(session: Session, found: Sequence[SegmentHit], query: str, within: TimeSpan | None = None) -> Candidates:
    """Return the result of a search for words or meaning: its hits with what they lack, evidence and hint."""
    judge = QueryJudge(session, query)
    for hit in found:
        judge.add(hit.span, hit.inside)
    hits = [
        segment_hit(session, hit.span, hit.passage, score=hit.score, lines=hit.lines, lacks=lacks)
        for hit, lacks in zip(found, judge.lacks, strict=True)
    ]
    hint = nothing_found(found)
    if hits and all(hit.lacks for hit in hits):
        hint = "none of these is shown to have all of it; lacks names the words"
    matched, unmatched, absent = judge.matched, judge.unmatched, judge.not_found(within)
    return Candidates(
        candidates=hits,
        matched=matched,
        unmatched=unmatched,
        not_found=ranges(absent),
        # Without hits that are shown, a thing of which the words were not measured may have them.
        not_judged=[] if absent or (hits and (matched or not unmatched)) else unmatched or matched or [query[:60]],
        evidence=cite_hits(session, found),
        hint=hint,
    )


def passages_in(session: Session, span: TimeSpan) -> list[Passage]:
    """Return the passages of a segment, with the captions that models gave."""
    more: Iterable[Passage] = session.captions.inside(span)
    return [*passages_of(session.view).inside(span), *more]
