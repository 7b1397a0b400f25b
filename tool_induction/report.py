"""What ``videoworld tools check`` prints: each tool with its faults, or with its price and what was decided."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tool_induction.compiler.source import Position, at_line, locate_all, redacted, without_secrets
from world_api.core.identifiers import pictured

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import Compilation, Price
    from tool_induction.language.diagnostics import Diagnostic, Path

_PARSER_PLACE = re.compile(r"at line (\d+), column (\d+)")


def report(compilation: Compilation, text: str, *, notes: bool) -> str:
    """The findings of one document, tool by tool, for people.

    Of a tool with faults only those are shown unless ``notes`` is set: what was decided about it may change with them.
    """
    source = _Source(text, {item.path for item in compilation.diagnostics})
    lines: list[str] = []
    for name in ("", *dict.fromkeys(compilation.names)):
        found = [item for item in compilation.diagnostics if item.tool == name]
        if name or found:
            lines.extend(_tool(name, found, compilation, source, notes=notes))
    total = sum(item.severity == "error" for item in compilation.diagnostics)
    sound = f"{len(compilation.tools)} of {len(compilation.names)} tools can run"
    lines.append(f"{sound}; {number(total, 'fault')}, {number(len(compilation.diagnostics) - total, 'note')}")
    return "\n".join(pictured(without_secrets(line)) for line in lines)


class _Source:
    """The text of a document, and where what is said about it stands; its secrets are not shown."""

    def __init__(self, text: str, paths: Iterable[Path]) -> None:
        self._text = text
        self._lines = redacted(text).split("\n")
        self._places = locate_all(text, paths)

    def place(self, item: Diagnostic) -> Position | None:
        """Where a finding stands; of a text that is no JSON, where the parser stopped."""
        place = self._places.get(item.path) if item.path else self._parser_position(item)
        return None if place is None else replace(place, text=self._lines[place.line - 1].rstrip("\r"))

    def _parser_position(self, item: Diagnostic) -> Position | None:
        found = _PARSER_PLACE.search(item.message)
        return at_line(self._text, int(found[1]), int(found[2])) if found else None


def number(count: int, what: str) -> str:
    """``1 fault``, ``2 faults``."""
    return f"{count} {what}{'s' * (count != 1)}"


def _tool(
    name: str,
    found: Sequence[Diagnostic],
    compilation: Compilation,
    source: _Source,
    *,
    notes: bool,
) -> list[str]:
    faults = [item for item in found if item.severity == "error"]
    others = [item for item in found if item.severity != "error"]
    if name in compilation.tools:
        lines = [f"{name}: ok, {priced(compilation.tools[name].price)}"]
    else:
        lines = [f"{name or 'the file'}: {number(len(faults), 'fault')}"]
    for item in faults:
        lines.extend(_fault(item, source.place(item)))
    if others and (notes or not faults):
        lines.extend(_note(item, source.place(item)) for item in others)
    elif others:
        lines.append(f"  and {number(len(others), 'note')} (--notes shows them)")
    return [*lines, ""]


def priced(price: Price) -> str:
    """A price in words: at least, as a rule, at most."""
    least, usual, most = price.least, price.expected, price.most
    calls = f"{least.calls} to {most.calls} calls (usually {usual.calls})"
    models = f", {most.model_calls} of them of a model" if most.model_calls else ""
    tokens = f", up to {most.tokens} tokens (usually {usual.tokens})" if most.tokens else ""
    return f"{calls}{models}{tokens}, up to {most.seconds:.3g} s (usually {usual.seconds:.3g})"


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


def summary(table: Sequence[Sequence[str]]) -> str:
    """A table in columns: codes down, files across."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in table
    ]
    return "\n".join(line.rstrip() for line in lines)


def counted(compilations: Mapping[str, Compilation]) -> dict[str, Counter[str]]:
    """How often each code is said of each file."""
    return {name: Counter(item.code for item in one.diagnostics) for name, one in compilations.items()}
