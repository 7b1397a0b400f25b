"""The sound of a generated film: noise of each room, footsteps, voices, and a chord for each title card.

An installed speech synthesiser speaks the lines. If there is none, or it fails, a line is a hum of the same length.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eval.sandbox.renderer import step_times
from eval.sandbox.script import Actor, Card, Film, Line, RoomKind, Shot
from world_api.core.execution import restricted_environment

Samples = NDArray[np.float32]


def read_wave(data: bytes) -> tuple[Samples, int]:
    """Return the first channel of 16-bit WAV data, -1 to 1, and its sample rate in hertz.

    A ``data`` chunk with too large a length ends with the data. Raises ValueError: it is not 16-bit WAV.
    """
    try:
        with wave.open(io.BytesIO(data)) as sound:
            if sound.getsampwidth() != 2:
                raise ValueError("no 16-bit WAV data")
            samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2")[:: sound.getnchannels()]
            return samples.astype(np.float32) / np.float32(32768), sound.getframerate()
    except (wave.Error, EOFError) as error:
        raise ValueError(f"no WAV data: {error}") from error


SAMPLE_RATE = 24_000  #: hertz, one channel
#: The usual rate of speech in words a minute, and the fastest one.
CALM, HURRIED = 165, 380
_HIGH = 180.0  #: the lowest pitch of a high voice in hertz


@dataclass(frozen=True, kw_only=True)
class Synthesiser:
    """A speech program: ``espeak`` (eSpeak NG or eSpeak), or ``say`` of macOS; ``program`` is its path."""

    program: str
    name: Literal["espeak", "say"] = "espeak"
    seconds: float = 20.0  #: the longest time of a call

    def speak(self, text: str, actor: Actor, words_a_minute: int) -> bytes:
        """Return WAV data of a text in an actor's voice. Raises OSError, SubprocessError: failure or timeout."""
        if self.name == "espeak":
            options = ["--stdin", "--stdout", "-b", "1", "-s", str(words_a_minute), *_espeak_voice(actor)]
            return self._run(options, text)
        voice = "Samantha" if actor.pitch >= _HIGH else "Daniel"
        with tempfile.TemporaryDirectory(prefix="videoworld-") as folder:
            spoken = Path(folder) / "line.wav"  # it writes files only
            self._run(["-f", "-", "-v", voice, "-r", str(words_a_minute), "-o", str(spoken),
                       "--file-format=WAVE", "--data-format=LEI16@22050"], text)  # fmt: skip
            return spoken.read_bytes()

    def _run(self, options: list[str], text: str) -> bytes:
        """Return the standard output of the program; its environment contains no keys."""
        run = subprocess.run(
            [self.program, *options],
            input=text.encode(),
            capture_output=True,
            timeout=self.seconds,
            check=True,
            env=restricted_environment(os.environ),
        )
        return run.stdout


def _espeak_voice(actor: Actor) -> list[str]:
    """Return options for a high or low voice by the actor's pitch, and a variant by the name."""
    high = actor.pitch >= _HIGH
    variant = f"{'f' if high else 'm'}{1 + sum(actor.name.encode()) % (4 if high else 7)}"
    pitch = round(min(85.0, max(15.0, 50.0 + (actor.pitch - (215.0 if high else 140.0)) * 0.8)))
    return ["-v", f"en-us+{variant}", "-p", str(pitch)]


_LOUDNESS = 0.09  #: root mean square of a spoken line
_SILENT = 0.004  #: quieter sound at the ends of a line is removed
_FADE = 0.03  #: seconds in which a line that is cut off fades
_FAILURES = 2  #: failed calls in succession after which the program is no longer called
_LONGEST = 400  #: characters of a line


class SpokenLines:
    """Speaks lines with a synthesiser; after two failures in succession it is no longer called."""

    def __init__(self, synthesiser: Synthesiser) -> None:
        self.synthesiser = synthesiser
        self._failures = 0

    def line(self, line: Line) -> Samples | None:
        """Return a line's sound, -1 to 1, spoken faster or cut if it is too long; None if it cannot be spoken."""
        most = round((line.end - line.start) * SAMPLE_RATE)
        sound = self._spoken(line, CALM)
        if sound is not None and len(sound) > most:
            hurry = min(HURRIED, int(CALM * len(sound) / max(most, 1) * 1.08) + 1)
            sound = self._spoken(line, hurry)
        if sound is None:
            return None
        if len(sound) > most:
            sound = sound[:most].copy()
            fade = min(most, round(_FADE * SAMPLE_RATE))
            sound[most - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
        return sound

    def _spoken(self, line: Line, words_a_minute: int) -> Samples | None:
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
        part = samples[loud[0] : loud[-1] + 1]
        times = np.arange(round(len(part) * SAMPLE_RATE / rate)) * (rate / SAMPLE_RATE)
        sound = np.interp(times, np.arange(len(part)), part)  # at the film's rate
        sound = sound * (_LOUDNESS / float(np.sqrt(np.mean(sound**2))))
        return np.asarray(np.clip(sound, -0.9, 0.9), np.float32)


def installed_voices(
    *, which: Callable[[str], str | None] = shutil.which, platform: str = sys.platform
) -> SpokenLines | None:
    """Return the voices of the installed synthesiser: eSpeak NG, eSpeak, or ``say`` on macOS; None without any."""
    names: dict[str, Literal["espeak", "say"]] = {"espeak-ng": "espeak", "espeak": "espeak"}
    if platform == "darwin":  # elsewhere ``say`` is another program
        names["say"] = "say"
    found = (Synthesiser(program=path, name=name) for program, name in names.items() if (path := which(program)))
    return next((SpokenLines(one) for one in found), None)


def _speakable(text: str) -> str:
    """Return at most 400 characters of text on one line, without control characters and markup signs."""
    plain = "".join(" " if unicodedata.category(sign).startswith("C") or sign in "[]<>{}|" else sign for sign in text)
    return " ".join(plain.split())[:_LONGEST]


_ROOM_TONE: dict[RoomKind, tuple[float, float]] = {  # loudness, and the smoothing of the noise in samples
    "office": (0.0060, 40.0),
    "kitchen": (0.0080, 18.0),
    "library": (0.0030, 70.0),
    "corridor": (0.0050, 55.0),
    "meeting room": (0.0045, 45.0),
    "workshop": (0.0085, 28.0),
    "entrance hall": (0.0060, 60.0),
    "living room": (0.0035, 65.0),
}
_HEARD = frozenset({"puts down", "takes", "picks up", "opens", "closes"})  #: gestures that make a noise
_CHORD = (261.63, 329.63, 392.0, 523.25)  #: C major, hertz
_SYLLABLES_A_SECOND = 4.6
_VOWELS = ((730.0, 1090.0), (530.0, 1840.0), (270.0, 2290.0), (570.0, 840.0), (440.0, 1020.0))  #: two formants, hertz


def soundtrack(film: Film, *, seed: int, voices: SpokenLines | None = None) -> Samples:
    """Return the sound of a film, -1 to 1, ``duration * SAMPLE_RATE`` samples; lines without ``voices`` are hummed."""
    chance = np.random.default_rng(seed)
    track = np.zeros(round(film.duration * SAMPLE_RATE), np.float32)
    for start, part in film.placed():
        if isinstance(part, Card):
            _mix(track, start, _chord(part.duration))
            continue
        _mix(track, start, _room_tone(part, chance))
        for performance in part.performances:
            for time in step_times(performance):
                _mix(track, start + time, _step(chance))
            for gesture in performance.gestures:
                if gesture.kind in _HEARD:
                    _mix(track, start + (gesture.start + gesture.end) / 2, 2.0 * _step(chance))
        for line in part.lines:
            spoken = voices.line(line) if voices is not None else None
            _mix(track, start + line.start, _hum(line, chance) if spoken is None else spoken)
    return np.clip(track, -1.0, 1.0)


def _mix(track: Samples, start: float, sound: Samples) -> None:
    first = round(start * SAMPLE_RATE)
    part = sound[: len(track) - first]
    track[first : first + len(part)] += part


def _clock(duration: float) -> NDArray[np.float64]:
    return np.arange(round(duration * SAMPLE_RATE)) / SAMPLE_RATE


def _room_tone(shot: Shot, chance: np.random.Generator) -> Samples:
    loudness, darkness = _ROOM_TONE[shot.room.kind]
    noise = chance.normal(0, 1, round(shot.duration * SAMPLE_RATE))
    kernel = np.hanning(round(darkness) + 2)[1:-1]
    soft = np.convolve(noise, kernel / math.sqrt(float((kernel**2).sum())), mode="same")
    hum = 0.5 * np.sin(2 * math.pi * 100 * _clock(shot.duration))
    return np.asarray(loudness * (soft + hum), np.float32)


def _step(chance: np.random.Generator) -> Samples:
    time = _clock(0.09)
    thud = np.sin(2 * math.pi * 82 * time) * np.exp(-time * 55)
    scuff = np.convolve(chance.normal(0, 1, len(time)), np.ones(9) / 9, mode="same") * np.exp(-time * 70)
    return np.asarray(0.10 * thud + 0.06 * scuff, np.float32)


def _hum(line: Line, chance: np.random.Generator) -> Samples:
    """Return syllables with the speaker's pitch and the formants of vowels, without words."""
    time = _clock(line.end - line.start)
    count = max(2, round((line.end - line.start) * _SYLLABLES_A_SECOND))
    voice = np.zeros(len(time))
    edges = np.linspace(0, len(time), count + 1).astype(int)
    for number in range(count):
        if chance.random() < 0.1:
            continue  # a breath
        piece = slice(edges[number], edges[number + 1])
        fall = 1.08 - 0.2 * number / count + 0.06 * chance.standard_normal()
        voice[piece] = _syllable(time[piece] - time[piece][0], line.speaker.pitch * fall, chance)
    return np.asarray(0.16 * voice, np.float32)


def _syllable(time: NDArray[np.float64], pitch: float, chance: np.random.Generator) -> NDArray[np.float64]:
    low, high = _VOWELS[int(chance.integers(len(_VOWELS)))]
    sound = np.zeros(len(time))
    phase = 2 * math.pi * pitch * (time + 0.012 * np.sin(2 * math.pi * 5 * time) / 5)
    for harmonic in range(1, 1 + int(3000 / pitch)):
        hertz = harmonic * pitch
        weight = math.exp(-(((hertz - low) / 160) ** 2)) + 0.35 * math.exp(-(((hertz - high) / 220) ** 2)) + 0.08
        sound += weight / math.sqrt(harmonic) * np.sin(harmonic * phase)
    shape = np.sin(math.pi * np.clip(time / time[-1], 0, 1)) ** 0.6
    return np.asarray(sound * shape / max(1e-9, float(np.abs(sound).max())))


def _chord(duration: float) -> Samples:
    time = _clock(duration)
    notes = [
        np.sin(2 * math.pi * hertz * time)
        * np.exp(-np.maximum(time - 0.28 * number, 0) * 1.5)
        * (time >= 0.28 * number)
        for number, hertz in enumerate(_CHORD)
    ]
    fade = np.clip((duration - time) / 0.5, 0, 1)
    return np.asarray(0.07 * np.sum(notes, axis=0) * fade, np.float32)
