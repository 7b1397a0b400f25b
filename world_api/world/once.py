"""Values that are made when first asked for, once for all threads.

Here, in the caches of a world and of a view, threads wait for each other: what is made there is slow and shared by all
sessions. Properties below them are plain ``functools.cached_property``: two threads may make one twice, with equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock, RLock
from typing import Any, Generic, TypeVar

Kept = TypeVar("Kept")
Key = TypeVar("Key", bound=Hashable)


class OnceEach(Generic[Key, Kept]):
    """One value a key, each made once."""

    def __init__(self) -> None:
        self._kept: dict[Key, Kept] = {}
        self._locks: dict[Key, Any] = {}
        self._guard = Lock()

    def get(self, key: Key, make: Callable[[], Kept]) -> Kept:
        """The value under a key, made now if there is none."""
        if key in self._kept:
            return self._kept[key]
        with self._guard:
            lock = self._locks.setdefault(key, RLock())
        with lock:
            if key not in self._kept:
                self._kept[key] = make()
            with self._guard:
                self._locks.pop(key, None)
            return self._kept[key]
