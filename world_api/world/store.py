"""Opens and lists the stored worlds of a store, with the tables derived from their rows, which are stored beside them.

::

    STORE/.derived/<id>/<key>/<name>.arrow      tables with sorted rows, joined tracks, search indexes
    STORE/.derived/<id>/<key>/index.json        the key again, and the hash of each file; written last
    STORE/.derived/.<id>.lock                   held by the process that writes them

Derived tables let a world of days open quickly. The key covers the world's files and the code that reads them: tables of
other rows or other code are ignored. A table that is missing, damaged or of another shape is computed again in memory,
which only takes longer; decision 011 names what these checks cannot detect.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast
from unicodedata import unidata_version
from uuid import uuid4
from weakref import WeakValueDictionary

import pyarrow as pa
import pyarrow.ipc

from world_api.core.canonical import content_hash
from world_api.core.execution import OnceEach
from world_api.core.faults import StoreFault
from world_api.core.files import file_lock, hash_bytes, hash_file, hash_stored, not_writable, write_atomically
from world_api.core.identifiers import check_video_id, is_name
from world_api.world.storage import (
    MANIFEST,
    FileEntry,
    Manifest,
    StageFacts,
    VideoFacts,
    canonical,
    hash_rows,
    is_unfinished,
    read_arrow,
    read_manifest,
    read_table,
    rules_broken,
)
from world_api.world.tables import SESSION_TABLES, TABLES

# --- derived tables -------------------------------------------------------------------------------------------------

DERIVED_FOLDER = ".derived"
DERIVED_INDEX = "index.json"
#: The packages whose code decides what is derived from rows.
_PACKAGE = Path(__file__).resolve().parents[1]
_AREAS = ("core", "world", "search")
#: The libraries that shape derived tables.
LIBRARIES = ("numpy", "pyarrow", "snowballstemmer")

#: What changes when an index is replaced: inode, time and size.
State = tuple[int, int, int] | None


class Derived:
    """The derived tables of one world: loaded if they are stored, otherwise computed.

    ``keep`` also stores the computed ones; ``rebuild`` ignores those that are stored already.

    Raises StoreFault: ``store_not_writable``, with ``rebuild``.
    """

    def __init__(self, folder: Path, *, keep: bool = False, rebuild: bool = False) -> None:
        self._folder = folder
        self._keep = keep
        if rebuild:
            try:
                (folder / DERIVED_INDEX).unlink(missing_ok=True)
            except NotADirectoryError:
                pass  # it is refused when something is written
            except OSError as error:
                raise not_writable(folder / DERIVED_INDEX, error) from error
        self.state = state_of(folder / DERIVED_INDEX)
        self._hashes: dict[str, str] = _read_hashes(folder)
        self._requested: set[str] = set()

    def table(self, name: str, make: Callable[[], pa.Table], *, schema: pa.Schema, rows: int | None = None) -> pa.Table:
        """Return one table, stored or made by ``make``; see ``tables``. ``rows``: how many a stored one must have, None for any.

        Raises StoreFault: ``store_not_writable``, ``disk_full``, if it has to be stored and cannot be.
        """
        return self.tables({name: schema}, lambda: [make()], rows={name: rows})[0]

    def tables(
        self,
        schemas: Mapping[str, pa.Schema],
        make: Callable[[], Sequence[pa.Table]],
        *,
        rows: Mapping[str, int | None] | None = None,
    ) -> list[pa.Table]:
        """Return the tables of these names, mapped from disk if all are stored, undamaged and of the right schema.

        Otherwise ``make`` computes all of them. ``rows``: the number of rows that a stored table must have, None for
        any.

        Raises StoreFault: ``store_not_writable``, ``disk_full``, if they have to be stored and cannot be.
        """
        self._requested |= set(schemas)
        kept = [self._fitting(name, schema, (rows or {}).get(name)) for name, schema in schemas.items()]
        found = [table for table in kept if table is not None]
        if len(found) == len(schemas):
            return found
        made = list(make())
        if self._keep:
            for name, table in zip(schemas, made, strict=True):
                self._write(name, table)
        return made

    def _fitting(self, name: str, schema: pa.Schema, rows: int | None) -> pa.Table | None:
        table = self.read(name)
        if table is None or table.schema.names != schema.names or table.schema.types != schema.types:
            return None
        return table if rows in (None, table.num_rows) else None

    def is_current(self) -> bool:
        """Whether the index file has not been replaced since this object was created."""
        return self.state == state_of(self._folder / DERIVED_INDEX)

    def finish(self) -> None:
        """Write the index of the tables that were requested, and delete all other files, also those of other keys.

        Call it under ``derived_lock``.

        Raises StoreFault: ``store_not_writable``, ``disk_full``.
        """
        hashes = {name: digest for name, digest in self._hashes.items() if name in self._requested}
        index = {"key": self._folder.name, "tables": hashes}
        write_atomically(self._folder / DERIVED_INDEX, json.dumps(index, sort_keys=True).encode())
        try:
            wanted = {DERIVED_INDEX, *(f"{name}.arrow" for name in hashes)}
            for path in self._folder.iterdir():
                if path.name not in wanted:
                    path.unlink(missing_ok=True)
            for old in self._folder.parent.iterdir():
                if old != self._folder:
                    shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            raise not_writable(self._folder, error) from error

    def has(self, name: str) -> bool:
        """Whether a table is listed as stored; it may still turn out to be damaged."""
        return name in self._hashes

    def read(self, name: str) -> pa.Table | None:
        """Return a stored table; None if it is missing or damaged."""
        expected = self._hashes.get(name)
        path = self._folder / f"{name}.arrow"
        try:
            if expected is None or hash_stored(path, most=None) != expected:
                return None
            return read_arrow(path)
        except (OSError, ValueError):
            return None

    def damaged(self, name: str) -> bool:
        """Whether the index lists a table that is missing or damaged."""
        return name in self._hashes and self.read(name) is None

    def _write(self, name: str, table: pa.Table) -> None:
        path = self._folder / f"{name}.arrow"
        # Under another name first: another process may have the old file mapped, or be writing the same.
        part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                # One chunk a column, so that a column is one array when it is mapped again.
                writer.write_table(table.combine_chunks())
            # Hashed before it is renamed, because other processes write a file of the final name, too.
            digest = hash_file(part)
            part.replace(path)
        except OSError as error:
            with suppress(OSError):  # the fault says what is wrong with the folder
                part.unlink(missing_ok=True)
            raise not_writable(path, error) from error
        self._hashes[name] = digest


def derived_lock(store: Path, video_id: str) -> AbstractContextManager[None]:
    """Return a context manager that lets one process at a time write a world's derived tables; others wait.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    return file_lock(store / DERIVED_FOLDER / f".{video_id}.lock")


def derived_folder(store: Path, manifest: Manifest) -> Path:
    """Return the folder of a world's derived tables."""
    return store / DERIVED_FOLDER / manifest.video_id / derived_key(manifest)


def derived_key(manifest: Manifest) -> str:
    """Return a hash of what derived tables depend on: video facts, losses, rows except those of sessions, code, libraries.

    Tables that depend on an embedder have its own key in their names.
    """
    files = sorted(f"{entry.path} {entry.sha256}" for entry in manifest.files if entry.table not in SESSION_TABLES)
    versions = {name: version(name) for name in LIBRARIES}
    facts = manifest.model_dump(mode="json", include={"video", "losses"})
    return content_hash([facts, "\n".join(files), _code(), versions, unidata_version])[:32]


def state_of(path: Path) -> State:
    """Return inode, time of the last modification (nanoseconds) and size (bytes) of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@cache
def _code() -> str:
    sources = sorted(path for area in _AREAS for path in (_PACKAGE / area).rglob("*.py"))
    return content_hash({path.relative_to(_PACKAGE).as_posix(): hash_bytes(path.read_bytes()) for path in sources})


def _read_hashes(folder: Path) -> dict[str, str]:
    """Return the hashes that an index lists, by table; empty if it cannot be read or its key is not the folder's name."""
    try:
        found = json.loads((folder / DERIVED_INDEX).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or found.get("key") != folder.name or not isinstance(found.get("tables"), dict):
        return {}
    return {str(name): str(digest) for name, digest in found["tables"].items()}


# --- worlds ---------------------------------------------------------------------------------------------------------

Kept = TypeVar("Kept")


class World:
    """One stored world, read-only. A table is read and put in key order when it is first requested.

    ``derived`` keeps derived tables on disk, ``once`` keeps derived objects in memory. ``made``: rows by table, for a world
    that has no files.
    """

    def __init__(
        self,
        folder: Path | str,
        manifest: Manifest,
        *,
        derived: Derived | None = None,
        made: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._made = made
        self.manifest = manifest
        self.derived = derived or Derived(derived_folder(self.folder.parent, manifest))
        self._rows: OnceEach[str, pa.Table] = OnceEach()
        self._once: OnceEach[object, object] = OnceEach()

    def rows(self, name: str) -> pa.Table:
        """Return all rows of a table, in key order. Operations use a view instead, which hides rows.

        Raises StoreFault: ``world_damaged``.
        """
        return self._rows.get(name, lambda: self._read(name))

    def verify(self) -> None:
        """Read every table now, so that damage is found early.

        Raises StoreFault: ``world_damaged``.
        """
        for name in TABLES:
            self.rows(name)

    def once(self, kind: Callable[[World], Kept]) -> Kept:
        """Return the object that ``kind`` creates from this world: created at the first call, shared by later ones."""
        return cast(Kept, self._once.get(kind, lambda: kind(self)))

    def _read(self, name: str) -> pa.Table:
        if self._made is not None:
            return canonical(self._made.get(name, TABLES[name].schema.empty_table()), name)
        if name in SESSION_TABLES:
            return self._canonical(name)
        count = sum(entry.rows for entry in self.manifest.files_of(name))
        # The manifest decides how many rows there are, not the index of derived tables.
        return self.derived.table(f"rows.{name}", lambda: self._canonical(name), schema=TABLES[name].schema, rows=count)

    def _canonical(self, name: str) -> pa.Table:
        rows = canonical(read_table(self.folder, name, self.manifest.files_of(name)), name)
        if wrong := rules_broken(name, rows, self.manifest):
            raise StoreFault(
                "world_damaged",
                f"world {self.manifest.video_id!r}: {wrong[0]}",
                hint="build the world again with --force, or copy it again",
            )
        return rows


#: Worlds that were opened last, with the state of their manifests then.
_OPEN: dict[Path, tuple[State, World]] = {}
_KEPT_OPEN = 4
_GUARD = Lock()
#: One lock for each world that is being opened, so that different worlds are opened in parallel.
_OPENING: WeakValueDictionary[Path, Lock] = WeakValueDictionary()


def world_folder(store: Path | str, video_id: str) -> Path:
    """Return the folder of a world, which is always inside the store.

    Raises StoreFault: ``bad_video_id``.
    """
    folder = (Path(store) / check_video_id(video_id)).resolve()
    if folder.parent != Path(store).resolve():
        raise StoreFault(
            "bad_video_id", f"{video_id!r} leads out of the store", hint="use the id `videoworld worlds` lists"
        )
    return folder


def open_world(store: Path | str, video_id: str) -> World:
    """Open a world. The last few are cached, until their manifest or their derived tables are replaced.

    Raises StoreFault: ``bad_video_id``, ``no_such_world``, ``other_schema_version``, ``world_damaged``.
    """
    folder = world_folder(store, video_id)
    state = state_of(folder / MANIFEST)
    with _GUARD:
        opening = _OPENING.setdefault(folder, Lock())
    with opening:
        known = _OPEN.get(folder)
        if known is None or state is None or known[0] != state or not known[1].derived.is_current():
            # A folder may be a copy under another name; its present name is the id.
            known = state, World(folder, read_manifest(folder).model_copy(update={"video_id": video_id}))
            with _GUARD:
                while len(_OPEN) >= _KEPT_OPEN:
                    _OPEN.pop(next(iter(_OPEN)))
                _OPEN[folder] = known
        return known[1]


def list_worlds(store: Path | str) -> list[str]:
    """Return the ids of the worlds in a store, sorted; empty if the store does not exist.

    Raises StoreFault: ``not_a_store``.
    """
    return [folder.name for folder in _folders(store) if (folder / MANIFEST).is_file()]


def list_unfinished(store: Path | str) -> list[str]:
    """Return the ids of the worlds of a store whose builds are not finished, and of which nothing can be queried yet.

    Raises as :func:`list_worlds`.
    """
    return [folder.name for folder in _folders(store) if is_unfinished(folder)]


def _folders(store: Path | str) -> list[Path]:
    store = Path(store)
    if not store.exists():
        return []
    if not store.is_dir():
        raise StoreFault("not_a_store", f"{store} is not a folder", hint="give the folder that holds the worlds")
    return sorted(folder for folder in store.iterdir() if is_name(folder.name))


def world_hash(folder: Path, video: VideoFacts, files: list[FileEntry], stages: Sequence[StageFacts] = ()) -> str:
    """Return the hash of a world: of its video's facts, the canonical rows of every table, and what its detectors can judge.

    Builds from before the misses of detectors were noted have a hash without the latter.
    """
    rows = hash_rows((name, read_table(folder, name, [f for f in files if f.table == name])) for name in TABLES)
    judged = [
        {key: stage.parameters.get(key) for key in ("categories", "missed")}
        for stage in stages
        if "missed" in stage.parameters
    ]
    content: dict[str, Any] = {"video": video.model_dump(mode="json"), "rows": rows}
    return content_hash(content | ({"judged": judged} if judged else {}))
