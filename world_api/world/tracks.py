"""Tracks and entities, as the sightings and links make them that a causal cut lets through.

A track is a chain of sightings, joined over clip joins by ``stitch`` links. An entity is a track; tracks that merely look
alike stay apart (their links say how alike), since a wrong merge cannot be seen afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from world_api.core.boxes import Box
from world_api.core.colours import COLOURS
from world_api.core.lexicon import CATEGORIES
from world_api.core.spans import TimeSpan
from world_api.world.arrays.joining import BREAK
from world_api.world.once import made_once

Side = Literal["left", "top", "right", "bottom"]
Size = Literal["small", "medium", "large"]

#: Shares of the picture from which a box is large, and under which it is small.
LARGE_SHARE, SMALL_SHARE = 0.15, 0.02
#: A box whose edge is within this share of the picture's width or height from a side is at that side.
AT_SIDE = 0.04
#: Seconds at an appearance's ends over which the side is looked for.
SIDE_SECONDS = 0.7
SIDES: tuple[Side, ...] = ("left", "top", "right", "bottom")


@dataclass(frozen=True, kw_only=True)
class Track:
    """One thing followed through time.

    ``appearances``: the unbroken stretches in which it is seen; they hold all of ``times`` (n, seconds, rising), ``boxes``
    (n x 4 pixels), ``confidences`` (n) and ``slivers`` (n: cut off by the picture's edge, so that little of it shows).
    ``followed_times`` and ``followed_boxes`` are the same with the slivers before and after each appearance, which tell the
    side it came from or went to. ``picture`` is its width and height. ``colours`` are the words noted in enough sightings, the
    one that covers most first.
    """

    track_id: str
    category: str
    colours: tuple[str, ...]
    appearances: tuple[TimeSpan, ...]
    times: NDArray[np.float64]
    boxes: NDArray[np.float32]
    confidences: NDArray[np.float32]
    slivers: NDArray[np.bool_]
    followed_times: NDArray[np.float64]
    followed_boxes: NDArray[np.float32]
    producer: str
    picture: tuple[int, int]

    @property
    def entity_id(self) -> str:
        """The build-time identity: named after the earliest track of its cluster."""
        return f"ent_{self.track_id}"

    @property
    def hint(self) -> str:
        """What it looks like, in words: ``person in black and blue``."""
        return hint_in_words(self.category, self.colours)

    @property
    def hint_in_chinese(self) -> str:
        """The same for Chinese search: ``黑色 蓝色 人``."""
        return hint_in_chinese(self.category, self.colours)

    @made_once
    def confidence(self) -> float:
        """Mean confidence of the sightings, 0 to 1."""
        return round(float(self.confidences.mean()), 2)

    @made_once
    def size(self) -> Size:
        """``large``, ``medium`` or ``small``: its usual box's share of the picture."""
        sides = np.median(self.boxes[:, 2:] - self.boxes[:, :2], axis=0)
        return size_in_words(float(sides[0] * sides[1]), *self.picture)

    def enters_from(self, appearance: TimeSpan) -> Side | None:
        """The side of the picture from which it came into one of its appearances; None where it came from none."""
        run = self._run(appearance)
        early = self.followed_times[run] <= self.followed_times[run.start] + SIDE_SECONDS
        return self._side(run, self.followed_boxes[run][early])

    def leaves_to(self, appearance: TimeSpan) -> Side | None:
        """The side of the picture to which it went out of one of its appearances; None for none."""
        run = self._run(appearance)
        late = self.followed_times[run] >= self.followed_times[run.stop - 1] - SIDE_SECONDS
        return self._side(run, self.followed_boxes[run][late])

    def _run(self, appearance: TimeSpan) -> slice:
        """The sightings of an appearance with the slivers at its ends, as a slice into what was followed."""
        breaks = np.flatnonzero(np.diff(self.followed_times) > BREAK) + 1
        bounds = [0, *breaks.tolist(), len(self.followed_times)]
        inside = int(np.argmin(np.abs(self.followed_times - appearance.start)))
        return next(slice(a, b) for a, b in pairwise(bounds) if a <= inside < b)

    def _side(self, run: slice, boxes: NDArray[np.float32]) -> Side | None:
        """The side that boxes at an end of a run touch. A side that it touches most of the time says nothing."""
        sides = np.array([*self.picture, *self.picture], dtype=np.float32)

        def gaps(to: NDArray[np.float32]) -> NDArray[np.float32]:
            found = np.concatenate([to[:, :2], sides[2:] - to[:, 2:]], axis=1)
            return (found / sides).astype(np.float32, copy=False)

        nearest = gaps(boxes).min(axis=0)
        usually = (gaps(self.followed_boxes[run]) <= AT_SIDE).mean(axis=0) >= 0.5
        nearest[usually] = np.inf
        best = int(nearest.argmin())
        return SIDES[best] if nearest[best] <= AT_SIDE else None

    @property
    def span(self) -> TimeSpan:
        """From the start of the first to the end of the last appearance."""
        return TimeSpan(start=self.appearances[0].start, end=self.appearances[-1].end)

    def between(self, span: TimeSpan) -> slice:
        """The sightings inside a half-open stretch, as a slice into the arrays."""
        first, end = np.searchsorted(self.times, [span.start, span.end])
        return slice(int(first), int(end))

    def during(self, appearance: TimeSpan) -> slice:
        """The sightings of one of its own appearances, which ends with the last of them."""
        first = np.searchsorted(self.times, appearance.start)
        end = np.searchsorted(self.times, appearance.end, side="right")
        return slice(int(first), int(end))

    def nearest(self, time: float) -> int:
        """The position of the sighting nearest to a time."""
        return int(np.argmin(np.abs(self.times - time)))

    def box(self, position: int) -> Box:
        """The box of one sighting."""
        x1, y1, x2, y2 = (float(value) for value in self.boxes[position])
        return Box(x1=x1, y1=y1, x2=x2, y2=y2)

    def appearance_of(self, position: int) -> TimeSpan:
        """The appearance that a sighting belongs to."""
        time = float(self.times[position])
        return next(span for span in reversed(self.appearances) if span.start <= time)

    def appearance_at(self, time: float) -> TimeSpan | None:
        """The appearance that holds a time, or None."""
        return next((span for span in self.appearances if span.start - 1e-9 <= time <= span.end + 1e-9), None)


def size_in_words(area: float, width: int, height: int) -> Size:
    """``large``, ``medium`` or ``small``: an area's share (pixels) of a picture of that size."""
    share = area / max(width * height, 1)
    return "large" if share >= LARGE_SHARE else "small" if share < SMALL_SHARE else "medium"


def hint_in_words(category: str, colours: Sequence[str]) -> str:
    """What something looks like: ``person in black and blue``."""
    kind = category.replace("_", " ")
    return f"{kind} in {_and(colours)}" if colours else kind


def hint_in_chinese(category: str, colours: Sequence[str]) -> str:
    """The same for Chinese search: ``黑色 蓝色 人``."""
    named = [COLOURS[colour][1][0] for colour in colours if colour in COLOURS]
    kind = CATEGORIES.get(category)
    return " ".join([*named, *(kind[1][:1] if kind else ())])


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}"
