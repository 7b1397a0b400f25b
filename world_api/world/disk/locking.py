"""One writer at a time: a lock beside each world, held while it is built or committed to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.core.faults import StoreFault
from world_api.core.identifiers import check_video_id
from world_api.world.disk.files import not_writable

if TYPE_CHECKING:
    from filelock import FileLock


@contextmanager
def world_lock(store: Path, video_id: str, *, waiting: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the right to write a world; the lock goes with the process that held it.

    Where another process holds it, ``waiting`` is told so and the call waits; without that it fails at once.

    Raises:
        StoreFault: ``world_locked``, ``store_not_writable``.
    """
    from filelock import FileLock

    path = store / f".{check_video_id(video_id)}.lock"
    try:
        store.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0)
        _acquire(lock, video_id, waiting)
    except OSError as error:
        raise not_writable(store, error) from error
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, video_id: str, waiting: Callable[[str], None] | None) -> None:
    from filelock import Timeout

    try:
        lock.acquire()
    except Timeout:
        if waiting is None:
            raise StoreFault(
                "world_locked",
                f"another process is writing world {video_id!r}",
                hint="wait until it is done, or build under another --id",
            ) from None
        waiting(f"another process is writing world {video_id!r}; waiting until it is done")
        lock.acquire(timeout=-1)
