"""Reviews of a library: each tool with plan, price, notes and an example run, as a record, a text or an HTML page."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from tool_induction.check_report import priced
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.compiler.declarations import signature_card
from tool_induction.curation.examples import ExampleRuns, call_text
from tool_induction.language import model
from tool_induction.language.diagnostics import Diagnostic
from tool_induction.language.expressions import Const, Expr, JsonList, JsonRecord, Text, to_json, to_text
from tool_induction.library import ToolLibrary, operations_used
from world_api.core.files import open_regular

#: Manifest keys about what was frozen, not about its origin.
_SEALS = ("schema_version", "name", "tools", "operations", "key_hashes", "manifest_hash", "content_hash")
_WIDTH = 110
_MARK = b'<meta name="generator" content="videoworld tools review">'
_HEAD_BYTES = 1000  #: The template has the mark within these.

Record = dict[str, Any]


def review_library(library: ToolLibrary, diagnostics: Sequence[Diagnostic], examples: ExampleRuns) -> Record:
    """Run one example of each tool and return the record of a review.

    Keys: ``name, hash, origin, operations`` and ``tools``, a list of ``name, description, card, inputs, outputs, plan,
    price, notes, example``. ``origin`` is empty for a plain file.
    """
    return {
        "name": library.name,
        "hash": library.hash,
        "origin": {key: value for key, value in library.manifest.items() if key not in _SEALS},
        "operations": operations_used(library.tools),
        "tools": [
            {
                **_declared(item),
                "plan": plan_lines(item.tool),
                "price": item.price.record(),
                "notes": [note.record() for note in diagnostics if note.tool == name],
                "example": examples.of(library.tools, name),
            }
            for name, item in library.tools.items()
        ],
    }


def _declared(item: CompiledTool) -> Record:
    tool = item.tool
    inputs: list[Record] = []
    for one in tool.inputs:
        declared = {"name": one.name, "type": one.type_name, "description": one.description, "required": one.required}
        default = None if one.default is None else to_json(one.default)
        inputs.append(declared if one.required else declared | {"default": default})
    return {
        "name": tool.name,
        "description": tool.description,
        "card": signature_card(item),
        "inputs": inputs,
        "outputs": [
            {"name": one.name, "type": one.type_name, "description": one.description}
            | ({"required": True} if one.source is None else {"from": expression_text(one.source)})
            for one in tool.outputs
        ],
    }


def review_html(review: Record) -> str:
    """Return the review as one HTML page without scripts and outside resources; all text of the library is escaped."""
    return _rendered("review.html.jinja", review, autoescape=True)


def review_text(review: Record) -> str:
    """Return the review as plain text for a terminal."""
    return _rendered("review.txt.jinja", review, autoescape=False).rstrip("\n")


def _rendered(template: str, review: Record, *, autoescape: bool) -> str:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        autoescape=autoescape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["json"] = lambda value: json.dumps(value, indent=1, ensure_ascii=False)
    environment.filters |= {"ascii": json.dumps, "json_line": partial(json.dumps, ensure_ascii=False)}
    environment.filters["shortened"] = partial(textwrap.shorten, width=3 * _WIDTH, placeholder=" ...")
    environment.filters["wrapped"] = _wrapped
    return environment.from_string((files(__package__) / template).read_text(encoding="utf-8")).render(
        review=review,
        origin=_origin_lines(review["origin"]),
        price_text=priced,
        example_line=_example_line,
        call_text=call_text,
    )


def is_review(page: Path) -> bool:
    """Whether a file is a page made by ``review_html``; False if it cannot be read."""
    try:
        with open_regular(page) as file:
            return _MARK in file.read(_HEAD_BYTES)
    except OSError:
        return False


def _wrapped(text: str, first: int | str, rest: int, *, width: int = _WIDTH) -> str:
    """Wrap a text. ``first``: the beginning of the first line, or its indent; ``rest``: the indent of other lines."""
    head = first if isinstance(first, str) else " " * first
    lines = textwrap.wrap(text, width, initial_indent=head, subsequent_indent=" " * rest, break_on_hyphens=False)
    return "\n".join(lines)


def _origin_lines(origin: Mapping[str, Any]) -> list[str]:
    if not origin:
        return ["a plain file, not frozen: nothing vouches for it"]
    lines = [", ".join(str(origin[key]) for key in ("origin", "domain", "date") if origin.get(key))]
    for ancestor in origin.get("lineage", ()):
        made = f"{ancestor.get('origin')}, {str(ancestor.get('content_hash'))[:12]}"
        lines.append(f"came from {ancestor.get('name')} ({made})")
    for key, value in origin.items():
        if key not in ("origin", "domain", "date", "lineage"):
            lines.append(f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return [line for line in lines if line]


def _example_line(example: Record) -> str:
    if example["made_up"]:
        return f"on the made-up world {example['world']!r}: its form is right, what it says is not from any video"
    return f"on the video {example['world']!r}"


def plan_lines(tool: model.Tool) -> list[str]:
    """Return the steps of a tool as readable lines, with the steps of blocks indented."""
    return [line for step in tool.steps for line in _step_lines(step)]


def _step_lines(step: model.Step) -> Iterator[str]:
    text = expression_text
    match step:
        case model.Call():
            params = _arguments(tuple(item for item in step.params if item[0] != "video_id"))
            yield f"{step.save_as} = {_loop_text(step.loop)}{step.target}({params}){_loop_end(step)}"
        case model.Block():
            yield f"{step.save_as} = {_loop_text(step.loop).rstrip()}{_loop_end(step)}"
            yield from _indented(step.body)
        case model.Filter():
            yield f"{step.save_as} = items of {text(step.inputs)} where {text(step.where)}"
        case model.Project():
            yield f"{step.save_as} = for each item of {text(step.inputs)}: {{{_arguments(step.fields)}}}"
        case model.Aggregate():
            inputs = "" if step.inputs == Const(None) else text(step.inputs)
            yield f"{step.save_as} = {step.operation}({', '.join(filter(None, (inputs, _arguments(step.params))))})"
        case model.JudgeStep():
            question = f"{text(step.question)}, answers {' / '.join(step.answers)}"
            yield f"{step.save_as} = judge each item of {text(step.inputs)} (at most {step.bound}): {question}"
        case model.Set():
            yield f"{step.save_as} = {text(step.value)}"
        case model.Require():
            yield f"stop as {step.status} unless {text(step.condition)}: {text(step.reason)}"
        case model.If():
            yield f"if {text(step.condition)}:"
            yield from _indented(step.then)
            if step.otherwise:
                yield "else:"
                yield from _indented(step.otherwise)


def _indented(steps: tuple[model.Step, ...]) -> Iterator[str]:
    return (f"  {line}" for step in steps for line in _step_lines(step))


def _loop_text(loop: model.Loop | None) -> str:
    return "" if loop is None else f"for each {loop.variable} of {expression_text(loop.over)} (at most {loop.bound}): "


def _loop_end(step: model.Call | model.Block) -> str:
    loop = step.loop
    until = f", until {expression_text(loop.until)}" if loop is not None and loop.until is not None else ""
    return until + {"fail": "", "skip": ", leaving out what fails", "null": ", null where it fails"}[step.on_error]


def _arguments(entries: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(f"{name}={expression_text(value)}" for name, value in entries)


def expression_text(value: Expr) -> str:
    """Return an expression as it is written between ``{{`` and ``}}``; a text that contains expressions is quoted."""
    match value:
        case Text():
            return f'"{to_json(value)}"'
        case JsonList(items):
            return f"[{', '.join(map(expression_text, items))}]"
        case JsonRecord(entries):
            return f"{{{', '.join(f'{name}: {expression_text(inner)}' for name, inner in entries)}}}"
        case _:
            return to_text(value)
