"""How OpenCV shares out its work while stages are at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import cv2

_lock = Lock()
_before: list[int] = []  #: for each who wants one thread, how many there were when the first came


@contextmanager
def opencv_on_one_thread() -> Iterator[None]:
    """Have OpenCV work on the thread that calls it: stages are threads already, and their pictures small.

    The setting holds for the whole process; what it was comes back when the last of those who wanted this is done.
    """
    with _lock:
        _before.append(_before[0] if _before else cv2.getNumThreads())
        cv2.setNumThreads(1)
    try:
        yield
    finally:
        with _lock:
            threads = _before.pop()
            if not _before:
                cv2.setNumThreads(threads)
