"""Whether questions can be answered, each in one way only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from eval.datasets.items import Item
from eval.sandbox.asking.checking.locating import LOCATING
from eval.sandbox.asking.checking.ordering import ORDERING
from eval.sandbox.asking.checking.reading import Asked, Lexicon, Unclear, read
from eval.sandbox.asking.checking.summing import SUMMING
from eval.sandbox.facts import FilmFacts
from tool_induction.domains.domain import Domain
from tool_induction.domains.loading import load_domain

_CHECKS = {**LOCATING, **ORDERING, **SUMMING}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is wrong with a question."""

    item: str
    message: str


def check_items(items: Sequence[Item], facts: FilmFacts) -> list[Problem]:
    """What is wrong with questions about a film: nothing, where all is well.

    Words are read back by their template; each phrase must name one person, thing, room or event; the answer is found
    anew from the facts, by counting frames and going through the events, and of the options exactly one must be right.
    """
    lexicons = {language: Lexicon(facts, language) for language in ("en", "zh")}
    problems = []
    for item in items:
        try:
            _check(item, facts, _domain(item.domain or ""), lexicons)
        except Unclear as why:
            problems.append(Problem(item=item.id, message=str(why)))
    names = [item.id for item in items]
    return problems + [
        Problem(item=name, message="its id stands twice") for name in set(names) if names.count(name) > 1
    ]


@lru_cache(maxsize=8)
def _domain(name: str) -> Domain:
    return load_domain(name)


def _check(item: Item, facts: FilmFacts, domain: Domain, lexicons: Mapping[str, Lexicon]) -> None:
    if item.video_id != facts.film:
        raise Unclear(f"it is about {item.video_id}")
    if any(span.start < 0 or span.end > facts.duration + 1e-3 for span in item.spans):
        raise Unclear("its evidence lies outside of the film")
    asked = read(item, facts, domain, lexicons[str(item.labels.get("language"))])
    check = _CHECKS.get(asked.type)
    if check is None:
        raise Unclear(f"nobody can check questions of type {asked.type}")
    right = check(asked)
    if item.question.kind == "choice":
        _check_options(asked, right)
    elif not right:
        raise Unclear(f"the answer is not {item.answer!r}")


def _check_options(asked: Asked, right: Sequence[bool] | bool) -> None:
    """Exactly one option is right, and that is the answer."""
    question = asked.item.question
    if isinstance(right, bool):
        options = [asked.words.say.answer(value) for value in (True, False)]
        if list(question.options) != options:
            raise Unclear(f"the options are not {options}")
        right = [right, not right]
    letters = [letter for letter, is_right in zip(question.letters, right, strict=True) if is_right]
    if letters != [asked.item.answer]:
        raise Unclear(f"right are {letters}, not {asked.item.answer}: {question.text}")
