"""The report of an induction, for people: what was asked, written, refused and why, mended and how, admitted, at what price."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tool_induction.compiler.emit import signature_card
from tool_induction.documents.credentials import without_secrets
from tool_induction.domains import Domain
from tool_induction.inducer.drafts import Fault, Slot, Version
from tool_induction.inducer.rounds import Ending, Induction, Round
from world_api.backends.chat.completions import Usage, usage_of
from world_api.backends.chat.prices import CURRENCY, Price, Prices
from world_api.backends.chat.recording import Exchange
from world_api.core.faults import BackendFault

ENDINGS: dict[Ending, str] = {
    "all_usable": "nothing was left to mend",
    "repeats": "a repair round changed nothing",
    "rounds_used": "the repair rounds were used up",
    "no_reply": "a repair round brought no tool",
    "no_model": "no model was named that could mend the rest",
}
_LONGEST_LEFT_OUT = 300
_LONGEST_DIFF = 120  #: lines
_LONGEST_TOOL = 20_000


def report_page(induction: Induction, asked: Mapping[str, Any], cost: Spent, domain: Domain) -> str:
    """The report as Markdown, with what looks like a credential blotted out."""
    parts = [
        f"# Induction for {domain.title}",
        _in_short(induction, asked),
        "## What was asked",
        "\n".join(_asked(asked)),
        "## Rounds",
        "\n".join(_rounds(induction)),
        "## Tools",
        "\n".join(_table(induction)),
        "## Cost",
        "\n".join(_cost(cost, len(induction.admitted))),
        *(part for slot in induction.draft.slots for part in _history(slot, induction)),
        *_cut_out(induction),
    ]
    return without_secrets("\n\n".join(part for part in parts if part) + "\n")


def _in_short(induction: Induction, asked: Mapping[str, Any]) -> str:
    found = induction.yields()
    brought = induction.rounds[0].kind == "document"
    by = (
        "stood in the document that was brought"
        if brought
        else f"were written by {_code(asked['model'])}, of which {found['asked']} were wanted"
    )
    first = f"{found['compiled_first']} compiled and {found['admitted_first']} were admitted at once"
    same = f" {found['duplicates']} more do what another tool does (unpruned library)." if found["duplicates"] else ""
    return (
        f"{found['written']} tools {by}; {first}. After {len(induction.rounds) - 1} repair rounds "
        f"**{found['admitted']} are admitted**.{same} It ended because {ENDINGS[induction.ending]}."
    )


def _asked(asked: Mapping[str, Any]) -> Iterator[str]:
    yield "| | |"
    yield "| --- | --- |"
    for key, value in asked.items():
        told = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        yield f"| {key} | {_cell('left to the server' if value is None else told or 'none')} |"


def _rounds(induction: Induction) -> Iterator[str]:
    yield "| round | asked | written | admitted | duplicate | refused | faulty | unreadable | prompt tokens | reply tokens | s |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for item in induction.rounds:
        asked = {"document": "document brought", "generation": "all"}.get(item.kind, f"{len(item.asked_for)} again")
        usage = item.answer.usage if item.answer is not None else None
        tokens = (usage.prompt, usage.completion) if usage is not None else ("", "")
        seconds = "" if item.answer is None else f"{item.answer.seconds:.1f}"
        stands = " | ".join(str(item.standings[name]) for name in item.standings)
        yield f"| {item.number} | {asked} | {len(item.written.tools)} | {stands} | {tokens[0]} | {tokens[1]} | {seconds} |"
    if any(item.notes for item in induction.rounds):
        yield ""
    for item in induction.rounds:
        for note in item.notes:
            about = f" {_code(note.tool)}" if note.tool else ""
            yield f"- round {item.number}, {note.problem}{about}: {_inline(note.message)}"


def _table(induction: Induction) -> Iterator[str]:
    yield "| tool | stands | why | versions | calls at least, usually, at most | model tokens at most |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for slot in induction.draft.slots:
        current = slot.current
        tool = (
            induction.draft.examined.tools.get(current.name)
            if current.standing not in ("unreadable", "faulty")
            else None
        )
        price = (
            ("", "")
            if tool is None
            else (
                f"{tool.price.least.calls}, {tool.price.expected.calls}, {tool.price.most.calls}",
                str(tool.price.most.tokens),
            )
        )
        yield (
            f"| `{_cell(slot.name)}` | {current.standing} | {_cell(_why(current))} | {len(slot.versions)} "
            f"| {price[0]} | {price[1]} |"
        )


def _why(version: Version) -> str:
    if version.standing in ("unreadable", "faulty"):
        return version.reason()
    verdict = version.verdict
    return "" if verdict is None or verdict.admitted else f"{verdict.reason}: {verdict.explanation}"


def _cost(cost: Spent, admitted: int) -> Iterator[str]:
    if not cost.calls:
        yield "No model was asked."
        return
    usage = cost.usage
    counted = "estimated, because the server does not count" if usage.estimated else "as the server counted"
    faults = f", {cost.faults} of them without a reply" if cost.faults else ""
    yield f"{cost.calls} calls{faults}; {usage.prompt} prompt and {usage.completion} reply tokens ({counted}); {cost.seconds:.1f} s."
    if cost.money is not None:
        each = f", {cost.money / admitted:.4f} for each admitted tool" if admitted else ""
        yield f"\nThat is {cost.money:.4f} {cost.currency}{each}."
    elif admitted:
        yield f"\n{usage.total / admitted:.0f} tokens for each admitted tool; no price of the model is known."


def _history(slot: Slot, induction: Induction) -> Iterator[str]:
    """A tool from its first version to the one that counts."""
    yield f"## {_code(slot.name)}: {slot.current.standing}"
    tool = induction.draft.examined.tools.get(slot.current.name)
    if tool is not None and slot.current.standing not in ("unreadable", "faulty"):
        yield _fenced(signature_card(tool), "text")
    before: Version | None = None
    for place, version in enumerate(slot.versions):
        counts = "; this version counts" if place == slot.best and len(slot.versions) > 1 else ""
        yield f"### Version of round {version.round}: {version.standing}{counts}"
        faults = version.faults()
        if faults:
            yield "\n".join(_fault(item) for item in faults)
        noted = Counter(item.code for item in version.diagnostics if item.severity != "error")
        if noted and place == slot.best:
            yield "Notes of the compiler: " + ", ".join(f"{count} {code}" for code, count in noted.items()) + "."
        if before is None:
            text = version.written.text
            cut = (
                f"\n... {len(text) - _LONGEST_TOOL} characters more; the log has them"
                if len(text) > _LONGEST_TOOL
                else ""
            )
            yield _fenced(text[:_LONGEST_TOOL] + cut, "json")
        else:
            yield _fenced(_diff(before, version), "diff")
        before = version


def _fault(item: Fault) -> str:
    suggestion = f"\n  - {_inline(item.suggestion)}" if item.suggestion else ""
    return f"- {_code(item.code)} at {_code(item.path)}: {_inline(item.message)}{suggestion}"


def _diff(before: Version, after: Version) -> str:
    lines = list(
        difflib.unified_diff(
            _lines(before), _lines(after), f"round {before.round}", f"round {after.round}", lineterm="", n=1
        )
    )
    if not lines:
        return "(nothing changed)"
    more = len(lines) - _LONGEST_DIFF
    return "\n".join([*lines[:_LONGEST_DIFF], *([f"... {more} lines more"] if more > 0 else [])])


def _lines(version: Version) -> list[str]:
    """A document with a key or a step a line, so that a difference shows what changed; unreadable text as it stands."""
    value = version.written.value
    return (
        version.written.text.splitlines()
        if value is None
        else json.dumps(value, indent=1, ensure_ascii=False).splitlines()
    )


def _cut_out(induction: Induction) -> Iterator[str]:
    parts = [(item, part) for item in induction.rounds for part in item.written.left_out if not part.is_wrapping]
    if not parts:
        return
    yield "## What was cut out of the replies"
    for item, part in parts:
        yield f"Round {item.number}, characters {part.start} to {part.end}:"
        text = part.text.strip()
        yield _fenced(text if len(text) <= _LONGEST_LEFT_OUT else text[:_LONGEST_LEFT_OUT] + " ...", "text")


def _fenced(text: str, kind: str) -> str:
    """A block that nothing in the text can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _inline(text: str) -> str:
    """Text of a model within a line: on one line, and nothing in it makes Markdown or HTML."""
    return re.sub(r"([<>\\*`\[\]])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """A word or a path as it stands, within a line."""
    flat = " ".join(text.split())
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


SCHEMA_VERSION = 1


def log_lines(induction: Induction) -> Iterator[dict[str, Any]]:
    """One record an emission, in order; the last one says how each tool stands in the end."""
    for item in induction.rounds:
        yield blotted({"schema_version": SCHEMA_VERSION, **_emission(item)})
    yield blotted(
        {
            "schema_version": SCHEMA_VERSION,
            "ending": induction.ending,
            "yields": induction.yields(),
            "tools": [tool_record(slot) for slot in induction.draft.slots],
            "retired": [tool_record(slot) for slot in induction.draft.retired],
        }
    )


def tool_record(slot: Slot) -> dict[str, Any]:
    """How a tool stands in the end, and through which versions it came."""
    current = slot.current
    return {
        "slot": slot.number,
        "tool": slot.name,
        "standing": current.standing,
        "reason": current.reason(),
        "faults": [item.line() for item in current.faults()],
        "from_round": current.round,
        "versions": [_version(version) for version in slot.versions],
        "verdict": None if current.verdict is None else current.verdict.record(),
    }


def _version(version: Version) -> dict[str, Any]:
    return {
        "round": version.round,
        "standing": version.standing,
        "reason": version.reason(),
        "diagnostics": [item.record() for item in version.diagnostics],
    }


def _emission(item: Round) -> dict[str, Any]:
    answer = item.answer
    return {
        "round": item.number,
        "kind": item.kind,
        "asked_for": list(item.asked_for),
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
        "standings": item.standings,
        "usage": None if answer is None else answer.usage.record(),
        "seconds": None if answer is None else answer.seconds,
    }


_NOTHING = Usage()


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What was spent. ``faults`` are calls that brought no reply; ``money`` is none where no price is known."""

    calls: int = 0
    faults: int = 0
    usage: Usage = _NOTHING
    seconds: float = 0.0
    money: float | None = None
    currency: str = ""

    def record(self) -> dict[str, Any]:
        """The wire form."""
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


def spent(exchanges: Iterable[Exchange], price: Price | None) -> Spent:
    """What some exchanges cost."""
    usage, calls, faults, seconds = Usage(), 0, 0, 0.0
    for exchange in exchanges:
        calls += 1
        seconds += exchange.seconds
        if exchange.reply is None:
            faults += 1
        else:
            usage = usage + usage_of(exchange.request, exchange.reply)
    money = None if price is None else price.money(usage)
    return Spent(
        calls=calls,
        faults=faults,
        usage=usage,
        seconds=seconds,
        money=money,
        currency="" if price is None else CURRENCY,
    )


def price_of(model: str, file: Path | None) -> Price | None:
    """The price of a model in a file of prices (see ``world_api.backends.chat.prices``).

    Raises:
        BackendFault: ``bad_prices``, also where the file has no price of the model.
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


def blotted(value: Any) -> Any:
    """A JSON value with every text in it blotted."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {blotted(key): blotted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [blotted(item) for item in value]
    return value
