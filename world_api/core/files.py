"""Files of a store: atomic writing, appending of lines, hashes and locks.

Files whose names come from outside are opened only if they are regular files.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from uuid import uuid4

from world_api.core.faults import StoreFault
from world_api.core.identifiers import check_video_id, did_you_mean

_SYNCED_AT_ONCE = 16


def write_atomically(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a file atomically: after a crash or a power failure it has its old or its new content, never a part.

    Without ``sync`` a power failure may leave a part, until :func:`sync_files` has synced the file.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if sync:
            _sync(path.parent)
    except OSError as error:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)
        raise not_writable(path, error) from error


def sync_files(paths: Sequence[Path]) -> None:
    """Sync files and their folders to the disk, so that they survive a power failure.

    Many are synced side by side, since a file system syncs many in about the time of one. A file that cannot be synced
    is removed: a later build must not take it for whole.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    from concurrent.futures import ThreadPoolExecutor  # with what it imports, too slow for `--help`

    with ThreadPoolExecutor(_SYNCED_AT_ONCE) as threads:  # it starts threads when they are needed
        each = threads.map if len(paths) > _SYNCED_AT_ONCE else map
        for places in (paths, {path.parent for path in paths}):
            for _ in each(_sync, places):
                pass


def _sync(path: Path) -> None:
    """Sync a file to the disk, or a folder, so that a rename in it survives a power failure.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError:  # not where it cannot even be opened: then its content may be whole
            if path.is_file():
                path.unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)
    except OSError as error:
        raise not_writable(path, error) from error


def link(there: Path, place: Path) -> None:
    """Make ``place`` a hard link to the unchanging file ``there``, or a copy if the file system has no hard links.

    An existing ``place`` is kept.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    try:
        os.link(there, place)
    except FileExistsError:
        return
    except OSError:
        write_atomically(place, there.read_bytes())


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading. Others are refused: reading a pipe or a device might never end.

    Raises OSError: it cannot be opened; ``EISDIR`` for a folder, ``EINVAL`` for anything else that is not regular.
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
    """Check that a folder contains, at any depth, only regular files and folders.

    A link may point out of the folder, and reading a pipe may never end.

    Raises StoreFault: ``world_damaged``; OSError: it cannot be listed; ``ENOENT``: there is no such folder.
    """
    waiting = [str(folder)]
    while waiting:
        there = waiting.pop()
        try:
            found = list(os.scandir(there))
        except FileNotFoundError:
            if there == str(folder):
                raise
            continue  # it was removed meanwhile
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
    """Return the fault of a file that could not be written: ``disk_full`` or ``store_not_writable``."""
    if error.errno == errno.ENOSPC:
        return StoreFault("disk_full", f"no space left to write {path.name}", hint="free some space and run it again")
    return StoreFault(
        "store_not_writable",
        f"cannot write {path}: {error.strerror or error}",
        hint="choose another place to write to, or make this one writable",
    )


#: Greatest size, in bytes, of a file of rows (of one clip) or of an image.
MOST_FILE_BYTES = 1 << 28
#: A file of at least ``_LARGE`` bytes is sparse if it occupies less than 1 / ``_LEAST_SHARE`` of them on the disk; no
#: compression achieves that.
_LARGE, _LEAST_SHARE = 1 << 24, 64
#: Unit of ``st_blocks`` (bytes) on every file system.
_DISK_BLOCK = 512


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal.

    Raises OSError: as ``open_regular``, or it cannot be read.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_stored(path: Path, *, most: int | None = MOST_FILE_BYTES) -> str:
    """Return the SHA-256 of a file of a world of unknown origin; a huge or sparse file is refused without reading it.

    Raises OSError: as :func:`hash_file`; ``EFBIG``: it has more than ``most`` bytes (None: no limit) or is sparse.
    """
    facts = path.stat()
    if most is not None and facts.st_size > most:
        raise OSError(errno.EFBIG, f"its {facts.st_size} bytes are more than the {most} such a file has", str(path))
    if facts.st_size >= _LARGE and bytes_on_disk(facts) * _LEAST_SHARE < facts.st_size:
        held = bytes_on_disk(facts)
        raise OSError(errno.EFBIG, f"it is sparse: the disk holds {held} of its {facts.st_size} bytes", str(path))
    return hash_file(path)


def bytes_on_disk(facts: os.stat_result) -> int:
    """Return the bytes that a file occupies on the disk; the size of a sparse file is larger."""
    return facts.st_blocks * _DISK_BLOCK


_CHUNK = 65_536


def append_line(path: Path, line: bytes, *, sync: bool = False) -> None:
    """Append one line to a file in one write; the file and its folder are created if they are missing.

    A lock on the file, released when its process ends, lets one writer write at a time. An incomplete last line (the
    machine crashed, the disk was full) is removed first; a line that cannot be written whole is removed again. With
    ``sync`` the call waits until the line would survive a power failure.

    Raises OSError: it cannot be written; the file has the same lines as before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        end = _end_of_lines(handle)
        try:
            _write(handle, line + b"\n", path)
            if sync:
                os.fsync(handle)
        except OSError:
            with suppress(OSError):  # then an incomplete line is left, which the next writer removes
                os.ftruncate(handle, end)
            raise
    finally:
        os.close(handle)


def _write(handle: int, data: bytes, path: Path) -> None:
    """Write all the data: usually in one call, or in several if the system accepts only a part at once."""
    written = os.write(handle, data)
    while written < len(data):
        more = os.write(handle, data[written:])
        if more == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        written += more


def _end_of_lines(handle: int) -> int:
    """Return the offset in bytes after the last complete line; an incomplete line after it is removed."""
    size = end = os.fstat(handle).st_size
    while end and os.pread(handle, 1, end - 1) != b"\n":
        start = max(0, end - _CHUNK)
        end = start + os.pread(handle, end - start, start).rfind(b"\n") + 1
    if end < size:
        os.ftruncate(handle, end)
    return end


@contextmanager
def world_lock(store: Path, video_id: str, *, waiting: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock for writing a world inside the block. It is released when its process ends, also after a crash.

    If another process holds it, ``waiting`` is called with a message and the call waits; without ``waiting`` it fails
    at once.

    Raises StoreFault: ``world_locked``, ``store_not_writable``.
    """

    def wait() -> None:
        busy = f"another process is writing world {video_id!r}"
        if waiting is None:
            raise StoreFault("world_locked", busy, hint="wait until it is done, or build under another --id")
        waiting(f"{busy}; waiting until it is done")

    with file_lock(store / f".{check_video_id(video_id)}.lock", before_waiting=wait):
        yield


#: Number of hexadecimal digits of an item's name that select its lock file, so that a folder has at most 4096 of them.
_BUCKET = 3
LOCKS = "locks"  #: folder of the lock files; they are never removed, since another process may wait for one


#: Locks among the threads of this process; the hash of an item's name selects one.
_THREAD_LOCKS = tuple(threading.Lock() for _ in range(1024))


@contextmanager
def exclusive(folder: Path, name: str) -> Iterator[None]:
    """Hold a lock for making the item ``name`` (hexadecimal digits) of a folder, among threads and processes.

    If the folder is not writable, other processes could not use the item, so only threads wait for each other. Blocks
    must not be nested.
    """
    with _THREAD_LOCKS[hash((folder, name)) % len(_THREAD_LOCKS)], ExitStack() as held:
        with suppress(StoreFault):
            held.enter_context(file_lock(folder / LOCKS / name[:_BUCKET]))
        yield


@contextmanager
def file_lock(path: Path, *, before_waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock among processes inside the block; ``before_waiting`` is called if another process holds it.

    The lock's file is not removed, since another process may wait for it.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            before_waiting()
            lock.acquire()
    except OSError as error:
        raise not_writable(path, error) from error
    try:
        yield
    finally:
        lock.release()


def hint_of_path(path: Path) -> str:
    """Return the hint for a file that is not there: where a link leads, else the nearest name beside it, if there is one."""
    with suppress(OSError):
        if path.is_symlink():
            return f"{path.name} is a link to {path.readlink()}, and no file is there"
        return did_you_mean(path.name, [other.name for other in path.parent.iterdir()]) or "check the path"
    return "check the path"
