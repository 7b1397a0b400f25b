"""Speech synthesisers that are programs: found on the search path, called without a shell, given text on standard input."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eval.sandbox.script import Actor
from world_api.core.environment import restricted_environment

#: Words a minute that programs understand as calm speech, and the most they speak in a hurry.
CALM, HURRIED = 165, 380
_HIGH = 180.0  #: hertz of a voice from which on it is a high one
_SECONDS = 20.0  #: that a program may take for a line


class Synthesiser(Protocol):
    """Speaks a line."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def speak(self, text: str, actor: Actor, words_a_minute: int) -> bytes:
        """WAV data of a text in the voice of an actor.

        Raises:
            OSError, subprocess.SubprocessError: when the program cannot be run, fails, or takes too long.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Espeak:
    """eSpeak NG, or eSpeak: ``program`` is its path. ``seconds`` bound a call."""

    program: str
    seconds: float = _SECONDS
    name: str = "espeak"

    def speak(self, text: str, actor: Actor, words_a_minute: int) -> bytes:
        """As the protocol says; WAV data comes from its standard output."""
        command = [self.program, "--stdin", "--stdout", "-b", "1", "-s", str(words_a_minute), *_voice(actor)]
        return _run(command, text, self.seconds)


def _voice(actor: Actor) -> list[str]:
    """A high or a low variant by the actor's pitch, one of several by the name, and the pitch within it."""
    high = actor.pitch >= _HIGH
    variant = f"{'f' if high else 'm'}{1 + sum(actor.name.encode()) % (4 if high else 7)}"
    middle = 215.0 if high else 140.0
    pitch = round(min(85.0, max(15.0, 50.0 + (actor.pitch - middle) * 0.8)))
    return ["-v", f"en-us+{variant}", "-p", str(pitch)]


@dataclass(frozen=True, kw_only=True)
class Say:
    """``say`` of macOS: ``program`` is its path. It writes files only."""

    program: str
    seconds: float = _SECONDS
    name: str = "say"

    def speak(self, text: str, actor: Actor, words_a_minute: int) -> bytes:
        """As the protocol says."""
        voice = "Samantha" if actor.pitch >= _HIGH else "Daniel"
        with tempfile.TemporaryDirectory(prefix="videoworld-") as folder:
            spoken = Path(folder) / "line.wav"
            command = [self.program, "-f", "-", "-v", voice, "-r", str(words_a_minute), "-o", str(spoken),
                       "--file-format=WAVE", "--data-format=LEI16@22050"]  # fmt: skip
            _run(command, text, self.seconds)
            return spoken.read_bytes()


def _run(command: list[str], text: str, seconds: float) -> bytes:
    """Standard output of a program that is given a text; it sees no keys in its environment."""
    environment = restricted_environment(os.environ)
    run = subprocess.run(
        command, input=text.encode(), capture_output=True, timeout=seconds, check=True, env=environment
    )
    return run.stdout
