"""What is made when it is first asked for, once, whichever thread asks.

``functools.cached_property`` will not do: from Python 3.12 on two threads make the thing twice, before that all objects of
a class wait for each other. Here whoever asks for the same thing of the same object waits until it is made. Things may be
made of one another, as long as that makes no circle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock, RLock
from typing import Any, Generic, TypeVar, overload

Owner = TypeVar("Owner")
Kept = TypeVar("Kept")
Key = TypeVar("Key", bound=Hashable)

_LOCKS = "_locks_of_made_once"
_GUARD = Lock()


class made_once(Generic[Owner, Kept]):  # noqa: N801 - used like a property
    """A property that is computed when it is first read, and kept on the object."""

    def __init__(self, make: Callable[[Owner], Kept]) -> None:
        self._make = make
        self._name = ""
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type[Owner], name: str) -> None:
        """Take the attribute's name: the value is kept under it, where it is found before this."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Owner]) -> made_once[Owner, Kept]: ...
    @overload
    def __get__(self, instance: Owner, owner: type[Owner]) -> Kept: ...
    def __get__(self, instance: Owner | None, owner: type[Owner]) -> made_once[Owner, Kept] | Kept:
        """The value. Only asked while there is none."""
        if instance is None:
            return self
        kept: dict[str, Any] = instance.__dict__
        with _GUARD:
            locks: dict[str, Any] = kept.setdefault(_LOCKS, {})
            lock = locks.setdefault(self._name, RLock())
        with lock:
            if self._name not in kept:
                kept[self._name] = self._make(instance)
            # Nobody makes it any more: an object whose things are made can be copied and pickled.
            with _GUARD:
                locks.pop(self._name, None)
                if not locks and kept.get(_LOCKS) is locks:
                    del kept[_LOCKS]
            value: Kept = kept[self._name]
            return value


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
