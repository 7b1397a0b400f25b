"""Look-ups over the facts of a film, and windows of long films as films of their own.

The cast of a film is at most eight people, so that in an hour nearly every event happens more than once and few questions about
the whole film have one answer only. Within twenty minutes many have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from eval.sandbox.facts import Event, FilmFacts, Person, Place, Relation, Thing, Visit
from world_api.core.spans import TimeSpan, merge_spans

#: Two stretches that lie nearer than this (seconds) may be taken for one, and two moments for the same.
APART = 1.0
#: Relations that say where a thing is.
KEEPING = ("on", "inside", "holds", "wears")

_Item = TypeVar("_Item")


class FilmIndex:
    """Look-ups over the facts of a film. People, things and places that their words do not tell from others are left out.

    An event is named by its words if no other event has them, as a whole or as the beginning of longer ones: "enters the kitchen" is
    also what "enters the kitchen with the cup" says.
    """

    def __init__(self, facts: FilmFacts) -> None:
        self.facts = facts
        self.events = tuple(sorted(facts.events, key=lambda item: (item.start, item.end, item.id)))
        self._starts = [item.start for item in self.events]
        self._visits = _grouped(sorted(facts.visits, key=_time), lambda item: item.subject)
        self._clauses = Counter(words for item in self.events for words in _beginnings(item.clause))
        self._in_rooms = _grouped((item for item in facts.relations if item.kind == "in"), lambda item: item.subject)
        self._keeping = _grouped(
            sorted((item for item in facts.relations if item.kind in KEEPING), key=_time),
            lambda item: item.object if is_with_person(item) else item.subject,
        )
        self._times: dict[tuple[str, str], list[Event]] = {}
        for event in self.events:
            for phrase in _beginnings(event.verb_phrase):
                self._times.setdefault((event.actor, phrase), []).append(event)

    @cached_property
    def person_by_id(self) -> dict[str, Person]:
        """People who are seen and whom a description tells from all others."""
        shared = Counter(item.description for item in self.facts.people)
        return {item.id: item for item in self.facts.people if shared[item.description] == 1 and self.visits(item.id)}

    @cached_property
    def thing_by_id(self) -> dict[str, Thing]:
        """Things that are seen, and whose name is no other's and no part of another's."""
        names = [f" {item.name} " for item in self.facts.things]
        return {
            item.id: item
            for item in self.facts.things
            if sum(f" {item.name} " in name for name in names) == 1 and self.visits(item.id)
        }

    @cached_property
    def place_by_id(self) -> dict[str, Place]:
        """Rooms that are shown and whose name is no other's."""
        shared = Counter(item.name for item in self.facts.places)
        shown = {scene.place for scene in self.facts.scenes}
        return {item.id: item for item in self.facts.places if shared[item.name] == 1 and item.id in shown}

    @property
    def people(self) -> tuple[Person, ...]:
        """The people who can be named."""
        return tuple(self.person_by_id.values())

    @property
    def things(self) -> tuple[Thing, ...]:
        """The things that can be named."""
        return tuple(self.thing_by_id.values())

    @property
    def places(self) -> tuple[Place, ...]:
        """The rooms that can be named."""
        return tuple(self.place_by_id.values())

    # -- events

    @cached_property
    def deeds(self) -> tuple[Event, ...]:
        """The events that are seen (not only said) and whose people and things can be named."""
        return tuple(
            item
            for item in self.events
            if item.kind != "says" and self._knows_people(item) and (not item.thing or item.thing in self.thing_by_id)
        )

    @cached_property
    def named_events(self) -> tuple[Event, ...]:
        """The deeds that one clause only names."""
        return tuple(item for item in self.deeds if self._clauses[item.clause] == 1)

    def _knows_people(self, event: Event) -> bool:
        return event.actor in self.person_by_id and (not event.other or event.other in self.person_by_id)

    def is_clear(self, event: Event) -> bool:
        """Whether one clause only names an event and its people are known, also if it is something said."""
        return self._knows_people(event) and self._clauses[event.clause] == 1

    def is_named(self, event: Event) -> bool:
        """Whether an event is in ``named_events``."""
        return event.id in self._deed_ids and self._clauses[event.clause] == 1

    def is_deed(self, event: Event) -> bool:
        """Whether an event is in ``deeds``."""
        return event.id in self._deed_ids

    @cached_property
    def _deed_ids(self) -> frozenset[str]:
        return frozenset(item.id for item in self.deeds)

    def deeds_of(self, person: str) -> list[Event]:
        """What a person does, in order."""
        return self._deeds_by_actor.get(person, [])

    @cached_property
    def _deeds_by_actor(self) -> dict[str, list[Event]]:
        return _grouped(self.deeds, lambda item: item.actor)

    def around(self, event: Event, seconds: float) -> list[Event]:
        """All events that begin at most so long before or after one, itself among them, in order."""
        first = bisect_left(self._starts, event.start - seconds)
        return list(self.events[first : bisect_left(self._starts, event.end + seconds)])

    @cached_property
    def caused(self) -> list[tuple[Event, Event, str]]:
        """Causes with their effects and the reason."""
        by_id = {item.id: item for item in self.events}
        found = [(by_id.get(item.cause), by_id.get(item.effect), item.reason) for item in self.facts.causes]
        return [(one, other, why) for one, other, why in found if one is not None and other is not None]

    def times_of(self, person: str, phrase: str) -> list[Event]:
        """All events in which a person does what a phrase says, in these words or in more, in order."""
        return self._times.get((person, phrase), [])

    def happens_once(self, event: Event) -> bool:
        """Whether its actor does this once only."""
        return len(self.times_of(event.actor, event.verb_phrase)) == 1

    def is_only_of(self, person: str, phrase: str) -> bool:
        """Whether no other person does what a phrase says."""
        return not any(self.times_of(other.id, phrase) for other in self.facts.people if other.id != person)

    # -- where people and things are

    def visits(self, subject: str) -> Sequence[Visit]:
        """The stretches in which a person or a thing is on screen, in order."""
        return self._visits.get(subject, [])

    @cached_property
    def _seen_spans(self) -> dict[str, tuple[TimeSpan, ...]]:
        return {name: tuple(merge_spans(map(span_of, visits))) for name, visits in self._visits.items()}

    def seen_spans(self, subject: str) -> tuple[TimeSpan, ...]:
        """The same as time spans, those that touch joined."""
        return self._seen_spans.get(subject, ())

    def seconds_seen(self, subject: str) -> float:
        """Seconds on screen, all stretches together."""
        return sum(item.duration for item in self.seen_spans(subject))

    def seen_within(self, subject: str, start: float, end: float) -> float:
        """Seconds of a stretch in which it is on screen."""
        return sum(max(0.0, min(item.end, end) - max(item.start, start)) for item in self.seen_spans(subject))

    def rooms_of(self, subject: str) -> list[str]:
        """The rooms in which it is seen, in the order of the first time."""
        return list(dict.fromkeys(item.place for item in self.visits(subject)))

    def keeping(self, thing: str) -> Sequence[Relation]:
        """Where a thing lies and who holds or wears it, in order of time."""
        return self._keeping.get(thing, [])

    def kept_at(self, thing: str, time: float) -> Relation | None:
        """Where a thing lies, or who has it, at a moment; None also if that changes within a second of it."""
        near = [item for item in self.keeping(thing) if item.start < time + APART and item.end > time - APART]
        return near[0] if len(near) == 1 and near[0].start <= time < near[0].end else None

    def room_at(self, subject: str, time: float) -> str | None:
        """The room that a person or a thing is in at a moment."""
        return next((item.object for item in self._in_rooms.get(subject, ()) if item.start <= time < item.end), None)

    def rooms_ever(self, subject: str) -> set[str]:
        """All rooms that a person or a thing is ever in, seen or unseen."""
        return {item.object for item in self._in_rooms.get(subject, ())} | set(self.rooms_of(subject))


def is_with_person(relation: Relation) -> bool:
    """Whether a person has the thing: then the person is the relation's subject."""
    return relation.kind in ("holds", "wears")


def does_so(event: Event, phrase: str) -> bool:
    """Whether an event is what a phrase says, in these words or in more."""
    return f"{event.verb_phrase} ".startswith(f"{phrase} ")


def span_of(item: Event | Visit | Relation) -> TimeSpan:
    """Its time span."""
    return TimeSpan(start=item.start, end=item.end)


def _time(item: Visit | Relation) -> tuple[float, float]:
    return item.start, item.end


def _grouped(items: Iterable[_Item], key: Callable[[_Item], str]) -> dict[str, list[_Item]]:
    found: dict[str, list[_Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def _beginnings(text: str) -> Iterator[str]:
    """The first words of a text: one, two, ... all of them."""
    words = text.split(" ")
    return (" ".join(words[:number]) for number in range(1, len(words) + 1))


_Lasting = TypeVar("_Lasting", Visit, Relation)

LONG = 3600.0  #: seconds; shorter films are asked about as a whole only
_LENGTH = 900.0  #: seconds that a window lasts at least
_GAP = 4.0  #: seconds without a scene (a card): a window begins and ends in such a gap, so that no event lies across its ends


def windows_of(facts: FilmFacts) -> tuple[TimeSpan, ...]:
    """Return consecutive windows of a long film, in whole seconds; none of a film shorter than ``LONG``."""
    if facts.duration < LONG or not facts.scenes:
        return ()
    scenes = sorted(facts.scenes, key=lambda item: item.start)
    gaps = [
        float(round((one.end + other.start) / 2)) for one, other in pairwise(scenes) if other.start - one.end >= _GAP
    ]
    if facts.duration - scenes[-1].end >= _GAP:
        gaps.append(float(round((scenes[-1].end + facts.duration) / 2)))
    found: list[TimeSpan] = []
    start = 0.0
    for gap in gaps:
        if gap - start >= _LENGTH:
            found.append(TimeSpan(start=start, end=gap))
            start = gap
    return tuple(found)


def facts_within(facts: FilmFacts, window: TimeSpan) -> FilmFacts:
    """Return what is true of a window: people, things and places stay, what happens outside is left out, times stay as they are.

    Relations are cut to the window, so that the first and last state of a thing are those at its ends. Of facts learned from several
    moments those with at least one moment in the window are kept, with all their moments.
    """
    events = tuple(item for item in facts.events if _is_inside(item.start, item.end, window))
    names = {item.id for item in events}
    return replace(
        facts,
        scenes=_cut(facts.scenes, window),
        visits=_cut(facts.visits, window),
        events=events,
        relations=_cut(facts.relations, window),
        causes=tuple(item for item in facts.causes if item.cause in names and item.effect in names),
        facts=tuple(
            item for item in facts.facts if any(start < window.end and end > window.start for start, end in item.spans)
        ),
        written=tuple(item for item in facts.written if _is_inside(item.start, item.end, window)),
    )


def _is_inside(start: float, end: float, window: TimeSpan) -> bool:
    return window.start <= start and end <= window.end


def _cut(items: tuple[_Lasting, ...], window: TimeSpan) -> tuple[_Lasting, ...]:
    return tuple(
        replace(item, start=max(item.start, window.start), end=min(item.end, window.end))
        for item in items
        if item.start < window.end and item.end > window.start
    )
