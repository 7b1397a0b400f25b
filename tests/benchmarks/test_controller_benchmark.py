"""The benchmark of the controller takes off what is not the loop's, and says of its figures what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.controller import measuring
from benchmarks.controller.instant import ROUNDS, Times
from benchmarks.controller.measuring import main, overhead
from benchmarks.controller.table import AT_ONCE, Figures, Overhead, goals, table
from benchmarks.goals import ROUND_MS


def row(text: str, name: str) -> list[float]:
    """The figures of a row of the table of rounds."""
    [found] = re.findall(rf"^\| {name} \|((?: \d+\.\d \|)+)$", text, re.MULTILINE)
    return [float(figure) for figure in found.replace("|", " ").split()]


def verdicts(lines: list[str]) -> list[str]:
    return [found for line in lines for found in re.findall(r": (met|missed) \(", line)]


def goal_figures(text: str) -> list[tuple[str, float]]:
    """Each verdict with the figure it is about."""
    goals_told = text.partition("Goals:")[2]
    found = re.findall(r": (met|missed) \((?:round \d+: )?(\d+\.\d)\)", goals_told)
    return [(said, float(figure)) for said, figure in found]


@pytest.mark.nightly
def test_what_is_printed_is_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Figures] = []

    def keeping(figures: Figures) -> str:
        kept.append(figures)
        return table(figures)

    monkeypatch.setattr(measuring, "table", keeping)
    page = tmp_path / "page.md"
    assert main(["--runs", "1", "--segments", "40", "--page", str(page)]) == 0

    printed = capsys.readouterr().out
    assert printed.strip() in page.read_text(encoding="utf-8")
    [figures] = kept
    [alone] = figures.alone
    assert len(alone.rounds) == ROUNDS
    assert min(alone.before, *alone.rounds, alone.after, figures.together["cpu"], *figures.replays) > 0
    # Of one episode the median and the 95th percentile are the episode.
    for name in ("median", "p95"):
        assert row(printed, name) == [float(f"{seconds * 1e3:.1f}") for seconds in alone.rounds]
    slowest, whole = max(alone.rounds) * 1e3, alone.total / (ROUNDS + 1) * 1e3
    measured = [slowest, whole, slowest, figures.together["cpu"] * 1e3]
    assert goal_figures(printed) == [
        ("met" if value <= ROUND_MS else "missed", float(f"{value:.1f}")) for value in measured
    ]
    assert figures.together["episodes"] == AT_ONCE
    assert f"{AT_ONCE} of {AT_ONCE} were recorded whole" in printed


def test_the_time_of_model_and_tools_is_taken_off() -> None:
    times = Times(asked=[1.0, 4.0, 9.0], answered=[1.5, 6.0, 9.5], tools=[2.0, 2.5, 0.0])
    measured = overhead(times, began=0.75, ended=10.0)
    assert measured == Overhead(before=0.25, rounds=[0.5, 0.5], after=0.5)
    assert measured.total == 1.75


def test_two_slow_episodes_in_twenty_show_at_the_95th_percentile_and_not_in_the_median() -> None:
    def episode(slow: float) -> Overhead:
        return Overhead(before=0.0, rounds=[0.001] * (ROUNDS - 1) + [slow], after=0.0)

    figures = Figures(
        alone=[episode(0.001)] * 18 + [episode(0.1)] * 2,
        replays=[0.001],
        together={"wall": 0.001, "cpu": 0.002, "episodes": 32},
        memory={"one": 1.0, "many": 1.0},
        sizes={"line": 1.0, "exchanges": 1.0},
        digest=0.001,
    )
    text = table(figures)
    assert (row(text, "median")[-1], row(text, "p95")[-1]) == (1.0, 100.0)
    assert goal_figures(text) == [("met", 1.0), ("met", 0.9), ("missed", 100.0), ("met", 2.0)]
    assert f"(round {ROUNDS}: 100.0)" in text


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ((5.0, 5.0, 5.0, 5.0), ["met"] * 4),
        ((5.1, 5.0, 5.0, 5.0), ["missed", "met", "met", "met"]),
        ((5.0, 5.1, 5.0, 5.0), ["met", "missed", "met", "met"]),
        ((5.0, 5.0, 5.1, 5.0), ["met", "met", "missed", "met"]),
        ((5.0, 5.0, 5.0, 5.1), ["met", "met", "met", "missed"]),
    ],
)
def test_each_goal_is_met_up_to_its_limit(figures: tuple[float, float, float, float], said: list[str]) -> None:
    middle, whole, high, together = figures
    lines = goals([1.0, middle], [1.0, high], whole, {"cpu": together / 1e3, "episodes": 32})
    assert verdicts(lines) == said
