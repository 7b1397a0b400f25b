"""How many, how often, for how long, and whether at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from eval.sandbox.asking.drafts import Asker, Draft, choice, count, yes_or_no
from eval.sandbox.asking.kinds.alike import exchangeable
from eval.sandbox.asking.kinds.locating import named
from eval.sandbox.asking.known import APART, span_of
from eval.sandbox.asking.phrases import parts
from eval.sandbox.facts import Event, Person, Thing
from tool_induction.domains.domain import Template
from world_api.core.spans import TimeSpan

#: Each length that is offered differs from the next by this factor, so that a tracker's errors do not decide.
_LONGER = 1.4
_LENGTHS = 4
_SHORTEST = 2.0  #: seconds
#: A larger number is asked of nobody: people would not count it either.
MOST_COUNTED = 12
_MOST_SPANS = 20
_OFTEN = 2


def distinct_count(ask: Asker) -> Iterator[Draft]:
    """Different people of the video, or who enter a room; different things of a kind, in all or in a room."""
    for template in ask.templates("distinct_count"):
        if "{things}" in template.en:
            yield from _things(ask, template)
        elif "{place}" in template.en:
            yield from _who_enter(ask, template)
        elif len(ask.known.people) == len(ask.known.facts.people) <= MOST_COUNTED:
            spans = [ask.known.stretches(item.id)[0] for item in ask.known.people]
            yield count(template, len(ask.known.people), {}, spans)


def _who_enter(ask: Asker, template: Template) -> Iterator[Draft]:
    """Only of rooms where everybody who is seen there has been seen to come in."""
    for place in ask.some(ask.known.places):
        entering = [item for item in ask.known.events if item.kind == "enters" and item.place == place.id]
        inside = {person.id for person in ask.known.facts.people if place.id in ask.known.rooms_of(person.id)}
        actors = {item.actor for item in entering}
        if actors == inside and len(actors) <= MOST_COUNTED:
            yield count(template, len(actors), {"place": parts.place(place)}, _cut(entering))


def _things(ask: Asker, template: Template) -> Iterator[Draft]:
    categories = sorted({item.category for item in ask.known.facts.things})
    for category in categories:
        alike = [item for item in ask.known.facts.things if item.category == category]
        if len(alike) != len([item for item in ask.known.things if item.category == category]):
            continue  # one of them is never seen, or cannot be told from another
        if "{place}" not in template.en:
            spans = [ask.known.stretches(item.id)[0] for item in alike]
            yield count(template, len(alike), {"things": parts.things(category)}, spans)
            continue
        for place in ask.some(ask.known.places):
            visits = [visit for item in alike for visit in ask.known.visits(item.id) if visit.place == place.id]
            slots = {"things": parts.things(category), "place": parts.place(place)}
            kept = {item.id for item in alike if place.id in ask.known.rooms_ever(item.id)}
            is_clear = kept == {visit.subject for visit in visits}  # nothing of the kind is there unseen
            if is_clear and all(visit.end - visit.start >= APART for visit in visits):
                spans = [span_of(visit) for visit in visits[:_MOST_SPANS]]
                yield count(template, len({visit.subject for visit in visits}), slots, spans)


def occurrence_count(ask: Asker) -> Iterator[Draft]:
    """How often somebody does something: also what others do and this person never does.

    Only what somebody does more than once is asked about: of the rest the words would say that it is once or never.
    """
    phrases = {item.verb_phrase: item for item in ask.known.deeds}
    for template in ask.templates("occurrence_count"):
        for phrase, event in ask.some(phrases.items()):
            times = [(person, _times(ask, person, phrase)) for person in ask.known.people]
            if max((len(found) for _, found in times if found is not None), default=0) < _OFTEN:
                continue
            for person, found in times:
                if found is not None and len(found) <= MOST_COUNTED:
                    slots = {**named(person), "action": parts.deed(event)}
                    yield count(template, len(found), slots, _cut(found))


def _times(ask: Asker, person: Person, phrase: str) -> list[Event] | None:
    """When somebody does something, in order; None where it is not clear what is one time and what are two."""
    times = ask.known.times_of(person.id, phrase)
    is_clear = all(after.start - before.end >= APART for before, after in pairwise(times))
    return times if is_clear else None


def visible_duration(ask: Asker) -> Iterator[Draft]:
    """For how long: out of the lengths of others where those differ clearly, else of lengths that differ by a factor."""
    for template in ask.templates("visible_duration"):
        subjects: Sequence[Person | Thing] = ask.known.people if "{person}" in template.en else ask.known.things
        lengths = [(item, seconds) for item in subjects if (seconds := ask.known.seconds_seen(item.id)) >= _SHORTEST]
        rows = [(one, [length for _, length in others]) for one, others in exchangeable(ask, lengths, _differ)]
        long = [one for one in lengths if one[1] >= _SHORTEST * _LONGER ** (_LENGTHS - 1)]
        for (subject, right), wrong in rows or [(one, _scaled(ask, one[1])) for one in ask.some(long)]:
            options = [parts.seconds(item) for item in wrong]
            spans = ask.known.stretches(subject.id)[:_MOST_SPANS]
            yield choice(template, named(subject), spans, right=parts.seconds(right), wrong=[options])


def _differ(one: tuple[Person | Thing, float], other: tuple[Person | Thing, float]) -> bool:
    """Whether two lengths differ so much that nobody takes one for the other."""
    shorter, longer = sorted((one[1], other[1]))
    return longer >= shorter * _LONGER


def _scaled(ask: Asker, right: float) -> list[float]:
    place = ask.chance.randrange(_LENGTHS)
    return [right * _LONGER ** (number - place) for number in range(_LENGTHS) if number != place]


def presence(ask: Asker) -> Iterator[Draft]:
    """Whether a thing is seen at all; whether somebody is there after, before or between events."""
    for template in ask.templates("presence"):
        if "{object}" in template.en:
            yield from _ever_seen(ask, template)
        elif "{other_event}" in template.en:
            yield from _there_between(ask, template)
        else:
            yield from _there_beside(ask, template)


def _ever_seen(ask: Asker, template: Template) -> Iterator[Draft]:
    """Of two things with their colours exchanged: one that is there, and one that is not. Words are as frequent in both."""
    plain = [item for item in ask.known.things if item.name.removeprefix("the ") == f"{item.colour} {item.category}"]
    there = {(item.colour, item.category) for item in ask.known.facts.things}
    marked = {(word, item.category) for item in ask.known.facts.things for mark in item.marks for word in mark.split()}
    for one, other in ask.some(combinations(plain, 2)):
        exchanged = [(one.colour, other.category), (other.colour, one.category)]
        if any(pair in there | marked for pair in exchanged):
            continue
        item, (colour, kind) = ask.chance.choice((one, other)), ask.chance.choice(exchanged)
        spans = [ask.known.stretches(item.id)[0]]
        yield yes_or_no(template, True, {"object": parts.made_up(item.colour, item.category)}, spans)
        yield yes_or_no(template, False, {"object": parts.made_up(colour, kind)}, [])


def _there_beside(ask: Asker, template: Template) -> Iterator[Draft]:
    """Whether somebody is there before or after what another does."""
    before = "before" in template.en
    for event in ask.some(ask.known.told):
        for person in ask.some(ask.known.people, 3):
            stretches = ask.known.stretches(person.id)
            if person.id in (event.actor, event.other) or _near(stretches, event.start, event.end):
                continue
            there = [item for item in stretches if (item.end <= event.start if before else item.start >= event.end)]
            slots = {**named(person), "event": parts.clause(event)}
            spans = there[-1:] if before else there[:1]
            if all(item.duration >= APART for item in spans):
                yield yes_or_no(template, bool(there), slots, [*spans, span_of(event)])


def _there_between(ask: Asker, template: Template) -> Iterator[Draft]:
    for event in ask.some(ask.known.told):
        later = [item for item in ask.known.told if item.start > event.end + 2 * APART]
        for other in ask.some(later[:30], 2):
            for person in ask.some(ask.known.people, 2):
                stretches = ask.known.stretches(person.id)
                involved = {event.actor, event.other, other.actor, other.other}
                if person.id in involved or _near(stretches, event.start, event.end):
                    continue
                if _near(stretches, other.start, other.end):
                    continue
                there = [item for item in stretches if event.end < item.start and item.end < other.start]
                slots = {**named(person), "event": parts.doing(event), "other_event": parts.doing(other)}
                if all(item.duration >= APART for item in there):
                    spans = there[:1] or [TimeSpan(start=event.start, end=other.end)]
                    yield yes_or_no(template, bool(there), slots, spans)


def _near(stretches: Sequence[TimeSpan], start: float, end: float) -> bool:
    """Whether somebody is there about that time, so that "before" or "after" would be at a borderline."""
    return any(item.start < end + APART and item.end > start - APART for item in stretches)


def place_count(ask: Asker) -> Iterator[Draft]:
    """In how many rooms somebody is seen."""
    for template in ask.templates("place_count"):
        for person in ask.some(ask.known.people):
            visits = ask.known.visits(person.id)
            if all(item.place in ask.known.place_by_id and item.end - item.start >= APART for item in visits):
                rooms = {item.place: span_of(item) for item in reversed(visits)}
                yield count(template, len(rooms), named(person), sorted(rooms.values()))


def _cut(events: Sequence[Event]) -> list[TimeSpan]:
    return [span_of(item) for item in events[:_MOST_SPANS]]
