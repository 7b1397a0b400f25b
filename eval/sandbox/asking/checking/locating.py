"""Answers of domain A, found anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from eval.sandbox.asking.checking.reading import Asked, Unclear
from eval.sandbox.asking.checking.timing import PER_SECOND, frames_of, is_seen, runs, same_stretch

#: Whether each option is right, or a number or stretch, or "yes".
Check: TypeAlias = Callable[[Asked], Sequence[bool] | bool]

_INSIDE = 0.5  #: seconds that a moment lies inside of its range
_SAME, _OTHER = 0.06, 0.25  #: shares by which lengths may, and must, differ


def appearance(asked: Asked) -> Sequence[bool] | bool:
    """The first or the last stretch, or the range that its beginning or end lies in."""
    subject = asked.person().id if "person" in asked.slots else asked.thing().id
    found = runs(frames_of(asked.facts, subject))
    if not found:
        raise Unclear("it is never seen")
    is_last = asked.type == "last_appearance"
    start, end = found[-1] if is_last else found[0]
    if asked.item.question.kind == "interval":
        return same_stretch(asked.item.answer, start, end)
    return [_in_range(option, end if is_last else start) for option in asked.item.question.options]


def _in_range(option: str, moment: float) -> bool:
    start, end = (float(number) for number in re.findall(r"\d+", option))
    if (start <= moment <= end and not (start + _INSIDE <= moment or start == 0)) or abs(moment - end) < _INSIDE:
        raise Unclear(f"{moment} is at the end of a range")
    return start <= moment <= end


def event_time(asked: Asked) -> bool:
    """The stretch of the only such deed."""
    found = asked.words.done_by(asked.person(), asked.slots["action"])
    if len(found) != 1:
        raise Unclear(f"it happens {len(found)} times")
    return same_stretch(asked.item.answer, found[0].start, found[0].end)


def words_time(asked: Asked) -> Sequence[bool] | bool:
    """The only time that words are said, or can be read."""
    words = asked.slots["words"].casefold()
    said = [(item.start, item.end) for item in asked.facts.events if words in item.words.casefold() and item.words]
    written = [(item.start, item.end) for item in asked.facts.written if words in item.text.casefold()]
    is_written = "read on screen" in asked.item.question.text or "屏幕上" in asked.item.question.text
    found = said + written if is_written else said
    if len(found) != 1:
        raise Unclear(f"the words are there {len(found)} times")
    if asked.item.question.kind == "interval":
        return same_stretch(asked.item.answer, *found[0])
    return [_in_range(option, found[0][0]) for option in asked.item.question.options]


def together_time(asked: Asked) -> bool:
    """The first stretch of both."""
    both = frames_of(asked.facts, asked.person().id) & frames_of(asked.facts, asked.person("other_person").id)
    found = runs(both)
    return bool(found) and same_stretch(asked.item.answer, *found[0])


def distinct_count(asked: Asked) -> bool:
    """All who are seen, all who come in, all of a kind."""
    facts = asked.facts
    place = asked.place().id if "place" in asked.slots else ""
    if "things" in asked.slots:
        kinds = {
            item.category
            for item in facts.things
            if asked.words.say.kind_of_thing(item.category) == asked.slots["things"]
        }
        subjects = [item.id for item in facts.things if item.category in kinds]
        return bool(asked.item.answer == sum(bool(frames_of(facts, name, place).any()) for name in subjects))
    if place:
        entering = {item.actor for item in facts.events if item.kind == "enters" and item.place == place}
        return bool(asked.item.answer == len(entering))
    return bool(asked.item.answer == sum(bool(frames_of(facts, item.id).any()) for item in facts.people))


def occurrence_count(asked: Asked) -> bool:
    """How many events say so."""
    return bool(asked.item.answer == len(asked.words.done_by(asked.person(), asked.slots["action"])))


def visible_duration(asked: Asked) -> Sequence[bool]:
    """The option that is nearest, where no other is near."""
    subject = asked.person().id if "person" in asked.slots else asked.thing().id
    seconds = float(frames_of(asked.facts, subject).sum()) / PER_SECOND
    offered = [float(re.findall(r"\d+", option)[0]) for option in asked.item.question.options]
    is_right = [abs(length - seconds) <= max(0.6, _SAME * seconds) for length in offered]
    near = [abs(length - seconds) < _OTHER * min(length, seconds) for length in offered]
    if sum(near) > 1:
        raise Unclear("two lengths are near")
    return is_right


def presence(asked: Asked) -> bool:
    """Whether it is there: ever, after, before, between."""
    facts, slots = asked.facts, asked.slots
    if "object" in slots:
        named = [
            item for item in facts.things if asked.words.say.made_up(item.colour, item.category) == slots["object"]
        ]
        return any(bool(frames_of(facts, item.id).any()) for item in named)
    seen, event = frames_of(facts, asked.person().id), asked.event()
    if "other_event" in slots:
        return is_seen(seen, event.end, asked.event("other_event").start)
    is_before = "before" in asked.item.question.text or "之前" in asked.item.question.text
    return is_seen(seen, 0.0, event.start) if is_before else is_seen(seen, event.end, facts.duration)


def place_count(asked: Asked) -> bool:
    """How many rooms somebody is seen in."""
    subject = asked.person().id
    rooms = [item.id for item in asked.facts.places if frames_of(asked.facts, subject, item.id).any()]
    return bool(asked.item.answer == len(rooms))


LOCATING: Mapping[str, Check] = {
    "first_appearance": appearance,
    "last_appearance": appearance,
    "event_time": event_time,
    "words_time": words_time,
    "together_time": together_time,
    "distinct_count": distinct_count,
    "occurrence_count": occurrence_count,
    "visible_duration": visible_duration,
    "presence": presence,
    "place_count": place_count,
}
