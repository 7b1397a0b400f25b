"""Making everything that follows from a world's rows ahead of time, so that its readers find it on disk."""

from __future__ import annotations

from pathlib import Path

from world_api.core.faults import StoreFault
from world_api.core.ports import TextEmbedder
from world_api.world.arrays.whole import BEGINS, Whole
from world_api.world.disk.derived import Derived, NotKept, derived_folder, derived_lock
from world_api.world.disk.manifest import Manifest, read_manifest
from world_api.world.disk.stored import World, list_worlds, world_folder
from world_api.world.search.documents import WholeDocuments
from world_api.world.search.texts import Texts

#: The tables that answers are made from, sessions' own apart.
READ = (*BEGINS, "track_links", "look_links", "words")

_WORLDS_OWN = ("world_damaged", "no_such_world", "other_schema_version", "bad_video_id")


def prepare(store: Path, video_id: str, embedder: TextEmbedder, *, anew: bool = False) -> None:
    """Put a world's tables, tracks, segments and search indexes beside it.

    What is there already is not made again, unless ``anew``; where all of it is, the store may be read-only. Where another
    process does the same, the call waits.

    Raises:
        StoreFault: ``no_such_world``, ``world_damaged``, ``store_not_writable``, ``disk_full``.
    """
    folder = world_folder(store, video_id)
    manifest = _manifest(folder, video_id)  # a world that is not there leaves no trace
    try:
        with derived_lock(store, video_id):
            manifest = _manifest(folder, video_id)
            derived = Derived(derived_folder(store, manifest), keep=True, anew=anew)
            _read_all(folder, manifest, derived, embedder)
            derived.finish()
    except StoreFault as fault:
        if anew or fault.code != "store_not_writable":
            raise
        try:
            _read_all(folder, manifest, Derived(derived_folder(store, manifest), only_kept=True), embedder)
        except NotKept:
            raise fault from None


def _manifest(folder: Path, video_id: str) -> Manifest:
    """The manifest of a world under the name of its folder, which may have been copied."""
    return read_manifest(folder).model_copy(update={"video_id": video_id})


def _read_all(folder: Path, manifest: Manifest, derived: Derived, embedder: TextEmbedder) -> None:
    """Read whatever follows from a world's rows."""
    world = World(folder, manifest, derived=derived)
    for table in READ:
        world.rows(table)
    world.once(Whole).read_all()
    world.once(Texts).read_all()
    world.once(WholeDocuments).read_all(embedder)


def prepare_all(store: Path, embedder: TextEmbedder, *, anew: bool = False) -> None:
    """The same for every readable world of a store.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    for video_id in list_worlds(store):
        try:
            prepare(store, video_id, embedder, anew=anew)
        except StoreFault as fault:
            # `videoworld worlds` and `videoworld inspect --check` tell what is wrong with a world.
            if fault.code not in _WORLDS_OWN:
                raise
