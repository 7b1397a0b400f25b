"""Drafts of questions, and the wrong options that read as likely as the right one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias, TypeVar

from controller.questions import Kind
from eval.questions.film_index import APART, FilmIndex, does_so
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event
from tool_induction.domains.domain import Domain, SplitName, Template
from world_api.core.spans import TimeSpan

_Item = TypeVar("_Item")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One possible question.

    A choice has its ``right`` option and ``wrong`` ones in tiers, those most like the right one first; ``order`` has
    its parts in their true order; other kinds have an ``answer``. Of one template's drafts those of different ``bucket`` take
    turns, so that no answer is more frequent than it must be. ``is_fixed``: yes stands before no, whichever is right.
    ``is_crossed``: the options are two things, each right and wrong, so that all of them are shown and none stands out.
    A choice with less than ``fewest`` options is not asked. ``window``: the part of the film that is asked about, where that
    is not the whole film.
    """

    template: Template
    kind: Kind
    slots: Mapping[str, Say]
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
    """What makers of drafts work with. ``most`` bounds how many drafts of one template are made: films may be long."""

    film: FilmIndex
    domain: Domain
    split: SplitName
    chance: random.Random
    most: int = 60
    _templates: dict[str, tuple[Template, ...]] = field(default_factory=dict)

    def templates(self, kind: str) -> tuple[Template, ...]:
        """The templates of a question type in this split."""
        if not self._templates:
            self._templates.update({item.id: item.of(self.split) for item in self.domain.question_types})
        return self._templates.get(kind, ())

    def some(self, items: Iterable[_Item], number: int | None = None) -> list[_Item]:
        """So many of them, in no order."""
        found = list(items)
        return self.chance.sample(found, min(len(found), self.most if number is None else number))


#: Makes the drafts of one template of a question type.
Maker: TypeAlias = Callable[[Asker, Template], Iterator[Draft]]


def yes_or_no(template: Template, is_so: bool, slots: Mapping[str, Say], spans: Iterable[TimeSpan]) -> Draft:
    """A question that is answered by yes or no."""
    return Draft(
        template=template,
        kind="choice",
        slots=slots,
        spans=tuple(spans),
        right=lambda words: words.yes_no[not is_so],
        wrong=((lambda words: words.yes_no[is_so],),),
        bucket="yes" if is_so else "no",
        is_fixed=True,
    )


def choice(
    template: Template,
    slots: Mapping[str, Say],
    spans: Iterable[TimeSpan],
    *,
    right: Say,
    wrong: Sequence[Sequence[Say]],
    bucket: str = "",
    is_crossed: bool = False,
    fewest: int = 3,
) -> Draft:
    """A question with options; ``wrong`` in tiers, those most like the right one first."""
    return Draft(
        template=template,
        kind="choice",
        slots=slots,
        spans=tuple(spans),
        right=right,
        wrong=tuple(tuple(tier) for tier in wrong),
        bucket=bucket,
        is_crossed=is_crossed,
        fewest=fewest,
    )


def count(template: Template, number: int, slots: Mapping[str, Say], spans: Iterable[TimeSpan]) -> Draft:
    """A question for a number."""
    return Draft(template=template, kind="count", slots=slots, spans=tuple(spans), answer=number, bucket=str(number))


def interval(template: Template, span: TimeSpan, slots: Mapping[str, Say]) -> Draft:
    """A question for a stretch, which is its own evidence."""
    value = {"start_time": round(span.start, 3), "end_time": round(span.end, 3)}
    return Draft(template=template, kind="interval", slots=slots, spans=(span,), answer=value)


#: What was done "right before" or "right after" lies at most so far away (seconds), with nothing in between.
RIGHT = 20.0
_MOST_TAKEN = 40
DRAWN = "drawn"

Shape: TypeAlias = tuple[str, bool, bool, bool]


def alike(
    right: Event, pool: Iterable[Event], anchors: Sequence[Event], say: Callable[[Event], Say]
) -> list[list[Say]]:
    """Those of the pool that read as likely as the right event: of its kind, and as near to what the question names.

    In two tiers, those in the same room first. An event of another kind, or one that shares a person or a thing with the
    question where the right one does not, would give the answer away.
    """
    tiers: tuple[list[Say], list[Say]] = ([], [])
    for event in pool:
        is_other = event is not right and event not in anchors and not says_the_same(event, right)
        if is_other and shape(event) == shape(right) and _shares(event, anchors) == _shares(right, anchors):
            tiers[event.place != right.place].append(say(event))
    return [tier[:_MOST_TAKEN] for tier in tiers]


def _shares(event: Event, anchors: Sequence[Event]) -> tuple[bool, bool, bool]:
    """Whether the doer, the other person and the thing of an event play in what the question names."""
    people = {who for item in anchors for who in (item.actor, item.other)} - {""}
    things = {item.thing for item in anchors} - {""}
    return event.actor in people, event.other in people, event.thing in things


def names_the_same(event: Event, right: Event, anchors: Sequence[Event]) -> bool:
    """Whether two events name as much of the question's people and things, whoever does them."""
    return _shares(event, anchors)[1:] == _shares(right, anchors)[1:]


def shape(event: Event) -> Shape:
    """What an event reads like: its kind, and whether a thing, another person and a piece of furniture are named.

    Who comes in with a thing does so at other times than who comes in without.
    """
    return event.kind, bool(event.thing), bool(event.other), bool(event.target)


def as_rare(ask: Asker, right: Event, pool: Iterable[Event]) -> list[Event]:
    """Those that one person only does, where that is so of the right one; else those that several do.

    What everybody does some time is likelier right than what happens once.
    """
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
    """Of some events (in order of time) the one right before (-1) or right after (1) another; None where that is not clear."""
    others = [item for item in events if item is not event]
    if any(item.start < event.start < item.end or event.start <= item.start < event.end for item in others):
        return None  # something goes on meanwhile

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
    ask: Asker, items: Sequence[_Item], fit: Callable[[_Item, _Item], bool], sizes: Sequence[int] = (4, 3)
) -> Iterator[tuple[_Item, list[_Item]]]:
    """One of some items and others beside it, of which each could as well have been the one.

    In a set any two ``fit`` (each the right answer of its own question, and wrong in the other's), and who of the set is
    asked about is drawn blindly: so its rank among them (the earliest, the longest) tells nothing. The first size that any
    set has is taken. Drafts of them share the bucket ``DRAWN``: turns of the items would undo the draw.
    """
    some = ask.some(items, 16)
    pairs = {(one, other): fit(some[one], some[other]) for one, other in combinations(range(len(some)), 2)}
    for size in sizes:
        every = (row for row in combinations(range(len(some)), size) if all(pairs[two] for two in combinations(row, 2)))
        sets = ask.some(every)
        if not sets:
            continue
        for row in sets:
            drawn = ask.chance.choice(row)
            yield some[drawn], [some[place] for place in row if place != drawn]
        return
