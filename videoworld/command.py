"""The command ``videoworld``. Each sub-command is imported at its first use."""

from __future__ import annotations

import atexit
import gc
import sys

try:
    from collections.abc import Sequence
    from contextlib import suppress
    from pathlib import Path
    from typing import Annotated

    import typer

    from world_api.commands.cli import LazyCommand, group_app
    from world_api.core import execution
except KeyboardInterrupt:  # these imports are most of the time a short command takes
    sys.exit(130)

#: The function of each command, or the Typer app of a group, by its module.
_ENTRIES = {
    "world_api.commands.build": {"build": "build", "reindex": "reindex"},
    "world_api.commands.worlds": {
        "worlds": "worlds",
        "inspect": "inspect",
        "frames": "frames",
        "session": "session_app",
    },
    "world_api.commands.operations": {"ops": "ops", "call": "call"},
    "tool_induction.commands": {"tools": "app", "domains": "domains", "induce": "induce", "serve": "serve"},
    "controller.commands": {"ask": "ask", "replay": "replay", "show": "show_episode"},
    "eval.commands.runs": {"compare": "compare"},
    "eval.commands": {"eval": "app"},
    "eval.commands.datasets": {"sandbox": "sandbox_app", "sample": "sample"},
    "world_api.commands.models": {"models": "app"},
    "world_api.commands.doctor": {"doctor": "doctor"},
}
#: The commands in the order of `--help`, under their headings, each with its line there.
_HELP = {
    "Ask about a video": {
        "build": "Build worlds from video files.",
        "ask": "Ask a question about a video.",
        "show": "Show a recorded episode: question, rounds, calls, answer, evidence, cost.",
        "inspect": "Show what a world holds: shots, scenes, tracks, texts, sizes, hashes, profile.",
        "frames": "Write frames of a video as pictures, with the boxes of what is tracked in them.",
        "worlds": "List the worlds of a store, and how much is kept beside them.",
    },
    "Operations and tools": {
        "ops": "Show the sixteen operations: as a table, JSON Schema, OpenAI tools or MCP tools.",
        "call": "Call one operation on a world, as a model would, and print its result.",
        "tools": "Check, run, review, edit and export high-level tools.",
        "domains": "List the domains tools are induced for, or check a file of your own.",
        "induce": "Have a model write a tool library for a domain.",
        "serve": "Serve a world's operations, and a tool library, over the Model Context Protocol (MCP).",
    },
    "Experiments": {
        "compare": "Compare flat against hierarchical tool use on your own video, as one HTML file.",
        "eval": "Run experiments, score them, and compare what came out.",
        "replay": "Run recorded episodes again, offline, and compare byte for byte.",
        "sandbox": "Make videos with exact truth, and questions about them.",
        "sample": "Draw and encode the sample video.",
    },
    "Installation and stores": {
        "doctor": "Check this installation, or a chat endpoint, and say what is missing.",
        "models": "List, fetch, add, remove and check the model files that perception can use.",
        "session": "List, commit or drop what sessions wrote.",
        "reindex": "Make the store's search indexes again from its worlds.",
    },
}
_PLACES = {name: (module, entry) for module, entries in _ENTRIES.items() for name, entry in entries.items()}
COMMANDS = {
    name: LazyCommand(*_PLACES[name], about, heading)
    for heading, lines in _HELP.items()
    for name, about in lines.items()
}


USAGE = 2  #: the exit status of wrong usage
INTERRUPTED = 130  #: the exit status after Ctrl-C, as shells have it

_BEGIN = "Begin with: videoworld ask VIDEO 'When does a person first appear?'"
app = group_app("Long videos as worlds that a language model can act in.", COMMANDS, _BEGIN)


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
    """Run a sub-command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Exit status: 0 success, 1 a fault, 2 wrong usage, 130 interrupted by Ctrl-C."""
    # Imports make many objects and no garbage: looking for it among them would take as long as an import, now and at the end.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    execution.is_command = True
    try:
        _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run(given: list[str]) -> None:
    from world_api.core.faults import StoreFault, VideoWorldError
    from world_api.terminal import fail

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
    """After wrong usage, write a hint if an argument with a leading ``-`` is a file; with ``as_json`` a JSON fault."""
    from world_api.core.faults import VideoWorldError
    from world_api.terminal import fail, note

    taken = None
    with suppress(OSError):  # such as a name that is too long
        taken = next((argument for argument in given if argument.startswith("-") and Path(argument).is_file()), None)
    hint = f"{taken} was taken for an option; write ./{taken} for the file" if taken is not None else ""
    if as_json:
        fail(VideoWorldError("wrong_usage", "stderr says what is wrong", hint=hint or "add --help"), as_json=True)
    elif hint:
        note(f"  hint: {hint}")
