"""How descriptions match tracks, detections and entities; actions in an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from world_api.core.attributes import LASTING, asked_attributes, attribute_of
from world_api.core.faults import BackendFault, MediaFault, OperationFault
from world_api.core.lexicon import COLOURS, NEUTRALS, STOP_WORDS
from world_api.core.ports import DetectedObject, Source
from world_api.core.spans import Box, TimeSpan, parts_within, round_time, without_spans
from world_api.core.vocabulary import LATIN, ParsedDescription, concepts
from world_api.operations.evidence import (
    entity_evidence,
    evidence,
    has_ended,
    holes_in_words,
    interval_of,
    motions,
    ranges,
    size_class,
    times,
)
from world_api.operations.recorded import RecordedTexts, has_word, recorded_words
from world_api.operations.schema import (
    Action,
    Detection,
    Detections,
    Entity,
    EntityLook,
    HeardVoice,
    LookAlike,
    TimeRange,
)
from world_api.search.pictures import pictures_of
from world_api.search.searcher import terms_of
from world_api.session.session import SEEN, Registration, Session
from world_api.session.vision_cache import CachedLook
from world_api.world.tracks import Side, Track
from world_api.world.view import DistinctTracks, View

#: Why a frame was not looked at.
Unseen = MediaFault | BackendFault

#: A registered thing without a track is the same one when its box overlaps at least this much, at most so many seconds
#: away in the same shot.
SAME_BOX, SAME_MOMENT = 0.5, 0.6


#: Category of tracks of which no category was recognised, so that they may be of any.
UNRECOGNISED = "moving_object"


#: What is not judged where things of any category are asked for.
UNDETECTED = "things that were not detected"
#: What an entity lacks that may be the same thing as an earlier one.
APART = "different from those before"


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
    ("brown hair") are those of the track's outfit. A colour that the track may have as well is not judged, asked for or excluded.
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
    is_whole = len(wanted) == 1 and wanted[0] <= NEUTRALS
    if not track.colours:
        unjudged += colours_in_words(replace(reading, looks=frozenset()))
    else:
        may_have = partial(track.may_have, mainly=is_whole)
        has_own = bool(track.outfit.colours) or not track.is_detected  # a detector's box shows what is behind, too
        unjudged += [_one_of(each) for each in wanted if (not has_own if each & shown else any(map(may_have, each)))]
        doubtful = [one for one in sorted(reading.negated_colours) if one in track.colours or track.may_have(one)]
        unjudged += [f"not {one}" for one in doubtful if not track.surely_has(one)]
    is_person = track.category == "person"
    looks = [look for look in sorted(reading.looks) if look not in track.outfit.looks]
    unjudged += [str(look) for look in looks if is_person and track.outfit.may_be(look)]
    asked = [*map(_one_of, wanted), *map(str, sorted(reading.looks))]
    absent = [*(_one_of(each) for each in wanted if not each & shown or _one_of(each) in unjudged), *map(str, looks)]
    return HintMatch(
        held=tuple(word for word in asked if word not in absent),
        missing=tuple(word for word in absent if word not in unjudged),
        unjudged=tuple(unjudged),
        excluded=other_kind
        or track.category in reading.negated_kinds
        or any(map(track.surely_has, reading.negated_colours)),
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


def judge_attributes(
    session: Session, track: Track, match: HintMatch, words: Sequence[str], asked: TimeSpan
) -> HintMatch:
    """Add to a match attributes that a description asks for, and judge what no row judged, by a stored look at the track.

    ``asked``: the interval in question. ``words`` are unjudged of which the vision model could not tell or was not asked, and
    those that it judged from pictures of other moments and that may have changed since.
    """
    look = session.entity_looks.get(track.entity_id)
    seen = [part for span in track.appearances if (part := span.clip(asked)) is not None] or [asked]
    verdicts = {word: None if look is None else _verdict(look, word, seen) for word in (*match.unjudged, *words)}
    negated = any(word.startswith(_NOT) and verdict is False for word, verdict in verdicts.items())
    return replace(
        match,
        held=(*match.held, *(word for word, verdict in verdicts.items() if verdict)),
        missing=(*match.missing, *(word for word, verdict in verdicts.items() if verdict is False)),
        unjudged=tuple(word for word, verdict in verdicts.items() if verdict is None),
        excluded=match.excluded or negated,
    )


_NOT = "not "
#: How the hint of a result introduces the model that judged attributes.
_NAMED_BY = "judged from pictures of each thing by"


def _verdict(look: CachedLook, word: str, seen: Sequence[TimeSpan]) -> bool | None:
    """Return the verdict on a word as matches have it: ``woman``, ``grey or black``, ``not red``; ``seen`` as in ``verdict_in``."""
    if word.startswith(_NOT):
        verdict = look.verdict_in(word.removeprefix(_NOT), seen)
        return None if verdict is None else not verdict
    verdicts = {look.verdict_in(attribute_of(one) or one, seen) for one in word.split(" or ")}
    return True if True in verdicts else None if None in verdicts else False


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


def listed_voices(view: View) -> list[HeardVoice]:
    """Return the voices that are known in a view, in the order of their ids."""
    return [
        HeardVoice(
            entity_id=voice.entity_id,
            hint=voice.hint,
            first_time=round_time(voice.span.start),
            last_time=round_time(voice.span.end),
            turns=len(voice.turns),
            may_be=[LookAlike(entity_id=item.entity_id, score=item.score) for item in voice.may_be],
            samples=[
                TimeRange(start_time=round_time(turn.start), end_time=round_time(turn.end)) for turn in voice.samples
            ],
        )
        for voice in view.voices.voices.values()
    ]


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
        looked_at=None if (look := session.entity_looks.get(thing.entity_id)) is None else _entity_look(look),
        lacks=[APART] if may_repeat(session, thing) else [],
    )


def _entity_look(look: CachedLook) -> EntityLook:
    return EntityLook(
        has=list(look.affirmed),
        has_not=list(look.denied),
        not_judged=[word for word in look.parameters["words"] if look.verdict(word) is None],
        description=look.text,
        uncertain=look.uncertain,
        model=look.producer,
        frame_times=list(look.frame_times),
    )


def may_repeat(session: Session, thing: Track | Registration) -> bool:
    """Whether an entity may be the same thing as another one of its category: see ``DistinctTracks``."""
    if isinstance(thing, Track):
        return thing.track_id in session.view.once(DistinctTracks).may_repeat
    return bool(session.view.world.manifest.detected_categories)


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
    examined; if the video or the weights are missing, the result says that it was not. Objects of which words were not
    measured, or the category was not recognised, are returned with these words as what they lack; if nothing fits all words of
    ``text_query``, so are objects that fit only some.
    """
    kind = session.vocabulary.read_category(category)
    description = session.vocabulary.read(text_query or "", of=kind.kinds)
    reading = kind.joined(description)
    if kind.kinds is None:  # of any category, so that the description names it
        reading = replace(reading, kinds=description.kinds)
    described = reading if kind.kinds else replace(reading, kinds=description.kinds)
    reading, deeds = _read_deeds(session, reading, f"{category} {text_query or ''}")
    near = session.view.tracks_in(within) if within else session.view.tracks_at(at)
    of_kind = [track for track in near if reading.kinds is None or track.category in reading.kinds]
    unrecognised = _unrecognised(session, near, reading.kinds)
    asked = within or session.view.frame_at(at)
    garments = _named_garments(session, reading)
    described = replace(described, unmatched=garments)
    reading = _move_to_matched(reading, garments)
    attributes = _read_attributes(session, reading, near, category, text_query or "")
    reading = _move_to_matched(reading, attributes)
    matches = []
    for track in (*of_kind, *unrecognised):
        match = _judge_deeds(session, track, match_look(session, track, described), deeds, asked)
        matches.append((track, judge_attributes(session, track, match, attributes, asked)))
    is_found = any(match.fits for _, match in matches)
    fitting = [(track, match) for track, match in matches if (match.may_fit if is_found else match.fits_partly)]
    inside = within or session.view.shot_at(at)
    worn = [word for word in attributes if attribute_of(word) not in LASTING]
    found = [
        _from_track(track, match, reading, at, inside, _moments_of(session, track, match, worn))
        for track, match in fitting
    ]
    missing: Unseen | None = None
    if not of_kind and (within is None or within.contains(at)):
        looked, missing = _look(session, at, replace(reading, unmatched=(*deeds, *attributes, *reading.unmatched)))
        found += looked
    alike = _likeness(session, found, text_query, inside) if any(one.lacks for one in found) else {}
    found.sort(key=lambda one: (len(one.lacks), -alike.get(id(one), 0.0), -one.sure, one.box.rounded()))
    shown = [(_detection(session, one), one.source) for one in found]
    looked_at = at if within is None and not of_kind else None
    examined, unexamined = _examined(session, asked, reading.kinds, looked_at)
    if within is None and missing is not None:
        examined, unexamined = [], [asked]
    # Words that name no category that can be judged: without them nothing can be said. Nor are things absent that may be missed.
    unjudged = list(reading.unmatched) if reading.kinds == frozenset() else []
    if not found and not unjudged and examined and session.view.may_be_missed(reading.kinds):
        unjudged = [*(session.view.unseen(reading.kinds) or reading.matched), *reading.unmatched] or [UNDETECTED]
    beyond = [UNDETECTED] if found and reading.kinds is None and session.view.may_be_missed(None) else []
    hint = ""
    # If nothing was examined, the registry reports the hole.
    if not found and (examined or reading.kinds == frozenset() or missing is not None):
        hint = _why_nothing(session, category, reading, of_kind or near, missing, within)
    if within and any(isinstance(one.seen, Track) and may_repeat(session, one.seen) for one in found):
        hint = "followed apart: one that was lost from view may be listed again, so this is no count of different ones"
    if found and all(one.lacks for one in found):
        hint = "nothing was seen to fit all words; what may is given with what it lacks"
    shown_tracks = [one.seen for one in found if isinstance(one.seen, Track)]
    looks = _looks_at(session, shown_tracks or [track for track, _ in matches]) if attributes else []
    hint = "; ".join(filter(None, [hint, _judged_by(looks, attributes, worn)]))
    return Detections(
        detections=[item for item, _ in shown],
        unused_words=list(reading.unmatched),
        matched=list(reading.matched),
        unmatched=list(reading.unmatched),
        not_found=[] if shown or unjudged else ranges(examined),
        # What a single frame may show has no track, so that those who have one may still be unseen.
        not_judged=unjudged
        or beyond
        or (
            session.view.unseen(reading.kinds)
            if examined and not any(isinstance(one.seen, Track) or not one.lacks for one in found)
            else []
        ),
        not_examined=[] if unjudged and reading.kinds == frozenset() else ranges(unexamined),
        evidence=[
            *(evidence(session, interval_of(item), source, item.confidence, item.timestamp) for item, source in shown),
            *(entity_evidence(session, look) for look in looks),
        ],
        hint=hint,
    )


def _unrecognised(session: Session, tracks: Sequence[Track], kinds: frozenset[str] | None) -> list[Track]:
    """Return the tracks of things that were not recognised and so may be of ``kinds``; none if those are not tracked at all."""
    stored = (kinds or frozenset()) & session.view.vocabulary.categories
    if not stored or UNRECOGNISED in stored:
        return []
    return [track for track in tracks if track.category == UNRECOGNISED]


def _move_to_matched(reading: ParsedDescription, words: Sequence[str]) -> ParsedDescription:
    """Return a reading of which these unmatched words are matched, since something other than the vocabulary judges them."""
    unmatched = tuple(word for word in reading.unmatched if word not in words)
    return replace(reading, matched=(*reading.matched, *words), unmatched=unmatched)


def _likeness(session: Session, found: Sequence[_Sighting], text: str | None, inside: TimeSpan) -> dict[int, float]:
    """Return how much better a text fits the pictures of tracked things than neutral texts, by ``id``, if by the model's margin.

    It orders things that lack as many words and judges none. Empty without a text, or without the image-text model.
    """
    encoder, pictures = session.backends.encoder, pictures_of(session.view)
    if encoder is None or not text or not text.strip():
        return {}
    with suppress(BackendFault):  # its weights are gone or damaged
        scores = pictures.scores(text, encoder)
        own = {id(one): pictures.of_track(one.seen.track_id, inside) for one in found if isinstance(one.seen, Track)}
        best = {key: float(scores[places].max()) for key, places in own.items() if len(places)}
        return {key: score for key, score in best.items() if score >= encoder.margin}
    return {}


def _judged_by(looks: Sequence[CachedLook], attributes: Sequence[str], worn: Sequence[str]) -> str:
    """Return the part of a hint that names the model that judged attributes; empty without looks."""
    limit = "; what is worn or carried: around the moments of the pictures alone" if worn else ""
    return f"{', '.join(attributes)}: {_NAMED_BY} {looks[0].producer}{limit}" if looks else ""


def _read_attributes(
    session: Session, reading: ParsedDescription, near: Sequence[Track], category: str, text: str
) -> list[str]:
    """Return the unmatched words of a category and a description that a vision model was asked about one of these tracks."""
    judged = {word for look in _looks_at(session, near) for word in look.parameters["words"]}
    if not judged or reading.kinds == frozenset():  # "hat" as a category is what a person wears, and no kind of thing
        return []
    asked = (asked_attributes(category) | asked_attributes(text)) & judged
    return [word for word in reading.unmatched if attribute_of(word) in asked]


def _looks_at(session: Session, tracks: Sequence[Track]) -> list[CachedLook]:
    return [session.entity_looks[track.entity_id] for track in tracks if track.entity_id in session.entity_looks]


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
    """Add to a match the words that the truth judges of the track's actions in an interval.

    They are held if one action has all of them. Words that only different actions have may be of one deed or of several, so
    that they are unjudged; what no action has is missing.
    """
    if not words:
        return match
    labels = [action.text for action in session.view.actions.during(span) if action.subject == track.track_id]
    each = [frozenset(terms_of(label, "")) for label in labels]
    found = [[word for word in words if has_word(own, word)] for own in each]
    every = [word for word in words if any(word in own for own in found)]
    held = max(found, key=len, default=[])
    unjudged = tuple(word for word in every if word not in held)
    missing = tuple(word for word in words if word not in every)
    return replace(
        match,
        held=(*match.held, *held),
        missing=(*match.missing, *missing),
        unjudged=(*match.unjudged, *unjudged),
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
    """What a hint describes: its registration, the parsed hint, and the words that do not hold or were not measured.

    ``looks`` are the looks of a vision model that judged words of the hint.
    """

    registration: Registration
    reading: ParsedDescription
    lacks: list[str]
    looks: list[CachedLook]


def identify(session: Session, at: float, hint: str) -> IdentifiedEntity:
    """Find the thing that a hint describes at a moment.

    It is a track, chosen by rows and by what a vision model saw of it. If nothing of the hint's category is tracked then, it is
    a detection in the frame at that moment.

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
    attributes, frame = _read_attributes(session, reading, tracks, "", hint), session.view.frame_at(at)
    reading = _move_to_matched(reading, attributes)
    matches = []
    for track in tracks:
        match = _judge_deeds(session, track, match_description(track, reading), deeds, frame)
        matches.append((track, judge_attributes(session, track, match, attributes, frame)))
    # A description of which no word can be judged is that of a single track, and of none of several.
    can_match = reading.is_judged or bool(deeds) or bool(attributes) or len(tracks) == 1
    partly = [pair for pair in matches if can_match and pair[1].fits_partly]
    looks: list[CachedLook] = []
    detections, missing = ([], None) if partly or is_tracked else _detections(session, at, reading.kinds)
    if partly:
        track, match = max(partly, key=lambda pair: (pair[1].share, len(pair[0].colours), pair[0].confidence))
        position = track.nearest(at, session.view.shot_at(at))
        entity_id, category, box, time = track.entity_id, track.category, track.box(position), track.times[position]
        sure, lacks = track.confidence * _sureness(match, reading), match.lacks
        looks = _looks_at(session, [track]) if attributes else []
    elif detections:
        seen = detections[0]
        entity_id, category, box, time = _seen_id(session, at, seen.box), seen.category, seen.box, at
        lacks = [*_doubted_kinds(session, reading.kinds), *colours_in_words(reading), *attributes]
        sure = seen.confidence * UNCHECKED
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
    return IdentifiedEntity(registration=registration, reading=reading, lacks=[*lacks, *reading.unmatched], looks=looks)


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
    missing: Unseen | None,
) -> OperationFault:
    why = f"nothing at {at:g} s matches {hint[:80]!r}"
    if not (reading.is_judged or reading.matched):
        words = ", ".join(reading.unmatched[:8])
        why = f"cannot tell what at {at:g} s is {hint[:80]!r}: {words or 'it names nothing that'} cannot be judged"
    there = ", ".join(track.hint for track in tracks[:5])
    nothing = "nothing is tracked there; detect_objects or search_segments_by_text finds moments"
    unseen = _unseen(missing) if missing else holes_in_words(session.view, session.view.frame_at(at))
    return OperationFault("nothing_matches", why, hint=unseen or (f"there is: {there}" if there else nothing))


def _unseen(missing: Unseen) -> str:
    """Return the hint that a frame could not be looked at because the video or the detector is missing."""
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


def _moments_of(session: Session, track: Track, match: HintMatch, worn: Sequence[str]) -> Sequence[TimeSpan]:
    """Return the intervals around the pictures that show ``worn`` words of a match; empty if it holds none of these words."""
    return session.entity_looks[track.entity_id].moments if any(word in match.held for word in worn) else ()


def _from_track(
    track: Track,
    match: HintMatch,
    reading: ParsedDescription,
    at: float,
    inside: TimeSpan,
    moments: Sequence[TimeSpan] = (),
) -> _Sighting:
    """Return how a track fits a description in an interval; ``moments``: those to which that is limited, none: no limit."""
    parts = [part for moment in moments if (part := moment.clip(inside)) is not None]
    limit = min(parts, key=lambda part: max(part.start - at, at - part.end, 0.0), default=None)
    inside = limit or inside
    position = track.nearest(min(max(at, inside.start), inside.end), inside)
    sure = round(min(1.0, float(track.confidences[position]) * _sureness(match, reading)), 2)
    time, box, lacks = track.times[position], track.box(position), [*match.lacks, *reading.unmatched]
    span = track.appearance_of(position)
    return _Sighting(track, span.clip(limit) or span if limit else span, time, box, sure, lacks, "tracker")


def _doubted_kinds(session: Session, kinds: frozenset[str] | None) -> list[str]:
    """Return those of ``kinds`` that a detection in a single frame does not show for sure.

    The classical detector takes upright things for people, too. That of profile ``neural`` makes tracks of what it detects in
    several frames, which the moment in question is not part of.
    """
    match session.view.world.manifest.profile:
        case "classical":
            return sorted((kinds or frozenset()) & {"person"})
        case "neural":
            return sorted(kinds or ())
    return []


def _look(session: Session, at: float, reading: ParsedDescription) -> tuple[list[_Sighting], Unseen | None]:
    """Return detections in the frame at a moment; if it cannot be looked at, none and the fault (else None).

    They have no colours, so they lack all colours of the description.
    """
    detections, missing = _detections(session, at, reading.kinds)
    doubted = _doubted_kinds(session, reading.kinds)
    lacks, span = [*doubted, *colours_in_words(reading), *reading.unmatched], session.view.frame_at(at)
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
) -> tuple[list[DetectedObject], Unseen | None]:
    """Return what a detector finds of ``kinds`` (None: nothing) in a frame; nothing and the fault if video or weights are gone."""
    looker = session.backends.looker
    if looker is None or session.view.is_in_hole(at):  # the frame ends decoders
        return [], None
    # A truth has every sighting of its kinds.
    known = session.view.vocabulary.categories if session.view.world.manifest.profile == "oracle" else frozenset()
    words = sorted((kinds or frozenset()) & looker.categories() - known)
    try:
        return [seen for word in words for seen in looker.detect(at, word)], None
    except (MediaFault, BackendFault) as fault:
        if fault.code not in _GONE:
            raise
        return [], fault


#: Faults that leave a frame not examined: its video or the weights of the detector are gone, or are no longer what they were.
_GONE = frozenset({"source_missing", "model_missing", "model_damaged", "model_unusable"})


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
    missing: Unseen | None,
    within: TimeSpan | None,
) -> str:
    if reading.kinds == frozenset() and not reading.unmatched:
        return f"nothing is {category[:40]!r}: the truth, which is complete, has no such thing"
    if reading.kinds == frozenset():
        asked = " ".join(reading.unmatched)
        return f"cannot tell whether anything there is {asked[:40]!r}; {_judged_kinds(session)}"
    if missing is not None:
        return _unseen(missing)
    where, limit = "at this moment" if within is None else "in this span", rests_on(session.view, reading.kinds)
    if not there:
        return f"nothing of the kind was detected {where}{limit}"
    if reading.kinds is None or there[0].category in reading.kinds:
        return f"of other looks there is: {', '.join(dict.fromkeys(track.hint for track in there[:5]))}{limit}"
    return f"something else is there; ask for category any{limit}"


def rests_on(view: View, kinds: frozenset[str] | None) -> str:
    """Return what may be there unseen, as the end of a hint: if misses were measured, how small things and how often, else why."""
    if view.may_be_missed(kinds):
        return f"; {view.why_missed(kinds)}, so it may be there unseen"
    missed = view.world.manifest.missed
    rates = [
        f"none of {kind} at least {math.ceil(100 * rate.height)} % of the picture's height, of which {rate.missed} of {rate.of} "
        "were missed where this was measured; smaller ones may have been missed"
        for kind, rate in sorted(missed.items())
        if kind in (kinds or ())
    ]
    return f"; {', '.join(rates)}" if rates else ""
