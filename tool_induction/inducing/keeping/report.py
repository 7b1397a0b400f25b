"""The report of an induction, for people: what was asked, written, refused and why, mended and how, admitted, at what price."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tool_induction.compiler.faces import signature_card
from tool_induction.compiler.source import without_secrets
from tool_induction.domains import Domain
from tool_induction.inducing.drafts import Fault, Slot, Version
from tool_induction.inducing.keeping.costing import Spent
from tool_induction.inducing.rounds import Ending, Induction

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
