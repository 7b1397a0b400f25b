"""Scoring as others published it, implemented from their definitions: LoCoMo's F1, and letters of free replies.

LoCoMo's F1 (Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents", and the evaluation
published with its data): tokens as SQuAD's without "and", stemmed. Category 1 (several hops): both answers are split at
commas, and the score is the mean over the accepted parts of the best F1; 2, 3 and 4: plain F1, in 3 with the part
before a semicolon; 5 (adversarial): right if the answer states that nothing is known. The file with the questions
contains the category.

Letters of free replies (``choice_reply``) are read by a published rule, so that figures of other models can be
compared. ``last_named``: the rule of MMMU's evaluation (Yue et al. 2024) that lmms-eval uses for NExT-QA. Punctuation
around the reply is removed; then letters in brackets count, else letters before a space, else before a full stop, else,
in a reply of more than five words, the words of an option; of several the last one in the reply counts.
``first_letter``: the rule of Video-MME's evaluation (Fu et al. 2024): the first capital letter of an option anywhere in
the reply, after some phrases ("The answer is") are removed.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from eval.datasets.items import Item
from eval.scoring.kinds import Context, PositiveShare, Score, accepted_texts, accepted_values, given_text, overlap
from world_api.core.faults import EvalFault

_LOCOMO_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_UNKNOWN = ("no information available", "not mentioned")  #: the two wordings that count
_SEVERAL_HOPS, _COMMON_SENSE, _ADVERSARIAL = 1, 3, 5


@dataclass(frozen=True, kw_only=True)
class LocomoSettings:
    """Settings for LoCoMo, which reports the mean F1 and no accuracy.

    ``correct_at``: the F1 at or above which an answer counts as correct.
    """

    correct_at: PositiveShare = 0.5


def score_locomo(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Score an answer by its item's category (a label): 1 to 4 by the best ``category_f1``; in 5 "not mentioned" is right."""
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
        known_unknown = any(words in given.lower() for words in _UNKNOWN)
        return context.scored(correct=known_unknown, score=known_unknown, category=category)
    f1 = max(category_f1(given, accepted, category) for accepted in accepted_texts(item))
    return context.scored(correct=f1 >= settings.correct_at, score=f1, f1=round(f1, 6), category=category)


def category_f1(given: str, accepted: str, category: int) -> float:
    """Return the F1 (0 to 1) of an answer with one accepted answer, as LoCoMo defines it for category 1, 2, 3 or 4."""
    if category == _COMMON_SENSE:
        accepted = accepted.split(";", maxsplit=1)[0].strip()
    if category != _SEVERAL_HOPS:
        return overlap(tokens_of(given), tokens_of(accepted)).f1
    parts = [tokens_of(part) for part in given.split(",")]
    best = [max(overlap(part, tokens_of(wanted)).f1 for part in parts) for wanted in accepted.split(",")]
    return sum(best) / len(best)


def tokens_of(text: str) -> list[str]:
    """Return a text's words without case, punctuation and articles, stemmed by NLTK's Porter stemmer, as LoCoMo does."""
    from nltk.stem.porter import PorterStemmer

    stemmer = PorterStemmer()
    return [stemmer.stem(word) for word in _LOCOMO_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()]


_MARKS = (",", ".", "!", "?", ";", ":", "'")
_FEW_WORDS = 5
#: Each of the last two is two phrases without a comma between them, as published: the published figures used them.
_LEADS = (
    "The best answer is", "The correct answer is", "The answer is", "The answer",
    "The best option is" "The correct option is", "Best answer:" "Best option:",
)  # fmt: skip

Options = Mapping[str, str]  #: letter -> words


@dataclass(frozen=True, kw_only=True)
class ReplySettings:
    """Settings for free replies. ``reader``: the rule that reads the letter, ``last_named`` or ``first_letter``.

    A reply without a letter is wrong. The published ``last_named`` picks a random option instead, which raises the
    figure by chance and makes it differ between evaluations.
    """

    reader: Literal["last_named", "first_letter"] = "last_named"


def score_choice_reply(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Score a free reply: correct if the letter that the settings' ``reader`` finds in it is an accepted one."""
    settings = context.read(ReplySettings)
    accepted = accepted_values(item)
    options = dict(zip(item.question.letters, item.question.options, strict=True))
    said = given_text(answer, None) or given_text(value, None)
    if said is None:
        return context.wrong("no_answer", expected=accepted[0], options=len(options))
    letter = READERS[settings.reader](said, options)
    if letter is None:
        return context.wrong("no_letter", expected=accepted[0], options=len(options))
    correct = letter in accepted
    return context.scored(correct=correct, score=correct, given=letter, expected=accepted[0], options=len(options))


def last_named(reply: str, options: Options) -> str | None:
    """Return the letter of the option that a reply names, by MMMU's rule (see the module); None if it names none.

    Only the first form that occurs is read: "(A)", "A " or "A.", else, in a reply of more than five words, the words of
    an option. Of several letters or words in that form the last in the reply counts.
    """
    for mark in _MARKS:
        reply = reply.strip(mark)
    text = f" {reply} "
    for spelt, place in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        named = [letter for letter in options if spelt.format(letter) in text]
        if named:
            # If the letters have no such place (rfind is -1 for all), the first option counts.
            return named[0] if len(named) == 1 else max(named, key=lambda one: text.rfind(place.format(one)))
    small = text.lower()
    named = [letter for letter, words in options.items() if words.lower() in small]
    if not named or len(text.split()) <= _FEW_WORDS:
        return None
    return max(named, key=lambda one: small.rfind(options[one].lower()))


def first_letter(reply: str, options: Options) -> str | None:
    """Return a reply's first character that is an option's letter, lead-ins ("The answer is") removed; None if none is."""
    text = reply.strip()
    for lead in _LEADS:
        text = text.replace(lead, "")
    return next((character for character in text if character in options), None)


READERS: Mapping[str, Callable[[str, Options], str | None]] = {"last_named": last_named, "first_letter": first_letter}
