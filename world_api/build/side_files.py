"""What a store keeps beside its worlds, and clearing it: answers computed on demand, and recordings of streams.

::

    STORE/.on-demand/<world hash>/<key>.json    what a detector saw in a frame that was not sampled; made again when asked
    STORE/.recordings/<id>.mkv                  a stream as it came; evidence of its world is looked up in it
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import time

from world_api.build.source import remembered_source
from world_api.core.faults import StoreFault
from world_api.core.files import not_writable, world_lock
from world_api.core.identifiers import is_name
from world_api.media.growing_file import ABANDONED, being_written, is_being_written
from world_api.session.vision import FOLDER as ON_DEMAND

RECORDINGS = ".recordings"


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The files beside the worlds of a store. ``spare`` are those recordings that no world needs and nobody writes."""

    answers: tuple[Path, ...]
    recordings: tuple[Path, ...]
    spare: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class Cleared:
    """What was removed: how many answers, which recordings, and how many bytes together."""

    answers: int
    recordings: tuple[Path, ...]
    size: int


def recording_of(store: Path, video_id: str) -> Path:
    """Where a stream is recorded, unless the caller names another place."""
    return store / RECORDINGS / f"{video_id}.mkv"


def find_beside(store: Path) -> Beside:
    """What a store keeps beside its worlds; an absent store keeps nothing."""
    recordings = tuple(_files(store / RECORDINGS))
    needed = {remembered_source(folder) for folder in _folders(store)} if recordings else set()
    return Beside(
        answers=tuple(path for folder in _folders(store / ON_DEMAND) for path in _files(folder)),
        recordings=recordings,
        spare=tuple(path for path in recordings if path.resolve() not in needed and _is_spare(path, store)),
    )


def clear_beside(store: Path) -> Cleared:
    """Remove the answers on demand and the spare recordings.

    A session that is open meanwhile looks again at what it asks for. What a build writes or holds the lock for stays.

    Raises:
        StoreFault: ``store_not_writable``.
    """
    found = find_beside(store)
    sizes = {path: bytes_of((path,)) for path in (*found.answers, *found.spare)}
    try:
        recordings = tuple(path for path in found.spare if _remove_recording(path, store))
        for path in found.answers:
            path.unlink(missing_ok=True)
        for folder in _folders(store / ON_DEMAND):
            with suppress(OSError):  # a session has just put an answer into it
                folder.rmdir()
    except OSError as error:
        raise not_writable(store, error) from error
    size = sum(sizes[path] for path in (*found.answers, *recordings))
    return Cleared(answers=len(found.answers), recordings=recordings, size=size)


def bytes_of(paths: tuple[Path, ...]) -> int:
    """How much files take together; one that has gone takes nothing."""
    total = 0
    for path in paths:
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def _is_spare(path: Path, store: Path) -> bool:
    """Whether a recording has no world, nor the beginnings of one, and whoever wrote it has long stopped.

    A file of another kind than recordings are is nobody's to remove.
    """
    name = path.stem
    if path.suffix != ".mkv" or not is_name(name) or (store / name).exists() or is_being_written(path):
        return False
    try:
        return time() - path.stat().st_mtime >= ABANDONED
    except OSError:
        return False


def _remove_recording(path: Path, store: Path) -> bool:
    """Remove a recording for which nothing is being built; whether it is gone."""
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


def _folders(parent: Path) -> list[Path]:
    """The folders in a folder, in order; links are not followed."""
    return _entries(parent, Path.is_dir)


def _files(parent: Path) -> list[Path]:
    """The regular files in a folder, in order; links are not followed."""
    return _entries(parent, Path.is_file)


def _entries(parent: Path, is_wanted: Callable[[Path], bool]) -> list[Path]:
    """What of a folder is wanted and no link; nothing of one that is a link itself, or cannot be read."""
    try:
        if parent.is_symlink() or not parent.is_dir():
            return []
        return sorted(path for path in parent.iterdir() if is_wanted(path) and not path.is_symlink())
    except OSError:
        return []
