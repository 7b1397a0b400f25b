"""A review for the terminal."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tool_induction.libraries.examples import Example
from tool_induction.libraries.faces import call_text
from tool_induction.libraries.reviewing import LibraryReview, Port, ToolReview

_WIDTH = 110
_RULE = "-" * _WIDTH


def review_text(review: LibraryReview) -> str:
    """The whole review as text."""
    lines = [*_head(review)]
    for tool in review.tools:
        lines += ["", _RULE, *_tool(tool)]
    return "\n".join(lines)


def origin_lines(origin: Mapping[str, Any]) -> list[str]:
    """Where a library came from, as its manifest says."""
    if not origin:
        return ["a plain file, not frozen: nothing vouches for it"]
    told = [origin.get("origin"), origin.get("domain"), origin.get("date")]
    lines = [", ".join(str(one) for one in told if one)]
    for ancestor in origin.get("lineage", ()):
        lines.append(
            f"came from {ancestor.get('name')} ({ancestor.get('origin')}, {_short(ancestor.get('content_hash'))})"
        )
    for key, value in origin.items():
        if key not in ("origin", "domain", "date", "lineage"):
            lines.append(f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return [line for line in lines if line]


def price_text(price: Mapping[str, Mapping[str, float]]) -> str:
    """``4 to 5 calls (usually 5), 0.021 to 0.5 s``."""
    least, usual, most = price["min"], price["expected"], price["max"]
    text = f"{least['calls']:g} to {most['calls']:g} calls (usually {usual['calls']:g})"
    text += f", {least['seconds']:g} to {most['seconds']:g} s"
    if most.get("model_calls"):
        text += f", up to {most['model_calls']:g} model calls of {most['tokens']:g} tokens in all"
    return text


def example_line(example: Example) -> str:
    """Where the example was run."""
    if example.made_up:
        return f"on the made-up world {example.world!r}: its form is right, what it says is not from any video"
    return f"on the video {example.world!r}"


def _head(review: LibraryReview) -> Iterator[str]:
    count = len(review.tools)
    yield f"{review.name}: {count} tool{'s' * (count != 1)}, {_short(review.hash)}"
    for line in origin_lines(review.origin):
        yield from textwrap.wrap(line, _WIDTH - 2, initial_indent="  ", subsequent_indent="    ")
    yield from textwrap.wrap(
        "operations: " + ", ".join(review.operations), _WIDTH - 2, initial_indent="  ", subsequent_indent="    "
    )


def _tool(tool: ToolReview) -> Iterator[str]:
    yield tool.name
    yield from textwrap.wrap(tool.description, _WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
    yield from _ports("inputs", tool.inputs)
    yield from _ports("outputs", tool.outputs)
    yield "  plan"
    for line in tool.plan:
        indent = " " * (4 + len(line) - len(line.lstrip()))
        yield from textwrap.wrap(
            line.strip(), _WIDTH, initial_indent=indent, subsequent_indent=indent + "      ", break_on_hyphens=False
        )
    yield f"  price   {price_text(tool.price)}"
    for note in tool.notes:
        yield from textwrap.wrap(
            f"{note.code} {note.json_path}: {note.message}",
            _WIDTH,
            initial_indent="  note    ",
            subsequent_indent="    ",
        )
    yield from _example(tool)


def _ports(title: str, ports: Sequence[Port]) -> Iterator[str]:
    yield f"  {title}"
    names = max(len(port.name) for port in ports)
    types = max(len(port.type) for port in ports)
    for port in ports:
        head = f"    {port.name:<{names}}  {port.type:<{types}}  "
        rest = f"= {port.source}" if port.source else "" if port.required else f"default {json.dumps(port.default)}"
        text = "; ".join(part for part in (rest, port.description) if part)
        yield from textwrap.wrap(
            text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
        ) or [head.rstrip()]


def _example(tool: ToolReview) -> Iterator[str]:
    example = tool.example
    result = example.result
    yield f"  example {example_line(example)}"
    yield from textwrap.wrap(
        call_text(tool.name, example.arguments), _WIDTH, initial_indent="    ", subsequent_indent="      "
    )
    if "status" not in result:
        yield f"    -> {json.dumps(result, ensure_ascii=False)}"
        return
    yield from textwrap.wrap(
        f"-> {result['status']} | {result['summary']}", _WIDTH, initial_indent="    ", subsequent_indent="       "
    )
    for name, value in result["outputs"].items():
        if name != "evidence" and value not in (None, [], ""):
            shown = textwrap.shorten(json.dumps(value, ensure_ascii=False), 3 * _WIDTH, placeholder=" ...")
            yield from textwrap.wrap(
                f"{name}: {shown}", _WIDTH, initial_indent="       ", subsequent_indent="         "
            )
    calls = result["calls"]
    yield f"       {calls['logical']} calls, {len(result['evidence'])} pieces of evidence" + "".join(
        f"; {stretch}" for stretch in _stretches(result["evidence"])
    )
    for warning in result["warnings"]:
        yield f"       warning: {warning}"


def _stretches(evidence: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{one['start_time']:g}-{one['end_time']:g} s ({one['source']})" for one in evidence[:3]]


def _short(hash_: object) -> str:
    return str(hash_)[:12]
