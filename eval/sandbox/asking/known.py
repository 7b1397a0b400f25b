"""The facts of a film, arranged for questions: who is where when, in which order things happen, what can be named without doubt."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from eval.sandbox.facts import Event, FilmFacts, Person, Place, Relation, Thing, Visit
from world_api.core.spans import TimeSpan

#: Two stretches that lie nearer than this (seconds) may be taken for one, and two moments for the same.
APART = 1.0
#: Relations that say where a thing is.
KEEPING = ("on", "inside", "holds", "wears")
_AFTER_ALL = chr(0x10FFFF)


class Known:
    """Facts with their look-ups. People, things and places that cannot be told from others by their words are left out."""

    def __init__(self, facts: FilmFacts) -> None:
        self.facts = facts
        self.events: tuple[Event, ...] = tuple(sorted(facts.events, key=lambda item: (item.start, item.end, item.id)))
        self._visits: dict[str, list[Visit]] = {}
        for visit in sorted(facts.visits, key=lambda item: (item.start, item.end)):
            self._visits.setdefault(visit.subject, []).append(visit)
        self._clauses = sorted(item.clause + " " for item in facts.events)
        self._by_actor: dict[str, list[Event]] = {}
        for event in self.events:
            self._by_actor.setdefault(event.actor, []).append(event)

    @cached_property
    def people(self) -> tuple[Person, ...]:
        """Those who are seen and whom a description tells from all others."""
        told = Counter(item.description for item in self.facts.people)
        return tuple(item for item in self.facts.people if told[item.description] == 1 and self.visits(item.id))

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """Those that are seen, and whose name is no other's and no part of another's."""
        names = [f" {item.name} " for item in self.facts.things]
        return tuple(
            item
            for item in self.facts.things
            if sum(f" {item.name} " in name for name in names) == 1 and self.visits(item.id)
        )

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Rooms that are shown and whose name is no other's."""
        told = Counter(item.name for item in self.facts.places)
        shown = {scene.place for scene in self.facts.scenes}
        return tuple(item for item in self.facts.places if told[item.name] == 1 and item.id in shown)

    def others_like(self, subject: str) -> list[str]:
        """The other people that can be named, of a person; the other things, of a thing."""
        same = self.person_by_id if subject in self.person_by_id else self.thing_by_id
        return [name for name in same if name != subject]

    @cached_property
    def person_by_id(self) -> dict[str, Person]:
        """The people who can be named."""
        return {item.id: item for item in self.people}

    @cached_property
    def thing_by_id(self) -> dict[str, Thing]:
        """The things that can be named."""
        return {item.id: item for item in self.things}

    @cached_property
    def place_by_id(self) -> dict[str, Place]:
        """The rooms that can be named."""
        return {item.id: item for item in self.places}

    @cached_property
    def told(self) -> tuple[Event, ...]:
        """The events that are seen (nothing that is only said) and named by one clause only, with everybody in them known."""
        return tuple(item for item in self.deeds if self._beginning(item.clause + " ") == 1)

    def _beginning(self, words: str) -> int:
        """How many clauses begin so: "enters the kitchen" is also what "enters the kitchen with the cup" says."""
        return bisect_left(self._clauses, words + _AFTER_ALL) - bisect_left(self._clauses, words)

    def is_told(self, event: Event) -> bool:
        """Whether an event is seen, and no other has its clause."""
        return event.id in self._told_ids

    def is_clear(self, event: Event) -> bool:
        """Whether an event is told by one clause only and everybody in it known, also where it is something said."""
        known = event.actor in self.person_by_id and (not event.other or event.other in self.person_by_id)
        return known and self._beginning(event.clause + " ") == 1

    def is_deed(self, event: Event) -> bool:
        """Whether an event is seen and everybody in it known."""
        return event.id in self._deed_ids

    @cached_property
    def _told_ids(self) -> frozenset[str]:
        return frozenset(item.id for item in self.told)

    @cached_property
    def _deed_ids(self) -> frozenset[str]:
        return frozenset(item.id for item in self.deeds)

    @cached_property
    def deeds(self) -> tuple[Event, ...]:
        """The events that are seen, with everybody in them known; several may have the same words."""
        return tuple(
            item
            for item in self.events
            if item.kind != "says"
            and item.actor in self.person_by_id
            and (not item.other or item.other in self.person_by_id)
            and (not item.thing or item.thing in self.thing_by_id)
        )

    def deeds_of(self, person: str) -> list[Event]:
        """What somebody does, in order."""
        return self._deeds_by_actor.get(person, [])

    @cached_property
    def _deeds_by_actor(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.deeds:
            found.setdefault(event.actor, []).append(event)
        return found

    def around(self, event: Event, seconds: float) -> list[Event]:
        """All events that begin at most so long before or after one, itself among them, in order."""
        first = bisect_left(self._starts, event.start - seconds)
        return list(self.events[first : bisect_left(self._starts, event.end + seconds)])

    @cached_property
    def _starts(self) -> list[float]:
        return [item.start for item in self.events]

    @cached_property
    def caused(self) -> list[tuple[Event, Event, str]]:
        """Causes with their effects and the reason, of those whose effect is a deed that can be told."""
        by_id = {item.id: item for item in self.events}
        found = [(by_id.get(item.cause), by_id.get(item.effect), item.reason) for item in self.facts.causes]
        return [(one, other, why) for one, other, why in found if one is not None and other is not None]

    def is_told_once(self, event: Event) -> bool:
        """Whether its doer does this once only, in these words or in more."""
        return len(self.times_of(event.actor, event.verb_phrase)) == 1

    def is_only_of(self, person: str, phrase: str) -> bool:
        """Whether somebody is the only one who does what a phrase says."""
        return not any(self.times_of(other.id, phrase) for other in self.facts.people if other.id != person)

    def times_of(self, person: str, phrase: str) -> list[Event]:
        """All events in which somebody does what a phrase says, in these words or in more."""
        by_phrase = self._by_phrase.get(person, [])
        first = bisect_left(by_phrase, (phrase + " ", ""))
        end = bisect_left(by_phrase, (phrase + " " + _AFTER_ALL, ""))
        found = [self._by_id[name] for _, name in by_phrase[first:end]]
        return sorted(found, key=lambda item: (item.start, item.end))

    @cached_property
    def _by_id(self) -> dict[str, Event]:
        return {item.id: item for item in self.events}

    @cached_property
    def _by_phrase(self) -> dict[str, list[tuple[str, str]]]:
        return {
            person: sorted((f"{item.verb_phrase} ", item.id) for item in events)
            for person, events in self._by_actor.items()
        }

    def visits(self, subject: str) -> Sequence[Visit]:
        """The stretches in which somebody or something is on screen, in order."""
        return self._visits.get(subject, [])

    @cached_property
    def _stretches(self) -> dict[str, tuple[TimeSpan, ...]]:
        return {subject: _merged(visits) for subject, visits in self._visits.items()}

    def stretches(self, subject: str) -> tuple[TimeSpan, ...]:
        """The same as plain stretches, those that touch joined."""
        return self._stretches.get(subject, ())

    def seconds_seen(self, subject: str) -> float:
        """For how long it is on screen, all stretches together."""
        return sum(item.duration for item in self.stretches(subject))

    def seen_within(self, subject: str, start: float, end: float) -> float:
        """For how many seconds of a stretch it is on screen."""
        return sum(max(0.0, min(item.end, end) - max(item.start, start)) for item in self.stretches(subject))

    def rooms_of(self, subject: str) -> list[str]:
        """The rooms in which it is seen, in the order of the first time."""
        return list(dict.fromkeys(item.place for item in self.visits(subject)))

    def keeping(self, thing: str) -> Sequence[Relation]:
        """Where a thing lies and who holds or wears it, in order of time."""
        return self._keeping.get(thing, [])

    @cached_property
    def _keeping(self) -> dict[str, list[Relation]]:
        found: dict[str, list[Relation]] = {}
        for item in sorted(self.facts.relations, key=lambda item: (item.start, item.end)):
            if item.kind in KEEPING:
                found.setdefault(item.object if is_with_person(item) else item.subject, []).append(item)
        return found

    def kept_at(self, thing: str, time: float) -> Relation | None:
        """Where a thing lies, or who has it, at a moment; None also where that changes within a second of it."""
        near = [item for item in self.keeping(thing) if item.start < time + APART and item.end > time - APART]
        return near[0] if len(near) == 1 and near[0].start <= time < near[0].end else None

    def room_at(self, subject: str, time: float) -> str | None:
        """The room that somebody or something is in at a moment."""
        for item in self._in_rooms.get(subject, ()):
            if item.start <= time < item.end:
                return item.object
        return None

    def rooms_ever(self, subject: str) -> set[str]:
        """All rooms that somebody or something is ever in, seen or unseen."""
        return {item.object for item in self._in_rooms.get(subject, ())} | set(self.rooms_of(subject))

    @cached_property
    def _in_rooms(self) -> dict[str, list[Relation]]:
        found: dict[str, list[Relation]] = {}
        for item in self.facts.relations:
            if item.kind == "in":
                found.setdefault(item.subject, []).append(item)
        return found


def is_with_person(relation: Relation) -> bool:
    """Whether somebody has the thing: then the person is the relation's subject."""
    return relation.kind in ("holds", "wears")


def does_so(event: Event, phrase: str) -> bool:
    """Whether an event is what a phrase says, in these words or in more."""
    return f"{event.verb_phrase} ".startswith(f"{phrase} ")


def span_of(item: Event | Visit | Relation) -> TimeSpan:
    """Its stretch."""
    return TimeSpan(start=item.start, end=item.end)


def _merged(visits: Sequence[Visit]) -> tuple[TimeSpan, ...]:
    found: list[TimeSpan] = []
    for visit in visits:
        if found and visit.start <= found[-1].end:
            found[-1] = TimeSpan(start=found[-1].start, end=max(found[-1].end, visit.end))
        else:
            found.append(span_of(visit))
    return tuple(found)
