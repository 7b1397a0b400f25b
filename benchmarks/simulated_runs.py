"""Simulated runs with a known effect: how often an interval covers it.

A run is two arms on the same questions of videos that are drawn from a population; the paired difference of a question is -1, 0 or 1
(``binary``), or any number (``graded``; ``skewed``: most videos show little, a few show much).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eval.statistics import Floats, Indices

Outcome = Literal["binary", "graded", "skewed"]

EFFECT = 0.08
_DISCORDANCE = 0.25
_QUESTIONS = 12  #: of a video, on average


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """How a run is drawn. ``sizes``: all videos with as many questions, or geometric numbers of them.

    ``libraries`` of which each has an effect of its own are crossed with all questions; 1: the effect is the same for all.
    """

    outcome: Outcome = "binary"
    sizes: Literal["equal", "unequal"] = "equal"
    libraries: int = 1
    effect: float = EFFECT

    @property
    def name(self) -> str:
        """In words."""
        crossed = f", {self.libraries} libraries" if self.libraries > 1 else ""
        return f"{self.outcome}, {self.sizes} sizes{crossed}"


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """The rows of one simulated run: paired differences, and the video and the library of each."""

    differences: Floats
    videos: Indices
    libraries: Indices


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How often the interval covered the truth, and how wide it was on average."""

    scenario: Scenario
    clusters: int
    trials: int
    covered: float
    width: float


#: Differences, their videos, the factors crossed with them, a seed -> the ends.
IntervalOf = Callable[[Floats, Indices, Sequence[Indices], int], tuple[float, float]]


def simulate(scenario: Scenario, clusters: int, random: np.random.Generator) -> Simulated:
    """One run over ``videos`` videos."""
    sizes = _sizes(scenario, clusters, random)
    shifts = random.normal(0, 0.06, size=scenario.libraries) if scenario.libraries > 1 else np.zeros(1)
    rows = int(sizes.sum())
    videos = np.tile(np.repeat(np.arange(clusters), sizes), scenario.libraries)
    libraries = np.repeat(np.arange(scenario.libraries), rows)
    means = scenario.effect + _of_videos(scenario, clusters, random)[videos] + shifts[libraries]
    differences = _binary(means, random) if scenario.outcome == "binary" else means + random.normal(0, 0.45, len(means))
    return Simulated(differences=differences, videos=videos, libraries=libraries)


def coverage(scenario: Scenario, clusters: int, interval: IntervalOf, *, trials: int, seed: int) -> Coverage:
    """The share of simulated runs in which an interval covers the effect of a scenario."""
    random = np.random.default_rng(seed)
    covered, widths = 0, 0.0
    for trial in range(trials):
        run = simulate(scenario, clusters, random)
        crossed = [run.libraries] if scenario.libraries > 1 else []
        low, high = interval(run.differences, run.videos, crossed, trial)
        covered += low <= scenario.effect <= high
        widths += high - low
    return Coverage(
        scenario=scenario, clusters=clusters, trials=trials, covered=covered / trials, width=widths / trials
    )


def _sizes(scenario: Scenario, clusters: int, random: np.random.Generator) -> Indices:
    if scenario.sizes == "equal":
        return np.full(clusters, _QUESTIONS)
    return random.geometric(1 / _QUESTIONS, size=clusters).astype(np.int64)


def _of_videos(scenario: Scenario, clusters: int, random: np.random.Generator) -> Floats:
    """What a video adds to the effect; zero on average."""
    if scenario.outcome == "skewed":
        return random.exponential(0.25, clusters) - 0.25
    if scenario.outcome == "graded":
        return random.normal(0, 0.2, clusters)
    # Of outcomes that differ, the share that favours the first arm is beta distributed; few videos are balanced.
    mean = (1 + scenario.effect / _DISCORDANCE) / 2
    shares = random.beta(1.25 * mean, 1.25 * (1 - mean), clusters)
    return _DISCORDANCE * (2 * shares - 1) - scenario.effect


def _binary(means: Floats, random: np.random.Generator) -> Floats:
    """1, 0 or -1 with these means; the share that is not 0 is that of discordant outcomes, or as much as a mean needs."""
    discordant = np.maximum(_DISCORDANCE, np.abs(means))
    drawn = random.random(len(means))
    wins = (discordant + means) / 2
    outcomes: Floats = np.where(drawn < wins, 1.0, np.where(drawn < discordant, -1.0, 0.0))
    return outcomes
