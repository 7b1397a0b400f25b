"""The front door: the command ``videoworld`` and the facade ``import videoworld as vw``; all of it loads when it is first used."""

from __future__ import annotations

import atexit
import gc
import sys

try:
    from contextlib import suppress
    from importlib import import_module
    from pathlib import Path
    from typing import TYPE_CHECKING, Annotated

    import typer

    from world_api.commands.cli import LazyCommand, lazy_group
except KeyboardInterrupt:  # these imports are most of the time a short command takes
    sys.exit(130)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from controller import (
        Budget,
        Episode,
        Journal,
        Question,
        SystemContext,
        answer_recorded,
        build_system,
        replay_recorded,
    )
    from eval.datasets import load_dataset
    from eval.runs import read_run
    from eval.scoring import score_value
    from tool_induction import LibraryTools, compile_document, load_library, run_tool
    from world_api import OPERATIONS, BuildOptions, SystemClock, build_world, list_worlds, open_session, run
    from world_api.chat import RuleBasedChatModel, chat_model

__all__ = [
    "OPERATIONS", "Budget", "BuildOptions", "Episode", "Journal", "LibraryTools", "Question", "RuleBasedChatModel",
    "SystemClock", "SystemContext", "answer_recorded", "build_system", "build_world", "chat_model",
    "compile_document", "list_worlds", "load_dataset", "load_library", "main", "open_session", "read_run",
    "replay_recorded", "run", "run_tool", "score_value",
]  # fmt: skip

#: The names of the facade by the package that defines them.
_FACADE = {
    "world_api": "OPERATIONS BuildOptions SystemClock build_world list_worlds open_session run",
    "world_api.chat": "RuleBasedChatModel chat_model",
    "tool_induction": "LibraryTools compile_document load_library run_tool",
    "controller": ("Budget Episode Journal Question SystemContext answer_recorded build_system replay_recorded"),
    "eval.datasets": "load_dataset",
    "eval.runs": "read_run",
    "eval.scoring": "score_value",
}


def __getattr__(name: str) -> Any:
    package = next((package for package, names in _FACADE.items() if name in names.split()), None)
    if package is None:
        raise AttributeError(f"module 'videoworld' has no attribute {name!r}")
    return getattr(import_module(package), name)


COMMANDS: dict[str, LazyCommand] = {
    "build": LazyCommand("world_api.commands.build", "app", "Build worlds from video files."),
    "worlds": LazyCommand(
        "world_api.commands.worlds", "app", "List the worlds of a store, and how much is kept beside them."
    ),
    "inspect": LazyCommand(
        "world_api.commands.worlds",
        "inspect_app",
        "Show what a world holds: shots, scenes, tracks, texts, sizes, hashes, profile.",
    ),
    "ops": LazyCommand(
        "world_api.commands.operations",
        "ops_app",
        "Show the sixteen operations: as a table, JSON Schema, OpenAI tools or MCP tools.",
    ),
    "call": LazyCommand(
        "world_api.commands.operations",
        "app",
        "Call one operation on a world, as a model would, and print its result.",
    ),
    "tools": LazyCommand("tool_induction.commands", "app", "Check, run, review, edit and export high-level tools."),
    "domains": LazyCommand(
        "tool_induction.commands", "domains_app", "List the domains tools are induced for, or check a file of your own."
    ),
    "induce": LazyCommand(
        "tool_induction.commands",
        "induce_app",
        "Have a model write a tool library for a domain.",
    ),
    "ask": LazyCommand("controller.commands", "ask_app", "Ask a question about a video."),
    "replay": LazyCommand(
        "controller.commands", "replay_app", "Run recorded episodes again, offline, and compare byte for byte."
    ),
    "show": LazyCommand(
        "controller.commands",
        "show_app",
        "Show a recorded episode: question, rounds, calls, answer, evidence, cost.",
    ),
    "serve": LazyCommand(
        "tool_induction.commands",
        "serve_app",
        "Serve the operations on a world, and a tool library, over the Model Context Protocol, on stdin and stdout.",
    ),
    "session": LazyCommand("world_api.commands.worlds", "session_app", "List, commit or drop what sessions wrote."),
    "reindex": LazyCommand(
        "world_api.commands.build",
        "reindex_app",
        "Make the store's search indexes again from its worlds.",
    ),
    "compare": LazyCommand(
        "eval.commands.runs",
        "compare_app",
        "Compare flat against hierarchical tool use on your own video, as one HTML file.",
    ),
    "eval": LazyCommand("eval.commands", "app", "Run experiments, score them, and compare what came out."),
    "sandbox": LazyCommand(
        "eval.commands.datasets", "sandbox_app", "Make videos with exact truth, and questions about them."
    ),
    "sample": LazyCommand("eval.commands.datasets", "sample_app", "Draw and encode the sample video."),
    "doctor": LazyCommand(
        "world_api.commands.doctor",
        "app",
        "Check this installation, or a chat endpoint, and say what is missing.",
    ),
}


USAGE = 2  #: the exit status of wrong usage
INTERRUPTED = 130  #: the exit status after Ctrl-C, as shells have it

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from world_api.installation import project_version

        sys.stdout.write(f"video-world-api {project_version()}\n")
        raise typer.Exit


@app.callback()
def videoworld(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Long videos as worlds that a language model can act in."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Exit status: 0 success, 1 a named failure, 2 wrong usage, 130 broken off by Ctrl-C."""
    # To look through all that was ever imported for garbage when the process ends takes as long as an import.
    atexit.register(gc.freeze)
    try:
        _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run(given: list[str]) -> None:
    from world_api.commands.cli import fail
    from world_api.core.faults import StoreFault, VideoWorldError

    as_json = "--json" in given
    try:
        app(given, prog_name="videoworld")
    except VideoWorldError as error:
        sys.exit(fail(error, as_json=as_json))
    except OSError as error:
        # An error of the file system that no code expects: a name too long, a device, a full disk.
        place = f"{str(error.filename)[:80]}: " if error.filename else ""
        fault = StoreFault("file_system", f"{place}{error.strerror or error}", hint="check the path and the free space")
        sys.exit(fail(fault, as_json=as_json))
    except SystemExit as leaving:
        if leaving.code == USAGE:
            _explain_usage(given, as_json=as_json)
        raise


def _explain_usage(given: Sequence[str], *, as_json: bool) -> None:
    """What stderr does not say yet of a wrong usage."""
    from world_api.commands.cli import fail, note
    from world_api.core.faults import VideoWorldError

    taken = None
    with suppress(OSError):  # such as a name that is too long
        taken = next((argument for argument in given if argument.startswith("-") and Path(argument).is_file()), None)
    hint = f"{taken} was taken for an option; write ./{taken} for the file" if taken is not None else ""
    if as_json:
        fail(VideoWorldError("wrong_usage", "stderr says what is wrong", hint=hint or "add --help"), as_json=True)
    elif hint:
        note(f"  hint: {hint}")


if __name__ == "__main__":
    main()
