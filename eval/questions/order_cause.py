"""Question types of domain B: order, neighbours, causes, changes.

Events that are compared share no person and no thing, so that no habit of life (one picks up before one puts down) gives the
order away; the wrong options of a choice are other events of the same film.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from eval.questions import phrasing as say
from eval.questions.drafts import (
    APART,
    RIGHT,
    Asker,
    Draft,
    Maker,
    alike,
    as_rare,
    choice,
    is_with_person,
    names_the_same,
    neighbour,
    related,
    says_the_same,
    shape,
    span_of,
    yes_or_no,
)
from eval.questions.locate_count import named
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, Place, Relation, Thing
from tool_induction.domains.domain import Template
from world_api.core.spans import TimeSpan

#: Between two events that a question names there are at most so many others (of whoever it is about).
_BETWEEN = 60.0
_ORDERED = (3, 4)


def pair_order(ask: Asker, template: Template) -> Iterator[Draft]:
    """Which of two events comes first, or whether one does."""
    for event, other in _unrelated_pairs(ask):
        first = event.start < other.start
        spans = [span_of(event), span_of(other)]
        if template.split == "induction":
            slots = {"event": say.clause(event), "other_event": say.clause(other)}
            right, wrong = (event, other) if first else (other, event)
            options = [[say.clause(wrong)]]
            said = say.clause(right)
            yield choice(template, slots, spans, right=said, wrong=options, bucket=str(first), fewest=2)
        else:
            slots = {"event": say.doing(event), "other_event": say.doing(other)}
            yield yes_or_no(template, first, slots, spans)


def _unrelated_pairs(ask: Asker) -> Iterator[tuple[Event, Event]]:
    named_events = ask.film.named_events
    for event in ask.some(named_events):
        others = [item for item in named_events if not related(event, item) and _apart(event, item)]
        for other in ask.some((item for item in others if shape(item) == shape(event)), 1):
            yield (event, other) if ask.chance.random() < 0.5 else (other, event)


def _apart(one: Event, other: Event) -> bool:
    """Whether one is clearly over before the other begins."""
    return one.end + APART <= other.start or other.end + APART <= one.start


def sequence_order(ask: Asker, template: Template) -> Iterator[Draft]:
    """Three or four events of different people with different things, in their order."""
    for row in unrelated_rows(ask, _ORDERED):
        spans = tuple(span_of(item) for item in row)
        order = tuple(say.clause(item) for item in row)
        yield Draft(template=template, kind="order", slots={}, spans=spans, order=order)


def unrelated_rows(ask: Asker, lengths: Sequence[int]) -> Iterator[list[Event]]:
    """Rows of events of one kind in their order, of different people with different things, clearly one after the other."""
    by_shape: dict[tuple[str, bool, bool, bool], list[Event]] = {}
    for event in ask.film.named_events:
        by_shape.setdefault(shape(event), []).append(event)
    for _ in range(ask.most // 2 if by_shape else 0):
        chosen: list[Event] = []
        for event in ask.some(by_shape[ask.chance.choice(sorted(by_shape))]):
            if all(not related(event, item) and _apart(event, item) for item in chosen):
                chosen.append(event)
        length = ask.chance.choice(lengths)
        if len(chosen) >= min(lengths):
            yield sorted(chosen[:length], key=lambda item: item.start)


def just_before(ask: Asker, template: Template) -> Iterator[Draft]:
    """What somebody does right before an event, or what happens at all."""
    yield from _beside(ask, template, -1)


def just_after(ask: Asker, template: Template) -> Iterator[Draft]:
    """What happens right after an event, what somebody does then, or how they react to it."""
    yield from _reaction(ask, template) if "react" in template.en else _beside(ask, template, 1)


def _beside(ask: Asker, template: Template, step: int) -> Iterator[Draft]:
    as_clause = "{event}?" in template.en and "lead up" not in template.en
    for event in ask.some(ask.film.named_events):
        said = say.clause(event) if as_clause else say.doing(event)
        if "{person}" not in template.en:
            found = neighbour(ask.film.around(event, RIGHT), event, step)
            if found is not None and ask.film.is_named(found) and not related(found, event):
                wrong = alike(found, ask.some(ask.film.named_events), [event], say.clause)
                spans = [span_of(event), span_of(found)]
                yield choice(template, {"event": said}, spans, right=say.clause(found), wrong=wrong)
            continue
        for person in ask.some(ask.film.people, 2):
            around = [item for item in ask.film.around(event, RIGHT) if item.actor == person.id]
            found = neighbour(around, event, step)
            if found is not None and ask.film.is_deed(found) and not related(found, event):
                yield _one_deed(ask, template, {**named(person), "event": said}, found, [event])


def _one_deed(
    ask: Asker,
    template: Template,
    slots: Mapping[str, Say],
    right: Event,
    anchors: Sequence[Event],
    *,
    also: Sequence[Event] = (),
) -> Draft:
    """Which deed of somebody; the wrong ones are others of the same person, then such as only others do.

    ``also`` are deeds that would be right as well.
    """
    own = [item for item in ask.film.deeds_of(right.actor) if not any(says_the_same(item, one) for one in also)]
    tiers = alike(right, ask.some(as_rare(ask, right, own)), anchors, say.deed)
    theirs = [item for item in ask.film.deeds if right.actor not in (item.actor, item.other)]
    never = [item for item in ask.some(theirs) if not ask.film.times_of(right.actor, item.verb_phrase)]
    same = [item for item in as_rare(ask, right, never) if shape(item) == shape(right)]
    tiers.append([say.deed(item) for item in same if names_the_same(item, right, anchors)])
    return choice(template, slots, [span_of(right)], right=say.deed(right), wrong=tiers)


def _reaction(ask: Asker, template: Template) -> Iterator[Draft]:
    """What somebody does because of an event."""
    for cause, effect, _ in ask.some(ask.film.caused):
        if effect.actor != cause.actor and ask.film.is_clear(cause) and ask.film.is_deed(effect):
            slots = {**named(ask.film.person_by_id[effect.actor]), "event": say.doing(cause)}
            yield _one_deed(ask, template, slots, effect, [cause])


def between(ask: Asker, template: Template) -> Iterator[Draft]:
    """What happens between two events, where somebody goes, what somebody does."""
    asks_where = "go between" in template.en
    went: list[tuple[Mapping[str, Say], tuple[Event, Place]]] = []
    for event, other in _near_pairs(ask):
        slots = {"event": say.doing(event), "other_event": say.doing(other)}
        inside = [item for item in ask.film.events if event.end <= item.start and item.end <= other.start]
        if "{person}" not in template.en:
            yield from _happens(ask, template, slots, inside, [event, other])
            continue
        for person in ask.some(ask.film.people, 2):
            asked = {**slots, **named(person)}
            if person.id in (event.actor, event.other, other.actor, other.other):
                continue  # what somebody goes on with can be guessed
            own = [item for item in inside if item.actor == person.id]
            if asks_where:
                gone = _goes(ask, own)
                went += [(asked, gone)] if gone is not None else []
            elif deeds := [item for item in own if ask.film.is_deed(item)]:
                yield _one_deed(ask, template, asked, ask.chance.choice(deeds), [event, other], also=deeds)
    rooms = {place.id: place for _, (_, place) in went}  # others are never right: they would be told by that
    for said, (entered, place) in went:
        wrong = [say.name(item) for item in rooms.values() if item is not place]
        yield choice(template, said, [span_of(entered)], right=say.name(place), wrong=[wrong])


def _near_pairs(ask: Asker) -> Iterator[tuple[Event, Event]]:
    for event in ask.some(ask.film.named_events):
        later = [item for item in ask.film.named_events if APART <= item.start - event.end <= _BETWEEN]
        for other in ask.some(later, 1):
            yield event, other


def _happens(
    ask: Asker, template: Template, slots: Mapping[str, Say], inside: Sequence[Event], anchors: Sequence[Event]
) -> Iterator[Draft]:
    named_events = [
        item for item in inside if ask.film.is_named(item) and not any(related(item, one) for one in anchors)
    ]
    if named_events:
        right = ask.chance.choice(named_events)
        start, end = anchors[0].start - APART, anchors[1].end + APART
        outside = [item for item in ask.film.named_events if item.end <= start or item.start >= end]
        wrong = alike(right, ask.some(outside), anchors, say.clause)
        yield choice(template, slots, [span_of(right)], right=say.clause(right), wrong=wrong)


def _goes(ask: Asker, own: Sequence[Event]) -> tuple[Event, Place] | None:
    """Where somebody is seen to go, who comes into one room only meanwhile."""
    entered = [item for item in own if item.kind == "enters"]
    if len({item.place for item in entered}) != 1 or len({item.place for item in own}) != 1:
        return None
    place = ask.film.place_by_id.get(entered[0].place)
    return None if place is None else (entered[0], place)


_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
#: Things that are worn; off, they hang.
_HUNG = ("hat", "scarf")
_CLOCKS, _STEPS = 4, (10, 15, 20, 25, 30)


def cause(ask: Asker, template: Template) -> Iterator[Draft]:
    """The reason, out of reasons of the same words with somebody else or another time in them."""
    for before, effect, reason in ask.some(ask.film.caused):
        if not ask.film.is_named(effect) or not ask.film.happens_once(effect):
            continue
        slots = (
            {**named(ask.film.person_by_id[effect.actor]), "action": say.deed(effect)}
            if "{action}" in template.en
            else {"event": say.clause(effect)}
        )
        wrong = [say.in_english(other) for other in _other_reasons(ask, effect, reason)]
        spans = [span_of(before), span_of(effect)]
        yield choice(template, slots, spans, right=say.in_english(reason), wrong=[wrong])


def _other_reasons(ask: Asker, effect: Event, reason: str) -> list[str]:
    """The reason with another person than the one it names (who is not the effect's), or with another time."""
    people = [item for item in ask.film.people if item.id != effect.actor]
    for person in people:
        if reason.startswith(person.description + " "):
            rest = reason.removeprefix(person.description)
            return [item.description + rest for item in people if item is not person]
    if clock := _CLOCK.search(reason):
        minute, step = int(clock[1]) * 60 + int(clock[2]), ask.chance.choice(_STEPS)
        place = ask.chance.randrange(_CLOCKS)
        moved = [minute + step * (number - place) for number in range(_CLOCKS) if number != place]
        return [_CLOCK.sub(f"{item // 60 % 24:02d}:{item % 60:02d}", reason) for item in moved]
    return []


def consequence(ask: Asker, template: Template) -> Iterator[Draft]:
    """What an event, or what somebody said, brings about."""
    if "what changes for" in template.en:
        return  # a change is no deed; the facts know of deeds
    for before, effect, _ in ask.some(ask.film.caused):
        if not (ask.film.is_clear(before) and ask.film.is_named(effect)):
            continue
        effects = [item for one, item, _ in ask.film.caused if one is before]
        pool = [item for item in ask.film.named_events if item not in effects and item.start >= before.end]
        spans = [span_of(before), span_of(effect)]
        if "{person}" in template.en:
            own = [item for item in pool if item.actor == effect.actor]
            slots = {**named(ask.film.person_by_id[effect.actor]), "event": say.doing(before)}
            wrong = alike(effect, own, [before], say.deed)
            yield choice(template, slots, spans, right=say.deed(effect), wrong=wrong)
        else:
            slots = {"event": say.doing(before)}
            wrong = alike(effect, ask.some(pool), [before], say.clause)
            yield choice(template, slots, spans, right=say.clause(effect), wrong=wrong)


def state_change(ask: Asker, template: Template) -> Iterator[Draft]:
    """Where a thing is, or with whom, at the time of an event that does not name it.

    The other wordings are left out: an event that changes where a thing is names what changes.
    """
    if "by the time of" not in template.en:
        return
    for event in ask.some(ask.film.named_events):
        for thing in ask.some((item for item in ask.film.things if item.id != event.thing), 2):
            now = ask.film.kept_at(thing.id, event.start)
            shown = None if now is None else _shown(ask, thing, now, event.start)
            if now is None or shown is None or now.subject in (event.actor, event.other):
                continue
            slots = {"object": say.name(thing), "event": say.doing(event)}
            right, wrong = where(ask, thing, now), other_states(ask, thing, now, (event.actor, event.other))
            yield choice(template, slots, [shown, span_of(event)], right=right, wrong=wrong)


def _shown(ask: Asker, thing: Thing, state: Relation, until: float) -> TimeSpan | None:
    """The stretch that shows a thing's state before a moment: how it came to be so, or the thing in it."""
    put = put_there(ask, thing, state)
    if put is not None:
        return span_of(put)
    seen = [
        span
        for span in ask.film.seen_spans(thing.id)
        if state.start <= span.start and span.end <= min(until, state.end)
    ]
    return seen[-1] if seen else None


def other_states(ask: Asker, thing: Thing, right: Relation, apart_from: Sequence[str] = ()) -> list[list[Say]]:
    """States of the right one's kind: with somebody else, or elsewhere in or on something; the thing's own ones first."""
    if is_with_person(right):
        people = [item for item in ask.film.people if item.id != right.subject and item.id not in apart_from]
        return [[say.kept(right, person, None) for person in ask.some(people)]]
    same = [item for item in ask.film.things if hangs(item) == hangs(thing)]
    states = [(item, state) for item in same for state in _places(ask, item, right)]
    own = [where(ask, item, state) for item, state in states if item is thing]
    alike = [where(ask, item, state) for item, state in states if item is not thing and item.category == thing.category]
    others = [where(ask, item, state) for item, state in states if item.category != thing.category]
    return [ask.some(own), ask.some(alike), ask.some(others)]


def hangs(thing: Thing) -> bool:
    """Whether a thing is hung up: nobody takes a cup to be on a hook."""
    return thing.category in _HUNG


def _places(ask: Asker, thing: Thing, right: Relation) -> list[Relation]:
    """Where a thing lies, like the right state: on or inside of something, at first or after it was moved."""
    states = ask.film.keeping(thing.id)
    return [item for item in states if item.kind == right.kind and (item is states[0]) == (right.start == 0)]


def put_there(ask: Asker, thing: Thing, state: Relation) -> Event | None:
    """The event on screen with which a thing came to be where it is; None where nobody is seen to bring that about."""
    for event in ask.film.deeds:
        if event.thing == thing.id and event.start <= state.start <= event.end:
            return event
    return None


def where(ask: Asker, thing: Thing, state: Relation) -> Say:
    """Where a thing is, with the room, or who has it."""
    if is_with_person(state):
        keeper = ask.film.person_by_id.get(state.subject)
        return say.kept(state, keeper, None) if keeper is not None else say.never
    room = ask.film.room_at(thing.id, (state.start + state.end) / 2)
    return say.kept(state, None, ask.film.place_by_id.get(room or ""))


def responsible(ask: Asker, template: Template) -> Iterator[Draft]:
    """Who put a thing where it is at the end."""
    for thing in ask.some(ask.film.things):
        states = ask.film.keeping(thing.id)
        if not states or is_with_person(states[-1]):
            continue
        last = states[-1]
        put = put_there(ask, thing, last)
        same = [item for item in states if (item.kind, item.object) == (last.kind, last.object)]
        if put is None or len(same) != 1:
            continue
        wrong = [say.name(item) for item in ask.some(ask.film.people) if item.id != put.actor]
        right = say.name(ask.film.person_by_id[put.actor])
        slots = {"fact": say.sentence("lies", say.name(thing), where(ask, thing, last))}
        yield choice(template, slots, [span_of(put)], right=right, wrong=[wrong])


MAKERS: Mapping[str, Maker] = {
    maker.__name__: maker
    for maker in (
        pair_order,
        sequence_order,
        just_before,
        just_after,
        between,
        cause,
        consequence,
        state_change,
        responsible,
    )
}
