"""Options that stand with letters of their own: "(A) 1636", "B. Blue shirts."."""

from __future__ import annotations

import re

from eval.datasets.adapters.raw import Unusable

_LED = re.compile(r"^\s*[(\[]?([A-Z])[.)\]:]\s*(.*)$", re.DOTALL)
_LINE = re.compile(r"(?m)^\s*\(([A-Z])\)\s*")


def without_letters(options: tuple[str, ...]) -> tuple[str, ...]:
    """The options without the letters they begin with, where all begin with theirs in order; else as they are."""
    found = [_LED.match(option) for option in options]
    if options and all(match and match[1] == chr(ord("A") + place) for place, match in enumerate(found)):
        return tuple(match[2].strip() for match in found if match)
    return options


def split_question(text: str) -> tuple[str, tuple[str, ...]]:
    """A question and the options that follow it, each on a line that begins with its letter in brackets."""
    parts = _LINE.split(text)
    question, letters, options = parts[0], parts[1::2], parts[2::2]
    if not options or letters != [chr(ord("A") + place) for place in range(len(letters))]:
        raise Unusable("no options (A), (B), ... stand on lines of their own after the question")
    return question.strip(), tuple(option.strip() for option in options)


def letter_of(answer: str, options: tuple[str, ...]) -> str:
    """The letter that an answer names: a letter, "(B)", "B." or "B. Blue shirts."."""
    letters = [chr(ord("A") + place) for place in range(len(options))]
    bare = answer.strip().strip("().: ").upper()
    if bare in letters:
        return bare
    led = _LED.match(answer.strip())
    if led and led[1] in letters:
        return led[1]
    raise Unusable(f"the answer {answer[:60]!r} names none of the {len(options)} options")
