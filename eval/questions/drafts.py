"""Look-ups over the facts of a film, drafts of questions, and wrong options that read as likely as the right one.

The cast of a film is at most eight people, so that in an hour nearly every event happens more than once and few questions about
the whole film have one answer only. Within twenty minutes many have: windows of long films are asked about as films of their own.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, TypeAlias, TypeVar

from controller.questions import Kind
from eval.questions import phrasing as say
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, FilmFacts, Person, Relation, ShownText, Thing, Visit
from tool_induction.domains.domain import Domain, SplitName, Template
from world_api.core.spans import TimeSpan, merge_spans

#: Two intervals that are nearer than this (seconds) may be taken for one, and two moments for the same.
APART = 1.0
#: Relations that say where a thing is.
KEEPING = ("on", "inside", "holds", "wears")

#: The words of a template's placeholders; options in tiers, those most like the right one first.
Slots: TypeAlias = Mapping[str, Say]
Tiers: TypeAlias = Sequence[Sequence[Say]]

_Item = TypeVar("_Item")
_Lasting = TypeVar("_Lasting", Visit, Relation)


class FilmIndex:
    """Look-ups over the facts of a film.

    ``people``, ``things`` and ``places`` are those on screen that their words distinguish from all others; ``deeds`` the events
    that are seen, not only said, and whose people and things are among these; ``named_events`` the deeds that no other event's
    clause names too; ``caused`` causes with their effects and the reason. By id, in order of time: ``visits`` to the screen, and
    ``seen_spans`` (visits that touch joined), ``deeds_of`` a person, ``keeping`` of a thing (where it is and who holds or wears
    it); ``times_of`` a person and a phrase are the events in which the person does so, in these words or in more.

    An event is named by its words if no other event has them, as a whole or as the beginning of longer ones: "enters the
    kitchen" is also what "enters the kitchen with the cup" says.
    """

    def __init__(self, facts: FilmFacts) -> None:
        self.facts = facts
        self.events = tuple(sorted(facts.events, key=lambda item: (item.start, item.end, item.id)))
        self._starts = [item.start for item in self.events]
        self.visits = _grouped(in_order(facts.visits), lambda item: item.subject)
        spans = {name: merge_spans(map(span_of, visits)) for name, visits in self.visits.items()}
        self.seen_spans: Mapping[str, list[TimeSpan]] = defaultdict(list, spans)
        self._clauses = Counter(words for item in self.events for words in _beginnings(item.clause))
        self._in_rooms = _grouped((item for item in facts.relations if item.kind == "in"), lambda item: item.subject)
        self.keeping = _grouped(
            in_order(item for item in facts.relations if item.kind in KEEPING),
            lambda item: item.object if is_with_person(item) else item.subject,
        )
        self.times_of: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in self.events:
            for phrase in _beginnings(event.verb_phrase):
                self.times_of[event.actor, phrase].append(event)
        looks = Counter(item.description for item in facts.people)
        things = [f" {item.name} " for item in facts.things]  # no name may be a part of another
        rooms, shown = Counter(item.name for item in facts.places), {scene.place for scene in facts.scenes}
        self.people = [item for item in facts.people if looks[item.description] == 1 and self.visits[item.id]]
        distinct = [item for item in facts.things if sum(f" {item.name} " in name for name in things) == 1]
        self.things = [item for item in distinct if self.visits[item.id]]
        self.places = [item for item in facts.places if rooms[item.name] == 1 and item.id in shown]
        self.person_by_id = {item.id: item for item in self.people}
        self.thing_by_id = {item.id: item for item in self.things}
        self.place_by_id = {item.id: item for item in self.places}
        self.deeds = [item for item in self.events if self.is_deed(item)]
        self.named_events = [item for item in self.deeds if self.is_named(item)]
        self.deeds_of = _grouped(self.deeds, lambda item: item.actor)
        events = {item.id: item for item in self.events}
        self.caused = [(events[item.cause], events[item.effect], item.reason) for item in facts.causes]

    def _knows_people(self, event: Event) -> bool:
        return event.actor in self.person_by_id and (not event.other or event.other in self.person_by_id)

    def is_clear(self, event: Event) -> bool:
        """Whether an event's clause names no other and its people are known; it may be something said."""
        return self._knows_people(event) and self._clauses[event.clause] == 1

    def is_named(self, event: Event) -> bool:
        """Whether an event is in ``named_events``."""
        return self.is_deed(event) and self._clauses[event.clause] == 1

    def is_deed(self, event: Event) -> bool:
        """Whether an event is in ``deeds``."""
        is_known = self._knows_people(event) and (not event.thing or event.thing in self.thing_by_id)
        return event.kind != "says" and is_known

    def around(self, event: Event, seconds: float) -> list[Event]:
        """All events that begin at most ``seconds`` before or after one, itself among them, in order."""
        first = bisect_left(self._starts, event.start - seconds)
        return list(self.events[first : bisect_left(self._starts, event.end + seconds)])

    def happens_once(self, event: Event) -> bool:
        """Whether its actor does this once only."""
        return len(self.times_of[event.actor, event.verb_phrase]) == 1

    def is_only_of(self, person: str, phrase: str) -> bool:
        """Whether no other person does what a phrase says."""
        return not any(self.times_of[other.id, phrase] for other in self.facts.people if other.id != person)

    def kept_at(self, thing: str, time: float) -> Relation | None:
        """Where a thing is, or who has it, at a moment; None also if that changes within a second of it."""
        near = [item for item in self.keeping[thing] if item.start < time + APART and item.end > time - APART]
        return near[0] if len(near) == 1 and near[0].start <= time < near[0].end else None

    def place_at(self, subject: str, time: float) -> str | None:
        """Return the id of a subject's room at ``time`` (seconds), or None."""
        return next((item.object for item in self._in_rooms[subject] if item.start <= time < item.end), None)

    def rooms_ever(self, subject: str) -> set[str]:
        """All rooms that a person or a thing is ever in, seen or unseen."""
        return {item.object for item in self._in_rooms[subject]} | {item.place for item in self.visits[subject]}


def is_with_person(relation: Relation) -> bool:
    """Whether a person has the thing: then the person is the relation's subject."""
    return relation.kind in ("holds", "wears")


def does_so(event: Event, phrase: str) -> bool:
    """Whether an event is what a phrase says, in these words or in more."""
    return f"{event.verb_phrase} ".startswith(f"{phrase} ")


def span_of(item: Event | Visit | Relation) -> TimeSpan:
    """The time span of an event, a visit or a relation."""
    return TimeSpan(start=item.start, end=item.end)


def in_order(items: Iterable[_Lasting]) -> list[_Lasting]:
    """Visits or relations in order of time."""
    return sorted(items, key=lambda item: (item.start, item.end))


def _grouped(items: Iterable[_Item], key: Callable[[_Item], str]) -> Mapping[str, list[_Item]]:
    """Group items; a key without any has an empty list."""
    found: dict[str, list[_Item]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


def _beginnings(text: str) -> Iterator[str]:
    """The first words of a text: one, two, ... all of them."""
    words = text.split(" ")
    return (" ".join(words[:number]) for number in range(1, len(words) + 1))


LONG = 3600.0  #: seconds; shorter films are asked about as a whole only
_LENGTH = 900.0  #: seconds that a window lasts at least
_GAP = 4.0  #: seconds without a scene (a card): a window begins and ends in such a gap, so that it cuts no event


def windows_of(facts: FilmFacts) -> tuple[TimeSpan, ...]:
    """Return consecutive windows of a long film, in whole seconds; none of a film shorter than ``LONG``."""
    if facts.duration < LONG or not facts.scenes:
        return ()
    edges = [(scene.start, scene.end) for scene in sorted(facts.scenes, key=lambda item: item.start)]
    gaps = [(one[1], other[0]) for one, other in pairwise([*edges, (facts.duration, facts.duration)])]
    found: list[TimeSpan] = []
    start = 0.0
    for begin, end in gaps:
        middle = float(round((begin + end) / 2))
        if end - begin >= _GAP and middle - start >= _LENGTH:
            found.append(TimeSpan(start=start, end=middle))
            start = middle
    return tuple(found)


def facts_within(facts: FilmFacts, window: TimeSpan) -> FilmFacts:
    """Return what is true of a window: people, things, places and times stay, what happens outside is left out.

    Relations are cut to the window, so that the first and last state of a thing are those at its ends. A fact learned from
    several moments is kept whole if at least one of its moments is in the window.
    """

    def inside(item: Event | ShownText) -> bool:
        return window.start <= item.start and item.end <= window.end

    def cut(items: tuple[_Lasting, ...]) -> tuple[_Lasting, ...]:
        return tuple(
            replace(item, start=max(item.start, window.start), end=min(item.end, window.end))
            for item in items
            if item.start < window.end and item.end > window.start
        )

    names = {item.id for item in facts.events if inside(item)}
    return replace(
        facts,
        scenes=cut(facts.scenes),
        visits=cut(facts.visits),
        events=tuple(filter(inside, facts.events)),
        relations=cut(facts.relations),
        causes=tuple(item for item in facts.causes if item.cause in names and item.effect in names),
        facts=tuple(
            item for item in facts.facts if any(start < window.end and end > window.start for start, end in item.spans)
        ),
        written=tuple(filter(inside, facts.written)),
    )


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One possible question.

    A choice has its ``right`` option and ``wrong`` ones in tiers, those most like the right one first; ``order`` has its parts in
    their true order; other kinds have an ``answer``. Among the drafts of one template those of different ``bucket`` take turns,
    so that no answer is more frequent than it must be. ``is_fixed``: yes comes before no, whichever is right. ``is_crossed``: the
    options are two things, each right and wrong, so that all of them are shown and no one is conspicuous. A choice with fewer
    than ``fewest`` options is not asked. ``window``: the part of the film that is asked about, None for the whole film.
    """

    template: Template
    kind: Kind
    slots: Slots
    spans: tuple[TimeSpan, ...]
    window: TimeSpan | None = None
    answer: Any = None
    right: Say | None = None
    wrong: tuple[tuple[Say, ...], ...] = ()
    order: tuple[Say, ...] = ()
    bucket: str = ""
    is_fixed: bool = False
    is_crossed: bool = False
    fewest: int = 3


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Makes drafts of one template about one film, or a window of it. ``most`` bounds their number: films may be long."""

    film: FilmIndex
    domain: Domain
    split: SplitName
    chance: random.Random
    most: int = 60
    template: Template | None = None

    def for_each_template(self, kind: str) -> Iterator[Asker]:
        """Yield an asker for each template of a question type in this split."""
        for item in self.domain.question_types:
            if item.id == kind:
                yield from (replace(self, template=template) for template in item.of(self.split))

    def says(self, words: str) -> bool:
        """Whether the template has these words, in English."""
        return self.template is not None and words in self.template.en

    def some(self, items: Iterable[_Item], number: int | None = None) -> list[_Item]:
        """At most ``number`` (or ``most``) of the items, in random order."""
        found = list(items)
        return self.chance.sample(found, min(len(found), self.most if number is None else number))

    def draft(self, kind: Kind, slots: Slots, spans: Iterable[TimeSpan], **parts: Any) -> Draft:
        """A draft of this template; ``parts`` are further fields."""
        if self.template is None:
            raise LookupError("no template is chosen")
        return Draft(template=self.template, kind=kind, slots=slots, spans=tuple(spans), **parts)

    def choice(self, slots: Slots, spans: Iterable[TimeSpan], right: Say, wrong: Tiers, **parts: Any) -> Draft:
        """A question with options."""
        return self.draft("choice", slots, spans, right=right, wrong=tuple(map(tuple, wrong)), **parts)

    def yes_or_no(self, is_so: bool, slots: Slots, spans: Iterable[TimeSpan]) -> Draft:
        """A question that is answered by yes or no."""
        right, wrong = (lambda words: words.yes_no[not is_so]), (lambda words: words.yes_no[is_so])
        return self.choice(slots, spans, right, [[wrong]], bucket="yes" if is_so else "no", is_fixed=True)

    def count(self, number: int, slots: Slots, spans: Iterable[TimeSpan]) -> Draft:
        """A question for a number."""
        return self.draft("count", slots, spans, answer=number, bucket=str(number))

    def interval(self, span: TimeSpan, slots: Slots) -> Draft:
        """A question for an interval, which is its own evidence."""
        value = {"start_time": round(span.start, 3), "end_time": round(span.end, 3)}
        return self.draft("interval", slots, [span], answer=value)


#: Makes the drafts of one template of a question type.
Maker: TypeAlias = Callable[[Asker], Iterator[Draft]]


def by_name(*makers: Maker) -> dict[str, Maker]:
    """Makers by the question types that they are named after."""
    return {str(getattr(maker, "__name__", "")): maker for maker in makers}


def named(subject: Person | Thing) -> dict[str, Say]:
    """A person or a thing as a template's slot."""
    return {"person" if isinstance(subject, Person) else "object": say.name(subject)}


#: What was done "right before" or "right after" is at most this far away (seconds), with nothing in between.
RIGHT = 20.0
_MOST_TAKEN = 40
DRAWN = "drawn"

Shape: TypeAlias = tuple[str, bool, bool, bool]


def alike(
    right: Event, pool: Iterable[Event], anchors: Sequence[Event], say: Callable[[Event], Say]
) -> list[list[Say]]:
    """Those of the pool that read as likely as the right event: of its kind, and as near to what the question names.

    In two tiers, those in the same room first. An event of another kind, or one that shares a person or a thing with the
    question although the right one does not, would give the answer away.
    """
    tiers: tuple[list[Say], list[Say]] = ([], [])
    for event in pool:
        is_other = event is not right and event not in anchors and not says_the_same(event, right)
        if is_other and shape(event) == shape(right) and _shares(event, anchors) == _shares(right, anchors):
            tiers[event.place != right.place].append(say(event))
    return [tier[:_MOST_TAKEN] for tier in tiers]


def _shares(event: Event, anchors: Sequence[Event]) -> tuple[bool, bool, bool]:
    """Whether the question names the doer, the other person and the thing of an event."""
    people = {who for item in anchors for who in (item.actor, item.other)} - {""}
    things = {item.thing for item in anchors} - {""}
    return event.actor in people, event.other in people, event.thing in things


def names_the_same(event: Event, right: Event, anchors: Sequence[Event]) -> bool:
    """Whether two events name equally many of the question's people and things, apart from who does them."""
    return _shares(event, anchors)[1:] == _shares(right, anchors)[1:]


def shape(event: Event) -> Shape:
    """What an event reads like: its kind, and whether a thing, another person and a piece of furniture are named."""
    return event.kind, bool(event.thing), bool(event.other), bool(event.target)


def by_shape(pool: Iterable[Event]) -> dict[Shape, list[Event]]:
    """Events by what they read like, no two of the same words."""
    found: dict[Shape, list[Event]] = defaultdict(list)
    for event in {item.clause: item for item in pool}.values():
        found[shape(event)].append(event)
    return found


def as_rare(ask: Asker, right: Event, pool: Iterable[Event]) -> list[Event]:
    """Events as rare as the right one: done by one person only, or by several; what all do is likelier right."""
    is_rare = ask.film.is_only_of(right.actor, right.verb_phrase)
    return [item for item in pool if ask.film.is_only_of(item.actor, item.verb_phrase) == is_rare]


def related(one: Event, other: Event) -> bool:
    """Whether the same person or thing plays in both, so that one may follow from the other."""
    mine = {one.actor, one.other, one.thing} - {""}
    return bool(mine & {other.actor, other.other, other.thing})


def says_the_same(one: Event, other: Event) -> bool:
    """Whether what one says is true of the other too."""
    return one.actor == other.actor and (does_so(one, other.verb_phrase) or does_so(other, one.verb_phrase))


def neighbour(events: Sequence[Event], event: Event, step: int) -> Event | None:
    """Of some events (in order of time) the one right before (-1) or right after (1) another; None if that is not clear."""
    others = [item for item in events if item is not event]
    if any(item.start < event.start < item.end or event.start <= item.start < event.end for item in others):
        return None  # something happens meanwhile

    def begin(item: Event) -> float:
        return item.start if step > 0 else -item.end

    def end(item: Event) -> float:
        return item.end if step > 0 else -item.start

    near = sorted((item for item in others if begin(item) >= end(event)), key=begin)[:2]
    if not near or begin(near[0]) - end(event) > RIGHT:
        return None
    is_clear = len(near) < 2 or (begin(near[1]) - begin(near[0]) >= APART and end(near[1]) > end(near[0]))
    return near[0] if is_clear else None


def exchangeable(
    ask: Asker, items: Sequence[_Item], fit: Callable[[_Item, _Item], bool]
) -> Iterator[tuple[_Item, list[_Item]]]:
    """Yield one of some items and others beside it, each of which could as well have been the one.

    In a set any two ``fit`` (each the right answer of its own question, and wrong in the other's), and the one that is asked about
    is drawn blindly: so its rank among them (the earliest, the longest) says nothing. Sets have four items, or three if there
    is none of four. Drafts of them share the bucket ``DRAWN``: turns of the items would undo the draw.
    """
    some = ask.some(items, 16)
    pairs = {(one, other): fit(some[one], some[other]) for one, other in combinations(range(len(some)), 2)}
    for size in (4, 3):
        every = (row for row in combinations(range(len(some)), size) if all(pairs[two] for two in combinations(row, 2)))
        sets = ask.some(every)
        if not sets:
            continue
        for row in sets:
            drawn = ask.chance.choice(row)
            yield some[drawn], [some[place] for place in row if place != drawn]
        return
