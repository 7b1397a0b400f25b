"""An episode for people and for scripts: what came out, on what evidence, at what price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.accounts import Account, Accounts, accounts_of, total
from controller.conversation.answers import SUBMIT_ANSWER
from controller.conversation.citing import CitedSpan
from controller.episode import CallRecord, Episode
from controller.showing.lines import plural
from controller.toolsets import judging_tokens
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.printable import clock_text

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
        "options": list(episode.task.question.options),
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
        "cost": accounts_of(episode).record(),
        "seconds": timings.seconds if timings is not None else None,
        "recorded_as": recorded_as,
    }


def tell(episode: Episode, *, recorded_as: str | None = None, committed: Mapping[str, Any] | None = None) -> str:
    """The summary in a few lines; ``committed`` is what of the session's memory became the world's."""
    lines = [episode.answer or "", ""]
    if episode.spans:
        lines.append("evidence  " + ", ".join(map(_span_text, episode.spans)))
    lines.append("tools     " + (_tools_text(episode.tool_calls) or "none"))
    usage = episode.usage
    counted = "estimated" if usage.estimated else "counted"
    rounds = plural(len(episode.rounds), "round")
    lines.append(f"tokens    {usage.total} ({usage.prompt} in, {usage.completion} out, {counted}), {rounds}")
    lines += _cost_lines(accounts_of(episode))
    if _judging(episode):
        lines.append(f"judging   {_judging(episode)} tokens at most")
    if episode.reason is not None:
        lines.append(f"ended     {episode.outcome}: {episode.reason}")
    if episode.slips:
        lines.append("slips     " + slips_text(episode))
    if episode.internal_faults:
        lines.append(f"defects   {plural(episode.internal_faults, 'call')} ended in an internal fault")
    if committed is not None:
        memories, entities = int(committed["memories"]), int(committed["entities"])
        lines.append(f"committed {_count(memories, 'memory', 'memories')} and {_count(entities, 'entity', 'entities')}")
    if recorded_as is not None:
        lines.append(f"recorded  {recorded_as}")
    note = watermark(episode)
    if note is not None:
        lines.append(f"note      {note}")
    return "\n".join(lines)


def slips_text(episode: Episode) -> str:
    """How often each kind of malformed reply or call occurred."""
    return ", ".join(f"{name} x{number}" for name, number in episode.slips.items())


def money_text(account: Account) -> str:
    """The money of an account; nothing where no price is known."""
    if account.money is None:
        return ""
    return ("at least " if account.is_least else "") + f"${account.money:.4f}"


def watermark(episode: Episode) -> str | None:
    """What must stand beside the answer, if anything."""
    return WATERMARK if episode.model == RULE_BASED else None


def _cost_lines(accounts: Accounts) -> list[str]:
    """What models that look or judge cost beside the controller, and money where a price is known."""
    lines = []
    for part in ("perception", "judge"):
        account = accounts.logical[part]
        if account.requests:
            about = "about " if account.estimated else ""
            lines.append(f"{part:9} {about}{account.tokens} tokens in {plural(account.requests, 'request')}")
    whole, paid = total(accounts.logical), total(accounts.physical)
    if whole.money is not None:
        lines.append(
            f"money     {money_text(whole)}" + ("" if paid == whole else f" ({money_text(paid) or '$0'} paid)")
        )
    return lines


def _judging(episode: Episode) -> int:
    """Tokens of a judging model, at its price."""
    return sum(judging_tokens(call.result) for call in episode.tool_calls)


def _span(span: CitedSpan) -> dict[str, Any]:
    return {"start_time": span.start_time, "end_time": span.end_time, "returned_by_a_tool": bool(span.returned_by)}


def _span_text(span: CitedSpan) -> str:
    return span_of_evidence(span) + ("" if span.returned_by else " (returned by no tool)")


def span_of_evidence(span: CitedSpan) -> str:
    """A cited stretch as clock times."""
    return f"{clock_text(span.start_time)}-{clock_text(span.end_time)}"


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
        name = call.tool + (f" ({plural(len(call.inner_calls), 'operation')})" if call.inner_calls else "")
        if call.failed:
            name += " (failed)"
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return " -> ".join(name if number == 1 else f"{name} x{number}" for name, number in runs)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
