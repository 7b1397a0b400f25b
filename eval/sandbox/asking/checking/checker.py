"""Whether questions can be answered, each in one way only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from eval.datasets.items import Item
from eval.sandbox.asking.checking.locating import LOCATING
from eval.sandbox.asking.checking.ordering import ORDERING
from eval.sandbox.asking.checking.reading import Asked, Lexicon, Unclear, read, window_and_question
from eval.sandbox.asking.checking.summing import SUMMING
from eval.sandbox.asking.windows import facts_within, windows_of
from eval.sandbox.facts import FilmFacts
from tool_induction.domains.domain import Domain
from tool_induction.domains.loading import load_domain
from world_api.core.spans import TimeSpan

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
    lexicons: dict[tuple[str, TimeSpan | None], Lexicon] = {}
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


def _check(item: Item, facts: FilmFacts, domain: Domain, lexicons: dict[tuple[str, TimeSpan | None], Lexicon]) -> None:
    if item.video_id != facts.film:
        raise Unclear(f"it is about {item.video_id}")
    if any(span.start < 0 or span.end > facts.duration + 1e-3 for span in item.spans):
        raise Unclear("its evidence lies outside of the film")
    language = str(item.labels.get("language"))
    window, text = window_and_question(item.question.text, language)
    if window is not None:
        if window not in windows_of(facts):
            raise Unclear(f"{window} is no window of the film")
        if any(span.start < window.start or span.end > window.end for span in item.spans):
            raise Unclear("its evidence lies outside of the part that is asked about")
        facts, item = facts_within(facts, window), replace(item, question=replace(item.question, text=text))
    words = lexicons.setdefault((language, window), Lexicon(facts, language))
    asked = read(item, facts, domain, words)
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
