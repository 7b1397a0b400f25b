"""Voice activity detection without a model: loud against what was heard before, voiced, and changing as speech does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from world_api.core.ports import SAMPLE_RATE, Samples
from world_api.core.spans import TimeSpan

Values = NDArray[np.float64]

#: Samples a step, and around it that are looked at; steps a second.
_STEP, _WINDOW = 256, 640
_STEPS = SAMPLE_RATE / _STEP
#: Loud is so much (dB) above the quietest half second of the last seconds, and above the noise of converters (dBFS).
_ABOVE, _LEAST, _LOOK_BACK, _SMOOTH = 9.0, -55.0, 8.0, 0.5
#: A voice's pitch (Hz), and how much a window resembles itself one period later.
_PITCH, _VOICED = (70.0, 400.0), 0.5
#: Around a moment, from so long before to so long after (seconds), such a share of it is voiced and the level changes so much
#: (dB, standard deviation): speech comes in syllables, hum and hiss do not.
_BEFORE, _AFTER, _SHARE, _SYLLABLES = 0.7, 0.3, 0.2, 2.5
#: Pauses up to so long are part of speech; what is shorter than this is no speech; and what is kept around it (seconds).
_PAUSE, _SHORTEST, _AROUND = 0.4, 0.2, 0.15


class EnergyVoiceDetector:
    """Finds speech by level, pitch and syllables; always there. Singing and some music pass for speech."""

    producer = "voice-energy/1"
    hang_over = 0.8  #: the pause that ends a stretch, and what is heard after a moment to judge it

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        """Where somebody may be speaking: seconds from the first sample, apart and in order."""
        if len(samples) < _WINDOW:
            return []
        windows = sliding_window_view(samples, _WINDOW)[::_STEP].astype(np.float64)
        windows = windows - windows.mean(axis=1, keepdims=True)
        level = 10 * np.log10((windows**2).mean(axis=1) + 1e-10)
        loud = (level > _LEAST) & (level > _floor(level) + _ABOVE)
        voiced = loud & (_periodicity(windows) >= _VOICED)
        heard = np.maximum(level, _LEAST)
        changes = np.sqrt(np.maximum(0.0, _around(heard**2) - _around(heard) ** 2))
        speech = loud & (_around(voiced.astype(np.float64)) >= _SHARE) & (changes >= _SYLLABLES)
        return _spans(speech, len(samples) / SAMPLE_RATE)


def _floor(level: Values) -> Values:
    """The level of the quietest half second of the last eight, at each step."""
    smooth, back = round(_SMOOTH * _STEPS), round(_LOOK_BACK * _STEPS)
    means = np.convolve(level, np.ones(smooth) / smooth)[: len(level)]
    means[: smooth - 1] = np.cumsum(level)[: smooth - 1] / np.arange(1, len(level) + 1)[: smooth - 1]
    padded = np.concatenate([np.full(back - 1, np.inf), means])
    return np.asarray(sliding_window_view(padded, back).min(axis=1))


def _periodicity(windows: Values) -> Values:
    """How much each window resembles itself one period of a voice later, -1 to 1."""
    size = 2 * _WINDOW
    shortest, longest = int(SAMPLE_RATE / _PITCH[1]), int(SAMPLE_RATE / _PITCH[0])
    found = np.empty(len(windows))
    for first in range(0, len(windows), 1024):  # a minute at once would be large
        part = windows[first : first + 1024]
        spectrum = np.fft.rfft(part, size, axis=1)
        likeness = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, : longest + 1]
        shared = _WINDOW / (_WINDOW - np.arange(longest + 1))  # fewer samples overlap at longer periods
        found[first : first + 1024] = (likeness * shared)[:, shortest:].max(axis=1) / (likeness[:, 0] + 1e-9)
    return found


def _around(values: Values) -> Values:
    """The mean from some time before each step to some time after it."""
    before, after = round(_BEFORE * _STEPS), round(_AFTER * _STEPS)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    first, last = np.maximum(0, at - before), np.minimum(len(values), at + after + 1)
    return np.asarray((sums[last] - sums[first]) / (last - first))


def _spans(speech: NDArray[np.bool_], duration: float) -> list[TimeSpan]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], speech.astype(np.int8), [0]])))
    spans: list[list[float]] = []
    for first, last in edges.reshape(-1, 2):
        start, end = first / _STEPS, (last - 1) / _STEPS + _WINDOW / SAMPLE_RATE
        if spans and start - spans[-1][1] <= _PAUSE:
            spans[-1][1] = end
        else:
            spans.append([start, end])
    kept = [(start, end) for start, end in spans if end - start >= _SHORTEST]
    return [
        TimeSpan(start=max(0.0, float(start) - _AROUND), end=min(duration, float(end) + _AROUND)) for start, end in kept
    ]
