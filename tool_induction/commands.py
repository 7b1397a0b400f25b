"""``videoworld tools``: check a tool document or library, run one of its tools."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_induction.judging.options import AllowJudgeOption, JudgeModelOption, JudgeRecordOption
from tool_induction.libraries import commands as library_commands
from world_api.exposure.cli import (
    DEFAULT_SESSION,
    DEFAULT_STORE,
    ArgsOption,
    AsOfOption,
    JsonOption,
    PairsArgument,
    SessionOption,
    StoreOption,
    VideoOption,
    command_app,
    read_arguments,
    show,
    to_json,
)

if TYPE_CHECKING:
    from tool_induction.compiler.compiling import Compilation
    from tool_induction.language.diagnostics import Diagnostic

#: calls of one run that are under way at a time
CONCURRENCY = 4

app = command_app("Check, run, review, edit and export high-level tools.")

Source = Annotated[
    str, typer.Argument(metavar="FILE_OR_LIBRARY", help="A tool document, a library folder, or a packaged library.")
]


@app.command()
def check(source: Source, allow_judge: AllowJudgeOption = False, as_json: JsonOption = False) -> None:
    """Check a tool document or library: every fault with its place and a suggestion. Exit status 1 with faults."""
    from tool_induction.compiler.compiling import compile_document
    from tool_induction.library import TOOLS_FILE, find_library, load_library, read_bytes

    found = find_library(source)
    if found.is_dir():
        load_library(
            source, allow_judge=allow_judge
        )  # hashes first: a changed library is refused whatever its tools are like
        found = found / TOOLS_FILE
    content = read_bytes(found)
    compilation = compile_document(content, allow_judge=allow_judge)
    text = content.decode("utf-8-sig", errors="replace")
    show(compilation.record(), as_json=as_json, text=lambda: _report(compilation, text))
    if not compilation.ok:
        raise typer.Exit(1)


@app.command()
def run(
    source: Source,
    tool: Annotated[str, typer.Argument(help="Which tool of it.")],
    pairs: PairsArgument = None,
    video: VideoOption = "",
    store: StoreOption = DEFAULT_STORE,
    as_of: AsOfOption = None,
    session: SessionOption = DEFAULT_SESSION,
    args: ArgsOption = None,
    as_json: JsonOption = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show what was done as a tree, and which calls each output came from.")
    ] = False,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=64, help="Calls under way at a time; the result is the same.")
    ] = CONCURRENCY,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
) -> None:
    """Run one tool on a world, as a model would, and print its result. Exit status 1 when a fault stopped it."""
    from tool_induction.compiler.emit import inputs_schema
    from tool_induction.judging.options import judge_of
    from tool_induction.library import load_library
    from tool_induction.runtime.budget import RunLimits
    from tool_induction.runtime.running import run_tool
    from tool_induction.runtime.trace import Trace
    from tool_induction.runtime.tree import tree_lines
    from world_api.backends.clocks import SystemClock
    from world_api.operations import run as run_operation
    from world_api.profiles import open_session

    if not video:
        raise typer.BadParameter("is missing: which video?", param_hint="--video")
    library = load_library(source, wanted=tool, allow_judge=allow_judge)
    judge = judge_of(allow_judge, judge_model, judge_record, clock=SystemClock(), environment=os.environ)
    compiled = library.tools.get(tool)
    properties: dict[str, Any] = inputs_schema(compiled.tool)["properties"] if compiled else {}
    filled = {"video_id": video} if "video_id" in properties else {}
    arguments = filled | read_arguments(pairs, args, properties)
    opened = open_session(store, video, as_of=as_of, name=session)
    recorded = Trace()
    call = partial(run_operation, opened)
    result = run_tool(
        library.tools,
        tool,
        arguments,
        call=call,
        world=opened,
        limits=RunLimits(concurrency=concurrency),
        trace=recorded if trace else None,
        judge=judge,
    )
    shown = result | ({"trace": [node.record() for node in recorded.root.children]} if trace else {})
    show(
        shown, as_json=as_json, text=lambda: "\n".join([to_json(result), *(tree_lines(recorded.root) if trace else ())])
    )
    if result["status"] == "error":
        raise typer.Exit(1)


def _report(compilation: Compilation, text: str) -> str:
    lines: list[str] = []
    for item in _in_document_order(compilation, text):
        lines.extend(_explained(item, text))
    for name in compilation.names:
        tool = compilation.tools.get(name)
        if tool is None:
            faults = sum(item.severity == "error" and item.tool == name for item in compilation.diagnostics)
            lines.append(f"{name}: {_number(faults, 'fault')}")
        else:
            price = tool.price
            lines.append(
                f"{name}: ok, {price.least.calls} to {price.most.calls} calls (usually {price.expected.calls})"
            )
    total = sum(item.severity == "error" for item in compilation.diagnostics)
    notes = len(compilation.diagnostics) - total
    lines.append(
        f"{len(compilation.tools)} of {len(compilation.names)} tools can run; {_number(total, 'fault')}, {_number(notes, 'note')}"
    )
    return "\n".join(lines)


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _in_document_order(compilation: Compilation, text: str) -> list[Diagnostic]:
    """Findings as they come down the page; of one place, faults first."""
    from tool_induction.compiler.positions import locate

    if len(text) > 200_000:
        return list(compilation.diagnostics)
    places = {item.path: locate(text, item.path) for item in compilation.diagnostics}

    def order(item: Diagnostic) -> tuple[int, int, bool]:
        place = places[item.path]
        return (0, 0, False) if place is None else (place.line, place.column, item.severity != "error")

    return sorted(compilation.diagnostics, key=order)


def _explained(item: Diagnostic, text: str) -> list[str]:
    from tool_induction.compiler.positions import locate

    about = f" ({item.tool})" if item.tool else ""
    lines = [f"{item.code} {item.json_path}{about}: {item.message}"]
    place = locate(text, item.path) if item.severity == "error" and item.path else None
    if place is not None:
        lines.extend(
            f"  {place.line:>4} | {line}" if line.strip() != "^" else f"       | {line}"
            for line in place.caret().split("\n")
        )
    if item.suggestion:
        lines.append(f"  -> {item.suggestion}")
    return lines


library_commands.register(app)
