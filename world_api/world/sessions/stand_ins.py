"""Answering an operation in a session's place: what a measurement of single operations needs.

A session has none but where somebody gives it some. A stand-in gets the call as it was made, checked; its answer is that
of the operation, and whoever records the session says who stood in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from world_api.world.sessions.session import Session


class StandIn(Protocol):
    """Answers one or several operations in place of a session's world."""

    @property
    def record(self) -> Mapping[str, Any]:
        """Who it is, as JSON: what its answers depend on beside the session."""
        ...

    def answer(self, session: Session, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of an operation; what it writes, it writes to the session.

        Raises:
            VideoWorldError: what the operation names.
        """
        ...
