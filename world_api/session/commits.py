"""The sessions of a stored world: where their logs lie, listing, committing and dropping them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.core.files import not_writable, world_lock
from world_api.core.identifiers import check_session_name, is_name
from world_api.session.overlay import EntityRegistered, Event, MemoryWritten, Overlay
from world_api.world.manifest import FileEntry, read_manifest, write_manifest
from world_api.world.storage import rows_from_records, write_rows
from world_api.world.store import World, world_folder, world_hash
from world_api.world.tables import SESSION_TABLES

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

    Raises:
        StoreFault: ``bad_video_id``, ``bad_session_name``.
    """
    path = world_folder(store, video_id) / SESSIONS / f"{check_session_name(name)}.jsonl"
    return Overlay(path)


def list_sessions(store: Path, video_id: str) -> list[tuple[str, int]]:
    """The sessions that wrote something: name and number of events.

    Raises:
        StoreFault: ``no_such_world``, ``session_damaged``.
    """
    folder = world_folder(store, video_id)
    read_manifest(folder)
    names = sorted(path.stem for path in (folder / SESSIONS).glob("*.jsonl") if is_name(path.stem))
    return [(name, len(open_overlay(store, video_id, name).events())) for name in names]


def reserve_session(store: Path, video_id: str, prefix: str) -> str:
    """Make the empty log of a new session and return its name: the first ``PREFIX-N`` that no session of the world ever had.

    Whoever makes the log has the name. A commit tells the world the name before its log goes, so the world is read last.

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

    Only here the lock goes, too: nobody was told the name, so nobody waits on it. Locks of other sessions stay.

    Raises:
        StoreFault: ``store_not_writable``.
    """
    overlay = open_overlay(store, video_id, name)
    overlay.drop()
    if overlay.path is not None:
        with suppress(OSError):
            overlay.path.with_suffix(".lock").unlink(missing_ok=True)


def drop_session(store: Path, video_id: str, name: str) -> int:
    """Forget a session; how many events it had.

    Raises:
        StoreFault: ``no_such_world``, ``no_such_session``.
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

    Writers of the session wait meanwhile. The rows are in place before the log tells which files hold them, that before the
    manifest lists them, and the log goes last. So wherever a commit is cut off, committing again adds what is missing and
    nothing twice, whatever was committed or written to the session in between.

    Raises:
        StoreFault: ``no_such_world``, ``no_such_session``, ``session_damaged``, ``store_not_writable``, ``world_locked``.
    """
    overlay = _existing(store, video_id, name)
    with world_lock(store, video_id), overlay.locked():
        folder = world_folder(store, video_id)
        manifest = read_manifest(folder)
        world = World(folder, manifest)
        events = overlay.events()[overlay.number_committed({entry.path for entry in manifest.files}) :]
        new: dict[str, Sequence[Event]] = {
            "memories": _new_memories(world, [event for event in events if isinstance(event, MemoryWritten)]),
            "registrations": _new_names(world, [event for event in events if isinstance(event, EntityRegistered)]),
        }
        stored = []
        for table, fresh in new.items():
            if fresh:
                first = world.rows(table).num_rows
                records = [_row(event, name, first + i) for i, event in enumerate(fresh)]
                stored.append(_store(folder, table, len(manifest.files_of(table)), records))
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


def _new_memories(world: World, events: Sequence[MemoryWritten]) -> list[MemoryWritten]:
    """The memories the world does not hold yet."""
    held = set(world.rows("memories").column("memory_id").to_pylist())
    return [event for event in events if event.memory_id not in held]


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


def _store(folder: Path, table: str, clip: int, records: list[dict[str, Any]]) -> FileEntry:
    key = content_hash(records)[:16]
    return write_rows(folder, table=table, clip=clip, key=key, rows=rows_from_records(table, records))


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
