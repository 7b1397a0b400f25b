"""The code that all sub-commands share: lazy groups, options, argument values, output, progress and reports of faults.

Results are written to stdout (as JSON with ``--json``), progress and errors to stderr. Exit status: 0 success, 1 a
fault, 2 wrong usage. With ``--json`` a fault is ``{"error": {...}}`` on stdout.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from world_api.core.canonical import parse_json
from world_api.core.faults import OperationFault, VideoWorldError
from world_api.core.identifiers import visible

if TYPE_CHECKING:
    from world_api.build.scheduler import Progress

DEFAULT_STORE = Path("worlds")
DEFAULT_SESSION = "default"
#: A time as players show it: minutes and seconds, or hours, minutes and seconds.
_CLOCK = re.compile(r"\d{1,4}(:\d{1,2}){1,2}(\.\d{1,6})?", re.ASCII)


class LazyCommand(NamedTuple):
    """The module of a sub-command, the name of its Typer app there, and its one line of help."""

    module: str
    app: str
    help: str


def lazy_group(commands: Mapping[str, LazyCommand]) -> type[TyperGroup]:
    """Return a class for a group of sub-commands that are imported only when they run, so that ``--help`` is fast."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names of the sub-commands."""
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Return a placeholder with the name and the help; None for an unknown name."""
            command = commands.get(cmd_name)
            return None if command is None else TyperCommand(cmd_name, help=command.help)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """Return name, imported command and remaining arguments."""
            name, stand_in, rest = super().resolve_command(ctx, args)
            if name is None or stand_in is None:
                return name, stand_in, rest
            lazy = commands[name]
            command = typer.main.get_command(getattr(importlib.import_module(lazy.module), lazy.app))
            command.name = name
            return name, command, rest

    return LazyGroup


def command_app(about: str | None = None) -> typer.Typer:
    """Return a Typer app in plain style for one sub-command or, with the help text ``about``, for a group of them."""
    group = about is not None
    return typer.Typer(help=about, no_args_is_help=group, add_completion=False, rich_markup_mode=None)


def under_headings(headings: Mapping[str, Sequence[str]]) -> type[TyperCommand]:
    """Return a class of commands whose help lists its options under headings.

    ``headings`` maps each heading to the names of its parameters. Options without a heading come last, under "Options".
    """
    heading_of = {name: heading for heading, names in headings.items() for name in names}

    class UnderHeadings(TyperCommand):
        """A command with a long list of options."""

        def format_options(self, ctx: Any, formatter: Any) -> None:
            """Write the arguments, then the options under their headings."""
            lists: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ("Arguments", *headings, "Options")}
            for parameter in self.get_params(ctx):
                record = parameter.get_help_record(ctx)
                own = "Arguments" if parameter.param_type_name == "argument" else "Options"
                if record is not None:
                    lists[heading_of.get(parameter.name or "", own)].append(record)
            for heading, records in lists.items():
                if records:
                    with formatter.section(heading):
                        formatter.write_dl(records)

    return UnderHeadings


def _known_groups(names: list[str] | None) -> list[str] | None:
    """Return the names unchanged. Raises OperationFault: ``unknown_group`` if one is not a group of operations."""
    if names:
        from world_api.operations import check_groups

        check_groups(names)
    return names


StoreOption = Annotated[Path, typer.Option("--store", help="Folder that holds the worlds.", envvar="VIDEOWORLD_STORE")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
VideoOption = Annotated[str, typer.Option("--video", help="Id of the video's world.")]
AsOfOption = Annotated[
    float | None, typer.Option("--as-of", min=0, help="Causal cut in seconds: see nothing from after it.")
]
SessionOption = Annotated[str, typer.Option("--session", help="Session whose writes are seen and added to.")]
ArgsOption = Annotated[str | None, typer.Option("--args", help="Arguments as one JSON object; KEY=VALUE wins over it.")]
PairsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Arguments, read by their type.")
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="GROUP",
        callback=_known_groups,
        help="Switch on an optional group of operations beside the sixteen (inspect); may be given again.",
    ),
]


def show(record: Any, *, as_json: bool, text: Callable[[], str]) -> None:
    """Print a result on stdout: ``record`` as JSON, or ``text()``. Control characters are written as escapes."""
    sys.stdout.write((to_json(record) if as_json else visible(text())) + "\n")


def to_json(record: Any) -> str:
    """Return indented JSON with readable Unicode. Raises ValueError for NaN and infinity."""
    return visible(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))


def note(message: str) -> None:
    """Print a message on stderr, so that stdout holds the result alone. Control characters are escaped."""
    sys.stderr.write(visible(message) + "\n")


def fail(error: VideoWorldError, *, as_json: bool) -> int:
    """Print a fault, as JSON on stdout or as text on stderr, and return the exit status 1."""
    if as_json:
        sys.stdout.write(to_json(error.record()) + "\n")
    else:
        note(f"error: {error.message} [{error.code}]")
        for line in getattr(error, "__notes__", ()):
            note(f"  {line}")
        if error.hint:
            note(f"  hint: {error.hint}")
    return 1


def read_arguments(
    pairs: Sequence[str] | None, args: str | None, properties: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Read the arguments of a call from ``--args`` (a JSON object) and from ``key=value`` pairs, which override it.

    ``properties`` are the JSON Schemas of the parameters. The value of a parameter of type string is used as typed; any
    other value, also of an unknown parameter, is read as JSON, or used as typed if it is not JSON: the call itself then
    reports what is wrong. Raises OperationFault: ``bad_arguments``.
    """
    arguments: dict[str, Any] = {}
    if args is not None:
        hint = """for example --args '{"top_k": 5}'"""
        try:
            arguments = parse_json(args, repeated="refuse")
        except ValueError as error:
            raise _bad_arguments(f"--args is not JSON: {error}", hint) from None
        if not isinstance(arguments, dict):
            raise _bad_arguments("--args is not a JSON object", hint)
    given: set[str] = set()
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise _bad_arguments(f"{pair[:80]!r} is not KEY=VALUE", "for example query='a person in red'")
        if key in given:
            raise _bad_arguments(f"{key!r} is given twice", "give every argument once")
        given.add(key)
        types = _types(properties.get(key, {}))
        if _CLOCK.fullmatch(value) and types & {"number", "integer"}:
            parts = [float(part) for part in value.split(":")]
            seconds = sum(part * 60**place for place, part in enumerate(reversed(parts)))
            raise _bad_arguments(f"{key} is a time in seconds, not {value!r}", f"write {key}={seconds:g}")
        arguments[key] = _value(value, types)
    return arguments


def _bad_arguments(message: str, hint: str) -> OperationFault:
    return OperationFault("bad_arguments", message, hint=hint)


def _value(text: str, types: set[str]) -> Any:
    if "string" in types and not (types - {"string", "null"}):
        return None if text == "null" and "null" in types else text
    try:
        return parse_json(text)
    except ValueError:
        return text


def _types(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema accepts, those of its ``anyOf`` and ``oneOf`` branches included."""
    own = schema.get("type", [])
    found = {own} if isinstance(own, str) else set(own)
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _types(branch)
    return found


class _ProgressLines:
    """Progress for logs, without a terminal: one line when a stage is done."""

    def __init__(self) -> None:
        self._done: set[str] = set()

    def update(self, stage: str, done: float, total: float) -> None:
        """Print a line when a stage is done (``done`` and ``total`` in seconds of video); only once per stage."""
        if done >= total and stage not in self._done:
            self._done.add(stage)
            sys.stderr.write(f"  {stage}: {total:.0f} s of video done\n")

    def say(self, text: str) -> None:
        """Print a text as a separate line."""
        sys.stderr.write(f"  {text}\n")


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Show progress bars on stderr inside the block, one per stage; plain lines if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield _ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("  {task.description:14}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with RichProgress(*columns, console=Console(stderr=True)) as shown:
        tasks: dict[str, TaskID] = {}

        class Bars:
            def update(self, stage: str, done: float, total: float) -> None:
                if stage not in tasks:
                    tasks[stage] = shown.add_task(stage, total=total)
                shown.update(tasks[stage], completed=done, total=total)

            def say(self, text: str) -> None:
                shown.console.print(f"  {text}", markup=False, highlight=False)

        yield Bars()
