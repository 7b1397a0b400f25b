"""When: first and last appearances, events, words, two people together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from eval.sandbox.asking.drafts import Asker, Draft, choice, interval
from eval.sandbox.asking.kinds.alike import exchangeable
from eval.sandbox.asking.known import APART, span_of
from eval.sandbox.asking.phrases import Say, parts
from eval.sandbox.facts import Person, Thing
from world_api.core.spans import TimeSpan

#: A moment lies this share of its range's width away from both ends, so that no measuring error moves it out.
_INSIDE = 0.25
#: Ranges are at least so many seconds wide; in long films a fixed share of the film.
_NARROWEST, _SHARE = 8.0, 1 / 30


def first_appearance(ask: Asker) -> Iterator[Draft]:
    """The first stretch, or in which range of time it begins."""
    yield from _appearance(ask, "first_appearance", last=False)


def last_appearance(ask: Asker) -> Iterator[Draft]:
    """The last stretch, or in which range of time it ends."""
    yield from _appearance(ask, "last_appearance", last=True)


def _appearance(ask: Asker, kind: str, *, last: bool) -> Iterator[Draft]:
    place = -1 if last else 0
    for template in ask.templates(kind):
        subjects: Sequence[Person | Thing] = ask.known.people if "{person}" in template.en else ask.known.things
        clear = [item for item in subjects if _stands_alone(ask.known.stretches(item.id), place)]
        if template.split == "induction":  # "when": a stretch; the other wordings ask for a moment
            for subject in ask.some(clear):
                yield interval(template, ask.known.stretches(subject.id)[place], named(subject))
            continue
        times = [_times(item, ask.known.stretches(item.id), place) for item in clear]
        for right, wrong in _ranges(ask, times):
            slots, stretch = named(right.subject), ask.known.stretches(right.subject.id)[place]
            yield choice(template, slots, [stretch], right=right.says, wrong=[[item.says for item in wrong]])


@dataclass(frozen=True, kw_only=True)
class _Moment:
    """A moment that is asked for, the moments of the same subject that would be right as well, and the range about it."""

    subject: Any
    time: float
    own: tuple[float, ...]
    start: float = 0.0
    width: float = 0.0

    @property
    def says(self) -> Say:
        """The range in words."""
        return parts.between(self.start, self.start + self.width)

    def is_in(self, other: _Moment) -> bool:
        """Whether anything of its own lies in another's range, or too near to it."""
        return any(other.start - APART <= edge <= other.start + other.width + APART for edge in self.own)


def _times(subject: Person | Thing, stretches: Sequence[TimeSpan], place: int) -> _Moment:
    edges = tuple(edge for item in stretches for edge in (item.start, item.end))
    return _Moment(subject=subject, time=stretches[place].end if place else stretches[place].start, own=edges)


def _ranges(ask: Asker, moments: Sequence[_Moment]) -> Iterator[tuple[_Moment, list[_Moment]]]:
    """Moments with the ranges of others that would do as well: each lies in its own range and in none of the rest."""
    duration = ask.known.facts.duration
    width = max(_NARROWEST, round(duration * _SHARE))
    held = [replace(item, start=_range_about(ask, item.time, width, duration), width=width) for item in moments]
    held = [item for item in held if _holds(item.start, item.time, width)]
    return exchangeable(
        ask, held, lambda one, two: abs(one.start - two.start) >= width and not one.is_in(two) and not two.is_in(one)
    )


def named(subject: Person | Thing) -> dict[str, Say]:
    """Somebody or something as a template's slot."""
    return {"person": parts.person(subject)} if isinstance(subject, Person) else {"object": parts.thing(subject)}


def _stands_alone(stretches: Sequence[TimeSpan], place: int) -> bool:
    """Whether a stretch is long enough to be seen and ends well before the next begins."""
    if not stretches or stretches[place].duration < APART:
        return False
    near = stretches[1] if place == 0 and len(stretches) > 1 else stretches[-2] if len(stretches) > 1 else None
    if near is None:
        return True
    gap = near.start - stretches[0].end if place == 0 else stretches[-1].start - near.end
    return gap >= APART


def _range_about(ask: Asker, moment: float, width: float, duration: float) -> float:
    """Where a range of whole seconds begins that holds a moment somewhere in its middle part."""
    start = round(moment - width * ask.chance.uniform(_INSIDE, 1 - _INSIDE))
    return float(min(max(start, 0), max(0, int(duration - width))))


def _holds(start: float, moment: float, width: float) -> bool:
    return start + (APART if start > 0 else 0) <= moment <= start + width - APART


def event_time(ask: Asker) -> Iterator[Draft]:
    """The stretch of an event that happens once."""
    for template in ask.templates("event_time"):
        for event in ask.some(item for item in ask.known.told if ask.known.is_told_once(item)):
            slots = {**named(ask.known.person_by_id[event.actor]), "action": parts.deed(event)}
            yield interval(template, span_of(event), slots)


def words_time(ask: Asker) -> Iterator[Draft]:
    """When a line is said, or a text can be read, of those that are there once."""
    for template in ask.templates("words_time"):
        lines = _written_once(ask) if template.split == "development" else _said_once(ask)
        if template.split != "test":
            for words, span in ask.some(lines):
                yield interval(template, span, {"words": parts.quoted(words)})
            continue
        moments = [_Moment(subject=line, time=line[1].start, own=(line[1].start, line[1].end)) for line in lines]
        for right, wrong in _ranges(ask, moments):
            words, span = right.subject
            slots = {"words": parts.quoted(words)}
            yield choice(template, slots, [span], right=right.says, wrong=[[item.says for item in wrong]])


def _said_once(ask: Asker) -> list[tuple[str, TimeSpan]]:
    said = [(item.words, span_of(item)) for item in ask.known.events if item.words]
    return [(words, span) for words, span in said if _only_one(words, [other for other, _ in said])]


def _written_once(ask: Asker) -> list[tuple[str, TimeSpan]]:
    written = [(item.text, TimeSpan(start=item.start, end=item.end)) for item in ask.known.facts.written]
    texts = [text for text, _ in written] + [item.words for item in ask.known.events if item.words]
    return [(text, span) for text, span in written if _only_one(text, texts)]


def _only_one(text: str, texts: Sequence[str]) -> bool:
    """Whether a text is a part of one of these only, which is itself."""
    return sum(text.casefold() in other.casefold() for other in texts) == 1


def together_time(ask: Asker) -> Iterator[Draft]:
    """The first stretch in which two people are on screen at the same time."""
    for template in ask.templates("together_time"):
        for one, other in ask.some(combinations(ask.known.people, 2)):
            shared = shared_stretches(ask.known.stretches(one.id), ask.known.stretches(other.id))
            if _stands_alone(shared, 0):
                slots = {"person": parts.person(one), "other_person": parts.person(other)}
                yield interval(template, shared[0], slots)


def shared_stretches(one: Sequence[TimeSpan], other: Sequence[TimeSpan]) -> list[TimeSpan]:
    """The stretches that lie in both of two lists, each in order of time."""
    found: list[TimeSpan] = []
    mine, theirs = 0, 0
    while mine < len(one) and theirs < len(other):
        start, end = max(one[mine].start, other[theirs].start), min(one[mine].end, other[theirs].end)
        if start < end:
            found.append(TimeSpan(start=start, end=end))
        if one[mine].end < other[theirs].end:
            mine += 1
        else:
            theirs += 1
    return found
