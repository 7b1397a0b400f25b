"""What a session wrote: an append-only log of events beside the world, one JSON line each.

Every session has its own log, so parallel sessions never see each other's writes. Two processes that share a session take
turns under a lock; an event is numbered by its place in the log. A torn last line (the machine died while writing) is set
aside when the log is next written to; the events before it stay. A line that plans a commit is no event: it tells the next
commit, if this one is cut off, which files of the world hold the events before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from world_api.core.faults import StoreFault
from world_api.core.files import append_line, not_writable
from world_api.core.spans import TimeSpan
from world_api.world.manifest import MOST_SECONDS

Level = Literal["frame", "segment", "event"]
Seconds = Annotated[float, Field(ge=0, le=MOST_SECONDS)]


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    schema_version: Literal[1] = 1
    #: Seconds of video the writer could see; a reader with an earlier cut does not see the event.
    known_at: Seconds


class MemoryWritten(_Event):
    """A memory. ``parts``: ids of the memories a merged one was made of, else empty."""

    event: Literal["memory_written"] = "memory_written"
    memory_id: str
    level: Level
    start: Seconds
    end: Seconds
    content: str
    parts: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _runs_forwards(self) -> MemoryWritten:
        if self.end < self.start:
            raise ValueError("a memory ends after it starts")
        return self

    @property
    def span(self) -> TimeSpan:
        """What the memory is about."""
        return TimeSpan(start=self.start, end=self.end)


class EntityRegistered(_Event):
    """An entity named by the session: a track's identity, or a box at a moment (pixels) where no track was.

    ``hint``: the caller's words for it; what was measured is ``category``, ``box`` and the track.
    """

    event: Literal["entity_registered"] = "entity_registered"
    entity_id: str
    hint: str
    category: str
    time: Seconds
    box: tuple[float, float, float, float]
    confidence: Annotated[float, Field(ge=0, le=1)]


class CommitPlanned(BaseModel):
    """The events so far are part of the world once its manifest lists these files of rows; without files, at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    event: Literal["commit_planned"] = "commit_planned"
    files: tuple[str, ...]


Event = MemoryWritten | EntityRegistered
#: A log grows by this much at most between two readings; no session writes as much.
_MOST_BYTES = 1 << 28
_NOTHING = ""  #: the digest of an empty log
_LINES: TypeAdapter[Event | CommitPlanned] = TypeAdapter(Event | CommitPlanned)


class Overlay:
    """The log of one session. ``path`` None keeps it in memory (an episode that shall leave nothing behind).

    A log only grows, so what was read once is not read again: reading costs what was written since.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._read: list[Event] = []
        self._plans: list[tuple[int, CommitPlanned]] = []  # each with the number of events before it
        self._read_from: tuple[int, int] = (0, 0)  # inode of the log, bytes read of it
        self._digest = _NOTHING
        self._own = RLock()  # for the threads of this process; ``locked`` is for other processes

    def events(self) -> list[Event]:
        """All events so far, in order.

        Raises:
            StoreFault: ``session_damaged``.
        """
        with self._own:
            if self.path is not None:
                self._read_on(self.path)
            return list(self._read)

    def digest(self) -> str:
        """A hash of all events so far: two logs have the same only where they hold the same.

        Raises:
            StoreFault: ``session_damaged``.
        """
        with self._own:
            if self.path is not None:
                self._read_on(self.path)
            return self._digest

    def number_committed(self, listed: Collection[str]) -> int:
        """How many of the first events a world holds whose manifest lists these files: those of the last plan carried out.

        Raises:
            StoreFault: ``session_damaged``.
        """
        with self._own:
            if self.path is not None:
                self._read_on(self.path)
            done = [count for count, plan in self._plans if set(plan.files) <= set(listed)]
            return max(done, default=0)

    def plan_commit(self, files: Sequence[str]) -> None:
        """Note which files of rows will hold the events so far; to be called under ``locked``, before the manifest lists them.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        if self.path is None:
            return
        try:
            append_line(self.path, CommitPlanned(files=tuple(files)).model_dump_json().encode(), sync=True)
        except OSError as error:
            raise not_writable(self.path, error) from error

    def append(self, make: Callable[[int], Event]) -> Event:
        """Add the event that ``make`` returns for its number in the log (the first is 1), and return it.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``, ``session_damaged``.
        """
        with self._own:
            return self._append(make)

    def _append(self, make: Callable[[int], Event]) -> Event:
        if self.path is None:
            event = make(len(self._read) + 1)
            self._add(event, event.model_dump_json().encode())
            return event
        with self.locked():
            event = make(len(self.events()) + 1)
            try:
                append_line(self.path, event.model_dump_json().encode(), sync=True)
            except OSError as error:
                raise not_writable(self.path, error) from error
        return event

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers of this session waiting. The lock's file stays: somebody may be waiting on it.

        Raises:
            StoreFault: ``store_not_writable``.
        """
        if self.path is None:
            yield
            return
        from filelock import FileLock

        lock = FileLock(self.path.with_suffix(".lock"))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except OSError as error:
            raise not_writable(self.path, error) from error
        try:
            yield
        finally:
            lock.release()

    def drop(self) -> None:
        """Forget everything, also what cannot be read."""
        with self._own:
            self._start((0, 0))
            if self.path is not None:
                try:
                    self.path.unlink(missing_ok=True)
                except OSError as error:
                    raise not_writable(self.path, error) from error

    def _read_on(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if (inode, os.fstat(file.fileno()).st_size) < self._read_from or inode != self._read_from[0]:
                    self._start((inode, 0))
                file.seek(self._read_from[1])
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            self._start((0, 0))
            return
        except OSError as error:
            raise self._damaged(f"{path.name} cannot be read: {error.strerror or error}") from error
        if len(data) > _MOST_BYTES:
            raise self._damaged(f"{path.name} is larger than {_MOST_BYTES >> 20} MiB")
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.split(b"\n")[:-1]:
            entry = self._parse(line, len(self._read) + len(self._plans) + 1)
            if isinstance(entry, CommitPlanned):
                self._plans.append((len(self._read), entry))
            else:
                self._add(entry, line)
        self._read_from = (inode, self._read_from[1] + len(whole))

    def _start(self, read_from: tuple[int, int]) -> None:
        self._read, self._plans, self._read_from, self._digest = [], [], read_from, _NOTHING

    def _add(self, event: Event, line: bytes) -> None:
        self._read.append(event)
        self._digest = sha256(self._digest.encode() + line).hexdigest()

    def _parse(self, line: bytes, number: int) -> Event | CommitPlanned:
        try:
            return _LINES.validate_json(line)
        except ValidationError as error:
            name = self.path.name if self.path else "the session"
            raise self._damaged(f"line {number} of {name} cannot be read") from error

    def _damaged(self, what: str) -> StoreFault:
        return StoreFault(
            "session_damaged",
            what,
            hint="`videoworld session drop ID NAME` forgets this session; the world itself is not touched",
        )
