"""The imagined film behind a schema world: its moments, its words, and choices that depend on nothing but a seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from world_api.core.spans import TimeSpan

VIDEO_ID = "film"
#: what is said and seen in the film when nobody gives other words
WORDS = ("a red kettle", "two people talking", "the door opens", "a dog", "somebody writes", "rain on a window")
_SPACING = 10.0  #: seconds from one moment to the next
_MOMENTS = 200
#: seconds that moments of a crowded film last, at least and at most
_LENGTHS = ((0.2, 2.0), (2.0, 8.0), (2.0, 8.0), (8.0, 30.0), (30.0, 150.0))
_REACH = 15  #: a moment of a crowded film may last until that many moments later
_WORD = 2**64 - 1


def draw(*parts: object) -> int:
    """A whole number that looks random and depends on the parts alone, on every machine."""
    text = "\x1f".join(map(repr, parts))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def mixed(drawn: int, place: int) -> int:
    """Another such number for each place, cheaply (the finaliser of SplitMix64, Steele and others, 2014)."""
    number = (drawn + place * 0x9E3779B97F4A7C15) & _WORD
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _WORD
    return number ^ (number >> 31)


@lru_cache(maxsize=2 * _MOMENTS)
def _span(seed: int, place: int) -> TimeSpan:
    start = place * _SPACING + draw(seed, "start", place) % 30 / 10
    return TimeSpan(start=round(start, 3), end=round(start + 2 + draw(seed, "length", place) % 40 / 10, 3))


@lru_cache(maxsize=16 * _MOMENTS)
def _crowded_span(seed: int, place: int) -> TimeSpan:
    start = _span(seed, place).start
    shortest, longest = _LENGTHS[draw(seed, "kind of length", place) % len(_LENGTHS)]
    length = shortest + (longest - shortest) * (draw(seed, "length", place) % 1000) / 1000
    return TimeSpan(start=start, end=round(start + length, 3))


@dataclass(frozen=True, kw_only=True)
class Film:
    """A film of ``moments`` numbered stretches; ``ends`` is where it, or its visible part, ends.

    They are a few seconds long and do not overlap, except in a ``crowded`` film: there some are very short and some
    last minutes, neighbours overlap or touch, and one thing is told more than once.
    """

    words: tuple[str, ...] = WORDS
    seed: int = 0
    moments: int = _MOMENTS
    ends: float = _MOMENTS * _SPACING
    crowded: bool = False

    def span(self, place: int) -> TimeSpan:
        """The stretch of a moment, in seconds."""
        return _crowded_span(self.seed, place) if self.crowded else _span(self.seed, place)

    def place(self, time: float) -> int:
        """The number of the moment at, or before, a time."""
        return max(0, min(self.moments - 1, int(time // _SPACING)))

    def within(self, bounds: TimeSpan | None) -> list[int]:
        """The numbers of the moments that are over when the film ends, and that overlap ``bounds``."""
        first, last = (0, self.moments - 1) if bounds is None else (self.place(bounds.start), self.place(bounds.end))
        if self.crowded:
            first = max(0, first - _REACH)
        spans = ((place, self.span(place)) for place in range(first, last + 1))
        return [place for place, span in spans if span.end <= self.ends and (bounds is None or span.overlaps(bounds))]

    def text(self, name: str, place: int, asked: tuple[str, ...]) -> str:
        """A text of a field at a moment: now and then exactly a word, else a sentence around one.

        What was asked for is a word too, so that conditions on words hold for some moments and not for others.
        """
        words = tuple(dict.fromkeys((*asked, *self.words)))
        word = words[(place + draw(self.seed, name) % 7) % len(words)]
        return word if place % 3 == 0 else f"{word}, as {name} of moment {place} has it"
