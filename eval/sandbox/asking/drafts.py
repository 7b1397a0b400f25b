"""A question that could be asked of a film: what is said is still open, and which wrong options are taken."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from controller.questions import Kind
from eval.sandbox.asking.known import Known
from eval.sandbox.asking.phrases import Say
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

    known: Known
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


def yes_or_no(template: Template, is_so: bool, slots: Mapping[str, Say], spans: Iterable[TimeSpan]) -> Draft:
    """A question that is answered by yes or no."""
    return Draft(
        template=template,
        kind="choice",
        slots=slots,
        spans=tuple(spans),
        right=lambda words: words.answer(is_so),
        wrong=((lambda words: words.answer(not is_so),),),
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
