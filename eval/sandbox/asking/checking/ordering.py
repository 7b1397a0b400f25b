"""Answers of domain B, found anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eval.sandbox.asking.checking.locating import Check
from eval.sandbox.asking.checking.reading import Asked, Unclear, one, spoken
from eval.sandbox.asking.phrases import Unsayable
from eval.sandbox.facts import Event, Person, Place, Relation, Thing

_KEPT = ("on", "inside", "holds", "wears")


def pair_order(asked: Asked) -> Sequence[bool] | bool:
    """By their beginnings; neither may reach into the other."""
    event, other = asked.event(), asked.event("other_event")
    if event.end > other.start and other.end > event.start:
        raise Unclear("one goes on while the other does")
    if asked.item.question.options == (asked.words.say.answer(True), asked.words.say.answer(False)):
        return event.start < other.start
    first = min((event, other), key=lambda item: item.start)
    return [asked.words.say.clause(first) == option for option in asked.item.question.options]


def sequence_order(asked: Asked) -> bool:
    """By their beginnings."""
    question = asked.item.question
    events = {
        letter: one(asked.words.events, text) for letter, text in zip(question.letters, question.options, strict=True)
    }
    listed = all(
        f"({letter}) {text}" in question.text for letter, text in zip(question.letters, question.options, strict=True)
    )
    return listed and list(asked.item.answer) == sorted(events, key=lambda letter: events[letter].start)


def beside(asked: Asked) -> Sequence[bool]:
    """The nearest event on one side: of all, or of somebody; or what somebody did because of it."""
    event = asked.event()
    person = asked.person() if "person" in asked.slots else None
    if asked.template == "just_after/test/0":
        return _matching(asked, _effects(asked, event), person)
    others = [item for item in asked.facts.events if item is not event and (person is None or item.actor == person.id)]
    if asked.type == "just_before":
        found = max((item for item in others if item.end <= event.start), key=lambda item: item.end, default=None)
    else:
        found = min((item for item in others if item.start >= event.end), key=lambda item: item.start, default=None)
    return _matching(asked, [] if found is None else [found], person)


def between(asked: Asked) -> Sequence[bool]:
    """Whatever lies in between."""
    event, other = asked.event(), asked.event("other_event")
    person = asked.person() if "person" in asked.slots else None
    inside = [item for item in asked.facts.events if event.end <= item.start and item.end <= other.start]
    own = [item for item in inside if person is None or item.actor == person.id]
    if asked.template == "between/development/0":
        rooms = {item.place for item in own if item.kind == "enters"}
        return [one(asked.words.places, option).id in rooms for option in asked.item.question.options]
    return _matching(asked, own, person)


def _matching(asked: Asked, events: Iterable[Event], person: Person | None) -> list[bool]:
    """Which options tell one of the events."""
    way = asked.words.say.clause if person is None else asked.words.say.deed
    told = {spoken(way, item) for item in events}
    return [option in told for option in asked.item.question.options]


def cause(asked: Asked) -> Sequence[bool]:
    """The reasons of the effect."""
    is_told = "event" in asked.slots
    effects = [asked.event()] if is_told else asked.words.done_by(asked.person(), asked.slots["action"])
    if len(effects) != 1:
        raise Unclear(f"it happens {len(effects)} times")
    reasons = {item.reason for item in asked.facts.causes if item.effect == effects[0].id}
    return [option in reasons for option in asked.item.question.options]


def consequence(asked: Asked) -> Sequence[bool]:
    """The effects of the event."""
    person = asked.person() if "person" in asked.slots else None
    return _matching(asked, _effects(asked, asked.event()), person)


def _effects(asked: Asked, event: Event) -> list[Event]:
    names = {item.effect for item in asked.facts.causes if item.cause == event.id}
    return [item for item in asked.facts.events if item.id in names]


def state_change(asked: Asked) -> Sequence[bool]:
    """The one state that holds when the event begins."""
    told = told_state(asked, asked.thing(), asked.event().start)
    return [option == told for option in asked.item.question.options]


def told_state(asked: Asked, thing: Thing, time: float) -> str:
    """Where a thing is at a moment, in words.

    Raises:
        Unclear: it is in two states, or in none that can be told.
    """
    states = [item for item in states_of(asked, thing) if item.start <= time < item.end]
    if len(states) != 1:
        raise Unclear(f"{thing.name} is in {len(states)} states")
    return tell(asked, thing, states[0], time)


def states_of(asked: Asked, thing: Thing) -> list[Relation]:
    """What becomes of a thing, in order."""
    found = [item for item in asked.facts.relations if item.kind in _KEPT and thing.id in (item.subject, item.object)]
    return sorted(found, key=lambda item: item.start)


def tell(asked: Asked, thing: Thing, state: Relation, time: float) -> str:
    """A state in words."""
    keeper = next((item for item in asked.facts.people if item.id == state.subject), None)
    rooms = [
        item.object
        for item in asked.facts.relations
        if item.kind == "in" and item.subject == thing.id and item.start <= time < item.end
    ]
    room: Place | None = next((item for item in asked.facts.places if rooms and item.id == rooms[0]), None)
    try:
        return asked.words.say.kept(state, keeper, None if keeper is not None else room)
    except Unsayable as word:
        raise Unclear(f"{word} cannot be said") from None


def responsible(asked: Asked) -> Sequence[bool]:
    """Who had it last, of the things of which the fact is true at the end."""
    makers = []
    for thing in asked.facts.things:
        states = states_of(asked, thing)
        if not states or states[-1].kind in ("holds", "wears"):
            continue
        middle = (states[-1].start + states[-1].end) / 2
        try:
            fact = asked.words.say.lies(asked.words.say.thing(thing), tell(asked, thing, states[-1], middle))
        except (Unsayable, Unclear):
            continue
        if fact == asked.slots["fact"]:
            handled = [item for item in asked.facts.events if item.thing == thing.id and item.kind == "puts_down"]
            makers.append(max(handled, key=lambda item: item.end).actor)
    if len(makers) != 1:
        raise Unclear(f"the fact is true of {len(makers)} things")
    return [one(asked.words.people, option).id == makers[0] for option in asked.item.question.options]


ORDERING: Mapping[str, Check] = {
    "pair_order": pair_order,
    "sequence_order": sequence_order,
    "just_before": beside,
    "just_after": beside,
    "between": between,
    "cause": cause,
    "consequence": consequence,
    "state_change": state_change,
    "responsible": responsible,
}
