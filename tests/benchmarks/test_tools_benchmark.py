"""The benchmark of tools runs through and has a row for every kind of step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.tools.measuring import WORKERS, goals, main
from benchmarks.tools.plans import plans, slow_plans


def test_every_kind_has_a_row_and_every_goal_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"

    assert main(["--runs", "1", "--nap", "0.0001", "--page", str(page)]) == 0

    printed = capsys.readouterr().out
    assert printed.strip() in page.read_text(encoding="utf-8")
    for plan in plans():
        assert re.search(rf"^\| {re.escape(plan.name)} \|( -?\d+ \|){{3}}$", printed, re.MULTILINE), plan.name
    for name, _ in slow_plans():
        assert re.search(rf"^\| {re.escape(name)} \|( \d+\.\d \|){{{len(WORKERS)}}}$", printed, re.MULTILINE), name
    assert "| hand_A |" in printed
    assert len(re.findall(r": (met|missed) \(", printed)) == 4


def test_a_goal_is_met_up_to_its_limit() -> None:
    def verdicts(step: float, share: float, compiling: float, kind: str = "shipped") -> list[str]:
        cost = {"alone": 0.0, "shipped": 0.0, "traced": 0.0, "run": 0.0} | {kind: step}
        steps, waits = {"calls": cost, "looks": cost}, {"calls": False, "looks": True}
        lines = goals(steps, {"a loop": {n: share * n for n in WORKERS}}, {"hand_A": compiling}, waits)
        return [found for line in lines for found in re.findall(r": (met|missed) \(", line)]

    assert verdicts(50.0, 0.8, 5.0) == ["met"] * 4
    assert verdicts(50.1, 0.79, 5.1) == verdicts(50.1, 0.79, 5.1, "alone") == ["missed"] * 4
