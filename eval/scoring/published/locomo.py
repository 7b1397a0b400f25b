"""LoCoMo's F1 by category of question.

Source: Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents", and the evaluation that its
authors publish beside the data: tokens as SQuAD's without "and", stemmed; category 1 (several hops) takes answers apart at commas
and means the best F1 of each part; 2, 3 and 4 are plain F1, of 3 only what stands before a semicolon; 5 (adversarial)
is right where the answer says that nothing is known. The file with the questions names the category.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import Any

from eval.datasets.items import Item
from eval.scoring.kinds.expected import accepted_texts
from eval.scoring.kinds.texts import given_text
from eval.scoring.kinds.words import overlap
from eval.scoring.port import Context
from eval.scoring.published.stemming import stem
from eval.scoring.score import Score
from world_api.core.faults import EvalFault

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_UNKNOWN = ("no information available", "not mentioned")
_SEVERAL_HOPS, _COMMON_SENSE, _ADVERSARIAL = 1, 3, 5


@dataclass(frozen=True, kw_only=True)
class LocomoSettings:
    """LoCoMo reports the mean F1 and no accuracy; ``correct_at`` is the F1 from which we call an answer correct."""

    correct_at: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.correct_at <= 1:
            raise ValueError("correct_at lies above 0 and at most at 1")


def score_locomo(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """F1 of the item's category (``labels["category"]``, 1 to 5), the best over all accepted answers."""
    settings = context.read(LocomoSettings)
    category = item.labels.get("category")
    if category not in (1, 2, 3, 4, 5):
        raise EvalFault(
            "item_without_answer",
            f"item {item.id!r} has no category of LoCoMo's (1 to 5) in its labels",
            hint="load LoCoMo by its adapter, or score with text/1",
        )
    given = given_text(value, answer)
    if given is None:
        return context.wrong("no_answer", category=category)
    if category == _ADVERSARIAL:
        known_unknown = says_unknown(given)
        return context.scored(correct=known_unknown, score=known_unknown, category=category)
    f1 = max(category_f1(given, accepted, category) for accepted in accepted_texts(item))
    return context.scored(correct=f1 >= settings.correct_at, score=f1, f1=round(f1, 6), category=category)


def category_f1(given: str, accepted: str, category: int) -> float:
    """F1 of one answer against one accepted answer, as category 1, 2, 3 or 4 has it."""
    if category == _COMMON_SENSE:
        accepted = accepted.split(";", maxsplit=1)[0].strip()
    if category != _SEVERAL_HOPS:
        return stemmed_f1(given, accepted)
    parts = [tokens_of(part) for part in given.split(",")]
    best = [max(overlap(part, tokens_of(wanted)).f1 for part in parts) for wanted in accepted.split(",")]
    return sum(best) / len(best)


def stemmed_f1(given: str, accepted: str) -> float:
    """F1 over stemmed tokens."""
    return overlap(tokens_of(given), tokens_of(accepted)).f1


def says_unknown(given: str) -> bool:
    """Whether an answer says that nothing is known, in one of the two wordings that count."""
    return any(words in given.lower() for words in _UNKNOWN)


def tokens_of(text: str) -> list[str]:
    """Stemmed tokens."""
    return [stem(word) for word in _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()]
