"""``videoworld tools``: check a tool document or library, run one of its tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_induction.judging.options import AllowJudgeOption, JudgeModelOption, JudgeRecordOption
from tool_induction.libraries import commands as library_commands
from tool_induction.runtime.budget import AT_A_TIME
from world_api.commands import vision as looking
from world_api.commands.cli import (
    DEFAULT_SESSION,
    DEFAULT_STORE,
    ArgsOption,
    AsOfOption,
    JsonOption,
    PairsArgument,
    SessionOption,
    StoreOption,
    VideoOption,
    WithOption,
    command_app,
    note,
    read_arguments,
    show,
    to_json,
)
from world_api.options import DEFAULT_FRAMES, DEFAULT_LANGUAGE, DEFAULT_LOOKS, DEFAULT_SIDE, VisionChoices

if TYPE_CHECKING:
    from tool_induction.compiler.compiling import Compilation

app = command_app("Check, run, review, edit and export high-level tools.")

Source = Annotated[
    str, typer.Argument(metavar="FILE_OR_LIBRARY", help="A tool document, a library folder, or a packaged library.")
]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE_OR_LIBRARY...", help="Tool documents, library folders, or packaged libraries; - is stdin."
    ),
]


@app.command()
def check(
    sources: Sources,
    as_json: JsonOption = False,
    summary: Annotated[bool, typer.Option("--summary", help="Only count codes: a table of all files.")] = False,
    notes: Annotated[bool, typer.Option("--notes", help="Show what was decided about tools with faults too.")] = False,
    entity: Annotated[
        list[str] | None, typer.Option("--entity", help="An entity of the examples; noted where a tool holds it.")
    ] = None,
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
) -> None:
    """Check tool documents or libraries: faults with their line and a suggestion. Exit status 1 with faults.

    Of a folder everything that its manifest vouches for is compared with its hash, also log, report and recording.
    """
    from tool_induction.report import counted, report
    from tool_induction.report import summary as table_text

    checked = {
        source: _checked(source, entity or (), allow_judge=allow_judge, groups=groups or ())
        for source in dict.fromkeys(sources)
    }
    compilations = {source: compilation for source, (compilation, _) in checked.items()}
    if summary:
        from tool_induction.reference.recordings_page import codes_table

        counts = counted(compilations)
        record: Any = {source: dict(sorted(one.items())) for source, one in counts.items()}
        show(record, as_json=as_json, text=lambda: table_text(codes_table(_by_stem(counts))))
    else:
        records = {source: one.record() for source, one in compilations.items()}
        record = next(iter(records.values())) if len(records) == 1 else {"files": records}
        texts = [
            (f"{source}\n" if len(checked) > 1 else "") + report(one, text, notes=notes)
            for source, (one, text) in checked.items()
        ]
        show(record, as_json=as_json, text=lambda: "\n\n".join(texts))
    if not all(one.ok for one in compilations.values()):
        raise typer.Exit(1)


def _checked(
    source: str, entities: Sequence[str], *, allow_judge: bool, groups: Sequence[str]
) -> tuple[Compilation, str]:
    from tool_induction.compiler.compiling import compile_document

    content = _stdin() if source == "-" else _content(source, allow_judge=allow_judge, groups=groups)
    compilation = compile_document(content, entities=entities, allow_judge=allow_judge, groups=groups)
    return compilation, content.decode("utf-8-sig", errors="replace")


def _stdin() -> bytes:
    from tool_induction.language.limits import MAX_DOCUMENT_BYTES

    return sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)


def _content(source: str, *, allow_judge: bool, groups: Sequence[str]) -> bytes:
    from tool_induction.libraries.commands import load_whole
    from tool_induction.library import TOOLS_FILE, find_library, read_bytes

    found = find_library(source)
    if found.is_dir():
        # hashes first: a changed library is refused whatever its tools are like
        load_whole(source, allow_judge=allow_judge, groups=groups)
        found = found / TOOLS_FILE
    return read_bytes(found)


def _by_stem(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Files by their short names, where these differ."""
    stems = {source: Path(source).stem for source in counts}
    return {stems[source] if len(set(stems.values())) == len(stems) else source: one for source, one in counts.items()}


@app.command()
def language(as_json: JsonOption = False) -> None:
    """Print the tool language: its reference, or with --json its JSON Schema."""
    from tool_induction.documents.schema import language_schema
    from tool_induction.reference.language_page import language_page

    show(language_schema(), as_json=as_json, text=lambda: language_page().rstrip())


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
    ] = AT_A_TIME,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
    groups: WithOption = None,
    profile: looking.PerceptionOption = looking.Perception.CLASSICAL,
    vision_model: looking.VisionModelOption = None,
    embedding_model: looking.EmbeddingModelOption = None,
    frames: looking.FramesOption = DEFAULT_FRAMES,
    side: looking.SideOption = DEFAULT_SIDE,
    look_language: looking.LookLanguageOption = None,
    looks: looking.LooksOption = DEFAULT_LOOKS,
    prices: looking.PricesOption = None,
    yes: looking.YesOption = False,
) -> None:
    """Run one tool on a world, as a model would, and print its result. Exit status 1 when a fault stopped it."""
    from tool_induction.compiler.emit import inputs_schema
    from tool_induction.judging.options import judge_of
    from tool_induction.library import load_library
    from tool_induction.runtime.budget import RunLimits
    from tool_induction.runtime.runner import run_tool
    from tool_induction.runtime.trace import Trace, tree_lines
    from world_api.api import open_session, vision_config
    from world_api.chat.usage import Prices
    from world_api.commands.vision import confirm_vision_cost, spent_text
    from world_api.core.cost import ledger
    from world_api.core.ports import SystemClock
    from world_api.operations import run as run_operation

    if not video:
        raise typer.BadParameter("is missing: which video?", param_hint="--video")
    library = load_library(source, wanted=tool, allow_judge=allow_judge, groups=groups or ())
    clock = SystemClock()
    judge = judge_of(allow_judge, judge_model, judge_record, clock=clock, environment=os.environ)
    eyes = vision_config(
        VisionChoices(
            profile=profile.value, model=None, vision_model=vision_model, embedding_model=embedding_model,
            frames=frames, side=side, looks=looks, language=look_language or DEFAULT_LANGUAGE,
        ),
        clock=clock,
        environment=os.environ,
    )  # fmt: skip
    compiled = library.tools.get(tool)
    properties: dict[str, Any] = inputs_schema(compiled.tool)["properties"] if compiled else {}
    filled = {"video_id": video} if "video_id" in properties else {}
    arguments = filled | read_arguments(pairs, args, properties)
    confirm_vision_cost(store, video, eyes, Prices.read(prices), yes=yes, during="for this run of the tool")
    opened = open_session(store, video, as_of=as_of, name=session, groups=groups or (), seeing=eyes)
    recorded = Trace()
    call = partial(run_operation, opened)
    with ledger() as book:
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
    if eyes is not None:
        note(spent_text(book.items, eyes))
    shown = result | ({"trace": [node.record() for node in recorded.root.children]} if trace else {})
    show(
        shown, as_json=as_json, text=lambda: "\n".join([to_json(result), *(tree_lines(recorded.root) if trace else ())])
    )
    if result["status"] == "error":
        raise typer.Exit(1)


library_commands.register(app)
