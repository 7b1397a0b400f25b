"""Operations on entities: registration, trajectories, and questions about an entity at a moment.

A question is answered from tracks, stored actions and speech. The session's vision model, if there is one, answers what
was not measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from world_api.core.attributes import asked_attributes, attribute_of
from world_api.core.cost import Cost
from world_api.core.lexicon import COLOURS
from world_api.core.outfits import FACING, PartLook, named, names_part, parts_in
from world_api.core.spans import TimeSpan, round_time
from world_api.core.vocabulary import ParsedDescription, concepts, fold, is_narrower
from world_api.operations.evidence import (
    entity_evidence,
    evidence,
    holes_in_words,
    interval_of,
    look_note,
    moment,
    motions,
    optional_interval,
    path_in_words,
    position,
    size_class,
    spots_of,
    times,
)
from world_api.operations.matches import UNCHECKED, actions_in, find_entity, identify, look_alikes, side_left
from world_api.operations.query_matches import place_of
from world_api.operations.recorded import recorded_words
from world_api.operations.registry import operation
from world_api.operations.schema import (
    EntityId,
    LookAlike,
    OptionalTimeRange,
    Query,
    RegisteredEntity,
    StateAnswer,
    TimedBox,
    Timestamp,
    Trajectory,
    TrajectoryPart,
    VideoId,
)
from world_api.session.session import Registration, Session
from world_api.world.timeline import Spoken
from world_api.world.tracks import Track
from world_api.world.view import Voice

#: Seconds before and after a moment that count as its surroundings.
AROUND = 2.0
#: Confidence of an answer that addresses the question, and of one that only lists known facts.
SPOKEN_TO, ONLY_KNOWN = 0.6, 0.2

Teller = Callable[[Session, Track, float, TimeSpan], str]


def state_in_words(
    session: Session,
    entity: Track | Registration,
    at: float,
    question: StateQuestion,
    within: TimeSpan | None,
    span: TimeSpan | None,
) -> tuple[str, float]:
    """Return an answer from stored rows and its confidence (0 to 1).

    ``span``: the interval around the moment in which the entity is seen (``seen_around``), None if it is not seen.
    ``within``: an interval in which the moment has to be, or None.
    """
    if span is None:
        if session.view.is_in_hole(at):
            hole = holes_in_words(session.view, session.view.frame_at(at))
            return f"{_absent(entity, at, within)} {hole}.", ONLY_KNOWN
        return _absent(entity, at, within), SPOKEN_TO
    if isinstance(entity, Registration):
        where = [round(value) for value in entity.box]
        text = f"Registered as {entity.label!r} at {entity.time:g} s, box {where}; it was not tracked, so no more is known."
        return text, ONLY_KNOWN
    facts = [fact for tell in (question.tellers or _ALL) if (fact := tell(session, entity, at, span))]
    text = f"At {at:g} s, {entity.entity_id} ({entity.hint}): " + "; ".join(facts) + "."
    if question.doubtful:
        text += f" Cannot tell whether it is: {', '.join(question.doubtful)}."
    if question.unmatched:
        profile = session.view.world.manifest.profile
        text += f" Profile {profile} measured nothing about: {', '.join(question.unmatched)}."
    if question.doubtful or not question.matched:
        return text, ONLY_KNOWN
    return text, SPOKEN_TO if question.share is None else question.share


def seen_around(session: Session, entity: Track | Registration, at: float, within: TimeSpan | None) -> TimeSpan | None:
    """Return the interval for which an entity's state is described: the part of an appearance inside ``within``.

    By default it is the part within ``AROUND`` seconds of the moment. None if the entity is not seen then, or the
    moment is outside ``within``. A registration without a track is seen in one frame.
    """
    if within is not None and not within.contains(at):
        return None
    if isinstance(entity, Registration):
        frame = session.view.frame_at(entity.time)
        return frame if frame.contains(round_time(at)) and (within is None or within.overlaps(frame)) else None
    appearance = entity.appearance_at(at)
    if appearance is None:
        return None
    return appearance.clip(within or _moments_around(session, at)) or session.view.frame_at(at)


def _moments_around(session: Session, at: float) -> TimeSpan:
    """Return the default interval around a moment: ``AROUND`` seconds on each side, inside the visible part."""
    return TimeSpan(start=max(0.0, at - AROUND), end=min(session.view.duration, at + AROUND))


def _absent(entity: Track | Registration, at: float, within: TimeSpan | None) -> str:
    where = ""
    if within is not None and not within.contains(at):
        where = f" inside {within.start:g} to {within.end:g} s, which does not contain that moment"
    if isinstance(entity, Registration):
        seen = f"it was registered at {entity.time:g} s and not tracked"
    else:
        seen = "it is seen " + ", ".join(f"{span.start:.1f} to {span.end:.1f} s" for span in entity.appearances)
    return f"{entity.entity_id} ({entity.hint}) is not seen at {at:g} s{where}; {seen}."


def _where(session: Session, entity: Track, at: float, _: TimeSpan) -> str:
    box = entity.box(entity.nearest(at, session.view.shot_at(at)))
    return f"{position(box, session.view)} of the picture, {size_class(box, session.view)}, box {box.rounded()}"


def _doing(session: Session, entity: Track, _: float, span: TimeSpan) -> str:
    # An appearance ends with its last sighting. Leaving is a motion at that moment, so the interval has to contain it.
    closed = TimeSpan(start=span.start, end=session.view.frame_at(span.end).end)
    acts = [
        (action.label, interval_of(action))
        for action, _ in actions_in(session, closed)
        if action.entity_id == entity.entity_id
    ]
    acts = acts or [(motion.label, motion.span) for motion in motions(session.view, entity, closed)]
    shown = [_timed(label, part) for label, interval in acts if (part := interval.clip(span)) is not None]
    return ", ".join(dict.fromkeys(shown)) or "is seen"


def _looks(_: Session, entity: Track, __: float, ___: TimeSpan) -> str:
    outfit = entity.outfit
    shares = (f"{look} ({share:.0%} of the frames)" for look, share in zip(outfit.looks, outfit.shares, strict=True))
    of_part: dict[str, list[PartLook]] = {}
    for look in outfit.doubts:
        of_part.setdefault(look.part, []).append(look)
    # Of two directions that both may be right nothing is known.
    listed = (looks for part, looks in of_part.items() if part != FACING or len(looks) == 1)
    doubts = ", ".join(" or ".join([*(named(look) for look in looks[:-1]), str(looks[-1])]) for looks in listed)
    if seen := ", ".join(shares):
        return f"looks: {seen}" + (f"; not excluded: {doubts}" if doubts else "")
    return "wears " + " and ".join(entity.colours) if entity.colours else "no clear colour"


def _company(session: Session, entity: Track, at: float, _: TimeSpan) -> str:
    others = [track for track in session.view.tracks_at(at) if track.track_id != entity.track_id]
    named = ", ".join(f"{track.hint} ({track.entity_id})" for track in others)
    return f"with {named}" if others else "no one else is tracked then"


def _heard(session: Session, _: Track, __: float, span: TimeSpan) -> str:
    lines = session.view.speech.during(span)
    quoted = " ".join(_quoted(line) for line in lines)
    whose = "by whom of the people seen is not known" if any(line.said_by for line in lines) else "by whom is not known"
    return f"said meanwhile ({whose}): {quoted}" if lines else "no words that are said then are known"


def _quoted(line: Spoken) -> str:
    # A quote inside the quoted words would look like their end.
    said = _timed('"' + line.text.replace('"', "'") + '"', line.span)
    return f"{line.said_by}: {said}" if line.said_by else said


def _voice_in_words(session: Session, voice: Voice, at: float) -> str:
    """Return what is known of a voice at a moment: whether it is heard, what it says, and who else it may be."""
    around = _moments_around(session, at)
    turn = next((span for span in voice.turns if span.contains(at)), None)
    lines = [line for line in session.view.speech.during(turn or around) if line.voice == voice.entity_id]
    heard = f"speaks from {turn.start:.1f} to {turn.end:.1f} s" if turn else "is not surely heard"
    said = f", and says: {' '.join(map(_quoted, lines))}" if lines else ""
    likely = ", ".join(one.entity_id for one in voice.may_be)
    return f"At {at:g} s, {voice.entity_id} ({voice.hint}) {heard}{said}." + (f" It may be {likely}." if likely else "")


def _timed(what: str, span: TimeSpan) -> str:
    """Return a fact with its times: ``is seen (1.0-2.5 s)``."""
    return f"{what} ({span.start:.1f}-{span.end:.1f} s)"


def _attributes(session: Session, entity: Track, _: float, __: TimeSpan) -> str:
    look = session.entity_looks[entity.entity_id]
    shown = ", ".join(f"{time:g}" for time in look.frame_times)
    said = {"it is or has": look.affirmed, "it is or has no": look.denied}
    facts = "; ".join(f"{how} {', '.join(words)}" for how, words in said.items() if words)
    return f"{look.producer} said of pictures at {shown} s: {facts or 'it cannot tell'}"


_ALL: Sequence[Teller] = (_where, _doing, _company)
_MEASURED: Sequence[Teller] = (_where, _company, _heard, _attributes)
#: Words of a question, and the function that answers them. ``do`` is a main verb at the end of a question or before a place or
#: time ("what does he do at the table"); elsewhere it is an auxiliary.
_TOPICS: Sequence[tuple[re.Pattern[str], Teller]] = (
    (re.compile(r"\b(?:where|position|location)\w*|哪里|哪儿|位置|在哪"), _where),
    (
        re.compile(
            r"\b(?:doing|done|action|happen|activit|mov(?:e|ing)|walk|stand|still\b)\w*|做什么|干什么|动作|干嘛"
            r"|\bdo(?=\s*$|\s+(?:at|in|on|with|now|then|next|here|there|while|during|after|before|around|currently|meanwhile)\b)"
        ),
        _doing,
    ),
    (re.compile(r"\b(?:wear|colou?r|cloth|dress)\w*|\blooks? like|穿|颜色|长什么样"), _looks),
    (
        re.compile(
            r"\bwith whom|\bwho(?: is|'s|s)? with\b|\b(?:who|any(?:one|body)) else|\b(?:alone|together|company)\b|谁在|一起|独自"
        ),
        _company,
    ),
    (re.compile(r"\b(?:say|said|talk|speak|speech)\w*|说|讲"), _heard),
)
#: Where one question ends and the next begins.
_NEXT_QUESTION = re.compile(r"\band\b|[,;.?!，；。？！、]")
#: Words without content in a question, beside those without content in a description.
_ASIDE = frozenset(
    "appearance appear way direction moment now currently meanwhile then time scene video picture".split()
)
_NO_WORD = re.compile(r"\bent_\w+|什么颜色|[他她它这那](?:们|个人|个)?|什么|怎么样?|吗|呢|吧|现在|正在|此时|这时|是")
#: Words for what no row contains about an entity at a moment, though they are stop words in a description.
_UNANSWERED = re.compile(r"\b(?:when|why|whose)\b|什么时候|何时|为什么")


@dataclass(frozen=True, kw_only=True)
class StateQuestion:
    """A parsed question about an entity.

    ``tellers`` are the functions that return the facts for the answer; ``matched`` are the words that stored rows can
    answer, ``unmatched`` those that they cannot, ``doubtful`` looks of which they show neither that they are right nor wrong.
    ``share``: of the frames (0 to 1) that show the looks of parts that it asks about; None if it asks about none.
    """

    tellers: list[Teller]
    matched: list[str]
    unmatched: list[str]
    doubtful: list[str]
    share: float | None

    @property
    def is_measured(self) -> bool:
        """Whether stored rows answer all of it (where, with whom, what is said), so that no vision model is needed."""
        return (
            bool(self.matched)
            and not self.unmatched
            and not self.doubtful
            and all(tell in _MEASURED for tell in self.tellers)
        )


def read_question(session: Session, query: str, entity: Track | Registration, at: float) -> StateQuestion:
    """Parse a question about an entity at a moment (seconds) part by part; ``and`` and punctuation separate the parts.

    Words of a part are ``matched`` if rows can answer all of it, or if it asks about a colour of clothes. A word for a
    narrower kind (``man``) only names the person and does not prevent this. Deeds that a world's truth records are
    answered by what the thing does, looks of parts of a person ("what colour is her hair") by its outfit, attributes ("is
    she wearing glasses") by a stored look of the vision model.
    """
    recorded = recorded_words(session.view, query, session.vocabulary)
    tellers: list[Teller] = []
    matched: list[str] = []
    unmatched: list[str] = []
    doubtful: list[str] = []
    shares: list[float] = []
    for part in filter(str.strip, _NEXT_QUESTION.split(fold(query))):
        cues = [(match.group().strip(), tell) for words, tell in _TOPICS for match in words.finditer(part)]
        own = [tell for _, tell in cues]
        rest = part
        for words in (*(words for words, _ in _TOPICS), _UNANSWERED, _NO_WORD):
            rest = words.sub(" ", rest)
        question = session.vocabulary.read(rest, of=frozenset({entity.category}))
        colours = bool(question.wanted or question.negated_colours)
        beyond = [word for word in (*_UNANSWERED.findall(part), *question.unmatched) if word not in _ASIDE]
        if (look := session.entity_looks.get(entity.entity_id)) is not None:
            asked_of = asked_attributes(part)
            if judged := {
                word: look.verdict_in(name, [session.view.frame_at(at)])
                for word in beyond
                if (name := attribute_of(word)) in asked_of
            }:
                matched += [word for word, verdict in judged.items() if verdict is not None]
                doubtful += [word for word, verdict in judged.items() if verdict is None]
                beyond, own = (
                    [word for word in beyond if word not in judged],
                    [tell for tell in own if tell is not _looks],
                )
                tellers.append(_attributes)
        if (asked := _asked_looks(session, part, question, is_of_looks=_looks in own)) and isinstance(entity, Track):
            known, unsure, own_shares = _answered(entity, asked)
            named = {noun for _, noun, looks in asked if names_part(noun) or not looks}
            known = [noun for noun in known if noun in named or noun not in beyond]
            beyond = [word for word in beyond if word not in named and not concepts(word) & COLOURS.keys()]
            beyond += [noun for _, noun, _ in asked if noun not in (*known, *beyond) and not unsure]
            matched += [*known, *(() if unsure or beyond else (*(word for word, _ in cues), *question.matched))]
            tellers.append(_looks)
            unmatched, doubtful, shares = [*unmatched, *beyond], [*doubtful, *unsure], [*shares, *own_shares]
            continue
        if isinstance(entity, Track):
            missing = [each for each in question.wanted if each.isdisjoint(entity.colours)]
            doubtful += [str(one) for each in missing for one in sorted(each) if entity.may_have(one)]
        if not colours and own in ([], [_doing]) and (deeds := [word for word in beyond if word in recorded]):
            own, beyond = [_doing], [word for word in beyond if word not in deeds]
            cues += [(word, _doing) for word in deeds if word not in dict(cues)]
        is_of_clothes = colours and (_looks in own or re.search(r"\bin an? ", part) is not None)
        if (own or colours) and (is_of_clothes or all(map(is_narrower, beyond))):
            matched += [*(word for word, _ in cues), *(word for word in question.matched if not doubtful)]
        tellers += [*own, *([_looks] if colours else [])]
        unmatched += beyond
    return StateQuestion(
        tellers=list(dict.fromkeys(tellers)),
        matched=list(dict.fromkeys(matched)),
        unmatched=list(dict.fromkeys(unmatched)) or ([] if matched or doubtful else [query[:60]]),
        doubtful=list(dict.fromkeys(doubtful)),
        share=min(shares, default=None),
    )


def _asked_looks(
    session: Session, part: str, question: ParsedDescription, *, is_of_looks: bool
) -> list[tuple[str, str, frozenset[PartLook]]]:
    """Return the parts of a person that a part of a question asks about: each with its noun, and looks that it may have.

    Empty looks: the question is open ("what colour is her hair"). ``is_of_looks``: whether it has a word for looks.
    """
    nouns = {own: noun for noun, own in parts_in(part) if own in session.vocabulary.parts}
    colours = concepts(part) & COLOURS.keys()
    if not (is_of_looks or colours or question.looks):
        nouns = {own: noun for own, noun in nouns.items() if own == FACING}
    described = {look.part for look in question.looks}
    found = []
    for own in dict.fromkeys((*sorted(described), *nouns)):
        looks = {look for look in question.looks if look.part == own}
        if own not in described and own != FACING:
            looks = {PartLook(own, colour) for colour in colours}
        found.append((own, nouns.get(own, own), frozenset(looks)))
    return found


def _answered(
    entity: Track, asked: Sequence[tuple[str, str, frozenset[PartLook]]]
) -> tuple[list[str], list[str], list[float]]:
    """Return the nouns of parts of which an outfit answers what is asked, the looks that are in doubt, and confidences of answers.

    A confidence is the share of the frames that show the look, reduced if other words may be right as well.
    """
    outfit = entity.outfit
    share_of = dict(zip(outfit.looks, outfit.shares, strict=True))
    known: list[str] = []
    doubtful: list[str] = []
    sure: list[float] = []
    for part, noun, looks in asked:
        own = {look: share for look, share in share_of.items() if look.part == part}
        doubts = [look for look in outfit.doubts if look.part == part]
        unsure = [look for look in (looks or ([] if own else doubts)) if look not in own and look in doubts]
        doubtful += map(str, sorted(unsure))
        if own and not unsure:
            known.append(noun)
            shown = [own[look] for look in looks if look in own] or [max(own.values())]
            sure.append(round(min(shown) * (UNCHECKED if doubts else 1.0), 2))
    return known, doubtful, sure


EntityHint = Annotated[
    str, Field(min_length=1, max_length=500, description='What the entity looks like, e.g. "the person in a red coat".')
]


@operation(category="entities", state="writes", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def register_entity(
    session: Session, *, video_id: VideoId, timestamp: Timestamp, entity_hint: EntityHint
) -> RegisteredEntity:
    """Give the thing that a hint names at a moment an entity id for later calls.

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
        matched=list(found.reading.matched),
        unmatched=list(found.reading.unmatched),
        lacks=found.lacks,
        evidence=[
            evidence(session, session.view.frame_at(chosen.time), chosen.source, chosen.confidence, chosen.time),
            *(entity_evidence(session, look) for look in found.looks),
        ],
    )


@operation(category="entities", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def get_entity_trajectory(session: Session, *, video_id: VideoId, entity_id: EntityId) -> Trajectory:
    """List every appearance of an entity: when, in which scene, and along which path."""
    session.check_video(video_id)
    if (voice := session.view.voices.voices.get(entity_id)) is not None:
        return _turns_of(session, voice)
    entity = find_entity(session, entity_id)
    spans = entity.appearances if isinstance(entity, Track) else (session.view.frame_at(entity.time),)
    parts = [_appearance(session, entity, span) for span in spans]
    return Trajectory(
        trajectory=parts,
        total_seconds=round_time(sum(part.end_time - part.start_time for part in parts)),
        size=entity.size if isinstance(entity, Track) else None,
        may_be=look_alikes(session, entity_id),
        evidence=[
            evidence(session, interval_of(part), "tracker", entity.confidence, part.start_time) for part in parts
        ],
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
    """Ask about an entity at a moment: where it is, what it does and looks like, what is said meanwhile.

    With a time_range, the moment must be in it.
    """
    at = moment(session, video_id, time)
    within = optional_interval(session, video_id, time_range)
    if (voice := session.view.voices.voices.get(entity_id)) is not None:
        return _voice_answer(session, voice, at, query)
    entity = find_entity(session, entity_id)
    seeing, span = session.backends.seeing, seen_around(session, entity, at, within)
    question = read_question(session, query, entity, at)
    known = span or within or _moments_around(session, at)
    source = entity.source if isinstance(entity, Registration) else "tracker"
    measured = evidence(session, known, source, None, min(max(at, known.start), known.end))
    spots = [] if seeing is None or span is None or question.is_measured else spots_of(entity, at, span)
    if seeing is not None and span is not None and spots:
        look = seeing.state(spots, query, subject=entity.hint, until=session.view.duration)
        if isinstance(entity, Registration):
            facts = f"registered as {entity.label!r} at {entity.time:g} s"
        else:
            facts = "; ".join(fact for tell in _ALL if (fact := tell(session, entity, at, span)))
        return StateAnswer(
            answer=f"{look.text.rstrip('.')}. Measured of {entity.entity_id}, followed as {entity.hint}: {facts}.",
            confidence=look.confidence,
            evidence=[entity_evidence(session, look), measured],
            hint=look_note(look),
        )
    answer, confidence = state_in_words(session, entity, at, question, within, span)
    return StateAnswer(
        answer=answer,
        confidence=confidence,
        matched=question.matched,
        unmatched=[*question.doubtful, *question.unmatched],
        not_judged=[] if question.matched else [*question.doubtful, *question.unmatched],
        evidence=[
            measured.model_copy(update={"confidence": confidence}),
            *([entity_evidence(session, session.entity_looks[entity_id])] if _attributes in question.tellers else []),
        ],
    )


def _turns_of(session: Session, voice: Voice) -> Trajectory:
    return Trajectory(
        trajectory=[
            TrajectoryPart(
                **times(span),
                scene_id=session.view.scene_at(span.start).scene_id,
                path_repr="heard, not seen",
                enters_from=None,
                leaves_to=None,
            )
            for span in voice.turns
        ],
        total_seconds=round_time(voice.seconds),
        size=None,
        may_be=[LookAlike(entity_id=item.entity_id, score=item.score) for item in voice.may_be],
        evidence=[evidence(session, span, "speech", None, span.start) for span in voice.turns],
    )


def _voice_answer(session: Session, voice: Voice, at: float, query: str) -> StateAnswer:
    """Return what a voice says at a moment; nothing else about it can be judged."""
    turn = next((span for span in voice.turns if span.contains(at)), None)
    is_heard = any(words.search(fold(query)) for words, tell in _TOPICS if tell is _heard)
    return StateAnswer(
        answer=_voice_in_words(session, voice, at),
        confidence=SPOKEN_TO if is_heard and turn is not None else ONLY_KNOWN,
        not_judged=[] if is_heard else [query[:60]],
        evidence=[evidence(session, turn or _moments_around(session, at), "speech", None, at)],
    )


def _appearance(session: Session, entity: Track | Registration, span: TimeSpan) -> TrajectoryPart:
    """Return an appearance of a track as a part of a trajectory, or the frame of a registration without a track."""
    track = entity if isinstance(entity, Track) else None
    if isinstance(entity, Track):
        path, boxes = path_in_words(session.view, entity, span)
    else:
        path, boxes = "seen once", [TimedBox(time=entity.time, bbox=list(map(float, entity.box)))]
    return TrajectoryPart(
        **times(span),
        scene_id=session.view.scene_at(span.start).scene_id,
        place=place_of(session.view, span),
        path_repr=path,
        boxes=boxes,
        enters_from=track.enters_from(span) if track else None,
        leaves_to=side_left(session, track, span) if track else None,
    )
