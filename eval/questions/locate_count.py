"""Question types of domain A: when, how many, how often, for how long, and whether at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

from eval.questions import phrasing as say
from eval.questions.drafts import (
    APART,
    DRAWN,
    Asker,
    Draft,
    Maker,
    choice,
    count,
    exchangeable,
    interval,
    span_of,
    yes_or_no,
)
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, Person, Thing
from tool_induction.domains.domain import Template
from world_api.core.spans import TimeSpan

#: A moment lies this share of its range's width away from both ends, so that no measuring error moves it out.
_INSIDE = 0.25
#: Ranges are at least so many seconds wide; in long films a fixed share of the film.
_NARROWEST, _SHARE = 8.0, 1 / 30


def first_appearance(ask: Asker, template: Template) -> Iterator[Draft]:
    """The first stretch, or in which range of time it begins."""
    yield from _appearance(ask, template, 0)


def last_appearance(ask: Asker, template: Template) -> Iterator[Draft]:
    """The last stretch, or in which range of time it ends."""
    yield from _appearance(ask, template, -1)


def _appearance(ask: Asker, template: Template, place: int) -> Iterator[Draft]:
    subjects: Sequence[Person | Thing] = ask.film.people if "{person}" in template.en else ask.film.things
    clear = [item for item in subjects if _is_separate(ask.film.seen_spans(item.id), place)]
    if template.split == "induction":  # "when": a stretch; the other wordings ask for a moment
        for subject in ask.some(clear):
            yield interval(template, ask.film.seen_spans(subject.id)[place], named(subject))
        return
    times = [_times(item, ask.film.seen_spans(item.id), place) for item in clear]
    for right, wrong in _ranges(ask, times):
        slots, stretch = named(right.subject), ask.film.seen_spans(right.subject.id)[place]
        yield choice(template, slots, [stretch], right=right.says, wrong=[[item.says for item in wrong]], bucket=DRAWN)


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
        return say.sentence("range", self.start, self.start + self.width)

    def is_in(self, other: _Moment) -> bool:
        """Whether anything of its own lies in another's range, or too near to it."""
        return any(other.start - APART <= edge <= other.start + other.width + APART for edge in self.own)


def _times(subject: Person | Thing, stretches: Sequence[TimeSpan], place: int) -> _Moment:
    edges = tuple(edge for item in stretches for edge in (item.start, item.end))
    return _Moment(subject=subject, time=stretches[place].end if place else stretches[place].start, own=edges)


def _ranges(ask: Asker, moments: Sequence[_Moment]) -> Iterator[tuple[_Moment, list[_Moment]]]:
    """Moments with the ranges of others that would do as well: each lies in its own range and in none of the rest."""
    duration = ask.film.facts.duration
    width = max(_NARROWEST, round(duration * _SHARE))
    held = [replace(item, start=_range_about(ask, item.time, width, duration), width=width) for item in moments]
    held = [item for item in held if _holds(item.start, item.time, width)]
    return exchangeable(
        ask, held, lambda one, two: abs(one.start - two.start) >= width and not one.is_in(two) and not two.is_in(one)
    )


def named(subject: Person | Thing) -> dict[str, Say]:
    """Somebody or something as a template's slot."""
    return {"person": say.name(subject)} if isinstance(subject, Person) else {"object": say.name(subject)}


def _is_separate(stretches: Sequence[TimeSpan], place: int) -> bool:
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


def event_time(ask: Asker, template: Template) -> Iterator[Draft]:
    """The stretch of an event that happens once."""
    for event in ask.some(item for item in ask.film.named_events if ask.film.happens_once(item)):
        slots = {**named(ask.film.person_by_id[event.actor]), "action": say.deed(event)}
        yield interval(template, span_of(event), slots)


def words_time(ask: Asker, template: Template) -> Iterator[Draft]:
    """When a line is said, or a text can be read, of those that are there once."""
    lines = _written_once(ask) if template.split == "development" else _said_once(ask)
    if template.split != "test":
        for words, span in ask.some(lines):
            yield interval(template, span, {"words": say.quoted(words)})
        return
    moments = [_Moment(subject=line, time=line[1].start, own=(line[1].start, line[1].end)) for line in lines]
    for right, wrong in _ranges(ask, moments):
        words, span = right.subject
        slots = {"words": say.quoted(words)}
        yield choice(template, slots, [span], right=right.says, wrong=[[item.says for item in wrong]], bucket=DRAWN)


def _said_once(ask: Asker) -> list[tuple[str, TimeSpan]]:
    said = [(item.words, span_of(item)) for item in ask.film.events if item.words]
    return [(words, span) for words, span in said if _only_one(words, [other for other, _ in said])]


def _written_once(ask: Asker) -> list[tuple[str, TimeSpan]]:
    written = [(item.text, TimeSpan(start=item.start, end=item.end)) for item in ask.film.facts.written]
    texts = [text for text, _ in written] + [item.words for item in ask.film.events if item.words]
    return [(text, span) for text, span in written if _only_one(text, texts)]


def _only_one(text: str, texts: Sequence[str]) -> bool:
    """Whether a text is a part of one of these only, which is itself."""
    return sum(text.casefold() in other.casefold() for other in texts) == 1


def together_time(ask: Asker, template: Template) -> Iterator[Draft]:
    """The first stretch in which two people are on screen at the same time."""
    for one, other in ask.some(combinations(ask.film.people, 2)):
        both = [item.clip(bounds) for item in ask.film.seen_spans(one.id) for bounds in ask.film.seen_spans(other.id)]
        shared = [item for item in both if item is not None]
        if _is_separate(shared, 0):
            slots = {"person": say.name(one), "other_person": say.name(other)}
            yield interval(template, shared[0], slots)


#: Each length that is offered differs from the next by this factor, so that a tracker's errors do not decide.
_LONGER = 1.4
_LENGTHS = 4
_SHORTEST = 2.0  #: seconds
#: A larger number is asked of nobody: people would not count it either.
MOST_COUNTED = 12
_MOST_SPANS = 20
_OFTEN = 2


def distinct_count(ask: Asker, template: Template) -> Iterator[Draft]:
    """Different people of the video, or who enter a room; different things of a kind, in all or in a room."""
    if "{things}" in template.en:
        yield from _things(ask, template)
    elif "{place}" in template.en:
        yield from _who_enter(ask, template)
    elif len(ask.film.people) == len(ask.film.facts.people) <= MOST_COUNTED:
        spans = [ask.film.seen_spans(item.id)[0] for item in ask.film.people]
        yield count(template, len(ask.film.people), {}, spans)


def _who_enter(ask: Asker, template: Template) -> Iterator[Draft]:
    """Only of rooms where everybody who is seen there has been seen to come in."""
    for place in ask.some(ask.film.places):
        entering = [item for item in ask.film.events if item.kind == "enters" and item.place == place.id]
        inside = {person.id for person in ask.film.facts.people if place.id in ask.film.rooms_of(person.id)}
        actors = {item.actor for item in entering}
        if actors == inside and len(actors) <= MOST_COUNTED:
            yield count(template, len(actors), {"place": say.name(place)}, _cut(entering))


def _things(ask: Asker, template: Template) -> Iterator[Draft]:
    categories = sorted({item.category for item in ask.film.facts.things})
    for category in categories:
        alike = [item for item in ask.film.facts.things if item.category == category]
        if len(alike) != len([item for item in ask.film.things if item.category == category]):
            continue  # one of them is never seen, or cannot be told from another
        if "{place}" not in template.en:
            spans = [ask.film.seen_spans(item.id)[0] for item in alike]
            yield count(template, len(alike), {"things": say.things(category)}, spans)
            continue
        for place in ask.some(ask.film.places):
            visits = [visit for item in alike for visit in ask.film.visits(item.id) if visit.place == place.id]
            slots = {"things": say.things(category), "place": say.name(place)}
            kept = {item.id for item in alike if place.id in ask.film.rooms_ever(item.id)}
            is_clear = kept == {visit.subject for visit in visits}  # nothing of the kind is there unseen
            if is_clear and all(visit.end - visit.start >= APART for visit in visits):
                spans = [span_of(visit) for visit in visits[:_MOST_SPANS]]
                yield count(template, len({visit.subject for visit in visits}), slots, spans)


def occurrence_count(ask: Asker, template: Template) -> Iterator[Draft]:
    """How often somebody does something: also what others do and this person never does.

    Only what somebody does more than once is asked about: of the rest the words would say that it is once or never.
    """
    phrases = {item.verb_phrase: item for item in ask.film.deeds}
    for phrase, event in ask.some(phrases.items()):
        times = [(person, _occasions(ask, person, phrase)) for person in ask.film.people]
        if max((len(found) for _, found in times if found is not None), default=0) < _OFTEN:
            continue
        for person, found in times:
            if found is not None and len(found) <= MOST_COUNTED:
                yield count(template, len(found), {**named(person), "action": say.deed(event)}, _cut(found))


def _occasions(ask: Asker, person: Person, phrase: str) -> list[Event] | None:
    """When somebody does something, in order; None where it is not clear what is one time and what are two."""
    times = ask.film.times_of(person.id, phrase)
    is_clear = all(after.start - before.end >= APART for before, after in pairwise(times))
    return times if is_clear else None


def visible_duration(ask: Asker, template: Template) -> Iterator[Draft]:
    """For how long: out of the lengths of others where those differ clearly, else of lengths that differ by a factor."""
    subjects: Sequence[Person | Thing] = ask.film.people if "{person}" in template.en else ask.film.things
    lengths = [(item, seconds) for item in subjects if (seconds := ask.film.seconds_seen(item.id)) >= _SHORTEST]
    rows = [(one, [length for _, length in others]) for one, others in exchangeable(ask, lengths, _differ)]
    long = [one for one in lengths if one[1] >= _SHORTEST * _LONGER ** (_LENGTHS - 1)]
    for (subject, right), wrong in rows or [(one, _scaled(ask, one[1])) for one in ask.some(long)]:
        options = [say.sentence("seconds", item) for item in wrong]
        spans = ask.film.seen_spans(subject.id)[:_MOST_SPANS]
        yield choice(
            template, named(subject), spans, right=say.sentence("seconds", right), wrong=[options], bucket=DRAWN
        )


def _differ(one: tuple[Person | Thing, float], other: tuple[Person | Thing, float]) -> bool:
    """Whether two lengths differ so much that nobody takes one for the other."""
    shorter, longer = sorted((one[1], other[1]))
    return longer >= shorter * _LONGER


def _scaled(ask: Asker, right: float) -> list[float]:
    place = ask.chance.randrange(_LENGTHS)
    return [right * _LONGER ** (number - place) for number in range(_LENGTHS) if number != place]


def presence(ask: Asker, template: Template) -> Iterator[Draft]:
    """Whether a thing is seen at all; whether somebody is there after, before or between events."""
    if "{object}" in template.en:
        yield from _ever_seen(ask, template)
    elif "{other_event}" in template.en:
        yield from _there_between(ask, template)
    else:
        yield from _there_beside(ask, template)


def _ever_seen(ask: Asker, template: Template) -> Iterator[Draft]:
    """Of two things with their colours exchanged: one that is there, and one that is not. Words are as frequent in both."""
    plain = [item for item in ask.film.things if item.name.removeprefix("the ") == f"{item.colour} {item.category}"]
    there = {(item.colour, item.category) for item in ask.film.facts.things}
    marked = {(word, item.category) for item in ask.film.facts.things for mark in item.marks for word in mark.split()}
    for one, other in ask.some(combinations(plain, 2)):
        exchanged = [(one.colour, other.category), (other.colour, one.category)]
        if any(pair in there | marked for pair in exchanged):
            continue
        item, (colour, kind) = ask.chance.choice((one, other)), ask.chance.choice(exchanged)
        spans = [ask.film.seen_spans(item.id)[0]]
        yield yes_or_no(template, True, {"object": say.made_up(item.colour, item.category)}, spans)
        yield yes_or_no(template, False, {"object": say.made_up(colour, kind)}, [])


def _there_beside(ask: Asker, template: Template) -> Iterator[Draft]:
    """Whether somebody is there before or after what another does."""
    before = "before" in template.en
    for event in ask.some(ask.film.named_events):
        for person in ask.some(ask.film.people, 3):
            stretches = ask.film.seen_spans(person.id)
            if person.id in (event.actor, event.other) or _near(stretches, event.start, event.end):
                continue
            there = [item for item in stretches if (item.end <= event.start if before else item.start >= event.end)]
            slots = {**named(person), "event": say.clause(event)}
            spans = there[-1:] if before else there[:1]
            if all(item.duration >= APART for item in spans):
                yield yes_or_no(template, bool(there), slots, [*spans, span_of(event)])


def _there_between(ask: Asker, template: Template) -> Iterator[Draft]:
    for event in ask.some(ask.film.named_events):
        later = [item for item in ask.film.named_events if item.start > event.end + 2 * APART]
        for other in ask.some(later[:30], 2):
            for person in ask.some(ask.film.people, 2):
                stretches = ask.film.seen_spans(person.id)
                involved = {event.actor, event.other, other.actor, other.other}
                if person.id in involved or _near(stretches, event.start, event.end):
                    continue
                if _near(stretches, other.start, other.end):
                    continue
                there = [item for item in stretches if event.end < item.start and item.end < other.start]
                slots = {**named(person), "event": say.doing(event), "other_event": say.doing(other)}
                if all(item.duration >= APART for item in there):
                    spans = there[:1] or [TimeSpan(start=event.start, end=other.end)]
                    yield yes_or_no(template, bool(there), slots, spans)


def _near(stretches: Sequence[TimeSpan], start: float, end: float) -> bool:
    """Whether somebody is there about that time, so that "before" or "after" would be at a borderline."""
    return any(item.start < end + APART and item.end > start - APART for item in stretches)


def place_count(ask: Asker, template: Template) -> Iterator[Draft]:
    """In how many rooms somebody is seen."""
    for person in ask.some(ask.film.people):
        visits = ask.film.visits(person.id)
        if all(item.place in ask.film.place_by_id and item.end - item.start >= APART for item in visits):
            rooms = {item.place: span_of(item) for item in reversed(visits)}
            yield count(template, len(rooms), named(person), sorted(rooms.values()))


def _cut(events: Sequence[Event]) -> list[TimeSpan]:
    return [span_of(item) for item in events[:_MOST_SPANS]]


MAKERS: Mapping[str, Maker] = {
    maker.__name__: maker
    for maker in (
        first_appearance,
        last_appearance,
        event_time,
        words_time,
        together_time,
        distinct_count,
        occurrence_count,
        visible_duration,
        presence,
        place_count,
    )
}
