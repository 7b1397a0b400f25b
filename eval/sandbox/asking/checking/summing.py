"""Answers of domain C, found anew."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eval.sandbox.asking.checking.locating import Check
from eval.sandbox.asking.checking.ordering import states_of, tell
from eval.sandbox.asking.checking.reading import ROWS, Asked, Unclear, one, spoken
from eval.sandbox.asking.checking.timing import during, frames_of, holds_alone, runs
from eval.sandbox.asking.phrases import Unsayable
from eval.sandbox.facts import Person, Thing

_THIRDS = 3
_LEAST_SEEN = 0.9  #: seconds for which something must be seen to count


def video_summary(asked: Asked) -> Sequence[bool]:
    """The row whose events are in their order."""
    rows = [
        [one(asked.words.events, part).start for part in _row(asked, option)] for option in asked.item.question.options
    ]
    return [row == sorted(row) for row in rows]


def part_summary(asked: Asked) -> Sequence[bool]:
    """The row all of whose events lie in the stretch."""
    start, end = _stretch(asked)
    return [
        all(
            any(holds_alone(event, start, end) for event in asked.words.events.get(part, ()))
            for part in _row(asked, option)
        )
        for option in asked.item.question.options
    ]


def _stretch(asked: Asked) -> tuple[float, float]:
    slots, duration = asked.slots, asked.facts.duration
    if "start_time" in slots:
        first, last = (float(re.findall(r"\d+", slots[name])[0]) for name in ("start_time", "end_time"))
        return first - 1, last + 1  # whole seconds are told
    if "part" in slots:
        number = [asked.words.say.third(number) for number in range(_THIRDS)].index(slots["part"])
        return number * duration / _THIRDS, (number + 1) * duration / _THIRDS
    scenes = [item for item in asked.facts.scenes if item.place == asked.place().id]
    if len(scenes) != 1:
        raise Unclear(f"the room is shown {len(scenes)} times")
    return scenes[0].start, scenes[0].end


def _row(asked: Asked, option: str) -> list[str]:
    return option.split(ROWS[asked.words.say.language])


def person_summary(asked: Asked) -> Sequence[bool]:
    """The row all of whose deeds are done by that person."""
    return [_does_all(asked, asked.person(), option) for option in asked.item.question.options]


def _does_all(asked: Asked, person: Person, row: str) -> bool:
    return all(asked.words.done_by(person, part) for part in _row(asked, row))


def comparison(asked: Asked) -> Sequence[bool]:
    """What is true of the two; who does more."""
    return [_is_true_of(asked, option) for option in asked.item.question.options]


def _is_true_of(asked: Asked, option: str) -> bool:
    one_, other, say = asked.person(), asked.person("other_person"), asked.words.say
    for deed in asked.words.deeds:
        if option == say.both(deed):
            return bool(asked.words.done_by(one_, deed)) and bool(asked.words.done_by(other, deed))
        for doer, idle in ((one_, other), (other, one_)):
            if option == say.only(say.person(doer), deed, say.person(idle)):
                return bool(asked.words.done_by(doer, deed)) and not asked.words.done_by(idle, deed)
    for busy, less in ((one_, other), (other, one_)):
        head = say.busy(say.person(busy), "")
        if option.startswith(head):
            counts = [
                sum(item.actor == who.id and item.kind != "says" for item in asked.facts.events) for who in (busy, less)
            ]
            return counts[0] > counts[1] and _does_all(asked, busy, option.removeprefix(head))
    raise Unclear(f"{option!r} says nothing that is known")


def followed_thing(asked: Asked) -> Sequence[bool]:
    """The last state, all holders in order, or the last holder and the first state."""
    thing, say = asked.thing(), asked.words.say
    states = states_of(asked, thing)
    options = asked.item.question.options
    if asked.template == "followed_thing/induction/0":
        told = _told(asked, thing, -1)
        return [option == told for option in options]
    holders: list[str] = []
    for state in states:
        if state.kind in ("holds", "wears") and holders[-1:] != [state.subject]:
            holders.append(state.subject)
    people = {item.id: item for item in asked.facts.people}
    if asked.template == "followed_thing/development/0":
        told = say.row([spoken(say.person, people[name]) for name in holders])
    else:
        told = say.had(spoken(say.person, people[holders[-1]]), _told(asked, thing, 0))
    return [option == told for option in options]


def _told(asked: Asked, thing: Thing, place: int) -> str:
    state = states_of(asked, thing)[place]
    return tell(asked, thing, state, (state.start + state.end) / 2)


def spoken_reference(asked: Asked) -> Sequence[bool]:
    """The time of the only appointment."""
    person = asked.person().id
    kept = [
        item for item in asked.facts.facts if item.kind == "appointment" and person in item.values["people"].split()
    ]
    if len(kept) != 1:
        raise Unclear(f"there are {len(kept)} appointments")
    return [option == kept[0].values["time"] for option in asked.item.question.options]


def chain(asked: Asked) -> Sequence[bool]:
    """What the doer does later; who is seen in the room and later with the thing."""
    if "action" in asked.slots:
        doers = [event for person in asked.facts.people for event in asked.words.done_by(person, asked.slots["action"])]
        if len(doers) != 1:
            raise Unclear(f"{len(doers)} people or times fit")
        person = next(item for item in asked.facts.people if item.id == doers[0].actor)
        return [
            any(item.start >= doers[0].end for item in asked.words.done_by(person, option))
            for option in asked.item.question.options
        ]
    return [_is_later_with(asked, one(asked.words.people, option)) for option in asked.item.question.options]


def _is_later_with(asked: Asked, person: Person) -> bool:
    inside = runs(frames_of(asked.facts, person.id, asked.place().id))
    if not inside:
        raise Unclear(f"{person.description} is never there")
    thing, seen = asked.thing().id, frames_of(asked.facts, person.id)
    for state in asked.facts.relations:
        if state.kind in ("holds", "wears") and (state.subject, state.object) == (person.id, thing):
            later = [end - max(start, inside[0][1]) for start, end in runs(seen & during(asked.facts, state))]
            if any(seconds >= _LEAST_SEEN for seconds in later):
                return True
    return False


def general_rule(asked: Asked) -> Sequence[bool]:
    """The target of the only rule about such things."""
    say, rules = asked.words.say, [item for item in asked.facts.facts if item.kind == "rule"]
    told = []
    for rule in rules:
        room = next(item for item in asked.facts.places if item.id == rule.values["place"])
        try:
            if say.labelled(rule.values["category"], rule.values["label"]) == asked.slots["things"]:
                told.append(say.put_into(rule.values["target"], say.place(room)))
        except Unsayable:
            continue
    if len(told) != 1:
        raise Unclear(f"{len(told)} rules are about them")
    return [option == told[0] for option in asked.item.question.options]


SUMMING: Mapping[str, Check] = {
    "video_summary": video_summary,
    "part_summary": part_summary,
    "person_summary": person_summary,
    "comparison": comparison,
    "followed_thing": followed_thing,
    "spoken_reference": spoken_reference,
    "chain": chain,
    "general_rule": general_rule,
}
