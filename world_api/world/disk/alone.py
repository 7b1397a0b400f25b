"""Doing something once for everybody who wants it at the same time: threads wait for each other, and processes too."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

#: Hexadecimal digits of a name by which lock files are shared, so that there are never more than 4096 in a folder.
_BUCKET = 3
LOCKS = "locks"  #: the folder they lie in; they stay, since somebody may be waiting on one


class _Lock:
    """A lock that can be referred to weakly."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_LOCKS: WeakValueDictionary[tuple[object, str], _Lock] = WeakValueDictionary()
_GUARD = threading.Lock()


@contextmanager
def alone(folder: Path | None, name: str, *, owner: object = None) -> Iterator[None]:
    """Hold the right to make what is called ``name`` (hexadecimal) in a folder.

    Without a folder only threads that share ``owner`` wait for each other. Where nobody can write to the folder, nobody
    would find there what another process made, so processes do not wait.
    """
    key = (folder if folder is not None else id(owner), name)
    with _GUARD:
        lock = _LOCKS.get(key)
        if lock is None:
            lock = _LOCKS[key] = _Lock()
    with lock, _alone_among_processes(folder, name):
        yield


@contextmanager
def _alone_among_processes(folder: Path | None, name: str) -> Iterator[None]:
    if folder is None:
        yield
        return
    from filelock import FileLock

    lock = FileLock(folder / LOCKS / name[:_BUCKET])
    try:
        Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        lock.release()
