"""Lines of a script spoken by a speech synthesiser, if one is installed."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eval.sandbox.script import Actor, Line
from world_api.core.execution import restricted_environment

_PCM, _EXTENSIBLE = 1, 0xFFFE
_RATES = range(4_000, 192_001)


def read_wave(data: bytes) -> tuple[NDArray[np.float32], int]:
    """The first channel of 16-bit PCM, -1 to 1, and its samples a second.

    A ``data`` chunk that claims to be longer than what there is ends where the data ends.

    Raises:
        ValueError: for anything else.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("no WAV data")
    channels = rate = 0
    place = 12
    while place + 8 <= len(data):
        name, size = data[place : place + 4], struct.unpack_from("<I", data, place + 4)[0]
        body = data[place + 8 : place + 8 + size]
        if name == b"fmt ":
            channels, rate = _format(body)
        if name == b"data":
            if not channels:
                raise ValueError("WAV data before its format")
            whole = np.frombuffer(body[: len(body) // (2 * channels) * 2 * channels], "<i2")
            return (whole[::channels] / 32768.0).astype(np.float32), rate
        place += 8 + size + size % 2
    raise ValueError("WAV data without sound")


def _format(body: bytes) -> tuple[int, int]:
    if len(body) < 16:
        raise ValueError("a WAV format that is cut off")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body)
    if kind not in {_PCM, _EXTENSIBLE} or bits != 16 or not channels or rate not in _RATES:
        raise ValueError("WAV data that is not 16-bit PCM")
    return channels, rate


def at_rate(samples: NDArray[np.float32], rate: int, wanted: int) -> NDArray[np.float32]:
    """The same sound with another number of samples a second, by straight lines between them."""
    if rate == wanted or not len(samples):
        return samples
    count = round(len(samples) * wanted / rate)
    times = np.arange(count) * (rate / wanted)
    return np.asarray(np.interp(times, np.arange(len(samples)), samples), np.float32)


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


_LOUDNESS = 0.09  #: root mean square of a spoken line
_SILENT = 0.004  #: what is quieter at a line's ends is left out
_FADE = 0.03  #: seconds in which a line that is cut off fades
_FAILURES = 2  #: failed calls in a row after which a program is left alone
_LONGEST = 400  #: characters of a line


class SpokenLines:
    """Speaks lines with a synthesiser; a line that it cannot speak stays with whoever asks."""

    def __init__(self, synthesiser: Synthesiser, *, sample_rate: int) -> None:
        self.synthesiser = synthesiser
        self._rate = sample_rate
        self._failures = 0

    def line(self, line: Line) -> NDArray[np.float32] | None:
        """A line's sound, -1 to 1, never longer than the line lasts; None where it cannot be spoken.

        Speech that takes longer is spoken faster once, and what is still too long is cut off.
        """
        most = round((line.end - line.start) * self._rate)
        sound = self._spoken(line, CALM)
        if sound is not None and len(sound) > most:
            hurry = min(HURRIED, int(CALM * len(sound) / max(most, 1) * 1.08) + 1)
            sound = self._spoken(line, hurry)
        if sound is None:
            return None
        if len(sound) > most:
            sound = sound[:most].copy()
            fade = min(most, round(_FADE * self._rate))
            sound[most - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
        return sound

    def _spoken(self, line: Line, words_a_minute: int) -> NDArray[np.float32] | None:
        if self._failures >= _FAILURES:
            return None
        try:
            samples, rate = read_wave(self.synthesiser.speak(_speakable(line.text), line.speaker, words_a_minute))
        except (OSError, subprocess.SubprocessError, ValueError):
            self._failures += 1
            return None
        self._failures = 0
        loud = np.flatnonzero(np.abs(samples) > _SILENT)
        if not len(loud):
            return None
        sound = at_rate(samples[loud[0] : loud[-1] + 1], rate, self._rate)
        sound = sound * (_LOUDNESS / float(np.sqrt(np.mean(sound**2))))
        return np.clip(sound, -0.9, 0.9).astype(np.float32)


def installed_voices(
    *, sample_rate: int, which: Callable[[str], str | None] = shutil.which, platform: str = sys.platform
) -> SpokenLines | None:
    """The voices of the synthesiser that is installed: eSpeak NG, eSpeak, or ``say`` on macOS; None without any."""
    for name in ("espeak-ng", "espeak"):
        if (program := which(name)) is not None:
            return SpokenLines(Espeak(program=program), sample_rate=sample_rate)
    # Elsewhere ``say`` is another program.
    if platform == "darwin" and (program := which("say")) is not None:
        return SpokenLines(Say(program=program), sample_rate=sample_rate)
    return None


def _speakable(text: str) -> str:
    """One line of plain words: no control characters, and no brackets or marks that synthesisers take for commands."""
    plain = "".join(" " if unicodedata.category(sign).startswith("C") or sign in "[]<>{}|" else sign for sign in text)
    return " ".join(plain.split())[:_LONGEST]
