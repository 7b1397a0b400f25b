"""An episode as a page for a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.accounts import accounts_of
from controller.episode import Episode
from controller.records.conditions import Conditions
from controller.records.journal import Entry
from controller.showing.costs import cost_lines
from controller.showing.lines import WIDTH, cut, one_line, plural, value_text, wrapped
from controller.showing.rounds import round_lines
from controller.summary import slips_text, span_of_evidence, watermark
from world_api.backends.chat.completions import text_of
from world_api.core.faults import EpisodeFault

_LABEL = 10
_FOUND_BY = re.compile(r'\{"found_by":\s*"([^"\\]{1,64})"')  #: how a line of given material begins
_ELSEWHERE = frozenset({"language", "prompt_hash"})  #: settings that stand on another line
_BEGINNING = 400  #: characters of given material, where not all is shown
_HASH = 12  #: characters of a hash that people compare


def episode_page(entry: Entry, *, only: int | None = None, full: bool = False) -> str:
    """The whole episode, or one of its rounds (0: what was given and done before the first).

    Raises:
        EpisodeFault: ``unknown_round``.
    """
    episode = entry.episode
    numbers = [item.number for item in episode.rounds]
    if any(call.round == 0 for call in episode.calls) or (only is not None and any(_given(episode.messages))):
        numbers.insert(0, 0)
    if only is not None and only not in numbers:
        raise EpisodeFault(
            "unknown_round",
            f"the episode has no round {only}",
            hint="one of: " + ", ".join(map(str, numbers)) if numbers else "it has none",
        )
    lines = list(_head(episode, entry.name, entry.conditions)) if only is None else []
    for number in numbers if only is None else [only]:
        lines += ["", *round_lines(episode, number, full=full)]
        if only == 0:
            lines += _material(episode.messages, full=full)
    if only is None:
        lines += ["", *_ending(episode), "", *cost_lines(accounts_of(episode))]
    return "\n".join(lines).lstrip("\n")


def list_of(entries: Sequence[Entry], unfinished: Sequence[str]) -> str:
    """The episodes of a folder, one a line."""
    lines = []
    for entry in entries:
        episode = entry.episode
        asked = cut(one_line(episode.task.question.text), 34)
        lines.append(cut(f"{entry.name}  {episode.outcome:9} {asked}", WIDTH))
    lines += [f"{name}  not finished" for name in unfinished]
    return "\n".join(lines) or "no episode is recorded there"


def _head(episode: Episode, name: str, conditions: Conditions) -> Iterator[str]:
    task, question = episode.task, episode.task.question
    yield from _field("question", question.text)
    if question.kind != "open":
        yield from _field("wanted", question.kind)
    for letter, option in zip(question.letters, question.options, strict=True):
        yield from _field("", f"{letter}. {option}")
    until = f", as of {question.as_of:g} s" if question.as_of is not None else ""
    yield from _field("video", f"{task.video_id}, world {task.world_hash[:_HASH]}, session {task.session}{until}")
    yield from _field("system", f"{task.system} ({offered_text(episode, conditions)})")
    if task.library is not None:
        yield from _field("library", f"{task.library.name} {task.library.hash[:_HASH]}")
    settings = ", ".join(_settings(task.settings))
    if settings:
        yield from _field("settings", settings)
    yield from _field("model", f"{episode.model}, prompts in {episode.language} {episode.prompt_hash[:_HASH]}")
    budget = episode.budget
    bounds = [plural(budget.rounds, "round"), plural(budget.calls, "call"), plural(budget.tokens, "token")]
    bounds.append(f"{budget.seconds:g} s")
    bounds += [f"${budget.money:g}"] if budget.money is not None else []
    bounds += [f"window of {budget.window:,}"] if budget.window is not None else []
    yield from _field("budget", ", ".join(bounds))
    told = ", ".join(_told_at_the_start(episode.messages))
    if told:
        yield from _field("told", f"{told}, before anything was called")
    yield from _field("recorded", f"{name}, by version {conditions.version}")


def _told_at_the_start(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the first message gives the model beside the question, by name and size."""
    for name, text in _given(messages):
        yield f"{name} ({len(text):,} characters)" if text else name


def _given(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """What the first message gives the model beside the question, each with its name and text; pictures have none."""
    first = next((message for message in messages if message.get("role") == "user"), {})
    for line in text_of(first).splitlines():
        named = _FOUND_BY.match(line)
        if named:
            yield one_line(named[1]), line
    content = first.get("content")
    pictures = sum(part.get("type") == "image_url" for part in content) if isinstance(content, list) else 0
    if pictures:
        yield plural(pictures, "picture"), ""


def _material(messages: Sequence[Mapping[str, Any]], *, full: bool) -> Iterator[str]:
    """What was given before the first round, with the beginning of its text or, if ``full``, all of it."""
    for (_, text), told in zip(_given(messages), _told_at_the_start(messages), strict=True):
        yield from _field("told", told)
        if text:
            yield from _field("", one_line(text) if full else cut(one_line(text), _BEGINNING))


def _settings(settings: Mapping[str, Any]) -> Iterator[str]:
    """The settings that say something and do not stand elsewhere."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _settings(value)
        elif value not in (None, [], "") and key not in _ELSEWHERE:
            yield f"{one_line(key)} {value_text(value)}"


def offered_text(episode: Episode, conditions: Conditions) -> str:
    """How many operations, tools of a library and others the model could call."""
    from world_api.operations import OPERATIONS

    names = [item.get("function", {}).get("name") for item in episode.tools]
    operations = sum(name in OPERATIONS for name in names)
    others = [name for name in names if name not in OPERATIONS and name != "submit_answer"]
    told = [plural(operations, "operation")] if operations else []
    told += [plural(len(others), "further tool")] if others else []
    return " and ".join(told) + " on offer" if told else "nothing to call"


def _ending(episode: Episode) -> Iterator[str]:
    yield from _field("answer", episode.answer if episode.answer is not None else "none")
    if episode.task.question.kind != "open":
        yield from _field("value", value_text(episode.value, 200) if episode.value is not None else "none of its type")
    for place, span in enumerate(episode.spans):
        by = ", ".join(episode.tools_that_gave(span))
        told = f"{span_of_evidence(span)}  " + (f"from {by}" if by else "! RETURNED BY NO TOOL")
        yield from _field("evidence" if place == 0 else "", told)
    ended = episode.outcome + (f": {episode.reason}" if episode.reason is not None else "")
    yield from _field("ended", ended + (f" ({episode.fault.message})" if episode.fault is not None else ""))
    calls = episode.tool_calls
    own = sum(call.round == 0 for call in calls)
    inside = sum(len(call.inner_calls) for call in calls)
    work = f"{plural(len(episode.rounds), 'round')}, {plural(len(calls) - own, 'call')} by the model, "
    work += f"{own:,} by the system, {inside:,} inside tools" if own else f"{inside:,} inside tools"
    seconds = f", {episode.timings.seconds:.2f} s" if episode.timings is not None else ""
    yield from _field("work", work + seconds)
    if episode.slips:
        yield from _field("slips", slips_text(episode))
    note = watermark(episode)
    if note is not None:
        yield from _field("note", note)


def _field(label: str, text: str) -> Iterator[str]:
    for place, line in enumerate(wrapped(text, WIDTH - _LABEL)):
        yield f"{label if place == 0 else '':{_LABEL}}{line}".rstrip()
