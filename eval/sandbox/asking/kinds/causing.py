"""Why something happens, what follows from it, how a thing's place changes, and who brought that about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eval.sandbox.asking.drafts import Asker, Draft, choice
from eval.sandbox.asking.kinds.alike import alike
from eval.sandbox.asking.kinds.locating import named
from eval.sandbox.asking.known import is_with_person, span_of
from eval.sandbox.asking.phrases import Say, parts
from eval.sandbox.facts import Event, Relation, Thing
from world_api.core.spans import TimeSpan

_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
#: Things that are worn; off, they hang.
_HUNG = ("hat", "scarf")
_CLOCKS, _STEPS = 4, (10, 15, 20, 25, 30)


def cause(ask: Asker) -> Iterator[Draft]:
    """The reason, out of reasons of the same words with somebody else or another time in them."""
    for template in ask.templates("cause"):
        for before, effect, reason in ask.some(ask.known.caused):
            if not ask.known.is_told(effect) or not ask.known.is_told_once(effect):
                continue
            slots = (
                {**named(ask.known.person_by_id[effect.actor]), "action": parts.deed(effect)}
                if "{action}" in template.en
                else {"event": parts.clause(effect)}
            )
            wrong = [parts.in_english(other) for other in _other_reasons(ask, effect, reason)]
            spans = [span_of(before), span_of(effect)]
            yield choice(template, slots, spans, right=parts.in_english(reason), wrong=[wrong])


def _other_reasons(ask: Asker, effect: Event, reason: str) -> list[str]:
    """The reason with another person than the one it names (who is not the effect's), or with another time."""
    people = [item for item in ask.known.people if item.id != effect.actor]
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


def consequence(ask: Asker) -> Iterator[Draft]:
    """What an event, or what somebody said, brings about."""
    for template in ask.templates("consequence"):
        if "what changes for" in template.en:
            continue  # a change is no deed; the facts know of deeds
        for before, effect, _ in ask.some(ask.known.caused):
            if not (ask.known.is_clear(before) and ask.known.is_told(effect)):
                continue
            effects = [item for one, item, _ in ask.known.caused if one is before]
            pool = [item for item in ask.known.told if item not in effects and item.start >= before.end]
            spans = [span_of(before), span_of(effect)]
            if "{person}" in template.en:
                own = [item for item in pool if item.actor == effect.actor]
                slots = {**named(ask.known.person_by_id[effect.actor]), "event": parts.doing(before)}
                wrong = alike(effect, own, [before], parts.deed)
                yield choice(template, slots, spans, right=parts.deed(effect), wrong=wrong)
            else:
                slots = {"event": parts.doing(before)}
                wrong = alike(effect, ask.some(pool), [before], parts.clause)
                yield choice(template, slots, spans, right=parts.clause(effect), wrong=wrong)


def state_change(ask: Asker) -> Iterator[Draft]:
    """Where a thing is, or with whom, at the time of an event that does not name it.

    The other wordings are left out: an event that changes where a thing is names what changes.
    """
    for template in ask.templates("state_change"):
        if "by the time of" not in template.en:
            continue
        for event in ask.some(ask.known.told):
            for thing in ask.some((item for item in ask.known.things if item.id != event.thing), 2):
                now = ask.known.kept_at(thing.id, event.start)
                shown = None if now is None else _shown(ask, thing, now, event.start)
                if now is None or shown is None or now.subject in (event.actor, event.other):
                    continue
                slots = {"object": parts.thing(thing), "event": parts.doing(event)}
                right, wrong = where(ask, thing, now), other_states(ask, thing, now, (event.actor, event.other))
                yield choice(template, slots, [shown, span_of(event)], right=right, wrong=wrong)


def _shown(ask: Asker, thing: Thing, state: Relation, until: float) -> TimeSpan | None:
    """The stretch that shows a thing's state before a moment: how it came to be so, or the thing in it."""
    put = put_there(ask, thing, state)
    if put is not None:
        return span_of(put)
    seen = [
        span
        for span in ask.known.stretches(thing.id)
        if state.start <= span.start and span.end <= min(until, state.end)
    ]
    return seen[-1] if seen else None


def other_states(ask: Asker, thing: Thing, right: Relation, apart_from: Sequence[str] = ()) -> list[list[Say]]:
    """States of the right one's kind: with somebody else, or elsewhere in or on something; the thing's own ones first."""
    if is_with_person(right):
        people = [item for item in ask.known.people if item.id != right.subject and item.id not in apart_from]
        return [[parts.kept(right, person, None) for person in ask.some(people)]]
    same = [item for item in ask.known.things if hangs(item) == hangs(thing)]
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
    states = ask.known.keeping(thing.id)
    return [item for item in states if item.kind == right.kind and (item is states[0]) == (right.start == 0)]


def put_there(ask: Asker, thing: Thing, state: Relation) -> Event | None:
    """The event on screen with which a thing came to be where it is; None where nobody is seen to bring that about."""
    for event in ask.known.deeds:
        if event.thing == thing.id and event.start <= state.start <= event.end:
            return event
    return None


def where(ask: Asker, thing: Thing, state: Relation) -> Say:
    """Where a thing is, with the room, or who has it."""
    if is_with_person(state):
        keeper = ask.known.person_by_id.get(state.subject)
        return parts.kept(state, keeper, None) if keeper is not None else parts.never
    room = ask.known.room_at(thing.id, (state.start + state.end) / 2)
    return parts.kept(state, None, ask.known.place_by_id.get(room or ""))


def responsible(ask: Asker) -> Iterator[Draft]:
    """Who put a thing where it is at the end."""
    for template in ask.templates("responsible"):
        for thing in ask.some(ask.known.things):
            states = ask.known.keeping(thing.id)
            if not states or is_with_person(states[-1]):
                continue
            last = states[-1]
            put = put_there(ask, thing, last)
            same = [item for item in states if (item.kind, item.object) == (last.kind, last.object)]
            if put is None or len(same) != 1:
                continue
            wrong = [parts.person(item) for item in ask.some(ask.known.people) if item.id != put.actor]
            right = parts.person(ask.known.person_by_id[put.actor])
            slots = {"fact": parts.lies(thing, where(ask, thing, last))}
            yield choice(template, slots, [span_of(put)], right=right, wrong=[wrong])
