"""Limits: how much of the machine one video may take. Files come from anywhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a file may ask of the process that decodes it.

    ``pixels`` of one frame; ``duration`` of the video, ``patience`` to wait for the next sign of life (both seconds);
    ``streams`` in one container; ``memory`` of the decoding process (bytes of address space, where the system can hold
    it to that). ``network`` lets a stream address be opened; files and playlists never open one.
    """

    pixels: int = 100_000_000
    duration: float = 48 * 3600.0
    streams: int = 64
    patience: float = 60.0
    memory: int = 8 << 30
    network: bool = False

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return asdict(self)


DEFAULT_LIMITS = Limits()
