"""The records of an induction: its report for people, its log with a line for every emission, and its cost.

Emissions are in the log as they came, except for credentials; positions count the characters of the original.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tool_induction.compiler.declarations import signature_card
from tool_induction.compiler.source import without_secrets
from tool_induction.domains import Domain
from tool_induction.inducer.rounds import Ending, Induction, Round, Slot, Version
from world_api.chat.recording import Exchange
from world_api.chat.usage import CURRENCY, Price, Prices, Usage, usage_of
from world_api.core.faults import BackendFault

LOG_SCHEMA_VERSION = 1
ENDINGS: dict[Ending, str] = {
    "all_usable": "nothing was left to mend",
    "repeats": "a repair round changed nothing",
    "rounds_used": "the repair rounds were used up",
    "no_reply": "a repair round brought no tool",
    "no_model": "no model was named that could mend the rest",
}
_MAX_LEFT_OUT, _MAX_TOOL = 300, 20_000  #: characters
_MAX_DIFF = 120  #: lines


@dataclass(frozen=True, kw_only=True)
class InductionCost:
    """The cost of an induction. ``faults`` are calls without a reply; ``money`` is None if no price is known."""

    calls: int = 0
    faults: int = 0
    usage: Usage
    seconds: float = 0.0
    money: float | None = None
    currency: str = ""

    def record(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "calls": self.calls,
            "faults": self.faults,
            "prompt_tokens": self.usage.prompt,
            "completion_tokens": self.usage.completion,
            "tokens_estimated": self.usage.estimated,
            "seconds": round(self.seconds, 3),
            "money": None if self.money is None else round(self.money, 6),
            "currency": self.currency,
        }


def spent(exchanges: Iterable[Exchange], price: Price | None) -> InductionCost:
    """Return the cost of some exchanges."""
    all_of = list(exchanges)
    replies = [usage_of(item.request, item.reply) for item in all_of if item.reply is not None]
    usage = sum(replies, start=Usage())
    return InductionCost(
        calls=len(all_of),
        faults=len(all_of) - len(replies),
        usage=usage,
        seconds=sum(item.seconds for item in all_of),
        money=None if price is None else price.money(usage),
        currency="" if price is None else CURRENCY,
    )


def price_of(model: str, file: Path | None) -> Price | None:
    """Return the price of a model in a file of prices (see ``world_api.chat.usage``).

    Raises:
        BackendFault: ``bad_prices``, also if the file has no price of the model.
    """
    if file is None:
        return None
    prices = Prices.read(file)
    price = prices.of(model)
    if price is None:
        raise BackendFault(
            "bad_prices",
            f"{file.name} has no price of {model!r}",
            hint="add it, or leave --prices out; it has: " + (", ".join(sorted(prices.models)[:10]) or "none"),
        )
    return price


def log_lines(induction: Induction) -> Iterator[dict[str, Any]]:
    """Yield one record for each emission, in order, and a last one with the final status of each tool."""
    for item in induction.rounds:
        yield _redacted({"schema_version": LOG_SCHEMA_VERSION, **_emission(item)})
    yield _redacted(
        {
            "schema_version": LOG_SCHEMA_VERSION,
            "ending": induction.ending,
            "yields": induction.yields(),
            "tools": [_tool_record(slot) for slot in induction.draft.slots],
            "retired": [_tool_record(slot) for slot in induction.draft.retired],
        }
    )


def _redacted(value: Any) -> Any:
    """Return a JSON value with the credentials in its texts redacted."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {_redacted(key): _redacted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(item) for item in value]
    return value


def _emission(item: Round) -> dict[str, Any]:
    answer = item.answer
    return {
        "round": item.number,
        "kind": item.kind,
        "asked_for": list(item.requested),
        "request_hash": None if answer is None else answer.request_hash,
        "mode": None if answer is None else answer.mode,
        "finish_reason": None if answer is None else answer.finish_reason,
        "raw": item.text,
        "parsed": [
            {
                "tool": tool.name,
                "slot": slot,
                "start": tool.start,
                "end": tool.end,
                "fault": tool.fault,
                "cut_off": tool.cut_off,
            }
            for tool, slot in zip(item.written.tools, item.slots, strict=True)
        ],
        "left_out": [
            {"start": part.start, "end": part.end, "why": part.why, "tools": list(part.tools), "text": part.text}
            for part in item.written.left_out
        ],
        "notes": [note.record() for note in item.notes],
        "standings": item.counts,
        "usage": None if answer is None else answer.usage.record(),
        "seconds": None if answer is None else answer.seconds,
    }


def _tool_record(slot: Slot) -> dict[str, Any]:
    current = slot.current
    return {
        "slot": slot.number,
        "tool": slot.name,
        "standing": current.status,
        "reason": current.reason(),
        "faults": [item.line() for item in current.faults()],
        "from_round": current.round,
        "versions": [
            {
                "round": version.round,
                "standing": version.status,
                "reason": version.reason(),
                "diagnostics": [item.record() for item in version.diagnostics],
            }
            for version in slot.versions
        ],
        "verdict": None if current.verdict is None else current.verdict.record(),
    }


def report_page(induction: Induction, request: Mapping[str, Any], cost: InductionCost, domain: Domain) -> str:
    """Return the report as Markdown, with credentials redacted; ``request`` is what the induction was started with."""
    texts = {
        key: json.dumps(value, ensure_ascii=False) for key, value in request.items() if isinstance(value, dict | list)
    }
    options = {key: "left to the server" if value is None else value or "none" for key, value in request.items()}
    parts = [
        f"# Induction for {domain.title}",
        _summary(induction, str(request["model"])),
        "## What was asked",
        _table(("", ""), (options | texts).items()),
        "## Rounds",
        _rounds(induction),
        _notes(induction),
        "## Tools",
        _tools(induction),
        "## Cost",
        _cost(cost, len(induction.draft.admission.admitted)),
        *(part for slot in induction.draft.slots for part in _history(slot, induction)),
        *_left_out(induction),
    ]
    return without_secrets("\n\n".join(part for part in parts if part) + "\n")


def _summary(induction: Induction, model: str) -> str:
    found = induction.yields()
    by = f"were written by {_code(model)}, of which {found['asked']} were wanted"
    if induction.rounds[0].kind == "document":
        by = "were in the document that was given"
    first = f"{found['compiled_first']} compiled and {found['admitted_first']} were admitted at once"
    same = f" {found['duplicates']} more do what another tool does (unpruned library)." if found["duplicates"] else ""
    return (
        f"{found['written']} tools {by}; {first}. After {len(induction.rounds) - 1} repair rounds "
        f"**{found['admitted']} are admitted**.{same} It ended because {ENDINGS[induction.ending]}."
    )


def _table(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    cells = [head, ["---"] * len(head), *(map(_cell, row) for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _rounds(induction: Induction) -> str:
    rows: list[list[Any]] = []
    for item in induction.rounds:
        requested = {"document": "document given", "generation": "all"}.get(item.kind, f"{len(item.requested)} again")
        rows.append([item.number, requested, len(item.written.tools), *item.counts.values(), "", "", ""])
        if item.answer is not None:
            rows[-1][-3:] = [item.answer.usage.prompt, item.answer.usage.completion, f"{item.answer.seconds:.1f}"]
    return _table(
        ("round", "asked", "written", *induction.rounds[0].counts, "prompt tokens", "reply tokens", "s"), rows
    )


def _notes(induction: Induction) -> str:
    lines = []
    for item in induction.rounds:
        for note in item.notes:
            about = f" {_code(note.tool)}" if note.tool else ""
            lines.append(f"- round {item.number}, {note.problem}{about}: {_inline(note.message)}")
    return "\n".join(lines)


def _tools(induction: Induction) -> str:
    rows = []
    for slot in induction.draft.slots:
        current, verdict = slot.current, slot.current.verdict
        why, calls, tokens = current.reason(), "", ""
        if current.status not in ("unreadable", "faulty"):
            why = "" if verdict is None or verdict.admitted else f"{verdict.reason}: {verdict.explanation}"
            price = induction.draft.tools[current.written.name].price
            calls = f"{price.least.calls}, {price.expected.calls}, {price.most.calls}"
            tokens = str(price.most.tokens)
        rows.append((f"`{slot.name}`", current.status, why, len(slot.versions), calls, tokens))
    head = ("tool", "status", "why", "versions", "calls at least, usually, at most", "model tokens at most")
    return _table(head, rows)


def _cost(cost: InductionCost, admitted: int) -> str:
    if not cost.calls:
        return "No model was asked."
    usage = cost.usage
    counted = "estimated, because the server does not count" if usage.estimated else "as the server counted"
    faults = f", {cost.faults} of them without a reply" if cost.faults else ""
    tokens = f"{usage.prompt} prompt and {usage.completion} reply tokens ({counted})"
    text = f"{cost.calls} calls{faults}; {tokens}; {cost.seconds:.1f} s."
    if cost.money is not None:
        each = f", {cost.money / admitted:.4f} for each admitted tool" if admitted else ""
        return f"{text}\n\nThat is {cost.money:.4f} {cost.currency}{each}."
    if admitted:
        return f"{text}\n\n{usage.total / admitted:.0f} tokens for each admitted tool; no price of the model is known."
    return text


def _history(slot: Slot, induction: Induction) -> Iterator[str]:
    """Yield a tool's versions from the first to the current one."""
    yield f"## {_code(slot.name)}: {slot.current.status}"
    tool = induction.draft.tools.get(slot.current.written.name)
    if tool is not None and slot.current.status not in ("unreadable", "faulty"):
        yield _fenced(signature_card(tool), "text")
    before: Version | None = None
    for place, version in enumerate(slot.versions):
        counts = "; this version counts" if place == slot.best and len(slot.versions) > 1 else ""
        yield f"### Version of round {version.round}: {version.status}{counts}"
        lines = []
        for fault in version.faults():
            lines.append(f"- {_code(fault.code)} at {_code(fault.path)}: {_inline(fault.message)}")
            lines += [f"  - {_inline(fault.suggestion)}"] if fault.suggestion else []
        yield "\n".join(lines)
        notes = Counter(item.code for item in version.diagnostics if item.severity != "error")
        if notes and place == slot.best:
            yield "Notes of the compiler: " + ", ".join(f"{count} {code}" for code, count in notes.items()) + "."
        if before is None:
            text = version.written.text
            more = len(text) - _MAX_TOOL
            cut = f"\n... {more} characters more; the log has them" if more > 0 else ""
            yield _fenced(text[:_MAX_TOOL] + cut, "json")
        else:
            yield _fenced(_diff(before, version), "diff")
        before = version


def _diff(before: Version, after: Version) -> str:
    names = (f"round {before.round}", f"round {after.round}")
    lines = list(difflib.unified_diff(_lines(before), _lines(after), *names, lineterm="", n=1))
    more = len(lines) - _MAX_DIFF
    return "\n".join([*lines[:_MAX_DIFF], *([f"... {more} lines more"] if more > 0 else [])]) or "(nothing changed)"


def _lines(version: Version) -> list[str]:
    """Return a document with one key or step a line, so that a difference is readable; unreadable text as it is."""
    value = version.written.value
    text = version.written.text if value is None else json.dumps(value, indent=1, ensure_ascii=False)
    return text.splitlines()


def _left_out(induction: Induction) -> Iterator[str]:
    parts = [(item, part) for item in induction.rounds for part in item.written.left_out if not part.is_wrapping]
    if parts:
        yield "## What was cut out of the replies"
    for item, part in parts:
        yield f"Round {item.number}, characters {part.start} to {part.end}:"
        text = part.text.strip()
        yield _fenced(text if len(text) <= _MAX_LEFT_OUT else text[:_MAX_LEFT_OUT] + " ...", "text")


def _fenced(text: str, kind: str) -> str:
    """Return a code block that nothing in the text can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _inline(text: str) -> str:
    """Return a model's text on one line, escaped for Markdown and HTML."""
    return re.sub(r"([<>\\*`\[\]])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    flat = " ".join(text.split())
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")
