"""Answers that were got before."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from tool_induction.runtime.answers.asking import Answer


class Memo:
    """Results that were computed before, the least recently used forgotten first.

    Holds so many results, and so many bytes (written out) of them. Threads may share one.
    """

    def __init__(self, capacity: int = 2_000, *, most_bytes: int = 200_000_000) -> None:
        self._capacity = capacity
        self._most_bytes = most_bytes
        self._bytes = 0
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> Answer | None:
        """The answer under a key, if it is there; it counts as used."""
        with self._lock:
            found = self._answers.get(key)
            if found is not None:
                self._answers.move_to_end(key)
            return found

    def peek(self, key: str) -> Answer | None:
        """The answer under a key, if it is there; nobody notices."""
        return self._answers.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Remember an answer."""
        with self._lock:
            before = self._answers.pop(key, None)
            self._answers[key] = answer
            self._bytes += answer.size - (before.size if before is not None else 0)
            while len(self._answers) > self._capacity or self._bytes > self._most_bytes:
                _, forgotten = self._answers.popitem(last=False)
                self._bytes -= forgotten.size
