"""Who speaks, behind a causal cut: voices with their turns, and the voice of a spoken line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from world_api.core.spans import TimeSpan
from world_api.world.tracks import Likeness

#: The stage that judges voices, and the category of their entities.
STAGE, CATEGORY = "voices", "voice"
#: A line has a voice if turns of it cover at least this share of the line, and all others together at most the second.
_MOST, _OTHERS = 0.5, 0.25
#: Two lines of one source that overlap by more than so many seconds may be said at once, so that no voice is theirs.
_AT_ONCE = 0.3
#: The most spans to listen to.
_SAMPLES = 3


@dataclass(frozen=True, kw_only=True)
class Voice:
    """A voice: the turns in which it was surely heard, in time order, and the voices that may be the same person's."""

    entity_id: str
    turns: tuple[TimeSpan, ...]
    may_be: tuple[Likeness, ...]

    @property
    def span(self) -> TimeSpan:
        """From its first turn to the end of its last one."""
        return TimeSpan(start=self.turns[0].start, end=max(turn.end for turn in self.turns))

    @property
    def seconds(self) -> float:
        """For how long it is heard."""
        return sum(turn.duration for turn in self.turns)

    @property
    def hint(self) -> str:
        """The voice in words."""
        return f"a voice, heard for {self.seconds:.0f} s"

    @property
    def samples(self) -> tuple[TimeSpan, ...]:
        """The longest turns, to listen to, in time order."""
        return tuple(sorted(sorted(self.turns, key=lambda turn: (-turn.duration, turn.start))[:_SAMPLES]))


class Voices:
    """The voices of a view, by id, in the order in which they were first known.

    Args:
        turns, names, links: The visible rows of ``voice_turns``, ``voice_names`` and ``voice_links``.
        until: The end of the visible part, in seconds.
    """

    def __init__(self, turns: pa.Table, names: pa.Table, links: pa.Table, *, until: float) -> None:
        voice_of = dict(zip(names.column("turn").to_pylist(), names.column("voice").to_pylist(), strict=True))
        self._starts, ends = turns.column("start").to_numpy(), np.minimum(turns.column("end").to_numpy(), until)
        self._ends = np.maximum.accumulate(ends) if len(ends) else ends
        spans = [
            TimeSpan(start=start, end=max(start, end))
            for start, end in zip(self._starts.tolist(), ends.tolist(), strict=True)
        ]
        self._turns = [(span, voice_of.get(span.start, "")) for span in spans]
        of_voice: defaultdict[str, list[TimeSpan]] = defaultdict(list)
        for span, voice in self._turns:
            if voice:
                of_voice[voice].append(span)
        likely: defaultdict[str, list[Likeness]] = defaultdict(list)
        for row in links.to_pylist():
            for one, other in ((row["earlier"], row["later"]), (row["later"], row["earlier"])):
                if one in of_voice and other in of_voice:
                    likely[one].append(Likeness(entity_id=other, score=round(max(0.0, min(1.0, row["score"])), 2)))
        self.voices = {
            name: Voice(
                entity_id=name,
                turns=tuple(own),
                may_be=tuple(sorted(likely[name], key=lambda one: (-one.score, one.entity_id))),
            )
            for name, own in sorted(of_voice.items())
        }

    def within(self, span: TimeSpan) -> list[tuple[TimeSpan, str]]:
        """Return the turns that overlap a span, each with its voice (empty if that is not known), in time order."""
        first, end = np.searchsorted(self._ends, span.start, side="right"), np.searchsorted(self._starts, span.end)
        return [turn for turn in self._turns[int(first) : int(end)] if turn[0].overlaps(span)]

    def of_line(self, span: TimeSpan) -> str:
        """Return the voice that says a line; empty if none or several are heard, or it is not known."""
        heard: defaultdict[str, float] = defaultdict(float)
        for turn, voice in self.within(span):
            heard[voice] += span.overlap(turn)
        voice = max((name for name in heard if name), key=lambda name: (heard[name], name), default="")
        if not voice or heard[voice] < _MOST * span.duration:
            return ""
        return voice if sum(heard.values()) - heard[voice] <= _OTHERS * span.duration else ""


def said_at_once(rows: pa.Table) -> frozenset[tuple[float, float, str]]:
    """Return start, end and text of the lines that overlap another one of their source. ``rows``: of ``speech``."""
    found: set[tuple[float, float, str]] = set()
    last: dict[str, tuple[float, float, str]] = {}
    columns = (rows.column(name).to_pylist() for name in ("source", "start", "end", "text"))
    for source, *line in sorted(zip(*columns, strict=True)):
        own = (line[0], line[1], line[2])
        before = last.get(source)
        if before is not None and before[1] - own[0] > _AT_ONCE:
            found |= {before, own}
        if before is None or own[1] > before[1]:
            last[source] = own
    return frozenset(found)
