"""Intervals of means and paired differences: those of SciPy on the same draws, and what holds for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from benchmarks.simulated_runs import Scenario, simulate
from eval.statistics import mean_interval
from world_api.core import EvalFault


def run(clusters: int, *, seed: int = 3, sizes: str = "unequal") -> tuple[list[float], list[int]]:
    found = simulate(Scenario(sizes="equal" if sizes == "equal" else "unequal"), clusters, np.random.default_rng(seed))
    return found.differences.tolist(), found.videos.tolist()


@pytest.mark.parametrize("clusters", [7, 30])
def test_the_percentile_interval_is_scipys_on_the_same_seed(clusters: int) -> None:
    values, videos = run(clusters)
    sums, sizes = np.bincount(videos, weights=values), np.bincount(videos)
    theirs = stats.bootstrap(
        (sums, sizes),
        lambda sums, sizes, axis: sums.sum(axis=axis) / sizes.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=2_000,
        method="percentile",
        rng=np.random.default_rng(17),
    ).confidence_interval
    ours = mean_interval(values, videos, seed=17, draws=2_000, method="percentile")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_interval_of_unclustered_values_is_scipys_within_the_error_of_drawing() -> None:
    values = np.random.default_rng(5).normal(0.1, 1, 80)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    ours = mean_interval(values.tolist(), list(range(80)), seed=2, draws=20_000, method="percentile")
    error = values.std() / np.sqrt(80) * 0.05
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=error)


def test_the_usual_interval_holds_scipys_bca_of_few_clusters_and_is_close_to_it_with_many() -> None:
    for clusters, slack in ((8, np.inf), (200, 0.15)):
        values, videos = run(clusters, sizes="equal")
        sums = np.bincount(videos, weights=values) / np.bincount(videos)
        theirs = stats.bootstrap((sums,), np.mean, n_resamples=5_000, method="BCa", rng=1).confidence_interval
        ours = mean_interval(values, videos, seed=1)
        assert ours.low is not None and ours.high is not None
        assert ours.high - ours.low > 0.95 * (theirs.high - theirs.low)
        assert ours.high - ours.low < (1 + slack) * (theirs.high - theirs.low)


def test_an_arm_against_itself_is_exactly_zero() -> None:
    _, videos = run(20)
    found = mean_interval([0.0] * len(videos), videos, seed=1)
    assert (found.estimate, found.low, found.high) == (0.0, 0.0, 0.0)
    assert found.caution == "no_spread"


def test_one_cluster_gives_no_interval_and_says_so() -> None:
    found = mean_interval([0.2, 0.4], ["a", "a"], seed=1)
    assert found.estimate == pytest.approx(0.3)
    assert (found.low, found.high, found.note) == (None, None, "one cluster only: no interval")


def test_few_clusters_are_said_to_be_few() -> None:
    values, videos = run(9)
    assert mean_interval(values, videos, seed=1).caution == "few_clusters"
    values, videos = run(10)
    assert mean_interval(values, videos, seed=1).caution is None


def test_the_order_of_rows_and_the_names_of_clusters_in_it_make_no_difference() -> None:
    values, videos = run(15)
    names = [f"video-{video:02d}" for video in videos]
    order = np.random.default_rng(1).permutation(len(values))
    again = mean_interval([values[i] for i in order], [names[i] for i in order], seed=4)
    assert again == mean_interval(values, names, seed=4)


def test_another_seed_draws_otherwise_and_the_same_draws_the_same() -> None:
    values, videos = run(12)
    assert mean_interval(values, videos, seed=1) == mean_interval(values, videos, seed=1)
    assert mean_interval(values, videos, seed=1).low != mean_interval(values, videos, seed=2).low


def test_an_interval_ends_where_a_mean_can_be() -> None:
    found = mean_interval([1.0, 1.0, 0.0], ["a", "b", "c"], seed=1, within=(0.0, 1.0))
    assert (found.low, found.high) == (0.0, 1.0)


def test_rows_that_repeat_each_video_do_not_narrow_the_interval() -> None:
    values, videos = run(20)
    once = mean_interval(values, videos, seed=1)
    thrice = mean_interval(values * 3, videos * 3, seed=1)
    assert (once.low, once.high) == pytest.approx((thrice.low, thrice.high))


def test_libraries_that_differ_widen_an_interval_that_crosses_them() -> None:
    found = simulate(Scenario(libraries=5), 40, np.random.default_rng(8))
    rows = found.differences.tolist(), found.videos.tolist()
    by_video = mean_interval(*rows, seed=1)
    crossed = mean_interval(*rows, seed=1, crossed=[found.libraries.tolist()])
    assert (
        crossed.high is not None and crossed.low is not None and by_video.high is not None and by_video.low is not None
    )
    assert crossed.high - crossed.low > 1.1 * (by_video.high - by_video.low)
    assert crossed.estimate == by_video.estimate


def test_a_factor_of_one_level_changes_only_the_way_of_counting() -> None:
    values, videos = run(25)
    plain = mean_interval(values, videos, seed=1)
    crossed = mean_interval(values, videos, seed=1, crossed=[[0] * len(values)])
    assert (crossed.low, crossed.high) == pytest.approx((plain.low, plain.high))


def test_drawing_in_portions_is_drawing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values, videos = run(30)
    whole = mean_interval(values, videos, seed=6, draws=1_000)
    monkeypatch.setattr("eval.statistics._MOST_NUMBERS", 700)
    assert mean_interval(values, videos, seed=6, draws=1_000) == whole


@pytest.mark.parametrize(
    ("values", "clusters", "code"),
    [([], [], "nothing_to_compare"), ([1.0], ["a", "b"], "bad_sample"), ([float("nan")], ["a"], "bad_sample")],
)
def test_what_is_no_sample_is_named(values: list[float], clusters: list[str], code: str) -> None:
    with pytest.raises(EvalFault) as caught:
        mean_interval(values, clusters, seed=1)
    assert caught.value.code == code


@given(
    st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.integers(0, 6)), min_size=1, max_size=40),
    st.integers(0, 5),
)
def test_an_interval_holds_its_estimate_and_turns_with_the_sign(rows: list[tuple[float, int]], seed: int) -> None:
    values, clusters = [row[0] for row in rows], [row[1] for row in rows]
    found = mean_interval(values, clusters, seed=seed, draws=200)
    turned = mean_interval([-value for value in values], clusters, seed=seed, draws=200)
    if found.low is None or found.high is None:
        assert len(set(clusters)) == 1
        return
    assert found.low - 1e-9 <= found.estimate <= found.high + 1e-9
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-9)
