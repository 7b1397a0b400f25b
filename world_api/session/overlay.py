"""Overlays: append-only logs of what sessions wrote beside a world; listing, committing and dropping them.

A log holds one JSON line per event.

Every session has its own log, so parallel sessions never see each other's writes. Two processes that share a session take
turns under a lock; an event is numbered by its place in the log. An incomplete last line (the machine died while
writing) is removed at the next write; the events before it stay. A line that plans a commit is no event: if the commit is
interrupted, it names the files of the world that hold the events before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.core.files import append_line, file_lock, not_writable, world_lock
from world_api.core.identifiers import check_session_name, is_name
from world_api.core.spans import TimeSpan
from world_api.world.manifest import MOST_SECONDS, read_manifest, write_manifest
from world_api.world.storage import rows_from_records, write_rows
from world_api.world.store import World, world_folder, world_hash
from world_api.world.tables import SESSION_TABLES

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
#: Bytes that a log may grow between two readings; no session writes as much.
_MOST_BYTES = 1 << 28
_LINES: TypeAdapter[Event | CommitPlanned] = TypeAdapter(Event | CommitPlanned)


class Overlay:
    """The log of one session. ``path`` None keeps it in memory, for an episode that leaves nothing behind.

    A log only grows, so only lines that are new since the last reading are read.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._read: list[Event] = []
        self._plans: list[tuple[int, CommitPlanned]] = []  # each with the number of events before it
        self._read_from: tuple[int, int] = (0, 0)  # inode of the log, bytes read of it
        self._digest = ""
        self._own = RLock()  # for the threads of this process; ``locked`` is for other processes

    def events(self) -> list[Event]:
        """All events so far, in order.

        Raises StoreFault: ``session_damaged``.
        """
        with self._own:
            self._refresh()
            return list(self._read)

    def digest(self) -> str:
        """A hash of all events so far: two logs have the same only where they hold the same.

        Raises StoreFault: ``session_damaged``.
        """
        with self._own:
            self._refresh()
            return self._digest

    def number_committed(self, listed: Collection[str]) -> int:
        """The number of leading events that a world holds whose manifest lists these files.

        Raises StoreFault: ``session_damaged``.
        """
        with self._own:
            self._refresh()
            return max((count for count, plan in self._plans if set(plan.files) <= set(listed)), default=0)

    def plan_commit(self, files: Sequence[str]) -> None:
        """Note which files of rows will hold the events so far; call it under ``locked``, before the manifest lists them.

        Raises StoreFault: ``store_not_writable``, ``disk_full``.
        """
        if self.path is not None:
            self._write(self.path, CommitPlanned(files=tuple(files)).model_dump_json().encode())

    def append(self, make: Callable[[int], Event]) -> Event:
        """Add the event that ``make`` returns for its number in the log (the first is 1), and return it.

        Raises StoreFault: ``store_not_writable``, ``disk_full``, ``session_damaged``.
        """
        with self._own, self.locked():
            event = make(len(self.events()) + 1)
            line = event.model_dump_json().encode()
            if self.path is None:
                self._add(event, line)
            else:
                self._write(self.path, line)
            return event

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers of this session waiting.

        Raises StoreFault: ``store_not_writable``.
        """
        return nullcontext() if self.path is None else file_lock(self.path.with_suffix(".lock"))

    def drop(self) -> None:
        """Delete the log, even if it cannot be read."""
        with self._own:
            self._start((0, 0))
            if self.path is not None:
                try:
                    self.path.unlink(missing_ok=True)
                except OSError as error:
                    raise not_writable(self.path, error) from error

    @staticmethod
    def _write(path: Path, line: bytes) -> None:
        try:
            append_line(path, line, sync=True)
        except OSError as error:
            raise not_writable(path, error) from error

    def _refresh(self) -> None:
        """Read the log up to its end."""
        if (path := self.path) is None:
            return
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
            try:
                entry = _LINES.validate_json(line)
            except ValidationError as error:
                number = len(self._read) + len(self._plans) + 1
                raise self._damaged(f"line {number} of {path.name} cannot be read") from error
            if isinstance(entry, CommitPlanned):
                self._plans.append((len(self._read), entry))
            else:
                self._add(entry, line)
        self._read_from = (inode, self._read_from[1] + len(whole))

    def _start(self, read_from: tuple[int, int]) -> None:
        self._read, self._plans, self._read_from, self._digest = [], [], read_from, ""

    def _add(self, event: Event, line: bytes) -> None:
        self._read.append(event)
        self._digest = sha256(self._digest.encode() + line).hexdigest()

    @staticmethod
    def _damaged(what: str) -> StoreFault:
        hint = "`videoworld session drop ID NAME` forgets this session; the world itself is not touched"
        return StoreFault("session_damaged", what, hint=hint)


SESSIONS = "sessions"


@dataclass(frozen=True, kw_only=True)
class Committed:
    """What a commit added to a world, and the world's hash since."""

    video_id: str
    session: str
    memories: int
    entities: int
    world_hash: str

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return dict(vars(self))


def open_overlay(store: Path, video_id: str, name: str) -> Overlay:
    """The overlay of a named session.

    Raises StoreFault: ``bad_video_id``, ``bad_session_name``.
    """
    path = world_folder(store, video_id) / SESSIONS / f"{check_session_name(name)}.jsonl"
    return Overlay(path)


def list_sessions(store: Path, video_id: str) -> list[tuple[str, int]]:
    """The sessions that wrote something: name and number of events.

    Raises StoreFault: ``no_such_world``, ``session_damaged``.
    """
    folder = world_folder(store, video_id)
    read_manifest(folder)
    names = sorted(path.stem for path in (folder / SESSIONS).glob("*.jsonl") if is_name(path.stem))
    return [(name, len(open_overlay(store, video_id, name).events())) for name in names]


def reserve_session(store: Path, video_id: str, prefix: str) -> str:
    """Make the empty log of a new session and return its name: the first ``PREFIX-N`` that no session of the world ever had.

    The process that creates the log owns the name. A commit writes the name to the world before it removes the log, so the
    world is read last.

    Raises:
        StoreFault: ``no_such_world``, ``world_damaged``, ``bad_session_name``, ``store_not_writable``, ``disk_full``.
    """
    folder = world_folder(store, video_id)
    read_manifest(folder)
    for number in count(1):
        name = f"{prefix}-{number}"
        path = folder / SESSIONS / f"{check_session_name(name)}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise not_writable(path, error) from error
        if _producer(name) not in _producers(folder):
            return name
        path.unlink(missing_ok=True)
    raise AssertionError  # the numbers do not end


def forget_reserved(store: Path, video_id: str, name: str) -> None:
    """Remove what is left of a session that ``reserve_session`` named: its log, and its lock.

    Only here the lock is removed too: the name was never published, so no process waits on it. Locks of other sessions stay.

    Raises StoreFault: ``store_not_writable``.
    """
    overlay = open_overlay(store, video_id, name)
    overlay.drop()
    if overlay.path is not None:
        with suppress(OSError):
            overlay.path.with_suffix(".lock").unlink(missing_ok=True)


def drop_session(store: Path, video_id: str, name: str) -> int:
    """Delete a session's log and return how many events it had.

    Raises StoreFault: ``no_such_world``, ``no_such_session``.
    """
    overlay = _existing(store, video_id, name)
    with overlay.locked():
        try:
            number = len(overlay.events())
        except StoreFault:
            number = 0
        overlay.drop()
    return number


def commit_session(store: Path, video_id: str, name: str) -> Committed:
    """Replay a session's log onto the world as new rows, then drop the session.

    Writers of the session wait meanwhile. The rows are written first, then the log notes their files, then the manifest lists
    them; the log is removed last. So after an interrupted commit, at any point, committing again adds what is missing and nothing
    twice, even if other commits or writes came in between.

    Raises:
        StoreFault: ``no_such_world``, ``no_such_session``, ``session_damaged``, ``store_not_writable``, ``world_locked``.
    """
    overlay = _existing(store, video_id, name)
    with world_lock(store, video_id), overlay.locked():
        folder = world_folder(store, video_id)
        manifest = read_manifest(folder)
        world = World(folder, manifest)
        events = overlay.events()[overlay.number_committed({entry.path for entry in manifest.files}) :]
        held = set(world.rows("memories").column("memory_id").to_pylist())
        new: dict[str, Sequence[Event]] = {
            "memories": [event for event in events if isinstance(event, MemoryWritten) and event.memory_id not in held],
            "registrations": _new_names(world, [event for event in events if isinstance(event, EntityRegistered)]),
        }
        stored = []
        for table, fresh in new.items():
            if fresh:
                first = world.rows(table).num_rows
                records = [_row(event, name, first + i) for i, event in enumerate(fresh)]
                key, clip = content_hash(records)[:16], len(manifest.files_of(table))
                stored.append(
                    write_rows(folder, table=table, clip=clip, key=key, rows=rows_from_records(table, records))
                )
        files = [*manifest.files, *stored]
        overlay.plan_commit([entry.path for entry in stored])
        digest = world_hash(folder, manifest.video, files)
        write_manifest(folder, manifest.model_copy(update={"files": files, "world_hash": digest}))
        overlay.drop()
    return Committed(
        video_id=video_id,
        session=name,
        memories=len(new["memories"]),
        entities=len(new["registrations"]),
        world_hash=digest,
    )


def _existing(store: Path, video_id: str, name: str) -> Overlay:
    read_manifest(world_folder(store, video_id))
    overlay = open_overlay(store, video_id, name)
    if overlay.path is None or not overlay.path.is_file():
        raise StoreFault(
            "no_such_session",
            f"world {video_id!r} has no session {name!r}",
            hint=f"`videoworld session list {video_id}` lists them",
        )
    return overlay


def _new_names(world: World, events: Sequence[EntityRegistered]) -> list[EntityRegistered]:
    """The registrations that change what the world calls an entity."""
    rows = world.rows("registrations")
    called = dict(zip(rows.column("entity_id").to_pylist(), rows.column("hint").to_pylist(), strict=True))
    fresh = []
    for event in events:
        if called.get(event.entity_id) != event.hint:
            called[event.entity_id] = event.hint
            fresh.append(event)
    return fresh


def _producers(folder: Path) -> set[str]:
    """The producers of all rows that sessions committed to a world."""
    world = World(folder, read_manifest(folder))
    return {producer for table in SESSION_TABLES for producer in world.rows(table).column("producer").to_pylist()}


def _producer(name: str) -> str:
    return f"session/{name}"


def _row(event: Event, name: str, number: int) -> dict[str, Any]:
    record = event.model_dump(exclude={"event", "schema_version", "box"})
    if isinstance(event, EntityRegistered):
        record |= dict(zip(("x1", "y1", "x2", "y2"), event.box, strict=True))
    return {**record, "number": number, "producer": _producer(name)}
