"""Stretches of sound to transcribe: voice cut at pauses, and long talk at its quietest moments.

Where cuts fall depends on the sound near them alone, so that two clips that hear the same stretch cut it alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from world_api.core.ports import SAMPLE_RATE, Samples
from world_api.core.spans import TimeSpan

#: Long talk is cut once in so many seconds of the video, at the quietest moment within so many of that mark, if it has
#: gone on for so long before the mark. So no piece is longer than LONGEST.
_MARK, _NEAR, _GONE_ON = 10.0, 2.0, 7.0
LONGEST = 2 * _MARK + _NEAR
#: How long the quietest moment is (seconds).
_MOMENT = 0.1


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """A stretch to transcribe. ``settled``: up to when (seconds) must be heard to know where it ends."""

    span: TimeSpan
    settled: float


def cut_utterances(voiced: Sequence[TimeSpan], samples: Samples, start: float) -> Iterator[Utterance]:
    """Pieces of voiced stretches (video seconds), in time order. ``samples`` begin at ``start`` seconds."""
    for span in voiced:
        cuts = [(span.start, span.start), *_cuts(span, samples, start), (span.end, span.end)]
        for (first, _), (last, settled) in pairwise(cuts):
            yield Utterance(span=TimeSpan(start=first, end=last), settled=settled)


def _cuts(span: TimeSpan, samples: Samples, start: float) -> Iterator[tuple[float, float]]:
    """Where a stretch is cut, and up to when must be heard to know."""
    mark = math.ceil((span.start + _GONE_ON) / _MARK) * _MARK
    while mark + _NEAR < span.end:
        yield _quietest(samples, start, mark - _NEAR, mark + _NEAR), mark + _NEAR
        mark += _MARK


def _quietest(samples: Samples, start: float, first: float, last: float) -> float:
    """The middle of the quietest moment between two times, on a grid of moments."""
    moments = range(math.ceil(first / _MOMENT), math.floor(last / _MOMENT))
    size = round(_MOMENT * SAMPLE_RATE)

    def power(moment: int) -> float:
        at = max(0, round((moment * _MOMENT - start) * SAMPLE_RATE))
        part = samples[at : at + size]
        return float(np.square(part, dtype=np.float64).sum())

    return (min(moments, key=power) + 0.5) * _MOMENT
