"""Writing files so that nothing is ever half written, and reading files that anybody may have named."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from world_api.core.faults import StoreFault


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also across a power cut.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)
        raise not_writable(path, error) from error


def link(there: Path, place: Path) -> None:
    """Give a file that never changes another name; a copy where the file system has no links.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    try:
        os.link(there, place)
    except FileExistsError:
        return
    except OSError:
        write_atomically(place, there.read_bytes())


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading if it is a regular one; a pipe could be waited on, a device read, for ever.

    Raises:
        OSError: it cannot be opened; ``EINVAL``: it is no regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # without blocking, or a pipe would wait here
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_plain(folder: Path) -> None:
    """Refuse a folder that holds anything but files and folders: a link leads out of it, a pipe could be waited on for ever.

    Raises:
        StoreFault: ``world_damaged``.
        OSError: it cannot be listed; ``ENOENT``: there is no such folder.
    """
    waiting = [str(folder)]
    while waiting:
        there = waiting.pop()
        try:
            found = list(os.scandir(there))
        except FileNotFoundError:
            if there == str(folder):
                raise
            continue  # somebody took it away meanwhile
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                kind = "a link" if entry.is_symlink() else "a pipe, a socket or a device"
                raise StoreFault(
                    "world_damaged",
                    f"{os.path.relpath(entry.path, folder)} of {folder.name!r} is {kind}; a world holds files and folders",
                    hint="remove it, or the whole folder, and copy or build the world again",
                )


def not_writable(path: Path, error: OSError) -> StoreFault:
    """The named fault for a file that could not be written."""
    if error.errno == errno.ENOSPC:
        return StoreFault("disk_full", f"no space left to write {path.name}", hint="free some space and run it again")
    return StoreFault(
        "store_not_writable",
        f"cannot write {path}: {error.strerror or error}",
        hint="choose another place to write to, or make this one writable",
    )


def _sync_folder(folder: Path) -> None:
    """Make a rename last; a rename lives in its folder, which has to be synced of its own."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
