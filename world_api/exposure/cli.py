"""What all sub-commands share: options, argument values, output, and how a failure ends.

stdout carries the answer (JSON with ``--json``), stderr carries progress and errors. Exit status: 0 success, 1 a named
failure, 2 wrong usage. With ``--json`` a failure is ``{"error": {...}}`` on stdout.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from world_api.core.canonical import parse_json
from world_api.core.faults import OperationFault, VideoWorldError
from world_api.core.identifiers import visible

StoreOption = Annotated[Path, typer.Option("--store", help="Folder that holds the worlds.", envvar="VIDEOWORLD_STORE")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
VideoOption = Annotated[str, typer.Option("--video", help="Id of the video's world.")]
AsOfOption = Annotated[
    float | None, typer.Option("--as-of", min=0, help="Causal cut in seconds: see nothing from after it.")
]
SessionOption = Annotated[str, typer.Option("--session", help="Session whose writes are seen and added to.")]
PairsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Arguments, read by their type.")
]


def _known_groups(names: list[str] | None) -> list[str] | None:
    """The names, each of an optional group that there is.

    Raises:
        OperationFault: ``unknown_group``.
    """
    if names:
        from world_api.operations import check_groups

        check_groups(names)
    return names


WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="GROUP",
        callback=_known_groups,
        help="Switch on an optional group of operations beside the sixteen (inspect); may be given again.",
    ),
]
ArgsOption = Annotated[str | None, typer.Option("--args", help="Arguments as one JSON object; KEY=VALUE wins over it.")]

#: minutes and seconds, maybe with hours, as players show them
_CLOCK = re.compile(r"\d{1,4}(:\d{1,2}){1,2}(\.\d{1,6})?", re.ASCII)

DEFAULT_STORE = Path("worlds")
DEFAULT_SESSION = "default"


def command_app(about: str | None = None) -> typer.Typer:
    """A Typer app for one sub-command (or, with a help text, for a group of them), in the house's plain style."""
    group = about is not None
    return typer.Typer(help=about, no_args_is_help=group, add_completion=False, rich_markup_mode=None)


def under_headings(headings: Mapping[str, Sequence[str]]) -> type[TyperCommand]:
    """A kind of command whose help lists its options under headings, each with the names of its parameters.

    Options that stand under no heading come last, under "Options".
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


def show(record: Any, *, as_json: bool, text: Callable[[], str]) -> None:
    """Print an answer: the record as JSON, or its text for people. What would move a terminal's cursor is spelt out."""
    sys.stdout.write((to_json(record) if as_json else visible(text())) + "\n")


def to_json(record: Any) -> str:
    """JSON for machines and people: indented, Unicode as it is where it can be printed, NaN refused."""
    return visible(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))


def note(message: str) -> None:
    """Tell a person something beside the answer, on stderr."""
    sys.stderr.write(visible(message) + "\n")


def fail(error: VideoWorldError, *, as_json: bool) -> int:
    """Print a named failure; the exit status."""
    if as_json:
        sys.stdout.write(to_json(error.record()) + "\n")
    else:
        note(f"error: {error.message} [{error.code}]")
        for said in getattr(error, "__notes__", ()):
            note(f"  {said}")
        if error.hint:
            note(f"  hint: {error.hint}")
    return 1


def read_arguments(
    pairs: Sequence[str] | None, args: str | None, properties: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Arguments from ``--args`` and ``key=value``, read by the types that JSON Schema ``properties`` declare.

    A value for a string stays as typed; any other is read as JSON. Names the declaration lacks are read as
    JSON where they are JSON, so that the call itself can say what is wrong with them.

    Raises:
        OperationFault: ``bad_arguments``.
    """
    arguments = _object(args) if args is not None else {}
    given: set[str] = set()
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if key in given:
            raise OperationFault("bad_arguments", f"{key!r} is given twice", hint="give every argument once")
        given.add(key)
        if not equals or not key:
            raise OperationFault(
                "bad_arguments", f"{pair[:80]!r} is not KEY=VALUE", hint="for example query='a person in red'"
            )
        arguments[key] = _value(value, properties.get(key, {}))
        if _CLOCK.fullmatch(value) and _types(properties.get(key, {})) & {"number", "integer"}:
            parts = [float(part) for part in value.split(":")]
            seconds = sum(part * 60**place for place, part in enumerate(reversed(parts)))
            raise OperationFault(
                "bad_arguments", f"{key} is a time in seconds, not {value!r}", hint=f"write {key}={seconds:g}"
            )
    return arguments


def _object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text, repeated="refuse")
    except ValueError as error:
        raise OperationFault(
            "bad_arguments", f"--args is not JSON: {error}", hint="""for example --args '{"top_k": 5}'"""
        ) from None
    if not isinstance(value, dict):
        raise OperationFault(
            "bad_arguments", "--args is not a JSON object", hint="""for example --args '{"top_k": 5}'"""
        )
    return value


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    types = _types(schema)
    if "string" in types and not (types - {"string", "null"}):
        return None if text == "null" and "null" in types else text
    try:
        return parse_json(text)
    except ValueError:
        return text


def _types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types a schema accepts at its top."""
    own = schema.get("type", [])
    found = {own} if isinstance(own, str) else set(own)
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _types(branch)
    return found
