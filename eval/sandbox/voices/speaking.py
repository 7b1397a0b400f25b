"""Lines as sound: spoken within the time the script gives them, or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eval.sandbox.script import Line
from eval.sandbox.voices.synthesisers import CALM, HURRIED, Espeak, Say, Synthesiser
from eval.sandbox.voices.wave_files import at_rate, read_wave

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
