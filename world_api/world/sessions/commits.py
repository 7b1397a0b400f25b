"""The sessions of a stored world: where their logs lie, listing, committing and dropping them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world_api.core.faults import StoreFault
from world_api.core.identifiers import check_session_name, is_name
from world_api.world.disk.hashing import hash_json
from world_api.world.disk.manifest import FileEntry, read_manifest, write_manifest
from world_api.world.disk.storage import rows_from_records, write_rows
from world_api.world.disk.stored import World, world_folder, world_hash
from world_api.world.sessions.overlay import EntityRegistered, Event, MemoryWritten, Overlay

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
    return Overlay(path=path, kept=[])


def list_sessions(store: Path, video_id: str) -> list[tuple[str, int]]:
    """The sessions that wrote something: name and number of events.

    Raises:
        StoreFault: ``no_such_world``, ``session_damaged``.
    """
    folder = world_folder(store, video_id)
    read_manifest(folder)
    names = sorted(path.stem for path in (folder / SESSIONS).glob("*.jsonl") if is_name(path.stem))
    return [(name, len(open_overlay(store, video_id, name).events())) for name in names]


def drop_session(store: Path, video_id: str, name: str) -> int:
    """Forget a session; how many events it had.

    Raises:
        StoreFault: ``no_such_world``, ``no_such_session``.
    """
    overlay = _existing(store, video_id, name)
    try:
        count = len(overlay.events())
    except StoreFault:
        count = 0
    overlay.drop()
    return count


def commit_session(store: Path, video_id: str, name: str) -> Committed:
    """Replay a session's log onto the world as new rows, then drop the session.

    The rows are in place before the manifest names them and the log goes last, so a crash between leaves either the
    session or the world complete; committing again adds nothing twice.

    Raises:
        StoreFault: ``no_such_world``, ``no_such_session``, ``session_damaged``, ``store_not_writable``, ``world_locked``.
    """
    from world_api.world.disk.locking import world_lock

    overlay = _existing(store, video_id, name)
    with world_lock(store, video_id):
        folder = world_folder(store, video_id)
        manifest = read_manifest(folder)
        world = World(folder, manifest)
        events = overlay.events()
        memories = _new_rows(
            world, "memories", "memory_id", [_memory_row(e, name) for e in events if isinstance(e, MemoryWritten)]
        )
        entities = _new_rows(
            world,
            "registrations",
            "entity_id",
            [_entity_row(e, name) for e in events if isinstance(e, EntityRegistered)],
        )
        files = list(manifest.files)
        for table, records in (("memories", memories), ("registrations", entities)):
            if records:
                files.append(_store(folder, table, len(manifest.files_of(table)), records))
        digest = world_hash(folder, manifest.video, files)
        write_manifest(folder, manifest.model_copy(update={"files": files, "world_hash": digest}))
        overlay.drop()
    return Committed(video_id=video_id, session=name, memories=len(memories), entities=len(entities), world_hash=digest)


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


def _new_rows(world: World, table: str, key: str, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records whose key the world does not hold yet; the last one wins where a key repeats."""
    held = set(world.rows(table).column(key).to_pylist())
    latest = {record[key]: record for record in records}
    return [record for identifier, record in latest.items() if identifier not in held]


def _store(folder: Path, table: str, clip: int, records: list[dict[str, Any]]) -> FileEntry:
    key = hash_json(records)[:16]
    return write_rows(folder, table=table, clip=clip, key=key, rows=rows_from_records(table, records))


def _memory_row(event: Event, name: str) -> dict[str, Any]:
    record = event.model_dump(exclude={"event", "schema_version"})
    return {**record, "parts": list(record["parts"]), "producer": f"session/{name}"}


def _entity_row(event: Event, name: str) -> dict[str, Any]:
    record = event.model_dump(exclude={"event", "schema_version", "box"})
    box = dict(zip(("x1", "y1", "x2", "y2"), event.box, strict=True)) if isinstance(event, EntityRegistered) else {}
    return {**record, **box, "producer": f"session/{name}"}
