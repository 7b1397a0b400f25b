"""How a world is to be built: what a caller may choose, whatever face it comes in by."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.listening import Listening
from world_api.media.container import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from world_api.build.following import Following


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Choices of a build.

    ``without`` names stages that are left out. ``force`` replaces a world of the same id that was made otherwise.
    ``limits`` bound what the file may ask of the machine. ``waits`` for another process that writes the same world,
    instead of failing. With ``following`` a file is memorised while it is being written.
    """

    profile: str = "classical"
    listening: Listening = field(default_factory=Listening)
    without: tuple[str, ...] = ()
    force: bool = False
    limits: Limits = DEFAULT_LIMITS
    waits: bool = False
    following: Following | None = None
    record: Path | str | None = None  #: where a stream that is followed is recorded; by default inside the store
