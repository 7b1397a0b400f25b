"""Open answers: by their words, or by a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.datasets.items import Item
from eval.scoring.kinds.expected import accepted_texts
from eval.scoring.kinds.words import Tokeniser, cjk_tokens, has_cjk, overlap, squad_tokens
from eval.scoring.port import Context
from eval.scoring.score import Score
from world_api.core.faults import EvalFault


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """An answer is correct where its words are those of an accepted one; with ``f1_at`` above 0, from that F1 on."""

    f1_at: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.f1_at <= 1:
            raise ValueError("f1_at lies between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """``instead``: the scorer that is used where no judge is there; empty: that is a fault."""

    instead: str = "text"


def score_text(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Exact match and token F1 as SQuAD defines them, the best over all accepted answers."""
    return _by_words(item, value, answer, context, squad_tokens)


def score_text_cjk(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """The same with characters of Chinese, Japanese and Korean as tokens."""
    return _by_words(item, value, answer, context, cjk_tokens)


def score_judged(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Correct: the judge says that the answer says what an accepted one says."""
    context.read(JudgeSettings)
    accepted = accepted_texts(item)
    given = given_text(value, answer)
    if context.judge is None:
        raise EvalFault("no_judge", f"{context.scorer} needs a judge", hint="name one with --judge-model")
    if given is None:
        return context.wrong("no_answer", judge=context.judge.name)
    verdict = context.judge.verdict(item.question.text, accepted, given)
    if verdict.fault is not None:
        return context.wrong(verdict.fault, judge=verdict.judge, characters=len(given))
    return context.scored(correct=verdict.yes, score=verdict.yes, judge=verdict.judge, characters=len(given))


def text_scorer_for(item: Item) -> str:
    """The scorer by words that fits the accepted answers."""
    return "text_cjk" if any(map(has_cjk, accepted_texts(item))) else "text"


def given_text(value: Any, answer: str | None) -> str | None:
    """The words of an answer; None where nothing is said."""
    said = value if isinstance(value, str) else answer
    return said.strip() if isinstance(said, str) and said.strip() else None


def _by_words(item: Item, value: Any, answer: str | None, context: Context, tokens: Tokeniser) -> Score:
    settings = context.read(TextSettings)
    accepted = accepted_texts(item)
    given = given_text(value, answer)
    if given is None:
        return context.wrong("no_answer")
    said = tokens(given)
    found = [overlap(said, tokens(one)) for one in accepted]
    best = max(found, key=lambda one: (one.f1, one.exact))
    exact = any(one.exact for one in found)
    return context.scored(
        correct=exact or (settings.f1_at > 0 and best.f1 >= settings.f1_at),
        score=1.0 if exact else best.f1,
        exact=exact,
        f1=round(best.f1, 6),
        precision=round(best.precision, 6),
        recall=round(best.recall, 6),
    )
