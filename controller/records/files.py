"""The files of a journal, and their lines: each is looked at by itself, so that a damaged one harms no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from world_api.backends.chat.recording import check_schema
from world_api.core.canonical import parse_json
from world_api.core.faults import EpisodeFault
from world_api.world.files import open_regular

SCHEMA_VERSION = 3
EPISODES, TIMINGS, BEGUN = "episodes.jsonl", "timings.jsonl", "begun.jsonl"
RECORDINGS, MATERIALS = "recordings", "materials"

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
#: How lines are written: their name can be told without reading the rest.
_HEAD = re.compile(rb'\{"schema_version":\d+,"name":"([A-Za-z0-9._+-]{1,128})"[,}]')

Fields = Mapping[str, Callable[[Any], bool]]


@dataclass(frozen=True)
class Line:
    """One line of a file, as it stands there."""

    path: Path
    number: int
    data: bytes

    @cached_property
    def name(self) -> str | None:
        """The episode it is of; None where that cannot be read."""
        head = _HEAD.match(self.data)
        if head is not None:
            return head[1].decode()
        try:
            value = parse_json(self.data.decode())
        except ValueError:
            return None
        name = value.get("name") if isinstance(value, dict) else None
        return name if is_label(name) else None

    def read(self, fields: Fields) -> dict[str, Any]:
        """The object on it, whose fields hold what they should.

        Raises:
            EpisodeFault: ``recording_damaged``, ``recording_schema``.
        """
        try:
            value = parse_json(self.data.decode())
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise self._damaged("is not a JSON object")
        check_schema(value, SCHEMA_VERSION, self.path)
        broken = [key for key, holds in fields.items() if not holds(value.get(key))]
        if broken:
            raise self._damaged(f"is not whole: {broken[0]}")
        return value

    def _damaged(self, what: str) -> EpisodeFault:
        return damaged(f"line {self.number} of {self.path.name} {what}")


def lines_of(path: Path) -> Iterator[Line]:
    """The lines of a file; a last one that a crash cut short was never a line.

    Raises:
        EpisodeFault: ``recording_missing``; ``recording_not_readable``, where it may not be read.
    """
    try:
        with open_regular(path) as file:
            for number, data in enumerate(file, start=1):
                if data.endswith(b"\n"):
                    yield Line(path, number, data)
    except OSError as error:
        raise cannot_read(path, error) from None


def is_there(path: Path) -> bool:
    """Whether there is something under a path.

    Raises:
        EpisodeFault: ``recording_not_readable``: nobody may look there.
    """
    try:
        return path.exists()
    except OSError as error:
        raise cannot_read(path, error) from None


def cannot_read(path: Path, error: OSError) -> EpisodeFault:
    """Why a file cannot be read; one that may not be is a matter of the set-up, and says nothing of what is in it."""
    what = f"cannot read {path}: {error.strerror}"
    if isinstance(error, PermissionError):
        return EpisodeFault("recording_not_readable", what, hint="see that this user may read it")
    return EpisodeFault(
        "recording_missing",
        what,
        hint="give the folder that --record made; if its files are gone, restore them from a copy",
    )


def damaged(what: str) -> EpisodeFault:
    """A record that is not what was written."""
    return EpisodeFault("recording_damaged", what, hint="restore the file from a copy; records are never repaired")


def own_file(folder: Path, kind: str, name: str) -> Path:
    """The file of one episode."""
    return folder / kind / f"{name}.jsonl"


def is_text(value: Any) -> bool:
    """Whether it is text."""
    return isinstance(value, str)


def is_label(value: Any) -> bool:
    """Whether it is a name of an episode; it names files too."""
    return isinstance(value, str) and _LABEL.fullmatch(value) is not None


def is_object(value: Any) -> bool:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def are_readings(value: Any) -> bool:
    """Whether it is a list of wall times as text, and of seconds."""
    return isinstance(value, list) and all(
        isinstance(item, str | int | float) and not isinstance(item, bool) for item in value
    )
