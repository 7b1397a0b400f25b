"""A session: a world behind a causal cut, with an overlay, the append-only log of what the caller writes.

For measurements of single operations a session can have stand-ins: objects that answer an operation in place of the
world. A stand-in receives the checked call; the session's records list the operations with stand-ins.

Every session has its own overlay, one JSON line per event, so parallel sessions never see each other's writes. Two
processes that share a session take turns under a lock; an event is numbered by its place in the log. An incomplete last
line (the machine failed during a write) is removed at the next write; the events before it remain. A line that plans a
commit is not an event: it names the files of rows that will hold the events before it, so that an interrupted commit can
be repeated.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from world_api.core.canonical import Record, content_hash
from world_api.core.faults import OperationFault, StoreFault
from world_api.core.files import append_line, file_lock, not_writable, world_lock
from world_api.core.identifiers import check_session_name, did_you_mean, is_name
from world_api.core.ports import ImageTextEncoder, Source, TextEmbedder
from world_api.core.spans import Box, TimeSpan, round_time
from world_api.core.vocabulary import Vocabulary
from world_api.search.passages import CaptionIndex, Meanings
from world_api.search.searcher import Searcher
from world_api.session.vision import FrameLooker, Vision
from world_api.session.vision_cache import CachedLook
from world_api.world.storage import MOST_SECONDS, SESSIONS, read_manifest, rows_from_records, write_manifest, write_rows
from world_api.world.store import World, world_folder, world_hash
from world_api.world.tables import SESSION_TABLES
from world_api.world.tracks import hint_in_words
from world_api.world.view import View

# --- the overlay ----------------------------------------------------------------------------------------------------

Level = Literal["frame", "segment", "event"]
Seconds = Annotated[float, Field(ge=0, le=MOST_SECONDS)]


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    schema_version: Literal[1] = 1
    #: Seconds of video the writer could see; a reader with an earlier cut does not see the event.
    known_at: Seconds


class MemoryWritten(_Event):
    """The event of a written memory. ``parts``: ids of the memories that a merged one was made from, else empty."""

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
        """The interval that the memory is about."""
        return TimeSpan(start=self.start, end=self.end)


class EntityRegistered(_Event):
    """The event of a registered entity: a track, or a thing without a track at a time and in a box (pixels).

    ``hint`` contains the caller's words for it; ``category`` and ``box`` were measured.
    """

    event: Literal["entity_registered"] = "entity_registered"
    entity_id: str
    hint: str
    category: str
    time: Seconds
    box: tuple[float, float, float, float]
    confidence: Annotated[float, Field(ge=0, le=1)]


class CommitPlanned(BaseModel, extra="forbid", frozen=True):
    """A line of the log: the events before it are part of the world if the manifest lists all ``files`` (of rows)."""

    schema_version: Literal[1] = 1
    event: Literal["commit_planned"] = "commit_planned"
    files: tuple[str, ...]


Event = MemoryWritten | EntityRegistered
#: Bytes that a log may grow between two readings; no session writes as much.
_MOST_BYTES = 1 << 28
_LINES: TypeAdapter[Event | CommitPlanned] = TypeAdapter(Event | CommitPlanned)


class Overlay:
    """The log of one session. ``path``: its file; with None the log is in memory only and leaves no file behind.

    A log only grows, so each reading reads only new lines.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._read: list[Event] = []
        self._plans: list[tuple[int, CommitPlanned]] = []  # each with the number of events before it
        self._read_from: tuple[int, int] = (0, 0)  # inode of the log, bytes read of it
        self._digest = ""
        self._own = RLock()  # for the threads of this process; ``locked`` is for other processes

    def events(self) -> list[Event]:
        """Return all events so far, in order.

        Raises StoreFault: ``session_damaged``.
        """
        with self._own:
            self._refresh()
            return list(self._read)

    def digest(self) -> str:
        """Return a hash of all events so far, empty if there are none; different events have different hashes.

        Raises StoreFault: ``session_damaged``.
        """
        with self._own:
            self._refresh()
            return self._digest

    def number_committed(self, listed: Collection[str]) -> int:
        """Return how many of the first events a world already contains; ``listed``: the files in its manifest.

        Raises StoreFault: ``session_damaged``.
        """
        with self._own:
            self._refresh()
            return max((count for count, plan in self._plans if set(plan.files) <= set(listed)), default=0)

    def plan_commit(self, files: Sequence[str]) -> None:
        """Record which files of rows will hold the events so far, before the manifest lists them, under ``locked``.

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
        """Return a context manager inside which other processes that write this session have to wait.

        Raises StoreFault: ``store_not_writable``.
        """
        return nullcontext() if self.path is None else file_lock(self.path.with_suffix(".lock"))

    def drop(self) -> None:
        """Delete the log, even if it cannot be read.

        Raises StoreFault: ``store_not_writable``.
        """
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
        """Read the lines added since the last reading; if the file was replaced, read it from the start.

        Raises StoreFault: ``session_damaged``.
        """
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


@dataclass(frozen=True, kw_only=True)
class Committed(Record):
    """Result of a commit: how many memories and entities it added to the world, and the world's new hash."""

    video_id: str
    session: str
    memories: int
    entities: int
    world_hash: str


def open_overlay(store: Path, video_id: str, name: str) -> Overlay:
    """Return the overlay of a named session, whose log need not exist yet.

    Raises StoreFault: ``bad_video_id``, ``bad_session_name``.
    """
    path = world_folder(store, video_id) / SESSIONS / f"{check_session_name(name)}.jsonl"
    return Overlay(path)


def list_sessions(store: Path, video_id: str) -> list[tuple[str, int]]:
    """Return the name and the number of events of each session that has a log, sorted by name.

    Raises StoreFault: ``no_such_world``, ``session_damaged``.
    """
    folder = world_folder(store, video_id)
    read_manifest(folder)
    names = sorted(path.stem for path in (folder / SESSIONS).glob("*.jsonl") if is_name(path.stem))
    return [(name, len(open_overlay(store, video_id, name).events())) for name in names]


def reserve_session(store: Path, video_id: str, prefix: str) -> str:
    """Create the empty log of a new session and return its name: the first ``PREFIX-N`` that is free.

    A name is free if no log has it and the world has no rows of a session of this name. The process that creates the
    log owns the name. A commit writes the name to the world before it removes the log, so the world is read last.

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
    """Delete the log and the lock file of a session that ``reserve_session`` created.

    The name was never published, so no process waits for this lock. Locks of other sessions are never deleted.

    Raises StoreFault: ``store_not_writable``.
    """
    overlay = open_overlay(store, video_id, name)
    overlay.drop()
    if overlay.path is not None:
        with suppress(OSError):
            overlay.path.with_suffix(".lock").unlink(missing_ok=True)


def drop_session(store: Path, video_id: str, name: str) -> int:
    """Delete a session's log and return how many events it had; 0 if it could not be read.

    Raises StoreFault: ``no_such_world``, ``no_such_session``, ``store_not_writable``.
    """
    overlay = _existing(store, video_id, name)
    with overlay.locked():
        number = 0
        with suppress(StoreFault):
            number = len(overlay.events())
        overlay.drop()
    return number


def commit_session(store: Path, video_id: str, name: str) -> Committed:
    """Add the events of a session's log to the world as new rows, then delete the log.

    Other writers of the session wait. The rows are written first, then the log records their files, then the manifest
    lists them; the log is deleted last. An interrupted commit can therefore be repeated at any point: it adds what is
    missing and nothing twice, even after other commits or writes.

    Raises:
        StoreFault: ``no_such_world``, ``no_such_session``, ``session_damaged``, ``world_damaged``,
            ``store_not_writable``, ``disk_full``, ``world_locked``.
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
        digest = world_hash(folder, manifest.video, files, manifest.stages)
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
            hint=did_you_mean(name, [path.stem for path in overlay.path.parent.glob("*.jsonl")] if overlay.path else [])
            or f"`{shlex.join(['videoworld', 'session', 'list', video_id, '--store', str(store)])}` lists them",
        )
    return overlay


def _new_names(world: World, events: Sequence[EntityRegistered]) -> list[EntityRegistered]:
    """Return the registrations of entities that the world does not have, or has with another ``hint``."""
    rows = world.rows("registrations")
    called = dict(zip(rows.column("entity_id").to_pylist(), rows.column("hint").to_pylist(), strict=True))
    fresh = []
    for event in events:
        if called.get(event.entity_id) != event.hint:
            called[event.entity_id] = event.hint
            fresh.append(event)
    return fresh


def _producers(folder: Path) -> set[str]:
    """Return the producers (``session/NAME``) of all rows that sessions committed to a world."""
    world = World(folder, read_manifest(folder))
    return {producer for table in SESSION_TABLES for producer in world.rows(table).column("producer").to_pylist()}


def _producer(name: str) -> str:
    return f"session/{name}"


def _row(event: Event, name: str, number: int) -> dict[str, Any]:
    record = event.model_dump(exclude={"event", "schema_version", "box"})
    if isinstance(event, EntityRegistered):
        record |= dict(zip(("x1", "y1", "x2", "y2"), event.box, strict=True))
    return {**record, "number": number, "producer": _producer(name)}


# --- sessions -------------------------------------------------------------------------------------------------------


class StandIn(Protocol):
    """Answers one or several operations in place of a session's world."""

    @property
    def record(self) -> Mapping[str, Any]:
        """What the stand-in's answers depend on besides the session, as JSON; part of cache keys."""

    def answer(self, session: Session, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of an operation. Rows that the operation writes are written to the session.

        Raises VideoWorldError: any fault that the operation declares.
        """


#: Prefix of the ids of things that were detected on demand and not tracked.
SEEN = "ent_seen_"


@dataclass(frozen=True, kw_only=True)
class Backends:
    """Models that a session can use in addition to stored rows.

    ``looker`` is None without the video or a detector, ``seeing`` if no vision model was chosen, ``meanings`` if no
    model that embeds captions was chosen, and ``encoder`` without the image-text model that the world's vectors come from.
    """

    text_embedder: TextEmbedder
    looker: FrameLooker | None
    seeing: Vision | None = None
    meanings: Meanings | None = None
    encoder: ImageTextEncoder | None = None


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A registered entity, from the overlay or from committed rows.

    ``label`` contains the words it was registered with; no measurement confirms them.
    """

    entity_id: str
    label: str
    category: str
    time: float
    box: tuple[float, float, float, float]
    confidence: float
    committed: bool

    @property
    def hint(self) -> str:
        """The entity's category in words: ``person``. Its colours are not recorded."""
        return hint_in_words(self.category, ())

    @property
    def place(self) -> Box:
        """The entity's box at the moment of its registration."""
        x1, y1, x2, y2 = self.box
        return Box(x1=x1, y1=y1, x2=x2, y2=y2)

    @property
    def source(self) -> Source:
        """What found the entity: ``tracker``, or ``detector`` if it was detected in a single frame."""
        return "detector" if self.entity_id.startswith(SEEN) else "tracker"


class Session:
    """One caller's view of one video: what is visible, what the caller wrote, and the optional groups of operations."""

    def __init__(
        self, *, view: View, overlay: Overlay, backends: Backends, name: str, groups: frozenset[str] = frozenset()
    ) -> None:
        self.view = view
        self.overlay = overlay
        self.backends = backends
        self.name = name
        self.groups = groups
        #: Operation name -> stand-in; empty except in measurements.
        self.stand_ins: Mapping[str, StandIn] = {}
        seeing = backends.seeing
        #: The looks that runs over the whole video listed; fixed while the session is open.
        self._listed = None if seeing is None else seeing.kept.listed()
        listed = self._listed
        self.captions = CaptionIndex(
            [] if seeing is None or listed is None else seeing.captions_of(listed, until=view.duration)
        )

    @property
    def video_id(self) -> str:
        """The id of the session's video."""
        return self.view.video_id

    @property
    def as_of(self) -> float | None:
        """The causal cut in seconds; None if the whole video is visible."""
        return self.view.as_of

    @property
    def world_hash(self) -> str:
        """The hash of the world's canonical rows."""
        return self.view.world.manifest.world_hash

    @property
    def revision(self) -> int:
        """The number of events in the overlay; 0 again after the session was dropped."""
        return len(self.overlay.events())

    @property
    def session_key(self) -> str:
        """Cache key of what the session wrote; results that depend on it are cached under this and ``memo_key``."""
        return self.overlay.digest()

    @property
    def memo_key(self) -> str:
        """Cache key of results that do not depend on what the session wrote."""
        encoder = None if self.backends.encoder is None else self.backends.encoder.producer
        looker = None if self.backends.looker is None else self.backends.looker.producer
        embedder = self.backends.text_embedder.producer if self.backends.text_embedder.understands else None
        parts = (self.perception, self.stood_in, encoder, embedder, looker)
        beside = "".join(f"+{content_hash(part)}" for part in parts if part is not None)
        return f"{self.world_hash}@{'all' if self.as_of is None else self.as_of}{beside}"

    @property
    def stood_in(self) -> dict[str, Any] | None:
        """The ``record`` of each stand-in by the name of its operation; None if there is no stand-in."""
        return {name: dict(self.stand_ins[name].record) for name in sorted(self.stand_ins)} or None

    @property
    def perception(self) -> dict[str, Any] | None:
        """The vision model, the searched captions and their embedding model, as JSON; None without a vision model.

        ``caption_set`` identifies the captions that a captioning run listed, ``captions`` those of them that this
        session sees.
        """
        seeing, meanings = self.backends.seeing, self.backends.meanings
        if seeing is None:
            return None
        return {
            "vision": seeing.producer,
            "embedding": None if meanings is None else meanings.producer,
            "caption_set": "" if self._listed is None else self._listed.hash,
            "captions": self.captions.digest,
            "looks": seeing.most_looks,
        }

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The categories that visible rows or the detector for single frames can judge."""
        looker = self.backends.looker
        more = frozenset() if looker is None else looker.categories()
        own = self.view.vocabulary
        return replace(own, categories=own.categories | more)

    @cached_property
    def entity_looks(self) -> dict[str, CachedLook]:
        """The listed looks at entities by entity id, without those that rest on what is beyond the cut."""
        seeing = self.backends.seeing
        return {} if seeing is None or self._listed is None else seeing.judged(self._listed, until=self.view.duration)

    @cached_property
    def searcher(self) -> Searcher:
        """The search over the visible part."""
        models = self.backends
        return Searcher(
            self.view, models.text_embedder, captions=self.captions, meanings=models.meanings, encoder=models.encoder
        )

    def check_video(self, video_id: str) -> None:
        """Check that a call is for this session's video.

        Raises OperationFault: ``wrong_video``.
        """
        if video_id != self.video_id:
            raise OperationFault(
                "wrong_video",
                f"this session is on video {self.video_id!r}, not {video_id[:80]!r}",
                hint=f'use "{self.video_id}"',
            )

    def memories(self, level: Level | None = None) -> list[MemoryWritten]:
        """Return the visible memories of a level (None: of all), committed ones first, each in the order of writing."""
        rows = self.view.rows("memories").drop_columns(["number", "producer"]).to_pylist()
        committed = (MemoryWritten.model_construct(**{**row, "parts": tuple(row["parts"])}) for row in rows)
        written = (event for event in self._visible_events() if isinstance(event, MemoryWritten))
        found = {memory.memory_id: memory for memory in (*committed, *written)}
        return [memory for memory in found.values() if level is None or memory.level == level]

    def registrations(self) -> list[Registration]:
        """Return the visible registered entities, committed ones first, each in the order of registration."""
        found: dict[str, Registration] = {}
        for row in self.view.rows("registrations").to_pylist():
            box = tuple(round(row[side], 1) for side in ("x1", "y1", "x2", "y2"))
            found[row["entity_id"]] = _registration({**row, "box": box}, committed=True)
        for event in self._visible_events():
            if isinstance(event, EntityRegistered):
                found[event.entity_id] = _registration(dict(event), committed=False)
        return list(found.values())

    def write_memory(self, *, level: Level, span: TimeSpan, content: str, parts: Sequence[str] = ()) -> MemoryWritten:
        """Append a memory to the overlay and return it. Sessions with a cut before the end of this view do not see it.

        Its id is a hash of its content, its number in the log and the session's name.
        """

        def make(number: int) -> MemoryWritten:
            seed = "\x1f".join([self.name, str(number), level, repr(span.start), repr(span.end), content, *parts])
            return MemoryWritten(
                memory_id=f"mem_{sha256(seed.encode()).hexdigest()[:12]}",
                level=level,
                start=round_time(span.start),
                end=round_time(span.end),
                content=content,
                parts=tuple(parts),
                known_at=self.view.duration,
            )

        event = self.overlay.append(make)
        assert isinstance(event, MemoryWritten)  # noqa: S101 - what make returned
        return event

    def register(self, registration: Registration) -> None:
        """Append a registered entity to the overlay."""
        record = {name: getattr(registration, name) for name in ("entity_id", "category", "time", "box", "confidence")}
        event = EntityRegistered(**record, hint=registration.label, known_at=self.view.duration)
        self.overlay.append(lambda _: event)

    def _visible_events(self) -> list[MemoryWritten | EntityRegistered]:
        return [event for event in self.overlay.events() if self.view.cut.shows(event.known_at)]


def _registration(record: Mapping[str, Any], *, committed: bool) -> Registration:
    """Return the registration in a row or an event, in which ``hint`` contains the caller's words."""
    same = {name: record[name] for name in ("entity_id", "category", "time", "box")}
    return Registration(**same, label=record["hint"], confidence=round(record["confidence"], 2), committed=committed)
