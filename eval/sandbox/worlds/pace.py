"""The time of a made world: hours of scenes of varied lengths, cut into shots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

HOUR = 3600.0
#: Median lengths and spreads (of the logarithm), in seconds.
_SCENE, _SCENE_SPREAD, _SHOT, _SHOT_SPREAD = 75.0, 0.8, 13.0, 0.9
_SHORTEST_SCENE, _SHORTEST_SHOT = 8.0, 1.0
PLACES = 64  #: kinds of surroundings that scenes play in


@dataclass(frozen=True, kw_only=True)
class Hour:
    """One hour (or what is left of the film): its shots, and the scene, place and language of each.

    ``starts`` and ``ends`` (n shots, seconds of the film), ``scenes`` (n: number within the hour),
    ``places`` and ``languages`` (one a scene), ``talking`` (one a scene).
    """

    number: int
    starts: Times
    ends: Times
    scenes: NDArray[np.int64]
    places: NDArray[np.int64]
    languages: NDArray[np.int64]
    talking: NDArray[np.bool_]

    @property
    def start(self) -> float:
        """Where it begins, in seconds."""
        return float(self.starts[0])

    @property
    def end(self) -> float:
        """Where it ends, in seconds."""
        return float(self.ends[-1])


def hour(rng: np.random.Generator, number: int, duration: float, shares: tuple[float, ...]) -> Hour:
    """One hour of a film that lasts ``duration`` seconds; ``shares`` of the languages."""
    first, last = number * HOUR, min(duration, (number + 1) * HOUR)
    scene_starts = _starts(rng, first, last, _SCENE, _SCENE_SPREAD, _SHORTEST_SCENE)
    scene_ends = [*scene_starts[1:], last]
    starts, scenes = [], []
    for index, (a, b) in enumerate(zip(scene_starts, scene_ends, strict=True)):
        shots = _starts(rng, a, b, _SHOT, _SHOT_SPREAD, _SHORTEST_SHOT)
        starts += shots
        scenes += [index] * len(shots)
    count = len(scene_starts)
    return Hour(
        number=number,
        starts=np.array(starts),
        ends=np.array([*starts[1:], last]),
        scenes=np.array(scenes),
        places=rng.integers(0, PLACES, count),
        languages=rng.choice(len(shares), count, p=shares),
        talking=rng.random(count) < 0.65,
    )


def _starts(
    rng: np.random.Generator, first: float, last: float, median: float, spread: float, shortest: float
) -> list[float]:
    count = max(8, int(4 * (last - first) / median))
    lengths = np.maximum(shortest, median * np.exp(spread * rng.standard_normal(count)))
    starts = first + np.concatenate([[0.0], np.cumsum(lengths)])
    kept: list[float] = np.round(starts[starts < last - shortest], 3).tolist()
    return kept or [first]
