"""Kendall's tau, Cohen's kappa and correlations, against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from eval.statistics import cohen_kappa, correlation, kendall_tau
from world_api.core import EvalFault


@given(st.permutations(list(range(6))), st.permutations(list(range(6))))
def test_tau_of_rankings_without_ties_is_scipys(first: list[int], second: list[int]) -> None:
    assert kendall_tau(first, second) == pytest.approx(stats.kendalltau(first, second).statistic)


def test_tau_counts_ties_as_neither() -> None:
    assert kendall_tau([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / 3)
    assert kendall_tau([1], [1]) == 1.0


def test_kappa_is_what_cohen_computes_by_hand() -> None:
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    found = cohen_kappa(first, second, seed=0)
    assert found.agreement == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)  # (0.7 - 0.5) / (1 - 0.5)
    assert found.low is not None and found.high is not None
    error = 0.13  # Fleiss, Cohen and Everitt's large sample error of this table
    assert (found.low, found.high) == pytest.approx((0.4 - 1.96 * error, 0.4 + 1.96 * error), abs=0.04)


def test_kappa_of_more_than_two_names_and_of_perfect_agreement() -> None:
    assert cohen_kappa(list("abcabc"), list("abcabc"), seed=0).kappa == 1.0
    assert cohen_kappa(list("aab"), list("bba"), seed=0).kappa == pytest.approx((0 - 4 / 9) / (1 - 4 / 9))


def test_kappa_of_raters_who_say_one_thing_only_is_unknown() -> None:
    found = cohen_kappa([True] * 4, [True] * 4, seed=0)
    assert (found.kappa, found.low, found.agreement) == (None, None, 1.0)


def test_raters_of_nothing_are_refused() -> None:
    with pytest.raises(EvalFault):
        cohen_kappa([], [], seed=0)


def test_correlation_is_pearsons_and_groups_take_their_means_away() -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(size=50), random.normal(size=50)
    assert correlation(x.tolist(), y.tolist()) == pytest.approx(stats.pearsonr(x, y).statistic)
    groups = [0] * 25 + [1] * 25
    shifted = (x + 5 * np.array(groups)).tolist(), (y + 5 * np.array(groups)).tolist()
    left = correlation(*shifted, groups=groups)
    assert left is not None and abs(left) < 0.5 < (correlation(*shifted) or 0)
    assert correlation([1.0, 1.0], [0.0, 2.0]) is None
