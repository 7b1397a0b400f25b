"""Exact tests of pairs, sign flips of clusters, and families of tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from eval.statistics import holm, mcnemar, sign_flip
from world_api.core import EvalFault


@pytest.mark.parametrize(("ours", "theirs"), [(0, 0), (1, 0), (10, 5), (3, 17), (40, 40), (700, 640), (9_000, 9_300)])
def test_mcnemar_is_the_exact_binomial_test_of_the_discordant_pairs(ours: int, theirs: int) -> None:
    pairs = [(True, False)] * ours + [(False, True)] * theirs + [(True, True)] * 6 + [(False, False)] * 2
    tail = stats.binom.cdf(min(ours, theirs), ours + theirs, 0.5)
    assert mcnemar(pairs) == pytest.approx(min(1.0, 2 * tail), rel=1e-9)


def test_sign_flips_of_few_clusters_are_counted_out() -> None:
    # Of the eight ways to flip 3, 2 and 1 two reach 6 or more on either side.
    assert sign_flip([3, 2, 1], ["a", "b", "c"], seed=0) == pytest.approx(2 / 8)
    assert sign_flip([1, 1, 1, -1], ["a", "a", "b", "b"], seed=0) == pytest.approx(1.0)


def test_many_clusters_are_flipped_at_random_and_agree_with_counting_all() -> None:
    values = np.random.default_rng(4).normal(0.3, 1, 14)
    whole = sign_flip(values.tolist(), list(range(14)), seed=0)
    theirs = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=20_000, rng=1, vectorized=True
    ).pvalue
    assert whole == pytest.approx(theirs, abs=0.02)
    drawn = sign_flip([*values, 0.0], list(range(15)), seed=0, draws=20_000)
    assert drawn == pytest.approx(whole, abs=0.02)


def test_no_difference_is_no_evidence() -> None:
    assert sign_flip([0.0] * 40, list(range(40)), seed=1) == 1.0


def test_holm_adjusts_step_by_step_and_never_falls() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )
    assert holm({"only": 0.2}) == {"only": 0.2}
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_holm_refuses_what_is_no_probability() -> None:
    with pytest.raises(EvalFault, match="no probability"):
        holm({"a": float("nan")})
