"""Answering questions about an entity at a moment from tracks, stored actions and what is said meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from world_api.core.lexicon import fold, unseen_words
from world_api.core.spans import TimeSpan
from world_api.operations.answering.citing import shorten
from world_api.operations.answering.finding import actions_in
from world_api.operations.answering.identity import NEAR, tracks_at
from world_api.operations.answering.wording import motions, position, size_class
from world_api.world.sessions.session import Registration, Session
from world_api.world.tracks import Track

#: A moment is looked at with this much on either side (seconds).
AROUND = 2.0
#: Sureness of an answer that speaks to the question, and of one that only tells what is known.
SPOKEN_TO, ONLY_KNOWN = 0.6, 0.2

Teller = Callable[[Session, Track, float, TimeSpan], str]


def state_in_words(
    session: Session, entity: Track | Registration, at: float, query: str, within: TimeSpan | None
) -> tuple[str, TimeSpan, float]:
    """The answer, the stretch it rests on, and how sure (0 to 1)."""
    span = seen_around(session, entity, at, within)
    if span is None:
        return _absent(entity, at, within), within or _moments_around(session, at), SPOKEN_TO
    if isinstance(entity, Registration):
        where = [round(value) for value in entity.box]
        text = f"Registered as {entity.label!r} at {entity.time:g} s, box {where}; it was not tracked, so no more is known."
        return text, span, ONLY_KNOWN
    tellers = _asked_for(query)
    facts = [fact for tell in (tellers or _ALL) if (fact := tell(session, entity, at, span))]
    text = f"At {at:g} s, {entity.entity_id} ({entity.hint}): " + "; ".join(facts) + "."
    if tellers:
        return text, span, SPOKEN_TO
    unknown = ", ".join(unseen_words(query)[:6])
    profile = session.view.world.manifest.profile
    return f"{text} Profile {profile} measured nothing about: {unknown or query[:60]}.", span, ONLY_KNOWN


def seen_around(session: Session, entity: Track | Registration, at: float, within: TimeSpan | None) -> TimeSpan | None:
    """The stretch for which an entity's state at a moment is told: inside ``within`` and the appearance that holds the moment.

    None if the entity is not seen at the moment, or the moment lies outside ``within``. A registration is seen in one frame.
    """
    if within is not None and not within.contains(at):
        return None
    if isinstance(entity, Registration):
        frame = session.view.frame_at(entity.time)
        return frame if abs(entity.time - at) <= NEAR and (within is None or within.overlaps(frame)) else None
    appearance = entity.appearance_at(at)
    if appearance is None:
        return None
    return appearance.clip(within or _moments_around(session, at)) or session.view.frame_at(at)


def is_measured(query: str) -> bool:
    """Whether rows answer all that a question asks for: where, with whom, what is said; nobody has to look for that."""
    tellers = _asked_for(query)
    return bool(tellers) and all(tell in _MEASURED for tell in tellers)


def facts_in_words(session: Session, entity: Track | Registration, at: float, span: TimeSpan) -> str:
    """What was measured of an entity at a moment, to stand beside what somebody sees."""
    if isinstance(entity, Registration):
        return f"registered as {entity.label!r} at {entity.time:g} s"
    return "; ".join(fact for tell in _ALL if (fact := tell(session, entity, at, span)))


def _moments_around(session: Session, at: float) -> TimeSpan:
    """The stretch that a question about a moment looks at where it names none."""
    return TimeSpan(start=max(0.0, at - AROUND), end=min(session.view.duration, at + AROUND))


def _absent(entity: Track | Registration, at: float, within: TimeSpan | None) -> str:
    where = ""
    if within is not None and not within.contains(at):
        where = f" inside {within.start:g} to {within.end:g} s, where that moment does not lie"
    if isinstance(entity, Registration):
        seen = f"it was registered at {entity.time:g} s and not tracked"
    else:
        seen = "it is seen " + ", ".join(f"{span.start:.1f} to {span.end:.1f} s" for span in entity.appearances[:6])
    return f"{entity.entity_id} ({entity.hint}) is not seen at {at:g} s{where}; {seen}."


def _where(session: Session, entity: Track, at: float, _: TimeSpan) -> str:
    box = entity.box(entity.nearest(at))
    return f"{position(box, session.view)} of the picture, {size_class(box, session.view)}, box {box.rounded()}"


def _doing(session: Session, entity: Track, _: float, span: TimeSpan) -> str:
    # An appearance ends with its last sighting, at which it is said to leave.
    closed = TimeSpan(start=span.start, end=session.view.frame_at(span.end).end)
    told = [
        (action.label, TimeSpan(start=action.start_time, end=action.end_time))
        for action, _ in actions_in(session, closed)
        if action.entity_id == entity.entity_id
    ]
    told = told or [(motion.label, motion.span) for motion in motions(session.view, entity, closed)]
    shown = [_timed(label, part) for label, stretch in told if (part := stretch.clip(span)) is not None]
    return ", ".join(dict.fromkeys(shown)) or "is seen"


def _looks(_: Session, entity: Track, __: float, ___: TimeSpan) -> str:
    return "wears " + " and ".join(entity.colours) if entity.colours else "no clear colour"


def _company(session: Session, entity: Track, at: float, _: TimeSpan) -> str:
    others = [track for track in tracks_at(session, at, near=0.0) if track.track_id != entity.track_id]
    named = ", ".join(f"{track.hint} ({track.entity_id})" for track in others[:5])
    return f"with {named}" if others else "nobody else is tracked then"


def _heard(session: Session, _: Track, __: float, span: TimeSpan) -> str:
    lines = session.view.speech.during(span)
    # A quote inside the quoted words would end them for whoever reads only what stands around them.
    words = [shorten(line.text, 120).replace('"', "'") for line in lines[:4]]
    quoted = " ".join(_timed(f'"{said}"', line.span) for said, line in zip(words, lines, strict=False))
    return f"said meanwhile (by whom is not known): {quoted}" if lines else "no words that are said then are known"


def _timed(what: str, span: TimeSpan) -> str:
    """What is told of a stretch around the moment, with the times it holds for."""
    return f"{what} ({span.start:.1f}-{span.end:.1f} s)"


_ALL: Sequence[Teller] = (_where, _doing, _company)
_MEASURED: Sequence[Teller] = (_where, _company, _heard)
_TOPICS: Sequence[tuple[tuple[str, ...], Teller]] = (
    (("where", "position", "location", "哪里", "哪儿", "位置", "在哪"), _where),
    (
        (
            "doing",
            "do ",
            "does",
            "action",
            "happen",
            "activity",
            "move",
            "walk",
            "stand",
            "做什么",
            "干什么",
            "动作",
            "干嘛",
        ),
        _doing,
    ),
    (("wear", "colour", "color", "look like", "cloth", "dress", "穿", "颜色", "长什么样"), _looks),
    (("with whom", "who else", "alone", "together", "company", "谁在", "一起", "独自"), _company),
    (("say", "said", "talk", "speak", "speech", "说", "讲"), _heard),
)


def _asked_for(query: str) -> list[Teller]:
    folded = fold(query) + " "
    return [tell for cues, tell in _TOPICS if any(cue in folded for cue in cues)]


#: Words of a question that ask for nothing of an entity's looks.
_ASIDE = frozenset("appearance appear moment now currently meanwhile then time scene video picture".split())


def words_judged(session: Session, query: str) -> tuple[list[str], list[str]]:
    """The words of a question that rows answer, and those that nothing measured answers.

    Of a question about looks each word counts (``hat`` is not measured); of others it is enough that the topic is known.
    """
    folded = fold(query) + " "
    cues = [cue.strip() for cues, _ in _TOPICS for cue in cues if cue in folded]
    if not cues:
        return [], unseen_words(query) or [query[:60]]
    if _looks not in _asked_for(query):
        return cues, []
    asked = session.vocabulary.read(query)
    rest = [word for word in asked.unmatched if word not in _ASIDE and not any(cue in word for cue in cues)]
    return list(dict.fromkeys([*cues, *asked.matched])), rest
