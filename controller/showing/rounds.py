"""The rounds of an episode: what the model thought and called, and what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.conversation.answers import SUBMIT_ANSWER
from controller.episode import CallRecord, Episode, RoundRecord
from controller.showing.gists import arguments_text, outputs_text, result_text, spent_text
from controller.showing.lines import WIDTH, cut, one_line, wrapped
from world_api.exposure.cli import to_json

_THOUGHT_LINES = 6  #: of a thought, where not all is shown
#: What was wrong with a reply that said nothing; what stands in its place is not its own.
SILENT = frozenset({"no_choices", "bad_message", "empty_reply"})
_INNER = 12  #: operations inside a tool, where not all are shown


@dataclass(frozen=True, kw_only=True)
class Branch:
    """Where a line hangs on the tree: the signs before its first line, and before the ones that follow."""

    first: str
    then: str


def round_lines(episode: Episode, number: int, *, full: bool) -> Iterator[str]:
    """One round; 0 is what the system did before it asked."""
    calls = [call for call in episode.calls if call.round == number]
    if number == 0:
        yield "before the first round"
    else:
        record = episode.rounds[number - 1]
        yield _heading(episode, record)
        yield from _said(episode, record, full=full)
    for place, call in enumerate(calls):
        last = place == len(calls) - 1
        yield from _call(call, Branch(first="`- " if last else "|- ", then="   " if last else "|  "), full=full)


def _heading(episode: Episode, record: RoundRecord) -> str:
    usage = record.usage
    about = "~" if usage.estimated else ""
    cached = f" ({usage.cached:,} of it cached)" if usage.cached else ""
    parts = [f"round {record.number}", f"{about}{usage.prompt:,} tokens in{cached}, {usage.completion:,} out"]
    timed = episode.timings.rounds if episode.timings is not None else []
    if record.number <= len(timed):
        parts.append(f"{timed[record.number - 1].model_seconds:.2f} s")
    if not record.physical:
        parts.append("kept from an earlier request")
    if not record.tools_offered:
        parts.append("no tools offered")
    return cut(" - ".join(parts), WIDTH)


def _said(episode: Episode, record: RoundRecord, *, full: bool) -> Iterator[str]:
    if record.folded:
        yield f"folded    {record.folded} old results, so that the request fits the window"
    if record.thought:
        yield from _labelled("thought", record.thought, full=full)
    content = assistant_message(episode, record).get("content")
    if isinstance(content, str) and content.strip() and not SILENT.intersection(record.problems):
        yield from _labelled("says", content, full=full)
    for problem in record.problems:
        yield f"slip      {problem}"


def _labelled(label: str, text: str, *, full: bool) -> Iterator[str]:
    lines = list(wrapped(text.strip(), WIDTH - 10))
    shown = lines if full else lines[:_THOUGHT_LINES]
    for place, line in enumerate(shown):
        yield f"{label if place == 0 else '':10}{line}"
    if len(shown) < len(lines):
        yield f"{'':10}... and {len(lines) - len(shown)} lines more"


def assistant_message(episode: Episode, record: RoundRecord) -> Mapping[str, Any]:
    """The message that a round's reply became."""
    said = [message for message in episode.messages if message.get("role") == "assistant"]
    if not record.tools_offered and len(said) > len(episode.rounds):
        return said[-1]  # before the last request a turn may stand that the model did not take
    return said[record.number - 1] if record.number <= len(said) else {}


def _call(call: CallRecord, branch: Branch, *, full: bool) -> Iterator[str]:
    if call.tool == SUBMIT_ANSWER and call.problem is None:
        yield f"{branch.first}{SUBMIT_ANSWER}: see the answer"
        return
    yield cut(f"{branch.first}{one_line(call.tool)}({arguments_text(call.arguments)})", WIDTH)
    for slip in (call.problem, call.note):
        if slip is not None:
            yield f"{branch.then}slip: {slip}"
    for line in _inner(call.inner_calls, full=full):
        yield cut(f"{branch.then}|  {line}", WIDTH)
    if full:
        for line in to_json({"arguments": call.arguments, "result": call.result}).splitlines():
            yield from (f"{branch.then}{piece}" for piece in wrapped(line, WIDTH - len(branch.then)))
    else:
        yield from _found(result_text(call.result), branch.then)
    made = outputs_text(call.origins)
    if made:
        yield cut(f"{branch.then}made of: {made}", WIDTH)
    if call.spent:
        yield cut(f"{branch.then}spent: {spent_text(call.spent)}", WIDTH)


def _found(text: str, margin: str) -> Iterator[str]:
    """What came back, in two lines at most."""
    width = WIDTH - len(margin) - 3
    first, *rest = wrapped(text, width)
    yield f"{margin}-> {first}"
    if rest:
        yield f"{margin}   {cut(' '.join(rest), width)}"


def _inner(calls: Sequence[Mapping[str, Any]], *, full: bool) -> Iterator[str]:
    """The operations inside a tool, by their numbers."""
    shown = calls if full or len(calls) <= _INNER else calls[: _INNER - 1]
    for call in shown:
        arguments = call.get("arguments")
        given = arguments_text(arguments) if isinstance(arguments, Mapping) else ""
        outcome = call.get("outcome")
        came = f"{call['size']} found" if isinstance(call.get("size"), int) else ""
        if outcome != "ok":
            came = f"{came} {one_line(str(outcome))}".strip()
        # What came back stands before the arguments: these may be cut off.
        yield f"{call.get('call', '-')!s:>3} {one_line(str(call.get('name')))}: {came or 'done'}" + (
            f" ({given})" if given else ""
        )
    if len(shown) < len(calls):
        yield f"    ... and {len(calls) - len(shown)} operations more"
