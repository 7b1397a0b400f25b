"""What a whole film teaches: its rules and habits, with every moment that shows them."""

from __future__ import annotations

from collections import Counter

from eval.sandbox.facts import Event
from eval.sandbox.script import with_article
from eval.sandbox.stories.casting import Rule
from eval.sandbox.stories.director import Director

_AT_ONCE = 1.5  #: seconds from coming in to waving
_ENOUGH = 2  #: moments from which something can be learned


def learn(director: Director) -> None:
    """Note the rules and habits that enough moments show."""
    _rules(director)
    _habits(director)


def _spans(events: list[Event]) -> list[tuple[float, float]]:
    return [(event.start, event.end) for event in events]


def rules_are_shown(director: Director) -> bool:
    """Whether at least one rule of the film can be learned by now, and half of them."""
    shown = [len(_following(director, rule)) >= _ENOUGH for rule in director.cast.rules]
    return any(shown) and sum(shown) >= len(shown) / 2


def causes_are_shown(director: Director) -> bool:
    """Whether enough has been brought about by now that is seen, and seen once only.

    Who gives a thing to somebody who asked for it does not count: the deed itself names its reason.
    """
    times = Counter(event.clause for event in director.chronicle.events)
    seen = {
        event.id
        for event in director.chronicle.events
        if event.kind not in {"says", "gives"} and times[event.clause] == 1
    }
    return sum(cause.effect in seen for cause in director.chronicle.causes) >= _ENOUGH


def containers_are_shown(director: Director) -> bool:
    """Whether enough drawers and cupboards have been opened for a rule to be one of several that could be."""
    opened = {
        (event.place, event.target)
        for event in director.chronicle.events
        if event.kind == "opens" and not event.target.endswith("door")
    }
    return len(opened) > _ENOUGH


def _following(director: Director, rule: Rule) -> list[Event]:
    things = {item.id for item in director.cast.articles if director.cast.rule_of(item) == rule}
    return [event for event in director.chronicle.events if event.kind == "puts_down" and event.thing in things]


def _rules(director: Director) -> None:
    chronicle = director.chronicle
    for rule in director.cast.rules:
        shown = _following(director, rule)
        if len(shown) < _ENOUGH:
            continue
        many = f"{_plural(rule.category)} with {with_article(rule.label)} label"
        room = director.room_name(rule.room)
        chronicle.learned(
            "rule",
            f"{many} go into {rule.target} in {room}",
            {
                "things": many,
                "category": rule.category,
                "label": rule.label,
                "target": rule.target,
                "place": rule.room,
            },
            _spans(shown),
        )


def _habits(director: Director) -> None:
    chronicle = director.chronicle
    for habit in director.cast.habits:
        person, room = director.cast.person(habit.person), director.room_name(habit.room)
        kind = "waves" if habit.kind == "waves" else "sits"
        shown = [
            event
            for event in chronicle.events
            if event.kind == kind and event.actor == habit.person and event.place == habit.room
        ]
        if habit.kind == "waves":
            shown = [event for event in shown if _on_entering(event, chronicle.events)]
        if len(shown) < _ENOUGH:
            continue
        if habit.kind == "waves":
            text, phrase = f"{person.description} waves on entering {room}", f"wave on entering {room}"
        else:
            text = f"{person.description} always sits on {habit.seat} in {room}"
            phrase = f"sit on {habit.seat} in {room}"
        chronicle.learned("habit", text, {"person": habit.person, "habit": phrase, "place": habit.room}, _spans(shown))


def _on_entering(wave: Event, events: list[Event]) -> bool:
    return any(
        event.kind == "enters" and event.actor == wave.actor and 0 <= wave.start - event.end < _AT_ONCE
        for event in events
    )


def _plural(category: str) -> str:
    return f"{category}es" if category.endswith("x") else f"{category}s"
