"""Reading the letter from a free reply, as published evaluations of multiple choice do.

Our episodes hold a letter already, and ``choice`` scores that. Figures of other models come from free replies that were read by one
of these rules; with ``choice_reply`` an answer's words are read by the same rule, so that figures can be compared, or files of
published replies scored again.

``last_named``: the rule of MMMU's evaluation (Yue et al. 2024) that lmms-eval uses for NExT-QA. Punctuation round the reply is
taken off; then letters in brackets count, else letters before a space, else before a full stop, else, in a reply of more
than five words, the words of an option; of several the one named last. ``first_letter``: the rule of Video-MME's
evaluation (Fu et al. 2024): without some leads ("The answer is"), the first capital letter of an option wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from eval.datasets.items import Item
from eval.scoring.kinds.expected import accepted_values
from eval.scoring.kinds.texts import given_text
from eval.scoring.port import Context
from eval.scoring.score import Score

_MARKS = (",", ".", "!", "?", ";", ":", "'")
_FEW_WORDS = 5
#: The last two are two leads each, run together where they were published; they are left so, since the figures were made by them.
_LEADS = (
    "The best answer is", "The correct answer is", "The answer is", "The answer",
    "The best option is" "The correct option is", "Best answer:" "Best option:",
)  # fmt: skip

Options = Mapping[str, str]  #: letter -> words


@dataclass(frozen=True, kw_only=True)
class ReplySettings:
    """``reader``: ``last_named`` or ``first_letter``.

    A reply without a letter is wrong. The published ``last_named`` draws one of the options there, which makes a figure higher by
    chance and different each time.
    """

    reader: str = "last_named"

    def __post_init__(self) -> None:
        if self.reader not in READERS:
            raise ValueError("reader is one of: " + ", ".join(READERS))


def score_choice_reply(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """The letter that the rule reads from the answer's words, against the accepted one."""
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
    """The option named last; None where none is."""
    for mark in _MARKS:
        reply = reply.strip(mark)
    text = f" {reply} "
    for spelt, place in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        named = [letter for letter in options if spelt.format(letter) in text]
        if named:
            # Of letters that stand nowhere alone the first one counts.
            return named[0] if len(named) == 1 else max(named, key=lambda one: text.rfind(place.format(one)))
    small = text.lower()
    named = [letter for letter, words in options.items() if words.lower() in small]
    if not named or len(text.split()) <= _FEW_WORDS:
        return None
    return max(named, key=lambda one: small.rfind(options[one].lower()))


def first_letter(reply: str, options: Options) -> str | None:
    """The first capital letter of an option; None where there is none."""
    text = reply.strip()
    for lead in _LEADS:
        text = text.replace(lead, "")
    return next((character for character in text if character in options), None)


READERS: Mapping[str, Callable[[str, Options], str | None]] = {"last_named": last_named, "first_letter": first_letter}
