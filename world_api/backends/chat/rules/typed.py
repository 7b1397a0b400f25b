"""The plans for questions whose answer has a type: a choice, a stretch, a number, an order."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from world_api.backends.chat.completions import Call
from world_api.backends.chat.rules import wording
from world_api.backends.chat.rules.asked import Asked
from world_api.backends.chat.rules.plans import (
    SEARCHES,
    Conclusion,
    Found,
    Plan,
    first_found,
    plan_for,
    search,
    stretches,
)
from world_api.backends.chat.rules.questions import Question, read_question
from world_api.backends.chat.rules.results import records_in, span_of
from world_api.backends.chat.rules.tools import Facts
from world_api.core.spans import TimeSpan

#: The call of an induced tool that fits some facts, if one is on offer.
LibraryFor = Callable[[Facts], Call | None]

_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
_DULL = frozenset("a an the is are was were of in on at to and or it he she they person somebody someone".split())
_PLACES = re.compile(
    r"how many (?:different )?(?:rooms|places|scenes|locations)\s+(?:is|are|was|were|does|do)\s+(?P<target>.+?)"
    r"\s+(?:seen|appear|visit|enter|in|be)\w*\b",
    re.IGNORECASE,
)


def typed_plan(asked: Asked, library_for: LibraryFor) -> Plan:
    """The plan for a question in its type; its conclusion has the ``value`` that is asked for."""
    facts = Facts(video_id=asked.video_id, question=asked.question)
    match asked.kind:
        case "order":
            return _order(facts, asked.options, library_for)
        case "choice":
            return _choose(facts, asked.options, library_for)
        case "interval":
            return _place(facts, library_for)
        case "count":
            return _number(facts, library_for)
        case _:
            return plan_for(facts, library_for(facts))


def words_of(value: Any) -> str:
    """A typed value in words."""
    if isinstance(value, Mapping):
        return f"{value['start_time']} - {value['end_time']}"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _place(facts: Facts, library_for: LibraryFor) -> Plan:
    sought = _about(facts, replace(facts.question, intent="place"))
    ending = yield from plan_for(sought, library_for(sought))
    span = ending.spans[0] if ending.spans else TimeSpan(start=0.0, end=0.0)
    return replace(ending, value={"start_time": span.start, "end_time": span.end})


def _number(facts: Facts, library_for: LibraryFor) -> Plan:
    question = facts.question
    places = _PLACES.search(question.text)
    if places is not None:
        return (yield from _count_places(_about(facts, read_question(f"When does {places['target']} appear?"))))
    counted = _about(facts, question if question.intent == "times" else replace(question, intent="count"))
    ending = yield from plan_for(counted, library_for(counted))
    return replace(ending, value=ending.number or 0)


def _count_places(facts: Facts) -> Plan:
    """In how many scenes something is seen."""
    spans = yield from stretches(facts)
    [listed] = yield [Call(tool="list_scenes", arguments={"video_id": facts.video_id})]
    scenes = [scene for item in records_in(listed) if (scene := span_of(item)) is not None]
    entered = [scene for scene in scenes if any(scene.start <= span.center < scene.end for span in spans)]
    number = len(entered)
    text = wording.counted(facts.question.target, number, "", chinese=facts.question.chinese)
    return Conclusion(text=text, spans=tuple(spans[:number]), number=number, value=number)


def _order(facts: Facts, options: Mapping[str, str], library_for: LibraryFor) -> Plan:
    """Look for each option; what was found by its time, then what was not."""
    found = yield from _each(facts, options, library_for)
    seen = sorted((letter for letter in options if found[letter] is not None), key=lambda letter: _start(found[letter]))
    letters = seen + [letter for letter in options if found[letter] is None]
    text = wording.told(", ".join(f"{letter} {options[letter]}" for letter in letters), chinese=facts.question.chinese)
    return Conclusion(text=text, spans=_spans(found, seen), value=letters)


def _choose(facts: Facts, options: Mapping[str, str], library_for: LibraryFor) -> Plan:
    """Look for what is asked about; the option with most of the words that were found there, else one that is found at all."""
    ending = yield from plan_for(facts, library_for(facts))
    shared = {letter: len(_words(option) & _words(ending.text)) for letter, option in options.items()}
    best = max(options, key=lambda letter: shared[letter])  # the first of equals
    if shared[best]:
        return replace(ending, value=best)
    found = yield from _each(facts, options, library_for)
    known = [letter for letter in options if found[letter] is not None]
    letter = known[0] if known else next(iter(options))
    return replace(ending, spans=_spans(found, known[:1]) or ending.spans, value=letter)


def _each(
    facts: Facts, options: Mapping[str, str], library_for: LibraryFor
) -> Generator[Sequence[Call], Sequence[Mapping[str, Any]], dict[str, Found | None]]:
    """Where each option is found, if it is: by a tool that fits, else by words, else by meaning; all options at once."""
    sought = {
        letter: _about(facts, replace(read_question(option), target=option, intent="search"))
        for letter, option in options.items()
    }
    found: dict[str, Found | None] = dict.fromkeys(options)
    ways: list[LibraryFor] = [library_for, *(partial(search, tool=tool) for tool in SEARCHES)]
    for ask in ways:
        calls = {letter: call for letter in options if found[letter] is None and (call := ask(sought[letter]))}
        results = (yield list(calls.values())) if calls else []
        for letter, result in zip(calls, results, strict=True):
            found[letter] = first_found(result)
    return found


def _about(facts: Facts, question: Question) -> Facts:
    return Facts(video_id=facts.video_id, question=question)


def _start(found: Found | None) -> float:
    return found.span.start if found is not None else 0.0


def _spans(found: Mapping[str, Found | None], letters: Sequence[str]) -> tuple[TimeSpan, ...]:
    return tuple(item.span for letter in letters if (item := found[letter]) is not None)


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _DULL}
