"""Opens the stored worlds of a store, and lists them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeVar, cast
from weakref import WeakValueDictionary

import pyarrow as pa

from world_api.core.canonical import content_hash
from world_api.core.execution import OnceEach
from world_api.core.faults import StoreFault
from world_api.core.identifiers import check_video_id, is_name
from world_api.world.derived import Derived, State, derived_folder, state_of
from world_api.world.manifest import MANIFEST, FileEntry, Manifest, VideoFacts, read_manifest
from world_api.world.storage import canonical, hash_rows, read_table
from world_api.world.tables import SESSION_TABLES, TABLES

Kept = TypeVar("Kept")


class World:
    """One stored world, read-only. A table is read and put in key order when it is first requested.

    ``derived`` keeps derived tables on disk, ``once`` keeps derived objects in memory.
    """

    def __init__(self, folder: Path | str, manifest: Manifest, *, derived: Derived | None = None) -> None:
        self.folder = Path(folder)
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
        if name in SESSION_TABLES:
            return self._canonical(name)
        count = sum(entry.rows for entry in self.manifest.files_of(name))
        # The manifest decides how many rows there are, not the index of derived tables.
        return self.derived.table(f"rows.{name}", lambda: self._canonical(name), schema=TABLES[name].schema, rows=count)

    def _canonical(self, name: str) -> pa.Table:
        return canonical(read_table(self.folder, name, self.manifest.files_of(name)), name)


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
    store = Path(store)
    if not store.exists():
        return []
    if not store.is_dir():
        raise StoreFault("not_a_store", f"{store} is not a folder", hint="give the folder that holds the worlds")
    return sorted(folder.name for folder in store.iterdir() if is_name(folder.name) and (folder / MANIFEST).is_file())


def world_hash(folder: Path, video: VideoFacts, files: list[FileEntry]) -> str:
    """Return the hash of a world: of its video's facts and the canonical rows of every table."""
    rows = hash_rows((name, read_table(folder, name, [f for f in files if f.table == name])) for name in TABLES)
    return content_hash({"video": video.model_dump(mode="json"), "rows": rows})
