"""An episode for people and for scripts: what came out, on what evidence, at what price."""

from __future__ import annotations

from typing import Any

from controller.conversation.answers import SUBMIT_ANSWER
from controller.conversation.citing import CitedSpan
from controller.episode import CallRecord, Episode
from controller.toolsets import judging_tokens
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.exposure.cli import clock_text

#: What stands beside everything the rule-based model answers.
WATERMARK = "plumbing, not a result: the rule-based model answered"


def summarise(episode: Episode, *, recorded_as: str | None = None) -> dict[str, Any]:
    """The summary as JSON."""
    usage, timings = episode.usage, episode.timings
    return {
        "answer": episode.answer,
        "value": episode.value,
        "spans": [_span(span) for span in episode.spans],
        "outcome": episode.outcome,
        "reason": episode.reason,
        "watermark": watermark(episode),
        "question": episode.task.question.text,
        "kind": episode.task.question.kind,
        "video_id": episode.task.video_id,
        "as_of": episode.task.question.as_of,
        "system": episode.task.system,
        "library": episode.task.library.name if episode.task.library is not None else None,
        "model": episode.model,
        "rounds": len(episode.rounds),
        "tool_calls": [_call(call) for call in episode.tool_calls],
        "calls_inside_tools": sum(len(call.inner_calls) for call in episode.tool_calls),
        "slips": episode.slips,
        "internal_faults": episode.internal_faults,
        "tokens": {**usage.record(), "total": usage.total},
        "judging_tokens": _judging(episode),
        "seconds": timings.seconds if timings is not None else None,
        "recorded_as": recorded_as,
    }


def tell(episode: Episode, *, recorded_as: str | None = None) -> str:
    """The summary in a few lines."""
    lines = [episode.answer or "", ""]
    if episode.spans:
        lines.append("evidence  " + ", ".join(map(_span_text, episode.spans)))
    lines.append("tools     " + (_tools_text(episode.tool_calls) or "none"))
    usage = episode.usage
    counted = "estimated" if usage.estimated else "counted"
    rounds = _plural(len(episode.rounds), "round")
    lines.append(f"tokens    {usage.total} ({usage.prompt} in, {usage.completion} out, {counted}), {rounds}")
    if _judging(episode):
        lines.append(f"judging   {_judging(episode)} tokens at most")
    if episode.reason is not None:
        lines.append(f"ended     {episode.outcome}: {episode.reason}")
    if episode.slips:
        lines.append("slips     " + ", ".join(f"{name} x{number}" for name, number in episode.slips.items()))
    if episode.internal_faults:
        lines.append(f"defects   {_plural(episode.internal_faults, 'call')} ended in an internal fault")
    if recorded_as is not None:
        lines.append(f"recorded  {recorded_as}")
    note = watermark(episode)
    if note is not None:
        lines.append(f"note      {note}")
    return "\n".join(lines)


def watermark(episode: Episode) -> str | None:
    """What must stand beside the answer, if anything."""
    return WATERMARK if episode.model == RULE_BASED else None


def _judging(episode: Episode) -> int:
    """Tokens of a judging model, at its price."""
    return sum(judging_tokens(call.result) for call in episode.tool_calls)


def _span(span: CitedSpan) -> dict[str, Any]:
    return {"start_time": span.start_time, "end_time": span.end_time, "returned_by_a_tool": bool(span.returned_by)}


def _span_text(span: CitedSpan) -> str:
    flag = "" if span.returned_by else " (returned by no tool)"
    return f"{clock_text(span.start_time)}-{clock_text(span.end_time)}{flag}"


def _call(call: CallRecord) -> dict[str, Any]:
    error = call.result.get("error")
    return {
        "tool": call.tool,
        "arguments": call.arguments,
        "calls_inside": len(call.inner_calls),
        "error": error.get("code") if isinstance(error, dict) else None,
    }


def _tools_text(calls: list[CallRecord]) -> str:
    """The tools in the order of their calls, runs of the same tool told once."""
    runs: list[tuple[str, int]] = []
    for call in calls:
        if call.tool == SUBMIT_ANSWER:
            continue
        name = call.tool + (f" ({_plural(len(call.inner_calls), 'operation')})" if call.inner_calls else "")
        if call.failed:
            name += " (failed)"
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return " -> ".join(name if number == 1 else f"{name} x{number}" for name, number in runs)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
