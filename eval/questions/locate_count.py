"""Question types of domain A: when, how many, how often, how long, and whether at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any

from eval.questions import phrasing as say
from eval.questions.drafts import APART, DRAWN, Asker, Draft, Maker, by_name, exchangeable, named, span_of
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, Person, Thing
from world_api.core.spans import TimeSpan

#: A moment is at least this share of its range's width from both ends, so that small errors do not move it out.
_INSIDE = 0.25
#: The least width of a range in seconds, and the width as a share of a long film.
_NARROWEST, _SHARE = 8.0, 1 / 30
#: The least ratio of two durations among the options, so that errors of a tracker do not decide.
_LONGER = 1.4
_LENGTHS = 4
_SHORTEST = 2.0  #: seconds
#: Questions with larger numbers as answers are not made: people would not count that far either.
MOST_COUNTED = 12
_MOST_SPANS = 20
_OFTEN = 2


def _subjects(ask: Asker) -> Sequence[Person | Thing]:
    return ask.film.people if ask.says("{person}") else ask.film.things


def _appearance(ask: Asker, *, place: int) -> Iterator[Draft]:
    """Yield questions about the first (``place`` 0) or last (-1) interval in which a person or thing is visible.

    Templates for induction ask for the interval; the others ask in which range of time it begins (first) or ends
    (last).
    """
    clear = [item for item in _subjects(ask) if _is_separate(ask.film.seen_spans[item.id], place)]
    if ask.split == "induction":  # "when": an interval; the other templates are about a moment
        for subject in ask.some(clear):
            yield ask.interval(ask.film.seen_spans[subject.id][place], named(subject))
        return
    moments = []
    for item in clear:
        spans = ask.film.seen_spans[item.id]
        edges = tuple(edge for span in spans for edge in (span.start, span.end))
        moments.append(_Moment(subject=item, time=spans[place].end if place else spans[place].start, own=edges))
    for right, wrong in _ranges(ask, moments):
        span = ask.film.seen_spans[right.subject.id][place]
        yield ask.choice(named(right.subject), [span], right.says, [[item.says for item in wrong]], bucket=DRAWN)


@dataclass(frozen=True, kw_only=True)
class _Moment:
    """A moment to ask about; the range of seconds around it is its option; ``own`` are all moments that would be right."""

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
        """Whether one of the moments ``own`` is in the range of ``other``, or within a second of that range."""
        return any(other.start - APART <= edge <= other.start + other.width + APART for edge in self.own)


def _ranges(ask: Asker, moments: Sequence[_Moment]) -> Iterator[tuple[_Moment, list[_Moment]]]:
    """Yield moments with ranges, each with others as wrong options; each moment is in no range but its own."""
    duration = ask.film.facts.duration
    width = max(_NARROWEST, round(duration * _SHARE))
    found = []
    for item in moments:
        # A range of whole seconds with the moment somewhere in its middle part.
        start = float(round(item.time - width * ask.chance.uniform(_INSIDE, 1 - _INSIDE)))
        start = min(max(start, 0), max(0, int(duration - width)))
        if start + (APART if start > 0 else 0) <= item.time <= start + width - APART:
            found.append(replace(item, start=start, width=width))
    return exchangeable(
        ask, found, lambda one, two: abs(one.start - two.start) >= width and not one.is_in(two) and not two.is_in(one)
    )


def _is_separate(spans: Sequence[TimeSpan], place: int) -> bool:
    """Whether the first (``place`` 0) or last (-1) span lasts a second or more, as does the gap to its neighbour."""
    if not spans or spans[place].duration < APART:
        return False
    pair = spans[:2] if place == 0 else spans[-2:]
    return len(pair) == 1 or pair[1].start - pair[0].end >= APART


def event_time(ask: Asker) -> Iterator[Draft]:
    """Yield questions for the interval of an event that happens once."""
    for event in ask.some(item for item in ask.film.named_events if ask.film.happens_once(item)):
        yield ask.interval(span_of(event), {**named(ask.film.person_by_id[event.actor]), "action": say.deed(event)})


def words_time(ask: Asker) -> Iterator[Draft]:
    """Yield questions about when words are spoken or (development split) a text is visible; each occurs only once."""
    said = [(item.words, span_of(item)) for item in ask.film.events if item.words]
    written = [(item.text, TimeSpan(start=item.start, end=item.end)) for item in ask.film.facts.written]
    wanted, texts = (written, [*written, *said]) if ask.split == "development" else (said, said)
    # Texts that are no part of another text.
    lines = [one for one in wanted if sum(one[0].casefold() in text.casefold() for text, _ in texts) == 1]
    if ask.split != "test":
        for words, span in ask.some(lines):
            yield ask.interval(span, {"words": say.quoted(words)})
        return
    moments = [_Moment(subject=line, time=line[1].start, own=(line[1].start, line[1].end)) for line in lines]
    for right, wrong in _ranges(ask, moments):
        words, span = right.subject
        slots = {"words": say.quoted(words)}
        yield ask.choice(slots, [span], right.says, [[item.says for item in wrong]], bucket=DRAWN)


def together_time(ask: Asker) -> Iterator[Draft]:
    """Yield questions for the first interval in which two people are on screen at the same time."""
    for one, other in ask.some(combinations(ask.film.people, 2)):
        both = [item.clip(bounds) for item in ask.film.seen_spans[one.id] for bounds in ask.film.seen_spans[other.id]]
        shared = [item for item in both if item is not None]
        if _is_separate(shared, 0):
            yield ask.interval(shared[0], {"person": say.name(one), "other_person": say.name(other)})


def distinct_count(ask: Asker) -> Iterator[Draft]:
    """Yield questions for a number: people in the video or entering a room, things of a kind in the video or a room."""
    if ask.says("{things}"):
        yield from _things(ask)
    elif ask.says("{place}"):
        yield from _entering(ask)
    elif len(ask.film.people) == len(ask.film.facts.people) <= MOST_COUNTED:
        yield ask.count(len(ask.film.people), {}, [ask.film.seen_spans[item.id][0] for item in ask.film.people])


def _entering(ask: Asker) -> Iterator[Draft]:
    """Yield questions for the number of people entering a room, if everyone seen there is seen to enter."""
    for place in ask.some(ask.film.places):
        events = [item for item in ask.film.events if item.kind == "enters" and item.place == place.id]
        visits = [visit for person in ask.film.facts.people for visit in ask.film.visits[person.id]]
        inside = {visit.subject for visit in visits if visit.place == place.id}
        actors = {item.actor for item in events}
        if actors == inside and len(actors) <= MOST_COUNTED:
            yield ask.count(len(actors), {"place": say.name(place)}, _evidence(events))


def _things(ask: Asker) -> Iterator[Draft]:
    for category in sorted({item.category for item in ask.film.facts.things}):
        alike = [item for item in ask.film.facts.things if item.category == category]
        if len(alike) != len([item for item in ask.film.things if item.category == category]):
            continue  # one of them is never seen, or cannot be distinguished from another
        slots = {"things": say.things(category)}
        if not ask.says("{place}"):
            yield ask.count(len(alike), slots, [ask.film.seen_spans[item.id][0] for item in alike])
            continue
        for place in ask.some(ask.film.places):
            visits = [visit for item in alike for visit in ask.film.visits[item.id] if visit.place == place.id]
            kept = {item.id for item in alike if place.id in ask.film.rooms_ever(item.id)}
            seen = {visit.subject for visit in visits}
            if kept == seen and all(visit.end - visit.start >= APART for visit in visits):  # none is there unseen
                spans = [span_of(visit) for visit in visits[:_MOST_SPANS]]
                yield ask.count(len(seen), {**slots, "place": say.name(place)}, spans)


def occurrence_count(ask: Asker) -> Iterator[Draft]:
    """Yield questions about how often a person does what at least one person does twice; 0 is possible."""
    phrases = {item.verb_phrase: item for item in ask.film.deeds}
    for phrase, event in ask.some(phrases.items()):
        every = [(person, ask.film.times_of[person.id, phrase]) for person in ask.film.people]
        # Only people whose repetitions are clearly apart.
        clear = [one for one in every if all(two.start - before.end >= APART for before, two in pairwise(one[1]))]
        if max((len(times) for _, times in clear), default=0) < _OFTEN:
            continue  # the answer could only be 0 or 1
        for person, times in clear:
            if len(times) <= MOST_COUNTED:
                yield ask.count(len(times), {**named(person), "action": say.deed(event)}, _evidence(times))


def visible_duration(ask: Asker) -> Iterator[Draft]:
    """Yield questions about how long a person or thing is visible in total.

    Wrong options are the durations of others if these differ clearly, otherwise multiples of the right one.
    """
    seconds = ((item, sum(span.duration for span in ask.film.seen_spans[item.id])) for item in _subjects(ask))
    lengths = [(item, length) for item, length in seconds if length >= _SHORTEST]
    sets = exchangeable(ask, lengths, lambda one, two: max(one[1], two[1]) >= min(one[1], two[1]) * _LONGER)
    rows = [(one, [length for _, length in others]) for one, others in sets]
    long = [one for one in lengths if one[1] >= _SHORTEST * _LONGER ** (_LENGTHS - 1)]
    for (subject, right), wrong in rows or [(one, _scaled(ask, one[1])) for one in ask.some(long)]:
        options = [say.sentence("seconds", item) for item in wrong]
        spans = ask.film.seen_spans[subject.id][:_MOST_SPANS]
        yield ask.choice(named(subject), spans, say.sentence("seconds", right), [options], bucket=DRAWN)


def _scaled(ask: Asker, right: float) -> list[float]:
    place = ask.chance.randrange(_LENGTHS)
    return [right * _LONGER ** (number - place) for number in range(_LENGTHS) if number != place]


def presence(ask: Asker) -> Iterator[Draft]:
    """Yield yes-or-no questions, as the template asks: a thing ever seen; a person before, after, between events."""
    if ask.says("{object}"):
        yield from _ever_seen(ask)
    elif ask.says("{other_event}"):
        yield from _there_between(ask)
    else:
        yield from _there_beside(ask)


def _ever_seen(ask: Asker) -> Iterator[Draft]:
    """Yield pairs of yes-or-no questions: about a thing of the film, and about one that is not in it.

    The latter has the colour of one thing and the kind of another, so that all words are as frequent with "yes" as with
    "no".
    """
    plain = [item for item in ask.film.things if item.name.removeprefix("the ") == f"{item.colour} {item.category}"]
    there = {(item.colour, item.category) for item in ask.film.facts.things}
    marked = {(word, item.category) for item in ask.film.facts.things for mark in item.marks for word in mark.split()}
    for one, other in ask.some(combinations(plain, 2)):
        exchanged = [(one.colour, other.category), (other.colour, one.category)]
        if any(pair in there | marked for pair in exchanged):
            continue
        item, (colour, kind) = ask.chance.choice((one, other)), ask.chance.choice(exchanged)
        spans = [ask.film.seen_spans[item.id][0]]
        yield ask.yes_or_no(True, {"object": say.made_up(item.colour, item.category)}, spans)
        yield ask.yes_or_no(False, {"object": say.made_up(colour, kind)}, [])


def _there_beside(ask: Asker) -> Iterator[Draft]:
    """Yield questions about whether a person is seen before, or after, an event of other people."""
    before = ask.says("before")
    for event in ask.some(ask.film.named_events):
        for person in ask.some(ask.film.people, 3):
            seen = ask.film.seen_spans[person.id]
            if person.id in (event.actor, event.other) or _is_near(seen, event):
                continue
            there = [item for item in seen if (item.end <= event.start if before else item.start >= event.end)]
            spans = there[-1:] if before else there[:1]
            if all(item.duration >= APART for item in spans):
                slots = {**named(person), "event": say.clause(event)}
                yield ask.yes_or_no(bool(there), slots, [*spans, span_of(event)])


def _there_between(ask: Asker) -> Iterator[Draft]:
    for event in ask.some(ask.film.named_events):
        later = [item for item in ask.film.named_events if item.start > event.end + 2 * APART]
        for other in ask.some(later[:30], 2):
            for person in ask.some(ask.film.people, 2):
                seen = ask.film.seen_spans[person.id]
                involved = {event.actor, event.other, other.actor, other.other}
                if person.id in involved or _is_near(seen, event) or _is_near(seen, other):
                    continue
                there = [item for item in seen if event.end < item.start and item.end < other.start]
                if all(item.duration >= APART for item in there):
                    slots = {**named(person), "event": say.doing(event), "other_event": say.doing(other)}
                    spans = there[:1] or [TimeSpan(start=event.start, end=other.end)]
                    yield ask.yes_or_no(bool(there), slots, spans)


def _is_near(seen: Sequence[TimeSpan], event: Event) -> bool:
    """Whether a person is seen within a second of an event, so that "before" and "after" would be unclear."""
    return any(item.start < event.end + APART and item.end > event.start - APART for item in seen)


def place_count(ask: Asker) -> Iterator[Draft]:
    """Yield questions for the number of rooms in which a person is seen."""
    for person in ask.some(ask.film.people):
        visits = ask.film.visits[person.id]
        if all(item.place in ask.film.place_by_id and item.end - item.start >= APART for item in visits):
            rooms = {item.place: span_of(item) for item in reversed(visits)}
            yield ask.count(len(rooms), named(person), sorted(rooms.values()))


def _evidence(events: Sequence[Event]) -> list[TimeSpan]:
    return [span_of(item) for item in events[:_MOST_SPANS]]


MAKERS: dict[str, Maker] = {
    "first_appearance": partial(_appearance, place=0),
    "last_appearance": partial(_appearance, place=-1),
    **by_name(
        event_time, words_time, together_time, distinct_count, occurrence_count, visible_duration, presence, place_count
    ),
}
