"""The video file of a world, recordings of streams, and answers computed on demand.

``local.json`` in the world's folder contains the path of the video on this machine. A world may come from another
machine, and its ``local.json`` may contain any path, so a file is accepted as the world's video only if its content is
the same. Beside its worlds a store keeps::

    STORE/.on-demand/<world hash>/<key>.json    detections in a frame that was not sampled; made again if needed
    STORE/.recordings/<id>.mkv                  the recording of a stream; evidence of its world is looked up in it
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import time

from pydantic import BaseModel

from world_api.core.faults import MediaFault, StoreFault
from world_api.core.files import hash_file, not_writable, open_regular, world_lock, write_atomically
from world_api.core.identifiers import is_name
from world_api.media.container import Stamp, check_file
from world_api.media.growing_file import ABANDONED, being_written, is_being_written
from world_api.world.storage import LOCAL, ON_DEMAND, Manifest, read_local

#: A file that is still being written is identified by the hash of its first bytes: the most and the fewest. The hash cannot be
#: guessed without the file.
_HEAD, _SHORTEST_HEAD = 1 << 16, 1 << 12


def stamp_of(video: Path) -> Stamp:
    """Return inode, size and last write of a file; raises as :func:`world_api.media.container.check_file`, and ``source_missing``."""
    check_file(video)
    with source_errors(video):
        return Stamp.at(video)


def hash_source(video: Path) -> str:
    """Return the SHA-256 of a file; raises ``MediaFault`` (``source_missing``) if it cannot be read."""
    with source_errors(video):
        return hash_file(video)


def check_unchanged(video: Path, stamp: Stamp) -> None:
    """Raise a fault if a file has changed since ``stamp`` was taken.

    Raises:
        MediaFault: ``source_changed``, ``source_missing``.
    """
    with source_errors(video):
        is_same = Stamp.at(video) == stamp
    if not is_same:
        raise MediaFault(
            "source_changed",
            f"{video.name} was written to or replaced while its world was built",
            hint="build it again once it no longer changes, or follow it with --follow while it is written",
        )


@contextmanager
def source_errors(video: Path) -> Iterator[None]:
    """Turn an ``OSError`` inside the block into the ``MediaFault`` ``source_missing``."""
    try:
        yield
    except OSError as error:
        raise MediaFault(
            "source_missing",
            f"{video.name} can no longer be read: {error.strerror or error}",
            hint="put the file back and build again",
        ) from error


class _Local(BaseModel):
    """The content of ``local.json``: the path of the video, its stamp, and the hash of its first bytes (``head``)."""

    source_path: Path
    stamp: Stamp | None = None
    head: str | None = None


def remember_source(folder: Path, video: Path) -> None:
    """Write the path of the video, and what identifies it, to ``local.json``, unless the file has this content already.

    Raises:
        MediaFault: ``source_missing``.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    place = video.resolve()
    with source_errors(place):
        local = _Local(source_path=place, stamp=Stamp.at(place), head=_hash_head(place))
    with suppress(OSError, ValueError):
        if _read_local(folder) == local:
            return
    # Not by pydantic, which refuses a path that is no UTF-8.
    record = {**local.model_dump(), "source_path": str(place)}
    write_atomically(folder / LOCAL, json.dumps(record).encode())


def remembered_source(folder: Path) -> Path | None:
    """Return the path in ``local.json``, unchecked; None if there is none."""
    try:
        return _read_local(folder).source_path
    except (OSError, ValueError):
        return None


def find_source(folder: Path, manifest: Manifest) -> Path | None:
    """Return the file a world was made from, if it is at the path in ``local.json``; else None."""
    with suppress(MediaFault):
        return locate_source(folder, manifest)
    return None


def locate_source(folder: Path, manifest: Manifest) -> Path:
    """Return the file a world was made from, which is at the path in ``local.json``.

    The file is identified by its stamp, which is valid only on this machine. If the stamp differs, the hash of the
    whole file decides, or, while the file is still being written, the hash of its first bytes.

    Raises MediaFault: ``source_missing``, if there is no file at the path, or another one than the world was made from.
    """
    known = manifest.source.bytes
    try:
        local = _read_local(folder)
        place = local.source_path
        if not place.is_absolute() or not place.is_file():
            raise _not_here(manifest, "is no longer where it was when the world was built")
        stamp = Stamp.at(place)
        if local.stamp == stamp and (stamp.size == known or (stamp.size > known and not manifest.complete)):
            return place
        if not manifest.complete:
            is_same = stamp.size >= known and local.head is not None and local.head == _hash_head(place)
        else:
            is_same = stamp.size == known and _hash_once(place, stamp) == manifest.source.sha256
    except (OSError, ValueError) as error:
        raise _not_here(manifest, "cannot be read where it was when the world was built") from error
    if not is_same:
        raise _not_here(manifest, "is another one now than the one that the world was made from")
    if manifest.complete:
        with suppress(StoreFault, MediaFault):  # in a read-only store it is hashed each time
            remember_source(folder, place)
    return place


def _not_here(manifest: Manifest, why: str) -> MediaFault:
    # Not the path: a world from elsewhere may name any file of this machine.
    name = manifest.source.file_name
    hint = "put the file back that the world was made from, or build the world again"
    return MediaFault("source_missing", f"the video file {name} {why}", hint=hint)


def _read_local(folder: Path) -> _Local:
    """Read ``local.json``; raises ``OSError`` if it is no regular file that can be read, ``ValueError`` if it is damaged."""
    return _Local.model_validate(read_local(folder))


def _hash_head(path: Path) -> str | None:
    """Return the SHA-256 of a file's first 64 KiB (or of all, if fewer); None if there are fewer than 4 KiB."""
    with open_regular(path) as file:
        head = file.read(_HEAD)
    return hashlib.sha256(head).hexdigest() if len(head) >= _SHORTEST_HEAD else None


@lru_cache
def _hash_once(path: Path, _stamp: Stamp) -> str:
    return hash_file(path)


RECORDINGS = ".recordings"


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The files beside the worlds of a store, with their sizes in bytes: detectors' answers on demand, and recordings.

    ``spare``: the recordings that no world needs and that are not being written.
    """

    answers: dict[Path, int]
    recordings: dict[Path, int]
    spare: dict[Path, int]


def recording_of(store: Path, video_id: str) -> Path:
    """Return the default path of the recording of a stream."""
    return store / RECORDINGS / f"{video_id}.mkv"


def find_beside(store: Path) -> Beside:
    """List the files that a store keeps beside its worlds; none if there is no store."""
    recordings = _entries(store / RECORDINGS, Path.is_file)
    needed = {remembered_source(folder) for folder in _entries(store, Path.is_dir)} if recordings else set()
    answers = [path for folder in _entries(store / ON_DEMAND, Path.is_dir) for path in _entries(folder, Path.is_file)]
    spare = [path for path in recordings if path.resolve() not in needed and _is_spare(path, store)]
    return Beside(answers=_sizes(answers), recordings=_sizes(recordings), spare=_sizes(spare))


def clear_beside(store: Path) -> Beside:
    """Remove the answers on demand and the spare recordings; return what was removed.

    An open session computes its answers again. A recording is kept while it is written or its world is being built.

    Raises:
        StoreFault: ``store_not_writable``.
    """
    found = find_beside(store)
    try:
        recordings = {path: size for path, size in found.spare.items() if _remove_recording(path, store)}
        for path in found.answers:
            path.unlink(missing_ok=True)
        for folder in _entries(store / ON_DEMAND, Path.is_dir):
            with suppress(OSError):  # a session has just put an answer into it
                folder.rmdir()
    except OSError as error:
        raise not_writable(store, error) from error
    return Beside(answers=found.answers, recordings=recordings, spare=recordings)


def _sizes(paths: Iterable[Path]) -> dict[Path, int]:
    """Return the size in bytes of each file that still exists."""
    sizes = {}
    for path in paths:
        with suppress(FileNotFoundError):
            sizes[path] = path.stat().st_size
    return sizes


def _is_spare(path: Path, store: Path) -> bool:
    """Whether a recording ``<id>.mkv`` has no world of this id and has not been written to for 150 seconds.

    Always False for other files, which are never removed.
    """
    name, is_old = path.stem, False
    with suppress(OSError):
        is_old = time() - path.stat().st_mtime >= ABANDONED
    return (
        is_old and path.suffix == ".mkv" and is_name(name) and not ((store / name).exists() or is_being_written(path))
    )


def _remove_recording(path: Path, store: Path) -> bool:
    """Remove a recording unless its world is being built; return whether it was removed."""
    try:
        with world_lock(store, path.stem):
            if not _is_spare(path, store):
                return False
            path.unlink()
            being_written(path).unlink(missing_ok=True)
            return True
    except StoreFault as fault:
        if fault.code != "world_locked":
            raise
        return False


def _entries(parent: Path, is_wanted: Callable[[Path], bool]) -> list[Path]:
    """Return the entries that ``is_wanted`` accepts, sorted, without links; none if the folder is a link or unreadable."""
    try:
        if parent.is_symlink() or not parent.is_dir():
            return []
        return sorted(path for path in parent.iterdir() if is_wanted(path) and not path.is_symlink())
    except OSError:
        return []
