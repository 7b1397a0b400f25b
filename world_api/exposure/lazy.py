"""Groups of commands that import a sub-command only when it is run, so that ``--help`` stays fast."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class Room(NamedTuple):
    """Where a sub-command lives, and its one line of help."""

    module: str
    app: str
    help: str


def lazy_group(rooms: Mapping[str, Room]) -> type[TyperGroup]:
    """A group of these sub-commands, in this order."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            """The sub-commands in the order of a first visit."""
            return list(rooms)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """A light stand-in that carries the name and the help."""
            room = rooms.get(cmd_name)
            return None if room is None else TyperCommand(cmd_name, help=room.help)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """The real command, imported now."""
            name, stand_in, rest = super().resolve_command(ctx, args)
            if name is None or stand_in is None:
                return name, stand_in, rest
            room = rooms[name]
            command = typer.main.get_command(getattr(importlib.import_module(room.module), room.app))
            command.name = name
            return name, command, rest

    return LazyGroup
