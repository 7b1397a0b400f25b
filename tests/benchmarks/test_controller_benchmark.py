"""The benchmark of the controller runs through, and its goals have verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.controller.instant import ROUNDS
from benchmarks.controller.measuring import main
from benchmarks.controller.table import goals


def test_every_round_has_a_figure_and_every_goal_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"

    assert main(["--runs", "1", "--segments", "40", "--page", str(page)]) == 0

    printed = capsys.readouterr().out
    assert printed.strip() in page.read_text(encoding="utf-8")
    for row in ("median", "p95"):
        assert re.search(rf"^\| {row} \|( \d+\.\d \|){{{ROUNDS}}}$", printed, re.MULTILINE), row
    assert "32 of 32 were recorded whole" in printed
    assert len(re.findall(r": (met|missed) \(", printed)) == 3


def test_a_goal_is_met_up_to_its_limit() -> None:
    def verdicts(worst: float, whole: float, together: float) -> list[str]:
        lines = goals([1.0, worst], whole, {"cpu": together / 1e3, "episodes": 32})
        return [found for line in lines for found in re.findall(r": (met|missed) \(", line)]

    assert verdicts(5.0, 5.0, 5.0) == ["met"] * 3
    assert verdicts(5.1, 5.1, 5.1) == ["missed"] * 3
