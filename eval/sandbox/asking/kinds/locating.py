"""When: first and last appearances, events, words, two people together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from eval.sandbox.asking.drafts import Asker, Draft, choice, interval
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
    for template in ask.templates(kind):
        subjects: Sequence[Person | Thing] = ask.known.people if "{person}" in template.en else ask.known.things
        subject: Person | Thing
        for subject in ask.some(subjects):
            stretches = ask.known.stretches(subject.id)
            if not _stands_alone(stretches, -1 if last else 0):
                continue
            slots = named(subject)
            stretch = stretches[-1 if last else 0]
            if template.split == "induction":  # "when": a stretch; the other wordings ask for a moment
                yield interval(template, stretch, slots)
                continue
            moment = stretch.end if last else stretch.start
            others = ask.known.others_like(subject.id)
            seen = [times for item in others if (times := ask.known.stretches(item))]
            rivals = [times[-1].end if last else times[0].start for times in seen]
            own = [edge for item in stretches for edge in (item.start, item.end)]
            if (draft := _in_which_range(ask, moment, rivals, own)) is not None:
                right, wrong = draft
                yield choice(template, slots, [stretch], right=right, wrong=[wrong])


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


def _in_which_range(
    ask: Asker, moment: float, rivals: Sequence[float], own: Sequence[float]
) -> tuple[Say, list[Say]] | None:
    """The range that holds a moment, and ranges about rival moments in which nothing of ``own`` lies."""
    duration = ask.known.facts.duration
    width = max(_NARROWEST, round(duration * _SHARE))
    taken = [_range_about(ask, moment, width, duration)]
    for rival in ask.some(rivals):
        start = _range_about(ask, rival, width, duration)
        is_apart = all(abs(start - other) >= width for other in taken)
        if is_apart and not any(start - APART <= edge <= start + width + APART for edge in own):
            taken.append(start)
    if not _holds(taken[0], moment, width):
        return None
    says = [parts.between(start, start + width) for start in taken]
    return says[0], says[1:]


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
        starts = [span.start for _, span in lines]
        for words, span in ask.some(lines):
            slots = {"words": parts.quoted(words)}
            if template.split != "test":
                yield interval(template, span, slots)
                continue
            rivals = [start for start in starts if start != span.start]
            if (options := _in_which_range(ask, span.start, rivals, [span.start, span.end])) is not None:
                yield choice(template, slots, [span], right=options[0], wrong=[options[1]])


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
