"""How often intervals cover a known effect, with few videos and many: the table of docs/scoring.md.

Run: ``python -m benchmarks.interval_coverage [TRIALS]`` (1,000 if not said: a minute; the page's table took 10,000).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.simulated_runs import IntervalOf, Scenario, coverage
from eval.statistics import Floats, Indices, Method, mean_interval

SCENARIOS = (
    Scenario(),
    Scenario(sizes="unequal"),
    Scenario(outcome="graded", sizes="unequal"),
    Scenario(outcome="skewed", sizes="unequal"),
)
CLUSTERS = (3, 5, 10, 20, 50)
_DRAWS = 1_500


def interval_by(method: Method) -> IntervalOf:
    """The ends of an interval, made by this method."""

    def ends(differences: Floats, videos: Indices, crossed: Sequence[Indices], seed: int) -> tuple[float, float]:
        found = mean_interval(
            differences.tolist(),
            videos.tolist(),
            seed=seed,
            draws=_DRAWS,
            method=method,
            crossed=[levels.tolist() for levels in crossed],
        )
        if found.low is None or found.high is None:
            raise ValueError("a scenario has at least two videos")
        return found.low, found.high

    return ends


def main(trials: int) -> None:
    """Print a row a scenario: coverage in percent and mean width of both methods."""
    for scenario in SCENARIOS:
        for clusters in CLUSTERS:
            ours, plain = (
                coverage(scenario, clusters, interval_by(method), trials=trials, seed=5)
                for method in ("expanded", "percentile")
            )
            print(
                f"{scenario.name:26} {clusters:3} clusters: {100 * ours.covered:5.1f} % (width {ours.width:.3f}), "
                f"percentile {100 * plain.covered:5.1f} % (width {plain.width:.3f})",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
