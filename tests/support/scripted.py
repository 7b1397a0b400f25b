"""A chat model for tests that plays replies from a script."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from world_api.core import EpisodeFault, VideoWorldError


class ScriptedChatModel:
    """Plays replies in order, whichever requests come, and keeps the requests for a test to look at.

    A fault in the script is raised in its turn.
    """

    def __init__(self, replies: Sequence[dict[str, Any] | VideoWorldError], *, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[dict[str, Any]] = []
        self._replies = tuple(replies)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the next reply of the script.

        Raises:
            EpisodeFault: ``script_ended``.
            VideoWorldError: the fault at this place of the script.
        """
        position = len(self.requests)
        self.requests.append(copy.deepcopy(request))
        if position >= len(self._replies):
            raise EpisodeFault(
                "script_ended", f"the script holds {len(self._replies)} replies", hint="write one reply for each round"
            )
        reply = self._replies[position]
        if isinstance(reply, VideoWorldError):
            raise reply
        return copy.deepcopy(reply)
