"""A world whose looks do what a test wants, so that a test decides which calls are under way together."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from tests.support.plans import AnyWorld

FOUND = 8
#: Seconds after which a test that waits for something that does not come fails.
PATIENCE = 20


class GatedWorld(AnyWorld):
    """Finds stretches at 0, 1, 2, ...; what a look at a time does is up to the test."""

    def __init__(self, look: Callable[[float], None] = lambda _: None, *, found: int = FOUND) -> None:
        super().__init__()
        self.look = look
        self.found = found
        self.looked: list[float] = []
        self.names: list[str] = []
        self._noting = Lock()

    def _answer(self, name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
        with self._noting:
            self.names.append(name)
        if name == "search_segments_by_text":
            times = [{"start_time": float(n), "end_time": n + 0.5, "center_time": n + 0.25} for n in range(self.found)]
            more = {"segment_id": "s", "score": 0.5, "snippet": "", "source": "caption", "confidence": None}
            return {"candidates": [t | more for t in times], "evidence": [], "hint": ""}
        if name == "detect_objects":
            with self._noting:
                self.looked.append(arguments["timestamp"])
            self.look(arguments["timestamp"])
        return super()._answer(name, arguments, number)
