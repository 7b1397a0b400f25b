"""The figures of the loop as a section of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.controller.instant import OPERATIONS, ROUNDS
from benchmarks.goals import ROUND_MS, verdict
from benchmarks.machine import machine

AT_ONCE = 32
SEGMENTS = 1_000
_MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """Seconds that were neither the model's nor the tools': before the first request, by round, after the last reply."""

    before: float
    rounds: list[float]
    after: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.before + sum(self.rounds) + self.after


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Everything that was measured: seconds and bytes."""

    alone: Sequence[Overhead]
    replays: Sequence[float]
    together: Mapping[str, float]
    memory: Mapping[str, float]
    sizes: Mapping[str, float]
    digest: float


def table(figures: Figures) -> str:
    """The text that is printed and written on the page."""
    alone, together, memory, sizes = figures.alone, figures.together, figures.memory, figures.sizes
    by_round = list(zip(*(item.rounds for item in alone), strict=True))
    medians = [median(values) * 1e3 for values in by_round]
    p95 = [float(np.percentile(values, 95)) * 1e3 for values in by_round]
    whole = median(item.total for item in alone) / (ROUNDS + 1) * 1e3
    lines = [
        "## The controller",
        "",
        f"Machine: {machine()}. {len(alone)} recorded episodes of `hier` with `hand_A`, {ROUNDS} rounds of "
        f"{len(OPERATIONS)} calls each and one with the answer.",
        "",
        "Milliseconds of a round that are neither the model's nor the tools', with everything recorded:",
        "",
        "| round | " + " | ".join(str(number) for number in range(1, ROUNDS + 1)) + " |",
        "| --- |" + " ---: |" * ROUNDS,
        "| median | " + " | ".join(f"{value:.1f}" for value in medians) + " |",
        "| p95 | " + " | ".join(f"{value:.1f}" for value in p95) + " |",
        "",
        "| beside the rounds | |",
        "| --- | ---: |",
        f"| before the first request | {median(item.before for item in alone) * 1e3:.1f} ms |",
        f"| after the last reply, with the synced record of the episode | {median(item.after for item in alone) * 1e3:.1f} ms |",
        f"| the digest of the world, which is operations on {SEGMENTS:,} segments and not in what follows | "
        f"{figures.digest * 1e3:.1f} ms |",
        f"| all of it, a round | {whole:.1f} ms |",
        f"| replay, a round | {median(figures.replays) * 1e3:.1f} ms |",
        f"| {AT_ONCE} episodes at once, a round of one of them: on the clock | {together['wall'] * 1e3:.1f} ms |",
        f"| the same: of the processor | {together['cpu'] * 1e3:.1f} ms |",
        f"| an episode on disk: its line, its exchanges | {sizes['line'] / _MIB:.2f} MiB, {sizes['exchanges'] / _MIB:.2f} MiB |",
        f"| memory of one episode at its most; of {AT_ONCE} at once | {memory['one'] / _MIB:.1f} MiB, "
        f"{memory['many'] / _MIB:.0f} MiB |",
        "",
        "Goals:",
        "",
        *goals(medians, p95, whole, together),
    ]
    return "\n".join(lines)


def goals(medians: Sequence[float], p95: Sequence[float], whole: float, together: Mapping[str, float]) -> list[str]:
    """A line a goal, with its verdict."""
    return [
        f"- At most {ROUND_MS:g} ms a round, as the median of the episodes: {_slowest(medians)}; "
        f"with the work before and after the rounds: {verdict(whole, ROUND_MS)} ({whole:.1f}).",
        f"- At most {ROUND_MS:g} ms a round at the 95th percentile of the episodes: {_slowest(p95)}.",
        f"- At most {ROUND_MS:g} ms a round on average with {AT_ONCE} episodes at once, of the processor: "
        f"{verdict(together['cpu'] * 1e3, ROUND_MS)} ({together['cpu'] * 1e3:.1f}); "
        f"{together['episodes']:.0f} of {AT_ONCE} were recorded whole.",
    ]


def _slowest(rounds: Sequence[float]) -> str:
    """The verdict on the slowest of the rounds, and which that is."""
    worst = max(rounds)
    return f"{verdict(worst, ROUND_MS)} (round {list(rounds).index(worst) + 1}: {worst:.1f})"
