"""Options of a build: what a caller may choose, whatever interface it uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.media.container import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from world_api.build.following import Following


AUTO, OFF, NONE = "auto", "off", "none"
WHISPER, SPHINX = "faster-whisper", "pocketsphinx"


@dataclass(frozen=True, kw_only=True)
class Listening:
    """What a caller wants.

    ``subtitles``: ``auto``, ``none``, a language's code or a file's path. ``speech``: ``auto`` (recognise what has no
    subtitles, with faster-whisper where it and a model are on this machine), ``off``, or the name of a recogniser,
    which is then used instead of subtitles. ``model`` and ``language`` are the recogniser's; empty: the usual one, and
    whatever is spoken. ``compute``: the numbers a Whisper model computes with, ``int8``, ``float16`` or ``float32``; ``auto``
    is ``int8`` on a CPU and ``float16`` on a GPU.
    """

    subtitles: str = AUTO
    speech: str = AUTO
    model: str = ""
    language: str = ""
    compute: str = AUTO


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
