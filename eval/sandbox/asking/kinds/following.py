"""Answers that need one find after another: where a thing goes, who did what and then what, appointments, rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.sandbox.asking.drafts import Asker, Draft, choice
from eval.sandbox.asking.kinds.alike import alike, as_rare
from eval.sandbox.asking.kinds.causing import other_states, put_there, where
from eval.sandbox.asking.kinds.locating import named
from eval.sandbox.asking.known import does_so, is_with_person, span_of
from eval.sandbox.asking.phrases import Say, parts
from eval.sandbox.facts import Event, Person, Relation, Thing
from tool_induction.domains.domain import Template
from world_api.core.spans import TimeSpan

_CLOCKS = 4
_MINUTES = (10, 15, 20, 25, 30)
_MOST_HANDS = 5


def followed_thing(ask: Asker) -> Iterator[Draft]:
    """Where a thing ends up, through whose hands it goes, who has it and where it was at first."""
    for template in ask.templates("followed_thing"):
        for thing in ask.some(ask.known.things):
            states = ask.known.keeping(thing.id)
            moves = [put_there(ask, thing, state) for state in states[1:]]
            seen = [item for item in moves if item is not None]
            if not seen or len(seen) < len(moves):
                continue  # somebody moved it unseen
            if "end up" in template.en:
                yield _end(ask, template, thing, states, seen)
            elif "hands" in template.en:
                yield from _hands(ask, template, thing, states, seen)
            elif is_with_person(states[-1]) and not is_with_person(states[0]):
                yield from _end_and_origin(ask, template, thing, states, seen)


def _end(ask: Asker, template: Template, thing: Thing, states: Sequence[Relation], seen: Sequence[Event]) -> Draft:
    right = where(ask, thing, states[-1])
    spans = [span_of(seen[-1])]
    return choice(
        template, {"object": parts.thing(thing)}, spans, right=right, wrong=other_states(ask, thing, states[-1])
    )


def _hands(
    ask: Asker, template: Template, thing: Thing, states: Sequence[Relation], seen: Sequence[Event]
) -> Iterator[Draft]:
    holders: list[Person] = []
    for state in states:
        person = ask.known.person_by_id.get(state.subject) if is_with_person(state) else None
        if person is not None and (not holders or holders[-1] is not person):
            holders.append(person)
    if not 1 <= len(holders) <= _MOST_HANDS:
        return
    wrong = [row for _ in range(12) if (row := _some_row(ask, len(holders))) != holders]
    options = [parts.handed(row) for row in wrong]
    spans = [span_of(item) for item in seen]
    yield choice(template, {"object": parts.thing(thing)}, spans, right=parts.handed(holders), wrong=[options])


def _some_row(ask: Asker, length: int) -> list[Person]:
    """As many people, nobody twice in a row."""
    row: list[Person] = []
    while len(row) < length:
        row.append(ask.chance.choice([item for item in ask.known.people if not row or item is not row[-1]]))
    return row


def _end_and_origin(
    ask: Asker, template: Template, thing: Thing, states: Sequence[Relation], seen: Sequence[Event]
) -> Iterator[Draft]:
    """Holder and origin, each right or wrong: four options, none of whose halves stands out."""
    holder = ask.known.person_by_id.get(states[-1].subject)
    origins = [
        (item, ask.known.keeping(item.id)[0])
        for item in ask.known.things
        if item is not thing and ask.known.keeping(item.id)
    ]
    places = [(item, state) for item, state in origins if not is_with_person(state)]
    others = [item for item in ask.known.people if item is not holder]
    if holder is None or not places or not others:
        return
    origin, elsewhere = where(ask, thing, states[0]), where(ask, *ask.chance.choice(places))
    other = ask.chance.choice(others)
    wrong = [parts.had(holder, elsewhere), parts.had(other, origin), parts.had(other, elsewhere)]
    spans = [span_of(seen[0]), span_of(seen[-1])]
    yield choice(
        template, {"object": parts.thing(thing)}, spans, right=parts.had(holder, origin), wrong=[wrong], is_crossed=True
    )


def spoken_reference(ask: Asker) -> Iterator[Draft]:
    """When somebody's appointment is: those who have one only."""
    for template in ask.templates("spoken_reference"):
        if "appointment" not in template.en:
            continue  # what words refer to beyond themselves is not in the facts
        kept = [item for item in ask.known.facts.facts if item.kind == "appointment"]
        for person in ask.known.people:
            own = [item for item in kept if person.id in item.values.get("people", "").split()]
            minute = _minute(own[0].values.get("time", "")) if len(own) == 1 else None
            if minute is None:
                continue
            step, place = ask.chance.choice(_MINUTES), ask.chance.randrange(_CLOCKS)
            times = [minute + step * (number - place) for number in range(_CLOCKS)]
            options = [parts.quoted(f"{time // 60 % 24:02d}:{time % 60:02d}") for time in times]
            wrong = [item for number, item in enumerate(options) if number != place]
            spans = [TimeSpan(start=start, end=end) for start, end in own[0].spans]
            yield choice(template, named(person), spans, right=options[place], wrong=[wrong], bucket=str(place))


def _minute(clock: str) -> int | None:
    """Minutes of the day."""
    hours, colon, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes) if colon and hours.isdecimal() and minutes.isdecimal() else None


def chain(ask: Asker) -> Iterator[Draft]:
    """What the doer of a deed does later; who of those in a room is later seen with a thing."""
    for template in ask.templates("chain"):
        if "{action}" in template.en:
            yield from _afterwards(ask, template)
        elif "later seen with" in template.en:
            yield from _later_with(ask, template)


def _afterwards(ask: Asker, template: Template) -> Iterator[Draft]:
    for event in ask.some(ask.known.told):
        doers = [item for person in ask.known.people for item in ask.known.times_of(person.id, event.verb_phrase)]
        if len(doers) != 1:
            continue
        later = [item for item in ask.known.deeds_of(event.actor) if item.start >= event.end]
        if not later:
            continue
        right = later[0]
        earlier = [item for item in ask.known.deeds_of(event.actor) if item.end <= event.start]
        others = [item for item in ask.known.deeds if item.kind == right.kind and item.actor != event.actor]
        pool = [
            item
            for item in [*earlier, *ask.some(others)]
            if item.other != event.actor and not any(does_so(one, item.verb_phrase) for one in later)
        ]
        wrong = alike(right, as_rare(ask, right, pool), [event], parts.deed)
        spans = [span_of(event), span_of(right)]
        yield choice(template, {"action": parts.does(event)}, spans, right=parts.deed(right), wrong=wrong)


def _later_with(ask: Asker, template: Template) -> Iterator[Draft]:
    for place in ask.some(ask.known.places):
        inside = {
            person.id: next(item for item in ask.known.visits(person.id) if item.place == place.id)
            for person in ask.known.people
            if place.id in ask.known.rooms_of(person.id)
        }
        for thing in ask.some(ask.known.things):
            having = [item for item in ask.known.keeping(thing.id) if is_with_person(item)]
            later = {item.subject for item in having if item.subject in inside and item.end > inside[item.subject].end}
            if len(later) != 1:
                continue
            holder = later.pop()
            own = [item for item in having if item.subject == holder and item.start > inside[holder].end]
            seen = [item for item in own if ask.known.seen_within(holder, item.start, item.end) >= 1.0]
            if not seen:
                continue
            wrong = [parts.person(ask.known.person_by_id[item]) for item in inside if item != holder]
            having_it = [item.clip(span_of(seen[0])) for item in ask.known.stretches(holder)]
            slots: dict[str, Say] = {"place": parts.place(place), "object": parts.thing(thing)}
            spans = [span_of(inside[holder]), *[item for item in having_it if item is not None][:1]]
            yield choice(template, slots, spans, right=parts.person(ask.known.person_by_id[holder]), wrong=[wrong])


def general_rule(ask: Asker) -> Iterator[Draft]:
    """Where things with a label are put, out of all that can be opened."""
    for template in ask.templates("general_rule"):
        targets = {
            (item.target, item.place) for item in ask.known.deeds if item.kind in ("opens", "closes") and item.target
        }
        rules = [item for item in ask.known.facts.facts if item.kind == "rule"]
        targets |= {(item.values.get("target", ""), item.values.get("place", "")) for item in rules}
        for rule in rules:
            own = (rule.values.get("target", ""), rule.values.get("place", ""))
            room = ask.known.place_by_id.get(own[1])
            if room is None or not own[0]:
                continue
            wrong = [
                parts.put_into(target, ask.known.place_by_id[place])
                for target, place in sorted(targets - {own})
                if place in ask.known.place_by_id and target and "door" not in target
            ]
            slots = {"things": parts.labelled(rule.values.get("category", ""), rule.values.get("label", ""))}
            spans = [TimeSpan(start=start, end=end) for start, end in rule.spans]
            yield choice(template, slots, spans, right=parts.put_into(own[0], room), wrong=[wrong])
