"""``videoworld tools review | fork | diff | schemas | arm``: what is done with a library beside checking and running it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tool_induction.judging.options import AllowJudgeOption
from tool_induction.libraries.arms.commands import arm
from world_api.commands.cli import DEFAULT_STORE, JsonOption, StoreOption, VideoOption, WithOption, note, show, to_json

if TYPE_CHECKING:
    from tool_induction.language.diagnostics import Diagnostic
    from tool_induction.libraries.examples import ExampleRuns
    from tool_induction.library import ToolLibrary

Library = Annotated[
    str, typer.Argument(metavar="FILE_OR_LIBRARY", help="A tool document, a library folder, or a packaged library.")
]
Format = Literal["openai", "openai-strict", "mcp", "cards"]


def register(app: typer.Typer) -> None:
    """Add these commands to the group of tool commands."""
    for command in (review, fork, diff, schemas, arm):
        app.command()(command)


def review(
    source: Library,
    video: VideoOption = "",
    store: StoreOption = DEFAULT_STORE,
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON", help='Arguments of the examples, {"TOOL": {...}}; others are made up.'),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write one page there instead.")] = None,
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a library to a person: each tool with its plan, its price, notes and an example run.

    The examples run on the world of --video, in a session that is not kept; without it on a made-up world.
    """
    from tool_induction.libraries.review_html import review_html
    from tool_induction.libraries.review_text import review_text
    from tool_induction.libraries.reviewing import review_library

    if html is not None:
        _refuse_to_overwrite(html)
    library = load_whole(source, allow_judge=allow_judge, groups=groups or ())
    seen = review_library(
        library,
        _notes(source, allow_judge=allow_judge, groups=groups or ()),
        _examples(video, store, args, set(library.tools), groups or ()),
    )
    if html is not None:
        html.write_text(review_html(seen), encoding="utf-8")
        note(f"written to {html}")
        if not as_json:
            return
    show(seen.record(), as_json=as_json, text=lambda: review_text(seen))


def _refuse_to_overwrite(page: Path) -> None:
    """Let a page be written anew, but nothing else.

    Raises:
        ToolFault: ``file_exists``.
    """
    from tool_induction.libraries.review_html import is_review
    from world_api.core.faults import ToolFault

    if page.exists() and not is_review(page):
        raise ToolFault(
            "file_exists", f"{page} is there, and is no former review", hint="choose another file, or remove this one"
        )


def load_whole(source: str, *, allow_judge: bool, groups: Sequence[str] = ()) -> ToolLibrary:
    """Load a library, and compare what lies beside it too; what is gone is said on stderr.

    Raises:
        ToolFault: what loading raises; ``library_changed`` also for a log, a report, a recording or an unpruned library.
    """
    from tool_induction.libraries.beside import check_beside
    from tool_induction.library import find_library, load_library

    library = load_library(source, allow_judge=allow_judge, groups=groups)
    found = find_library(source)
    if found.is_dir():
        missing = check_beside(found, library.manifest, allow_judge=allow_judge, groups=groups)
        if missing:
            note(f"{library.name}: not there any more, so not compared: {', '.join(missing)}")
    return library


def _notes(source: str, *, allow_judge: bool, groups: Sequence[str] = ()) -> tuple[Diagnostic, ...]:
    from tool_induction.compiler.compiling import compile_document
    from tool_induction.library import TOOLS_FILE, find_library, read_bytes

    found = find_library(source)
    content = read_bytes(found / TOOLS_FILE if found.is_dir() else found)
    return compile_document(content, allow_judge=allow_judge, groups=groups).diagnostics


def _examples(video: str, store: Path, args: str | None, tools: set[str], groups: Sequence[str]) -> ExampleRuns:
    from tool_induction.libraries.examples import ExampleRuns
    from world_api.commands.cli import read_arguments
    from world_api.core.faults import ToolFault

    given = read_arguments(None, args, {})
    wrong = [name for name, value in given.items() if name not in tools or not isinstance(value, dict)]
    if wrong:
        raise ToolFault(
            "bad_arguments",
            f"--args has {wrong[0][:64]!r}, which is no tool with an object of arguments",
            hint='for example --args \'{"locate_event": {"event": "the door is closed"}}\'',
        )
    return ExampleRuns.on_video(store, video, given=given, groups=groups) if video else ExampleRuns(given=given)


def fork(
    source: Library,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The new library's folder; must not be there.")],
    edit: Annotated[
        Path | None, typer.Option("--edit", metavar="FILE", help="Tools that replace those of the same name.")
    ] = None,
    add: Annotated[Path | None, typer.Option("--add", metavar="FILE", help="Tools that are new.")] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", metavar="TOOL", help="Leave a tool out; may be given again.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="TOOL", help="Keep only these; may be given again.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Its name; by default the folder's.")] = None,
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who edits it, for its manifest.")] = "",
    why: Annotated[str, typer.Option("--note", metavar="WHY", help="Why, for its manifest.")] = "",
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Edit a library: the result is a new one with its own hash, which says what it came from. Faults stop it."""
    from tool_induction.libraries.comparing import compared, comparison_text
    from tool_induction.libraries.forking import Edits, fork_library
    from tool_induction.library import load_library, read_bytes

    made = fork_library(
        load_library(source, allow_judge=allow_judge, groups=groups or ()),
        Edits(
            edit=None if edit is None else read_bytes(edit),
            add=None if add is None else read_bytes(add),
            keep=keep or (),
            drop=drop or (),
        ),
        out,
        name=name or out.resolve().name,
        date=datetime.now(UTC).date().isoformat(),
        by=by,
        note=why,
        allow_judge=allow_judge,
        groups=groups or (),
    )
    show(
        made.record(),
        as_json=as_json,
        text=lambda: comparison_text(compared(made.parent, made.library)) + f"\nfrozen in {out}",
    )


def diff(
    before: Library,
    after: Annotated[str, typer.Argument(metavar="OTHER", help="The library or document to compare it with.")],
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two libraries: tools that went, came and changed, and at which places."""
    from tool_induction.libraries.comparing import compared, comparison_text
    from tool_induction.library import load_library

    record = compared(
        load_library(before, allow_judge=allow_judge, groups=groups or ()),
        load_library(after, allow_judge=allow_judge, groups=groups or ()),
    )
    show(record, as_json=as_json, text=lambda: comparison_text(record))


def schemas(
    source: Library,
    wanted: Annotated[
        Format, typer.Option("--format", help="OpenAI function tools, loose or strict; MCP tools; signature cards.")
    ] = "openai",
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a library's tools as other programs want them, or as cards for people."""
    from tool_induction.libraries.faces import faces
    from tool_induction.library import load_library

    made = faces(load_library(source, allow_judge=allow_judge, groups=groups or ()).tools, wanted)
    if wanted == "openai-strict":
        for loose in [tool["function"]["name"] for tool in made if isinstance(tool, dict) and not _is_strict(tool)]:
            note(f"{loose}: strict mode cannot say its inputs; offered without it")
    show(made, as_json=as_json, text=lambda: "\n\n".join(map(str, made)) if wanted == "cards" else to_json(made))


def _is_strict(tool: dict[str, Any]) -> bool:
    return bool(tool["function"]["strict"])
