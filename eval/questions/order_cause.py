"""Question types of domain B: order of events, what happens right before and after, causes, changes.

Events that are compared share no person and no thing, so that common sense (picking up precedes putting down) does not
reveal the order. The wrong options of a choice are other events of the same film.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from eval.questions import phrasing as say
from eval.questions.drafts import (
    APART,
    RIGHT,
    Asker,
    Draft,
    Slots,
    alike,
    as_rare,
    by_name,
    by_shape,
    is_with_person,
    named,
    names_the_same,
    neighbour,
    related,
    says_the_same,
    shape,
    span_of,
)
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, Place, Relation, Thing
from eval.sandbox.story_world import clock_words
from world_api.core.spans import TimeSpan

_BETWEEN = 60.0  #: the longest time in seconds between two events of one question
_ORDERED = (3, 4)
CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
_CLOCKS, _STEPS = 4, (10, 15, 20, 25, 30)
_HUNG = ("hat", "scarf")  #: things that can be worn, which otherwise hang on hooks


def pair_order(ask: Asker) -> Iterator[Draft]:
    """Yield questions about which of two events is earlier (induction split), or whether the one named first is."""
    named_events = ask.film.named_events
    for one in ask.some(named_events):
        others = [item for item in named_events if not related(one, item) and _apart(one, item)]
        for two in ask.some((item for item in others if shape(item) == shape(one)), 1):
            event, other = (one, two) if ask.chance.random() < 0.5 else (two, one)
            is_first, spans = event.start < other.start, [span_of(event), span_of(other)]
            if ask.split == "induction":
                slots = {"event": say.clause(event), "other_event": say.clause(other)}
                right, wrong = slots.values() if is_first else reversed(slots.values())
                yield ask.choice(slots, spans, right, [[wrong]], bucket=str(is_first), fewest=2)
            else:
                yield ask.yes_or_no(is_first, {"event": say.doing(event), "other_event": say.doing(other)}, spans)


def _apart(one: Event, other: Event) -> bool:
    """Whether one event ends at least a second before the other begins."""
    return one.end + APART <= other.start or other.end + APART <= one.start


def sequence_order(ask: Asker) -> Iterator[Draft]:
    """Yield questions for the order of three or four events of different people with different things."""
    for row in unrelated_rows(ask, _ORDERED):
        yield ask.draft("order", {}, map(span_of, row), order=tuple(map(say.clause, row)))


def unrelated_rows(ask: Asker, lengths: Sequence[int]) -> Iterator[list[Event]]:
    """Yield lists of events in order of time: of one ``shape``, a second apart, of different people, different things.

    ``lengths`` are the possible numbers of events.
    """
    shapes = by_shape(ask.film.named_events)
    for _ in range(ask.most // 2 if shapes else 0):
        chosen: list[Event] = []
        for event in ask.some(shapes[ask.chance.choice(sorted(shapes))]):
            if all(not related(event, item) and _apart(event, item) for item in chosen):
                chosen.append(event)
        length = ask.chance.choice(lengths)
        if len(chosen) >= min(lengths):
            yield sorted(chosen[:length], key=lambda item: item.start)


def just_before(ask: Asker) -> Iterator[Draft]:
    """Yield questions about what a person does, or what happens, right before an event."""
    yield from _beside(ask, -1)


def just_after(ask: Asker) -> Iterator[Draft]:
    """Yield questions about what happens, what a person does, or how a person reacts, right after an event."""
    if not ask.says("react"):
        yield from _beside(ask, 1)
        return
    for cause, effect, _ in ask.some(ask.film.caused):
        if effect.actor != cause.actor and ask.film.is_clear(cause) and ask.film.is_deed(effect):
            slots = {**named(ask.film.person_by_id[effect.actor]), "event": say.doing(cause)}
            yield _one_deed(ask, slots, effect, [cause])


def _beside(ask: Asker, step: int) -> Iterator[Draft]:
    as_clause = ask.says("{event}?") and not ask.says("lead up")
    for event in ask.some(ask.film.named_events):
        said = say.clause(event) if as_clause else say.doing(event)
        if not ask.says("{person}"):
            found = neighbour(ask.film.around(event, RIGHT), event, step)
            if found is not None and ask.film.is_named(found) and not related(found, event):
                wrong = alike(found, ask.some(ask.film.named_events), [event], say.clause)
                yield ask.choice({"event": said}, [span_of(event), span_of(found)], say.clause(found), wrong)
            continue
        for person in ask.some(ask.film.people, 2):
            around = [item for item in ask.film.around(event, RIGHT) if item.actor == person.id]
            found = neighbour(around, event, step)
            if found is not None and ask.film.is_deed(found) and not related(found, event):
                yield _one_deed(ask, {**named(person), "event": said}, found, [event])


def _one_deed(
    ask: Asker,
    slots: Slots,
    right: Event,
    anchors: Sequence[Event],
    *,
    also: Sequence[Event] = (),
    among: Collection[str] | None = None,
) -> Draft:
    """Return a question for a deed of a person; ``right`` is the answer.

    Wrong options are other deeds of the person, then deeds of others only; with ``among`` only these verb phrases.
    ``anchors`` are the events in the question. ``also`` are deeds that would be right too; they are not among the options.
    """
    pool = [item for item in ask.film.deeds if among is None or item.verb_phrase in among]
    own = [item for item in pool if item.actor == right.actor and not any(says_the_same(item, one) for one in also)]
    tiers = alike(right, ask.some(as_rare(ask, right, own)), anchors, say.deed)
    theirs = [item for item in pool if right.actor not in (item.actor, item.other)]
    never = [item for item in ask.some(theirs) if not ask.film.times_of[right.actor, item.verb_phrase]]
    same = [item for item in as_rare(ask, right, never) if shape(item) == shape(right)]
    tiers.append([say.deed(item) for item in same if names_the_same(item, right, anchors)])
    return ask.choice(slots, [span_of(right)], say.deed(right), tiers)


def between(ask: Asker) -> Iterator[Draft]:
    """Yield questions about what happens, where a person goes, or what a person does between two events."""
    went: list[tuple[Slots, Event, Place]] = []
    did: list[tuple[Slots, Event, list[Event], list[Event]]] = []
    for event, other in _near_pairs(ask):
        slots = {"event": say.doing(event), "other_event": say.doing(other)}
        inside = [item for item in ask.film.events if event.end <= item.start and item.end <= other.start]
        if not ask.says("{person}"):
            yield from _happens(ask, slots, inside, [event, other])
            continue
        for person in ask.film.people:
            if person.id in (event.actor, event.other, other.actor, other.other):
                continue  # what a person continues to do can be guessed
            with_person = {**slots, **named(person)}
            own = [item for item in inside if item.actor == person.id]
            if ask.says("go between"):
                # The person enters one room, and has no event in another one.
                entered = [item for item in own if item.kind == "enters"]
                place = ask.film.place_by_id.get(entered[0].place) if entered else None
                if place is not None and {item.place for item in own} == {place.id}:
                    went.append((with_person, entered[0], place))
            elif deeds := [item for item in own if ask.film.is_deed(item)]:
                did += [(with_person, item, [event, other], deeds) for item in deeds]
    # A deed or room that is never right would be conspicuous: rooms that people only pass through are right more often.
    phrases = {right.verb_phrase for _, right, _, _ in did}
    for said, right, anchors, deeds in did:
        yield _one_deed(ask, said, right, anchors, also=deeds, among=phrases)
    rooms = {place.id: place for _, _, place in went}
    for said, event, place in went:
        wrong = [say.name(item) for item in rooms.values() if item is not place]
        yield ask.choice(said, [span_of(event)], say.name(place), [wrong])


def _near_pairs(ask: Asker) -> Iterator[tuple[Event, Event]]:
    for event in ask.some(ask.film.named_events):
        later = [item for item in ask.film.named_events if APART <= item.start - event.end <= _BETWEEN]
        for other in ask.some(later, 1):
            yield event, other


def _happens(ask: Asker, slots: Slots, inside: Sequence[Event], anchors: Sequence[Event]) -> Iterator[Draft]:
    clear = [item for item in inside if ask.film.is_named(item) and not any(related(item, one) for one in anchors)]
    if clear:
        right = ask.chance.choice(clear)
        start, end = anchors[0].start - APART, anchors[1].end + APART
        outside = [item for item in ask.film.named_events if item.end <= start or item.start >= end]
        wrong = alike(right, ask.some(outside), anchors, say.clause)
        yield ask.choice(slots, [span_of(right)], say.clause(right), wrong)


def cause(ask: Asker) -> Iterator[Draft]:
    """Yield questions about the reason of an event; wrong options are the reason with another person or time."""
    for before, effect, reason in ask.some(ask.film.caused):
        if not ask.film.is_named(effect) or not ask.film.happens_once(effect):
            continue
        slots = {"event": say.clause(effect)}
        if ask.says("{action}"):
            slots = {**named(ask.film.person_by_id[effect.actor]), "action": say.deed(effect)}
        wrong = [say.in_english(other) for other in _other_reasons(ask, effect, reason)]
        yield ask.choice(slots, [span_of(before), span_of(effect)], say.in_english(reason), [wrong])


def _other_reasons(ask: Asker, effect: Event, reason: str) -> list[str]:
    """Return the reason with other people in place of the one it begins with, else with other times of day, or nothing."""
    people = [item for item in ask.film.people if item.id != effect.actor]
    for person in people:
        if reason.startswith(person.description + " "):
            rest = reason.removeprefix(person.description)
            return [item.description + rest for item in people if item is not person]
    if clock := CLOCK.search(reason):
        return [CLOCK.sub(time, reason) for time in clock_times(ask, clock)[0]]
    return []


def clock_times(ask: Asker, clock: re.Match[str]) -> tuple[list[str], int]:
    """Return three other times of day ("09:45"), evenly spaced with the matched one, and how many are earlier."""
    minute = int(clock[1]) * 60 + int(clock[2])
    step, place = ask.chance.choice(_STEPS), ask.chance.randrange(_CLOCKS)
    moved = [minute + step * (number - place) for number in range(_CLOCKS) if number != place]
    return list(map(clock_words, moved)), place


def consequence(ask: Asker) -> Iterator[Draft]:
    """Yield questions about the event that an event, or a remark of a person, causes."""
    if ask.says("what changes for"):
        return  # the facts contain deeds, not changes
    for before, effect, _ in ask.some(ask.film.caused):
        if not (ask.film.is_clear(before) and ask.film.is_named(effect)):
            continue
        effects = [item for one, item, _ in ask.film.caused if one is before]
        pool = [item for item in ask.film.named_events if item not in effects and item.start >= before.end]
        spans, slots = [span_of(before), span_of(effect)], {"event": say.doing(before)}
        if ask.says("{person}"):
            slots = {**named(ask.film.person_by_id[effect.actor]), **slots}
            wrong = alike(effect, [item for item in pool if item.actor == effect.actor], [before], say.deed)
            yield ask.choice(slots, spans, say.deed(effect), wrong)
        else:
            yield ask.choice(slots, spans, say.clause(effect), alike(effect, ask.some(pool), [before], say.clause))


def state_change(ask: Asker) -> Iterator[Draft]:
    """Yield questions about where a thing is, or who has it, at the time of an event in which it has no part."""
    if not ask.says("by the time of"):
        return  # an event that moves a thing mentions where it is put
    for event in ask.some(ask.film.named_events):
        for thing in ask.some((item for item in ask.film.things if item.id != event.thing), 2):
            now = ask.film.kept_at(thing.id, event.start)
            shown = None if now is None else _shown(ask, thing, now, event.start)
            if now is None or shown is None or now.subject in (event.actor, event.other):
                continue
            slots = {"object": say.name(thing), "event": say.doing(event)}
            right, wrong = where(ask, thing, now), other_states(ask, thing, now, (event.actor, event.other))
            yield ask.choice(slots, [shown, span_of(event)], right, wrong)


def _shown(ask: Asker, thing: Thing, state: Relation, until: float) -> TimeSpan | None:
    """Return the span of the event that began ``state``, else the last one before ``until`` that shows the thing in it, or None."""
    if (put := put_there(ask, thing, state)) is not None:
        return span_of(put)
    end = min(until, state.end)
    seen = [span for span in ask.film.seen_spans[thing.id] if state.start <= span.start and span.end <= end]
    return seen[-1] if seen else None


def other_states(ask: Asker, thing: Thing, right: Relation, apart_from: Sequence[str] = ()) -> list[list[Say]]:
    """Return lists of wrong options for where a thing is, or who has it, if ``right`` is the true state.

    If a person has the thing, these are other people except ``apart_from`` (ids); otherwise places of the thing at
    other times, then of things of its category, then of other things.
    """
    if is_with_person(right):
        people = [item for item in ask.film.people if item.id != right.subject and item.id not in apart_from]
        return [[say.kept(right, person, None) for person in ask.some(people)]]
    tiers: tuple[list[Say], list[Say], list[Say]] = ([], [], [])
    for item in ask.film.things:
        if (item.category in _HUNG) != (thing.category in _HUNG):
            continue  # a cup on a hook is not a credible option
        states = ask.film.keeping[item.id]
        for state in states:
            # At first, or after it was moved, as the right state is.
            if state.kind == right.kind and (state is states[0]) == (right.start == 0):
                tier = 0 if item is thing else 1 if item.category == thing.category else 2
                tiers[tier].append(where(ask, item, state))
    return [ask.some(tier) for tier in tiers]


def put_there(ask: Asker, thing: Thing, state: Relation) -> Event | None:
    """Return the event on screen that began a state of a thing; None if no person is seen to begin it."""
    moves = (event for event in ask.film.deeds if event.thing == thing.id)
    return next((event for event in moves if event.start <= state.start <= event.end), None)


def where(ask: Asker, thing: Thing, state: Relation) -> Say:
    """Return the words for a thing's ``state``: where it is, with the room, or who has it."""
    if is_with_person(state):
        keeper = ask.film.person_by_id.get(state.subject)
        return say.kept(state, keeper, None) if keeper is not None else say.never
    place = ask.film.place_at(thing.id, (state.start + state.end) / 2)
    return say.kept(state, None, ask.film.place_by_id.get(place or ""))


def responsible(ask: Asker) -> Iterator[Draft]:
    """Yield questions about who put a thing where it is at the end."""
    for thing in ask.some(ask.film.things):
        states = ask.film.keeping[thing.id]
        if not states or is_with_person(states[-1]):
            continue
        last = states[-1]
        put = put_there(ask, thing, last)
        same = [item for item in states if (item.kind, item.object) == (last.kind, last.object)]
        if put is None or len(same) != 1:
            continue
        wrong = [say.name(item) for item in ask.some(ask.film.people) if item.id != put.actor]
        slots = {"fact": say.sentence("lies", say.name(thing), where(ask, thing, last))}
        yield ask.choice(slots, [span_of(put)], say.name(ask.film.person_by_id[put.actor]), [wrong])


MAKERS = by_name(
    pair_order, sequence_order, just_before, just_after, between, cause, consequence, state_change, responsible
)
