"""The stage ``sounds``: which classes of sounds are heard, window by window."""

from __future__ import annotations

import math

from world_api.build.stage import Clip, Records, StageSpec
from world_api.core.ports import SoundTagger
from world_api.core.spans import TimeSpan, known_time, round_time

_SLACK = 1e-6


class Sounds:
    """The stage ``sounds``: a row for each class that is heard in a window. A row is known when its window was heard.

    Rows that touch are joined when they are read, so that a causal cut shows what was heard up to it of a sound that goes on.
    """

    def __init__(self, tagger: SoundTagger) -> None:
        self._tagger = tagger
        self.spec = StageSpec(
            name="sounds",
            version=1,
            tables=("sounds",),
            parameters=tagger.parameters,
            whole_file=True,
            modules=("world_api.media.audio", type(tagger).__module__),
        )

    def make_rows(self, clip: Clip) -> Records:
        """Return the rows of the windows that begin in the clip's span."""
        hop, window = self._tagger.hop, self._tagger.window
        first, end = (math.ceil(time / hop - _SLACK) for time in (clip.span.start, clip.span.end))
        if end <= first:
            return {"sounds": []}
        span = TimeSpan(start=first * hop, end=(end - 1) * hop + window)
        found = [
            (round(span.start + one.start, 6), one)
            for one in self._tagger.tag(clip.audio(span))
            if one.start < (end - first - 0.5) * hop
        ]
        rows = [
            {"start": round_time(start), "end": round_time(start + window), "label": one.label,
             "score": one.score, "known_at": known_time(start + window)}
            for start, one in found
        ]  # fmt: skip
        return {"sounds": rows}
