"""Speech recognition with pocketsphinx and the English model its package carries: no download, and poor words.

A last resort, used only when it is asked for. What it hears is marked with a low confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from world_api.core.faults import BackendFault
from world_api.core.ports import SAMPLE_RATE, Samples, SpokenLine, SpokenWord

DISTRIBUTION = "pocketsphinx"
#: About this share of its words is right in clean speech, far less in any other; it says nothing usable of it itself.
_CONFIDENCE = 0.3
_FRAMES = 100.0  #: its frames a second


class SphinxRecogniser:
    """English only."""

    def __init__(self) -> None:
        """Check that the package is there.

        Raises:
            BackendFault: ``speech_model_missing``.
        """
        try:
            self.producer = f"{DISTRIBUTION}-{version(DISTRIBUTION)}/1"
        except PackageNotFoundError as error:
            raise BackendFault(
                "speech_model_missing",
                "pocketsphinx is not installed",
                hint="install the extra: pip install 'video-world-api[speech-lite]'",
            ) from error

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        """One line for a stretch of English; none where the language is known to be another."""
        if language not in ("", "en") or not len(samples):
            return []
        decoder = _new_decoder()
        decoder.start_utt()
        sound = (np.clip(samples, -1.0, 1.0) * 32767).astype("<i2")
        decoder.process_raw(sound.tobytes(), no_search=False, full_utt=True)
        decoder.end_utt()
        duration = len(samples) / SAMPLE_RATE
        words = tuple(
            SpokenWord(
                start=min(duration, part.start_frame / _FRAMES),
                end=min(duration, (part.end_frame + 1) / _FRAMES),
                text=part.word.partition("(")[0],  # other ways to say a word are numbered: the(2)
                confidence=_CONFIDENCE,
            )
            for part in decoder.seg() or ()
            if part.word[:1] not in "<[+"  # silence and noises
        )
        if not words:
            return []
        text = " ".join(word.text for word in words)
        return [
            SpokenLine(
                start=words[0].start, end=words[-1].end, text=text, language="en", confidence=_CONFIDENCE, words=words
            )
        ]


def _new_decoder() -> Any:
    """A decoder for one stretch: one that has heard another hears the next one otherwise. It loads in a fifth of a second."""
    from pocketsphinx import Decoder

    return Decoder(samprate=SAMPLE_RATE, cmn="batch", loglevel="FATAL")
