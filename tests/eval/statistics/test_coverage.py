"""On simulated runs with a known effect the interval covers it as often as it says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.simulated_runs import Coverage, Scenario, coverage, simulate
from eval.statistics import Floats, Indices, Method, mean_interval

BINARY, UNEQUAL = Scenario(), Scenario(sizes="unequal")
SKEWED = Scenario(sizes="unequal", outcome="skewed")


def covered(scenario: Scenario, clusters: int, *, trials: int, method: Method = "expanded", seed: int = 2) -> Coverage:
    def interval(differences: Floats, videos: Indices, crossed: Sequence[Indices], seed: int) -> tuple[float, float]:
        found = mean_interval(
            differences.tolist(),
            videos.tolist(),
            seed=seed,
            draws=1_000,
            method=method,
            crossed=[levels.tolist() for levels in crossed],
        )
        assert found.low is not None and found.high is not None
        return found.low, found.high

    return coverage(scenario, clusters, interval, trials=trials, seed=seed)


@pytest.mark.parametrize("scenario", [BINARY, UNEQUAL], ids=lambda scenario: scenario.name)
def test_with_fifty_clusters_it_covers_in_95_percent_of_a_thousand_trials(scenario: Scenario) -> None:
    assert covered(scenario, 50, trials=1_000).covered == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("clusters", [5, 10, 20])
def test_with_fewer_clusters_it_stays_close_where_the_plain_percentile_interval_does_not(clusters: int) -> None:
    ours = covered(UNEQUAL, clusters, trials=500).covered
    plain = covered(UNEQUAL, clusters, trials=500, method="percentile").covered
    assert ours >= 0.925
    assert plain <= ours - 0.02


@pytest.mark.nightly
@pytest.mark.parametrize("clusters", [5, 10, 20, 50])
@pytest.mark.parametrize(
    "scenario", [BINARY, UNEQUAL, Scenario(outcome="graded", sizes="unequal"), SKEWED], ids=lambda one: one.name
)
def test_it_covers_for_every_kind_of_outcome_and_size(scenario: Scenario, clusters: int) -> None:
    assert 0.92 <= covered(scenario, clusters, trials=2_000).covered <= 0.985


@pytest.mark.nightly
def test_libraries_that_are_crossed_are_covered_and_those_that_are_left_out_are_not() -> None:
    libraries = Scenario(libraries=5)
    assert covered(libraries, 30, trials=500).covered >= 0.93

    def by_video(differences: Floats, videos: Indices, _: Sequence[Indices], seed: int) -> tuple[float, float]:
        found = mean_interval(differences.tolist(), videos.tolist(), seed=seed, draws=500)
        assert found.low is not None and found.high is not None
        return found.low, found.high

    assert coverage(libraries, 30, by_video, trials=500, seed=2).covered <= 0.9


@pytest.mark.parametrize("scenario", [BINARY, UNEQUAL, SKEWED, Scenario(libraries=3)], ids=lambda one: one.name)
def test_simulated_runs_have_the_effect_that_they_are_said_to_have(scenario: Scenario) -> None:
    random = np.random.default_rng(1)
    means = [simulate(scenario, 60, random).differences.mean() for _ in range(400)]
    assert np.mean(means) == pytest.approx(scenario.effect, abs=4 * np.std(means) / 20)
