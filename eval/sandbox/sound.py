"""A film's sound: the tone of each room, footsteps, and voices.

Without a synthesiser voices hum the rhythm of what the subtitles say.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from eval.sandbox.script import Card, Film, Line, RoomKind, Shot
from eval.sandbox.staging import step_times
from eval.sandbox.voices import SpokenLines

SAMPLE_RATE = 24_000  #: hertz, one channel

Samples = NDArray[np.float32]

_ROOM_TONE: dict[RoomKind, tuple[float, float]] = {  # loudness, and how dark the noise is (samples of smoothing)
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
    """The whole film's sound, -1 to 1, ``duration * SAMPLE_RATE`` samples; ``voices`` speak what they can."""
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
            _mix(track, start + line.start, _voice(line, chance) if spoken is None else spoken)
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


def _voice(line: Line, chance: np.random.Generator) -> Samples:
    """Syllables with the pitch of the speaker and the formants of vowels; no words."""
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
