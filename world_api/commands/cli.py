"""The code that all sub-commands share: lazy groups, options, argument values; their output is in ``world_api.terminal``.

Results are written to stdout (as JSON with ``--json``), progress and errors to stderr. Exit status: 0 success, 1 a
fault, 2 wrong usage, 130 interrupted. With ``--json`` a fault is ``{"error": {...}}`` on stdout.

A command with a parameter ``vision: VisionOptions`` and the decorator ``with_vision_options`` has the options that choose
a vision model; an estimate is shown and confirmed before anything is sent to it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from world_api.core.canonical import parse_json
from world_api.core.faults import OperationFault
from world_api.core.identifiers import plural
from world_api.options import STORE_VARIABLE, VisionOptions

# --- commands -------------------------------------------------------------------------------------------------------

#: A time as players show it: minutes and seconds, or hours, minutes and seconds.
_CLOCK = re.compile(r"\d{1,4}(:\d{1,2}){1,2}(\.\d{1,6})?", re.ASCII)
_Command = Callable[..., None]


class LazyCommand(NamedTuple):
    """A sub-command: its module, the name of its function there (of a group: its Typer app), its line of help, its heading."""

    module: str
    entry: str
    help: str
    heading: str = "Commands"


_WIDTH = 100  #: columns of help texts on wide terminals
_HELP_ALL = "--help-all"
#: The values of options whose type Typer names: ``<int range>`` is shown as ``N``, and a choice as ``en|zh``.
_VALUES: dict[str | None, str] = {"int": "N", "float": "NUMBER", "str": "TEXT", "path": "PATH"}
_TYPE = re.compile(r"<(?:list\[)?(int|float|str|path)(?: range)?\]?>|<([^<>]+\|[^<>]+)>")


class Command(TyperCommand):
    """A command whose ``--help`` shows its first options, and ``--help-all`` all of them; see ``help_sections``."""

    shows_all = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; ``--help-all`` wins over everything else that is given."""
        self.shows_all = _HELP_ALL in args
        return super().parse_args(ctx, ["--help"] if self.shows_all else args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the line of usage; Typer puts braces around arguments that are required."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "") for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options: the first ones, or all under their headings."""
        sections: tuple[tuple[str, ...], dict[str | None, str]] = getattr(self.callback, "help_sections", ((), {}))
        first, heading_of = sections
        lists: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        lists |= {heading: [] for heading in heading_of.values() if self.shows_all}
        left_out = 0
        options = sorted(
            self.get_params(ctx), key=lambda one: first.index(one.name) if one.name in first else len(first)
        )
        for option in self.get_params(ctx) if self.shows_all else options:
            shown = copy(option)
            shown.opts = option.opts[:1]  # the others are former spellings, which still work
            record = shown.get_help_record(ctx)
            if record is None:
                continue
            record = (_TYPE.sub(lambda found: _VALUES.get(found[1], found[2] or ""), record[0]).rstrip(), record[1])
            if option.param_type_name == "argument":
                lists["Arguments"].append((record[0].split()[0], record[1]))
            elif self.shows_all or not first or option.name in (*first, "help"):
                if option.name == "help" and left_out:
                    more = (_HELP_ALL, f"Show {plural(left_out, 'more option')} too.")
                    lists.setdefault("Options", []).append(more)
                heading = heading_of.get(option.name, "Options") if self.shows_all else "Options"
                lists.setdefault(heading, []).append(record)
            else:
                left_out += 1
        for heading, records in lists.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Group(TyperGroup):
    """A group whose help lists its sub-commands under their headings, each with its whole first sentence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; ``--help-all`` is ``--help``."""
        return super().parse_args(ctx, ["--help"] if args[:1] == [_HELP_ALL] else args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sub-commands."""
        lists: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            heading = getattr(command, "rich_help_panel", None) or "Commands"
            lists.setdefault(heading, []).append((name, command.get_short_help_str(10 * _WIDTH)))
        for heading, records in lists.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def lazy_group(commands: Mapping[str, LazyCommand]) -> type[TyperGroup]:
    """Return a class for a group of sub-commands that are imported only when they run, so that ``--help`` is fast."""

    class LazyGroup(Group):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.commands = {
                name: TyperCommand(name, help=one.help, rich_help_panel=one.heading) for name, one in commands.items()
            }

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """Return name, imported command and remaining arguments."""
            name, stand_in, rest = super().resolve_command(ctx, args)
            if name is None or stand_in is None:
                return name, stand_in, rest
            lazy = commands[name]
            command = loaded_command(getattr(importlib.import_module(lazy.module), lazy.entry))
            command.name = name
            return name, command, rest

    return LazyGroup


def loaded_command(entry: typer.Typer | _Command) -> Any:
    """Return the sub-command of a function, or the group of a Typer app."""
    if isinstance(entry, typer.Typer):
        return typer.main.get_command(entry)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=Command)(entry)
    return typer.main.get_command(app)


class _App(typer.Typer):
    """A Typer app whose commands are of the class ``Command``."""

    def command(self, name: str | None = None, **given: Any) -> Callable[[_Command], _Command]:  # type: ignore[override]
        """Return the decorator of a command."""
        return super().command(name, **{"cls": Command, **given})


def group_app(about: str, commands: Mapping[str, LazyCommand] | None = None, more: str | None = None) -> typer.Typer:
    """Return a Typer app in plain style for a group of sub-commands with the help text ``about``; see ``lazy_group``.

    ``more`` is shown below the list of the sub-commands.
    """
    app = _App(
        cls=Group if commands is None else lazy_group(commands), help=about, epilog=more, no_args_is_help=True,
        add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
        context_settings={"max_content_width": _WIDTH},
    )  # fmt: skip
    app.callback()(lambda: None)  # a group also where it holds no command yet
    return app


def help_sections(first: str = "", headings: Mapping[str, str] | None = None) -> Callable[[_Command], _Command]:
    """Return a decorator for a command with many options.

    Args:
        first: Names of the parameters that ``--help`` shows, in this order, separated by spaces; empty for all of them.
        headings: By heading of ``--help-all``, the names of its parameters. Options without one come last, under "Options".
    """
    heading_of = {name: heading for heading, names in (headings or {}).items() for name in names.split()}

    def decorate(command: _Command) -> _Command:
        command.help_sections = (tuple(first.split()), heading_of)  # type: ignore[attr-defined]  # ``Command`` reads it
        return command

    return decorate


def _known_groups(names: list[str] | None) -> list[str] | None:
    """Return the names unchanged. Raises OperationFault: ``unknown_group`` if one is not a group of operations."""
    if names:
        from world_api.operations import check_groups

        check_groups(names)
    return names


def _left_out(names: list[str] | None) -> list[str] | None:
    """Return the names of groups that leave the categories out. Raises OperationFault: ``unknown_group``."""
    if not names:
        return names
    from world_api.operations import WITHOUT

    return _known_groups([f"{WITHOUT}{name}" for name in names])


def _named_folder(value: str | Path) -> Path:
    """Return the folder that an option names. Raises typer.BadParameter if it is empty."""
    if not str(value).strip():
        raise typer.BadParameter("the name of the folder is empty; leave the option out, or name a folder")
    return Path(value)


StoreOption = Annotated[
    Path,
    typer.Option(
        "--store",
        metavar="FOLDER",
        help="Folder that holds the worlds.",
        envvar=STORE_VARIABLE,
        parser=_named_folder,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
VideoOption = Annotated[str, typer.Option("--video", metavar="ID", help="Id of the video's world.")]
AsOfOption = Annotated[
    float | None,
    typer.Option("--as-of", min=0, metavar="SECONDS", help="Causal cut in seconds: see nothing from after it."),
]
SessionOption = Annotated[
    str, typer.Option("--session", metavar="SESSION", help="Session whose writes are seen and added to.")
]
ArgsOption = Annotated[
    str | None, typer.Option("--args", metavar="JSON", help="Arguments as one JSON object; KEY=VALUE wins over it.")
]
PairsArgument = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Arguments, read by their type.")]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="GROUP",
        callback=_known_groups,
        help="Switch on an optional group of operations beside the sixteen (inspect); repeatable.",
    ),
]

WithoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="CATEGORY",
        callback=_left_out,
        help="Leave out a category of operations, such as memory, for all systems alike; repeatable.",
    ),
]


AllowJudgeOption = Annotated[
    bool, typer.Option("--allow-judge", help="Allow judge steps: closed questions to a fixed model.")
]
JudgeModelOption = Annotated[
    str | None,
    typer.Option("--judge-model", metavar="MODEL", help="Who judges: a model on the endpoint of OPENAI_BASE_URL."),
]
JudgeRecordOption = Annotated[
    Path | None,
    typer.Option("--judge-record", metavar="FILE", help="Keep judgements there; what it holds is not asked again."),
]


def read_arguments(
    pairs: Sequence[str] | None, args: str | None, properties: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Read the arguments of a call from ``--args`` (a JSON object) and from ``key=value`` pairs, which override it.

    ``properties`` are the JSON Schemas of the parameters. The value of a parameter of type string is used as typed
    (``null`` as None if allowed); any other value, also of an unknown parameter, is read as JSON, or used as typed if it is
    not JSON: the call itself then reports what is wrong. Raises OperationFault: ``bad_arguments``.
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


# --- groups of options ----------------------------------------------------------------------------------------------


def with_options(
    name: str, kind: type[Any], *left_out: str, described: Mapping[str, Any] | None = None
) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command options for the fields of ``kind``, the dataclass of its parameter ``name``.

    Fields that are named in ``left_out`` are omitted and keep their defaults. ``described`` has Typer's options by field; by
    default the fields are annotated with them.
    """
    options = inspect.signature(kind, eval_str=True).parameters.values()
    added = [option for option in options if option.name not in left_out]
    if described is not None:
        added = [one.replace(annotation=Annotated[one.annotation, described[one.name]]) for one in added]

    def decorate(command: _Command) -> _Command:
        signature = inspect.signature(command, eval_str=True)
        own = list(signature.parameters.values())
        place = list(signature.parameters).index(name)
        shown = [
            item.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for item in (*own[:place], *added, *own[place + 1 :])
        ]

        @functools.wraps(command)
        def expanded(**given: Any) -> None:
            chosen = {option.name: given.pop(option.name) for option in added}
            command(**given, **{name: kind(**chosen)})

        expanded.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]  # Typer reads it
        expanded.__annotations__ = {item.name: item.annotation for item in shown}
        return expanded

    return decorate


_VISION_OPTIONS = {
    "profile": typer.Option(
        help="endpoint: a model looks at frames, which are sent to the endpoint; neural+endpoint: the same, at what the "
        "detector tracked; with the others nothing leaves this machine. They say how a world is built where there is none "
        "(auto: neural where a detector is here)."
    ),
    "vision_model": typer.Option(
        metavar="MODEL", help="With --profile endpoint: the vision model; by default --model."
    ),
    "embedding_model": typer.Option(
        metavar="MODEL", help="With --profile endpoint: what makes captions comparable in meaning."
    ),
    "frames": typer.Option(min=1, max=64, help="With --profile endpoint: frames of an interval, at most."),
    "side": typer.Option(
        min=64, max=4096, help="With --profile endpoint: longer side of a frame sent, in pixels."
    ),
    "look_language": typer.Option(help="With --profile endpoint: language of the vision model's replies."),
    "looks": typer.Option(min=0, help="With --profile endpoint: different looks for one question, at most."),
    "prices": typer.Option(metavar="FILE", help="USD per million tokens, by model, so that costs are shown in money."),
    "yes": typer.Option("--yes", help="Agree to the estimate without a question."),
}  # fmt: skip
#: A command with a parameter ``vision`` gets the fields of ``VisionOptions``.
with_vision_options = functools.partial(with_options, "vision", VisionOptions, described=_VISION_OPTIONS)
