"""One writer at a time: a lock beside each world, held while it is built or committed to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from world_api.core.faults import StoreFault
from world_api.core.identifiers import check_video_id
from world_api.world.disk.files import not_writable


@contextmanager
def world_lock(store: Path, video_id: str) -> Iterator[None]:
    """Hold the right to write a world; the lock goes with the process that held it.

    Raises:
        StoreFault: ``world_locked`` at once when another process holds it, ``store_not_writable``.
    """
    from filelock import FileLock, Timeout

    path = store / f".{check_video_id(video_id)}.lock"
    try:
        store.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0)
        lock.acquire()
    except Timeout:
        raise StoreFault(
            "world_locked",
            f"another process is writing world {video_id!r}",
            hint="wait until it is done, or build under another --id",
        ) from None
    except OSError as error:
        raise not_writable(store, error) from error
    try:
        yield
    finally:
        lock.release()
