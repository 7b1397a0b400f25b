"""The power that a dry run prints is that of the contrast that is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from eval.statistics import ContrastPlan, mean_interval, power
from world_api.core import EvalFault

Random = np.random.Generator


def planned_run(plan: ContrastPlan, effect: float, random: Random) -> tuple[list[float], list[int]]:
    """Differences of -1, 0 and 1 with the plan's discordance, effect and correlation inside a video."""
    spread = plan.correlation * (plan.discordance - effect**2)
    favour = (1 + effect / plan.discordance) / 2
    shared = spread / (4 * plan.discordance**2 * favour * (1 - favour))  # correlation of the winners' labels
    many = 1 / shared - 1
    values: list[float] = []
    videos: list[int] = []
    for video, size in enumerate(plan.questions):
        wins = random.beta(many * favour, many * (1 - favour))
        differs = random.random(size) < plan.discordance
        values += np.where(differs, np.where(random.random(size) < wins, 1.0, -1.0), 0.0).tolist()
        videos += [video] * size
    return values, videos


@pytest.mark.parametrize(("questions", "effect"), [((12,) * 40, 0.07), ((3, 9, 24) * 8, 0.1)])
def test_the_contrast_finds_the_effect_as_often_as_its_power_says(questions: tuple[int, ...], effect: float) -> None:
    plan = ContrastPlan(questions=questions)
    random = np.random.default_rng(9)
    found, means = 0, []
    for trial in range(400):
        values, videos = planned_run(plan, effect, random)
        means.append(float(np.mean(values)))
        interval = mean_interval(values, videos, seed=trial, draws=500)
        assert interval.low is not None and interval.high is not None
        found += not interval.low <= 0 <= interval.high
    planned = power(questions, effect=effect)
    assert np.std(means) == pytest.approx(planned.standard_error, rel=0.12)
    said = planned.power
    assert said is not None
    assert found / 400 == pytest.approx(said, abs=0.08)


@pytest.mark.parametrize("videos", [3, 5, 10, 61])
@pytest.mark.parametrize("effect", [0.0, 0.1, 0.24])
def test_the_power_is_that_of_the_noncentral_t(videos: int, effect: float) -> None:
    found = power([1] * videos, effect=effect)
    critical, shift = float(stats.t.ppf(0.975, videos - 1)), effect / found.standard_error
    theirs = stats.nct.sf(critical, videos - 1, shift) + stats.nct.cdf(-critical, videos - 1, shift)
    assert found.power == pytest.approx(theirs, abs=1e-9)


def test_without_an_effect_the_error_of_the_test_is_left() -> None:
    assert power([10] * 30, effect=0.0).power == pytest.approx(0.05, abs=2e-3)


def test_more_videos_help_more_than_more_questions_and_seeds_help_a_little() -> None:
    base = power([10] * 20, effect=0.08)
    videos, questions = power([10] * 40, effect=0.08), power([20] * 20, effect=0.08)
    seeds = power([10] * 20, effect=0.08, repeats=3)
    assert base.power is not None and videos.power is not None
    assert questions.power is not None and seeds.power is not None
    assert base.power < questions.power < videos.power
    assert base.power < seeds.power


def test_the_detectable_difference_is_found_with_four_fifths() -> None:
    found = power([15] * 30, effect=0.05)
    assert found.detectable is not None
    assert power([15] * 30, effect=found.detectable).power == pytest.approx(0.8, abs=0.005)


def test_what_cannot_be_shown_is_said() -> None:
    assert power([3, 3, 3], effect=0.05).detectable is None
    assert "no difference" in power([3, 3, 3], effect=0.05).text
    one = power([40], effect=0.05)
    assert one.power is None and "one video" in one.text


@pytest.mark.parametrize("wrong", [{"questions": []}, {"questions": [0]}, {"discordance": 2.0}, {"effect": 0.5}])
def test_a_plan_that_is_none_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(EvalFault) as caught:
        power(**{"questions": [5, 5], "effect": 0.05, **wrong})
    assert caught.value.code == "bad_plan"
