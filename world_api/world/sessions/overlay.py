"""What a session wrote: an append-only log of events beside the world, one JSON line each.

Every session has its own log, so parallel sessions never see each other's writes. Two processes that share a session take
turns under a lock; an event is numbered by its place in the log. A torn last line (the machine died while writing) is set
aside when the log is next written to; the events before it stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from world_api.core.faults import StoreFault
from world_api.world.disk.files import not_writable

SCHEMA_VERSION = 1
Level = Literal["frame", "segment", "event"]


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    #: Seconds of video the writer could see; a reader with an earlier cut does not see the event.
    known_at: float


class MemoryWritten(_Event):
    """A memory. ``parts``: ids of the memories a merged one was made of, else empty."""

    event: Literal["memory_written"] = "memory_written"
    memory_id: str
    level: Level
    start: float
    end: float
    content: str
    parts: tuple[str, ...] = ()


class EntityRegistered(_Event):
    """An entity named by the session: a track's identity, or a box at a moment (pixels) where no track was."""

    event: Literal["entity_registered"] = "entity_registered"
    entity_id: str
    hint: str
    category: str
    time: float
    box: tuple[float, float, float, float]
    confidence: float


Event = MemoryWritten | EntityRegistered
_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """The log of one session. ``path`` None keeps it in memory (an episode that shall leave nothing behind)."""

    path: Path | None
    kept: list[Event]

    def events(self) -> list[Event]:
        """All events so far, in order.

        Raises:
            StoreFault: ``session_damaged``.
        """
        if self.path is None:
            return list(self.kept)
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        return [self._parse(line, number) for number, line in enumerate(_whole_lines(data), start=1)]

    def append(self, make: Callable[[int], Event]) -> Event:
        """Add the event that ``make`` returns for its number in the log (the first is 1), and return it.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``, ``session_damaged``.
        """
        if self.path is None:
            event = make(len(self.kept) + 1)
            self.kept.append(event)
            return event
        from filelock import FileLock

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_suffix(".lock")):
                event = make(len(self.events()) + 1)
                _append_line(self.path, event.model_dump_json())
        except OSError as error:
            raise not_writable(self.path, error) from error
        return event

    def drop(self) -> None:
        """Forget everything, also what cannot be read."""
        self.kept.clear()
        if self.path is not None:
            for path in (self.path, self.path.with_suffix(".lock")):
                path.unlink(missing_ok=True)

    def _parse(self, line: bytes, number: int) -> Event:
        try:
            return _EVENTS.validate_python(_tuples(json.loads(line)))
        except (ValueError, ValidationError) as error:
            name = self.path.name if self.path else "the session"
            raise StoreFault(
                "session_damaged",
                f"line {number} of {name} cannot be read",
                hint="`videoworld session drop ID NAME` forgets this session; the world itself is not touched",
            ) from error


def _tuples(record: Any) -> Any:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}


def _whole_lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")[:-1]


def _append_line(path: Path, line: str) -> None:
    with path.open("ab+") as file:
        file.seek(0)
        whole = file.read()
        if whole and not whole.endswith(b"\n"):
            file.truncate(whole.rfind(b"\n") + 1)
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
