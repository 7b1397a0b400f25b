"""The output of ``videoworld tools check``: each tool with its faults, or its price and notes; or a table of codes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from tool_induction.compiler.source import Position, at_line, locate_all, masked, without_secrets
from tool_induction.language.diagnostics import ErrorCode, LintCode, WarningCode
from world_api.core.identifiers import pictured

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import Compilation
    from tool_induction.language.diagnostics import Diagnostic

_PARSER_PLACE = re.compile(r"at line (\d+), column (\d+)")


def report(compilation: Compilation, text: str, *, notes: bool) -> str:
    """Return the findings on one document as text, tool by tool.

    Notes about a tool with faults are shown only with ``notes``, because mending the faults may change them.
    """
    positions = _positions(compilation, text)
    lines: list[str] = []
    for name in ("", *dict.fromkeys(compilation.names)):
        found = [item for item in compilation.diagnostics if item.tool == name]
        if name or found:
            lines.extend(_tool(name, found, compilation, positions, notes=notes))
    total = sum(item.severity == "error" for item in compilation.diagnostics)
    sound = f"{len(compilation.tools)} of {len(compilation.names)} tools can run"
    lines.append(f"{sound}; {_number(total, 'fault')}, {_number(len(compilation.diagnostics) - total, 'note')}")
    return "\n".join(pictured(without_secrets(line)) for line in lines)


def _positions(compilation: Compilation, text: str) -> dict[Diagnostic, Position]:
    """Return the position of each finding in the text; for invalid JSON, the position at which the parser stopped."""
    places = locate_all(text, {item.path for item in compilation.diagnostics})
    found: dict[Diagnostic, Position] = {}
    for item in compilation.diagnostics:
        stopped = None if item.path else _PARSER_PLACE.search(item.message)
        place = at_line(text, int(stopped[1]), int(stopped[2])) if stopped else places.get(item.path)
        if place is not None and (item.path or stopped):
            found[item] = replace(place, text=masked(place.text))
    return found


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _tool(
    name: str,
    found: Sequence[Diagnostic],
    compilation: Compilation,
    positions: Mapping[Diagnostic, Position],
    *,
    notes: bool,
) -> list[str]:
    faults = [item for item in found if item.severity == "error"]
    others = [item for item in found if item.severity != "error"]
    if name in compilation.tools:
        lines = [f"{name}: ok, {priced(compilation.tools[name].price.record())}"]
    else:
        lines = [f"{name or 'the file'}: {_number(len(faults), 'fault')}"]
    for item in faults:
        lines.extend(_fault(item, positions.get(item)))
    if others and (notes or not faults):
        lines.extend(_note(item, positions.get(item)) for item in others)
    elif others:
        lines.append(f"  and {_number(len(others), 'note')} (--notes shows them)")
    return [*lines, ""]


def priced(price: Mapping[str, Mapping[str, float]]) -> str:
    """Return a price (a JSON record) in words: fewest, usual and most calls, and tokens and seconds."""
    least, usual, most = price["min"], price["expected"], price["max"]
    calls = f"{least['calls']} to {most['calls']} calls (usually {usual['calls']})"
    models = f", {most['model_calls']} of them of a model" if most["model_calls"] else ""
    tokens = f", up to {most['tokens']} tokens (usually {usual['tokens']})" if most["tokens"] else ""
    return f"{calls}{models}{tokens}, up to {most['seconds']:.3g} s (usually {usual['seconds']:.3g})"


def _fault(item: Diagnostic, place: Position | None) -> list[str]:
    lines = [f"  {item.code} {item.json_path}: {item.message}"]
    if place is not None:
        line, mark = place.caret().split("\n")
        lines += [f"    {place.line:>4} | {line}", f"         | {mark}"]
    return [*lines, f"    -> {item.suggestion}"] if item.suggestion else lines


def _note(item: Diagnostic, place: Position | None) -> str:
    where = f"line {place.line}, " if place is not None else ""
    return f"  {item.code} {where}{item.json_path}: {item.message}" + (
        f" -> {item.suggestion}" if item.suggestion else ""
    )


def codes_table(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return a Markdown table, a row for each code that occurs; ``counts``: for each file, its findings by code."""
    rows = [
        (f"`{code}`", *(str(one.get(code, 0) or "") for one in counts.values()), str(total))
        for code in (*get_args(ErrorCode), *get_args(WarningCode), *get_args(LintCode))
        if (total := sum(one.get(code, 0) for one in counts.values()))
    ]
    cells = [("code", *counts, "all"), ["---"] * (len(counts) + 2), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def count_codes(compilations: Mapping[str, Compilation]) -> dict[str, Counter[str]]:
    """Count the findings of each file by code."""
    return {name: Counter(item.code for item in one.diagnostics) for name, one in compilations.items()}
