"""Look-ups over the facts of a film, drafts of questions, and wrong options that read as likely as the right one.

A film has at most eight people, so that in an hour nearly every event happens more than once, and few questions about
the whole film have only one answer. Within twenty minutes many do: long films are divided into windows, and questions
about a window are drafted as if it were a film.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, TypeAlias, TypeVar

from controller.options import Kind
from eval.questions import phrasing as say
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, FilmFacts, Person, Relation, ShownText, Thing, Visit
from tool_induction.domains.domain import Domain, SplitName, Template
from world_api.core.spans import TimeSpan, merge_spans

#: Two intervals with a shorter gap (seconds) may be mistaken for one, two such moments for the same.
APART = 1.0
#: Kinds of relations between a thing and where it is, or who has it.
KEEPING = ("on", "inside", "holds", "wears")

#: The words of a template's placeholders; options in tiers, those most like the right one first.
Slots: TypeAlias = Mapping[str, Say]
Tiers: TypeAlias = Sequence[Sequence[Say]]

_Item = TypeVar("_Item")
_Lasting = TypeVar("_Lasting", Visit, Relation)


class FilmIndex:
    """Look-ups over the facts of a film.

    ``people``, ``things`` and ``places``: those on screen whose words fit no other. ``deeds``: the events that are
    seen, not only spoken, and whose people and things are among these. ``named_events``: the deeds whose clause fits no
    other event. ``caused``: causes with their effects and the reason. By id, in order of time: ``visits`` (when it
    is on screen); ``seen_spans`` (the same, merged without gaps); ``deeds_of`` a person; ``keeping`` of a thing (where
    it is, or who holds or wears it). ``times_of``: by person and phrase, the events in which the person does this.

    A phrase or clause also fits an event whose words begin with it: "enters the kitchen" fits "enters the kitchen with
    the cup".
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
        """Whether the clause fits no other event and its people are in ``people``; the event may be speech."""
        return self._knows_people(event) and self._clauses[event.clause] == 1

    def is_named(self, event: Event) -> bool:
        """Whether an event is in ``named_events``."""
        return self.is_deed(event) and self._clauses[event.clause] == 1

    def is_deed(self, event: Event) -> bool:
        """Whether an event is in ``deeds``."""
        is_known = self._knows_people(event) and (not event.thing or event.thing in self.thing_by_id)
        return event.kind != "says" and is_known

    def around(self, event: Event, seconds: float) -> list[Event]:
        """Return the events near ``event``, which is one of them, in order of time.

        They begin at most ``seconds`` before ``event`` begins and less than ``seconds`` after it ends.
        """
        first = bisect_left(self._starts, event.start - seconds)
        return list(self.events[first : bisect_left(self._starts, event.end + seconds)])

    def happens_once(self, event: Event) -> bool:
        """Whether the actor of an event does this only once in the film."""
        return len(self.times_of[event.actor, event.verb_phrase]) == 1

    def is_only_of(self, person: str, phrase: str) -> bool:
        """Whether no person except ``person`` does what ``phrase`` describes, in these words or in longer ones."""
        return not any(self.times_of[other.id, phrase] for other in self.facts.people if other.id != person)

    def kept_at(self, thing: str, time: float) -> Relation | None:
        """Return where a thing (id) is, or who has it, at ``time``; None if unknown, or if it changes within a second."""
        near = [item for item in self.keeping[thing] if item.start < time + APART and item.end > time - APART]
        return near[0] if len(near) == 1 and near[0].start <= time < near[0].end else None

    def place_at(self, subject: str, time: float) -> str | None:
        """Return the id of the room in which a person or thing (``subject``: an id) is at ``time`` (seconds), or None."""
        return next((item.object for item in self._in_rooms[subject] if item.start <= time < item.end), None)

    def rooms_ever(self, subject: str) -> set[str]:
        """Return the ids of all rooms that a person or a thing is ever in, on screen or not."""
        return {item.object for item in self._in_rooms[subject]} | {item.place for item in self.visits[subject]}


def is_with_person(relation: Relation) -> bool:
    """Whether a person (the subject of the relation) holds or wears the thing."""
    return relation.kind in ("holds", "wears")


def does_so(event: Event, phrase: str) -> bool:
    """Whether the verb phrase of an event is ``phrase``, or begins with it."""
    return f"{event.verb_phrase} ".startswith(f"{phrase} ")


def span_of(item: Event | Visit | Relation) -> TimeSpan:
    """Return the time span of an event, a visit or a relation."""
    return TimeSpan(start=item.start, end=item.end)


def in_order(items: Iterable[_Lasting]) -> list[_Lasting]:
    """Return visits or relations sorted by start, then by end."""
    return sorted(items, key=lambda item: (item.start, item.end))


def _grouped(items: Iterable[_Item], key: Callable[[_Item], str]) -> Mapping[str, list[_Item]]:
    """Group items by ``key``; a key without items has an empty list."""
    found: dict[str, list[_Item]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


def _beginnings(text: str) -> Iterator[str]:
    """Yield the first word of a text, the first two words, ..., all words."""
    words = text.split(" ")
    return (" ".join(words[:number]) for number in range(1, len(words) + 1))


LONG = 3600.0  #: seconds; shorter films have no windows
_LENGTH = 900.0  #: the least length of a window in seconds
_GAP = 4.0  #: seconds without a scene (a card): a window begins and ends in such a gap, so that it cuts no event


def windows_of(facts: FilmFacts) -> tuple[TimeSpan, ...]:
    """Return the parts of 15 minutes or more into which a film is cut between scenes; empty if it lasts under an hour."""
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
    """Return the facts of a window of a film. People, things and places are all kept; times remain those of the film.

    Events and texts not inside the window are removed, and causes that name such an event. Relations and visits are
    cut to it, so that the first and last state of a thing are those at the window's ends. A ``LearnedFact`` (a rule, a
    habit, ...) is kept whole if one of its spans overlaps the window.
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
    """One possible question: a template, the words for its placeholders (``slots``) and the evidence (``spans``).

    A choice has its ``right`` option and lists of ``wrong`` ones, the list most similar to the right one first; it is
    dropped if it has fewer than ``fewest`` options. ``order`` has its parts in the true order; other kinds have an
    ``answer``. Drafts of a template with different ``bucket`` alternate, so that no answer is more frequent than
    necessary. ``is_fixed``: the options are yes and no, in this order. ``is_crossed``: the options combine two right
    with two wrong halves; all are shown, so that none is conspicuous. ``window``: the part of the film that the
    question is about; None for all of it.
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
    """Makes drafts about one film, or a window of it, from one ``template``; ``most`` limits their number."""

    film: FilmIndex
    domain: Domain
    split: SplitName
    chance: random.Random
    most: int = 60
    template: Template | None = None

    def says(self, words: str) -> bool:
        """Whether the English text of the template contains these words."""
        return self.template is not None and words in self.template.en

    def some(self, items: Iterable[_Item], number: int | None = None) -> list[_Item]:
        """Return at most ``number`` (default ``most``) of the items, in random order."""
        found = list(items)
        return self.chance.sample(found, min(len(found), self.most if number is None else number))

    def draft(self, kind: Kind, slots: Slots, spans: Iterable[TimeSpan], **parts: Any) -> Draft:
        """Return a draft of ``template``; ``parts`` are further fields of it. Raises LookupError: ``template`` is None."""
        if self.template is None:
            raise LookupError("no template is chosen")
        return Draft(template=self.template, kind=kind, slots=slots, spans=tuple(spans), **parts)

    def choice(self, slots: Slots, spans: Iterable[TimeSpan], right: Say, wrong: Tiers, **parts: Any) -> Draft:
        """Return the draft of a choice; ``wrong``: lists of wrong options, the list most similar to ``right`` first."""
        return self.draft("choice", slots, spans, right=right, wrong=tuple(map(tuple, wrong)), **parts)

    def yes_or_no(self, is_so: bool, slots: Slots, spans: Iterable[TimeSpan]) -> Draft:
        """Return the draft of a question with the options yes and no; ``is_so``: whether yes is right."""
        right, wrong = (lambda words: words.yes_no[not is_so]), (lambda words: words.yes_no[is_so])
        return self.choice(slots, spans, right, [[wrong]], bucket="yes" if is_so else "no", is_fixed=True)

    def count(self, number: int, slots: Slots, spans: Iterable[TimeSpan]) -> Draft:
        """Return the draft of a question whose answer is ``number``; ``spans`` are its evidence."""
        return self.draft("count", slots, spans, answer=number, bucket=str(number))

    def interval(self, span: TimeSpan, slots: Slots) -> Draft:
        """Return the draft of a question whose answer is the interval ``span``, which is also its evidence."""
        value = {"start_time": round(span.start, 3), "end_time": round(span.end, 3)}
        return self.draft("interval", slots, [span], answer=value)


#: Makes the drafts of one template of a question type.
Maker: TypeAlias = Callable[[Asker], Iterator[Draft]]


def by_name(*makers: Maker) -> dict[str, Maker]:
    """Return makers by their function names, which are the ids of the question types."""
    return {str(getattr(maker, "__name__", "")): maker for maker in makers}


def named(subject: Person | Thing) -> dict[str, Say]:
    """Return the words for a subject by the template's placeholder: "person" for a person, "object" for a thing."""
    return {"person" if isinstance(subject, Person) else "object": say.name(subject)}


#: The longest time (seconds) from an event to what happens "right before" or "right after" it.
RIGHT = 20.0
_MOST_TAKEN = 40
DRAWN = "drawn"

Shape: TypeAlias = tuple[str, bool, bool, bool]


def alike(
    right: Event, pool: Iterable[Event], anchors: Sequence[Event], say: Callable[[Event], Say]
) -> list[list[Say]]:
    """Return two tiers of wrong options from the pool: events in the room of the right one, then those in other rooms.

    ``say`` words an event. The events have the same ``shape`` as ``right``, and like it share people and things with
    the ``anchors`` (the events in the question), or not: an event of another kind, or one with a person or thing of the
    question that the right one lacks, would give the answer away.
    """
    tiers: tuple[list[Say], list[Say]] = ([], [])
    for event in pool:
        is_other = event is not right and event not in anchors and not says_the_same(event, right)
        if is_other and shape(event) == shape(right) and _shares(event, anchors) == _shares(right, anchors):
            tiers[event.place != right.place].append(say(event))
    return [tier[:_MOST_TAKEN] for tier in tiers]


def _shares(event: Event, anchors: Sequence[Event]) -> tuple[bool, bool, bool]:
    """Return whether the ``anchors`` (events in the question) have an event's actor, its other person, its thing."""
    people = {who for item in anchors for who in (item.actor, item.other)} - {""}
    things = {item.thing for item in anchors} - {""}
    return event.actor in people, event.other in people, event.thing in things


def names_the_same(event: Event, right: Event, anchors: Sequence[Event]) -> bool:
    """Whether the ``anchors`` have the other person of both events or of neither; likewise the thing."""
    return _shares(event, anchors)[1:] == _shares(right, anchors)[1:]


def shape(event: Event) -> Shape:
    """Return the form of an event: its kind, and whether it has a thing, another person, a piece of furniture."""
    return event.kind, bool(event.thing), bool(event.other), bool(event.target)


def by_shape(pool: Iterable[Event]) -> dict[Shape, list[Event]]:
    """Group events by their shape; of events with equal clauses only one is kept."""
    found: dict[Shape, list[Event]] = defaultdict(list)
    for event in {item.clause: item for item in pool}.values():
        found[shape(event)].append(event)
    return found


def as_rare(ask: Asker, right: Event, pool: Iterable[Event]) -> list[Event]:
    """Return the events of the pool that only one person does, if only one does ``right``; else those that several do.

    A deed of several people would be a more likely answer than a rare one.
    """
    is_rare = ask.film.is_only_of(right.actor, right.verb_phrase)
    return [item for item in pool if ask.film.is_only_of(item.actor, item.verb_phrase) == is_rare]


def related(one: Event, other: Event) -> bool:
    """Whether two events share a person or a thing, so that one may follow from the other."""
    mine = {one.actor, one.other, one.thing} - {""}
    return bool(mine & {other.actor, other.other, other.thing})


def says_the_same(one: Event, other: Event) -> bool:
    """Whether the actor is the same and the words of one event fit the other too."""
    return one.actor == other.actor and (does_so(one, other.verb_phrase) or does_so(other, one.verb_phrase))


def neighbour(events: Sequence[Event], event: Event, step: int) -> Event | None:
    """Return which of ``events`` is right before (``step`` -1) or right after (1) ``event``.

    None if another one overlaps ``event``, if none is within ``RIGHT`` seconds, or if two are about equally near.
    """
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
    """Yield items from groups of four, each as (the item to ask about, the other three as wrong options).

    In a group any two items ``fit``: each can be right in its own question and wrong in that of the other. The item to
    ask about is drawn at random, so that its rank in the group (the earliest, the longest) reveals nothing. If there is
    no group of four, groups have three items. Callers set the bucket of these drafts to ``DRAWN``: taking answers in
    turn would undo the draw.
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
