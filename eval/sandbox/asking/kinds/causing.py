"""Why something happens, what follows from it, how a thing's place changes, and who brought that about."""

from __future__ import annotations

from collections.abc import Iterator

from eval.sandbox.asking.drafts import Asker, Draft, choice
from eval.sandbox.asking.kinds.alike import alike
from eval.sandbox.asking.kinds.locating import named
from eval.sandbox.asking.known import is_with_person, span_of
from eval.sandbox.asking.phrases import Say, parts
from eval.sandbox.facts import Event, Relation, Thing


def cause(ask: Asker) -> Iterator[Draft]:
    """The reason, out of the reasons that other things in the film have."""
    for template in ask.templates("cause"):
        for before, effect, reason in ask.some(ask.known.caused):
            if effect not in ask.known.told or not ask.known.is_told_once(effect):
                continue
            others = [(item, why) for _, item, why in ask.known.caused if why != reason and item is not effect]
            alike_first = sorted(others, key=lambda pair: (pair[0].kind != effect.kind, pair[0].actor != effect.actor))
            slots = (
                {**named(ask.known.person_by_id[effect.actor]), "action": parts.deed(effect)}
                if "{action}" in template.en
                else {"event": parts.clause(effect)}
            )
            wrong = [[parts.quoted(why) for item, why in alike_first if item.kind == effect.kind]]
            wrong.append([parts.quoted(why) for item, why in alike_first if item.kind != effect.kind])
            spans = [span_of(before), span_of(effect)]
            yield choice(template, slots, spans, right=parts.quoted(reason), wrong=wrong)


def consequence(ask: Asker) -> Iterator[Draft]:
    """What an event brings about."""
    for template in ask.templates("consequence"):
        if "what changes for" in template.en:
            continue  # a change is no deed; the facts know of deeds
        for before, effect, _ in ask.some(ask.known.caused):
            if before not in ask.known.told or effect not in ask.known.told:
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
                put = None if now is None else put_there(ask, thing, now)
                if now is None or put is None or put.actor == event.actor:
                    continue
                slots = {"object": parts.thing(thing), "event": parts.doing(event)}
                right = where(ask, thing, now)
                wrong = [where(ask, thing, item) for item in ask.known.keeping(thing.id) if item is not now]
                others = [where(ask, other, item) for other, item in _states(ask, event.start) if other is not thing]
                yield choice(template, slots, [span_of(put), span_of(event)], right=right, wrong=[wrong, others])


def _states(ask: Asker, time: float) -> list[tuple[Thing, Relation]]:
    found = [(thing, ask.known.kept_at(thing.id, time)) for thing in ask.known.things]
    return [(thing, state) for thing, state in found if state is not None]


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
