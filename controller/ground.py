"""What an episode stands on beside its model and its clock: the tools of a session, and material taken from it.

A system asks its *ground* for both, and so never knows whether it runs, is recorded, or runs again offline::

    tools = context.ground.tools(lambda: CombinedTools([...]))                     # what is called
    digest = context.ground.material("digest", lambda: digest_of(session, ...))    # what is put into a request

Where an episode runs, both are simply made. Where it is recorded, material is kept as well. In a replay neither is
made: the recorded results and the recorded material come back, and the session that the system is given is a stand-in
which knows its names and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from controller.toolsets import Toolset


class Ground(Protocol):
    """Where a system gets what it takes from a session, a library or a domain."""

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """The toolset of the episode; asked for once an episode, before the first call."""
        ...

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """A JSON value that requests are built from, under a name that the episode uses once."""
        ...


class Live:
    """Makes what is asked for."""

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """The toolset as it is made."""
        return make()

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """The value as it is made."""
        return make()
