"""The benchmark of operations runs through on tiny worlds and has a row for every operation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.operation_calls import CASES
from benchmarks.operations import goals, main
from world_api.operations import OPERATIONS


def test_every_operation_is_measured() -> None:
    assert {case.operation for case in CASES} == set(OPERATIONS)


@pytest.mark.nightly
def test_every_case_has_a_row_with_figures_for_every_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    arguments = [
        "--segments",
        "20",
        "40",
        "--calls",
        "2",
        "--cuts",
        "2",
        "--no-decode",
        "--store",
        str(tmp_path / "worlds"),
    ]
    assert main([*arguments, "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert printed.strip() in page.read_text(encoding="utf-8")
    for case in CASES:
        name = re.escape(f"`{case.operation}`{case.name.removeprefix(case.operation)}")
        assert re.search(rf"^\| {name} \|( \d+\.\d \|){{10}}$", printed, re.MULTILINE), case.name
    opened = re.findall(r"^\| \d+ segments \|.*?((?: \d+\.\d{3} \|){3}) \d+\.\d \| \d+ \|$", printed, re.MULTILINE)
    for row in opened:
        alone, metadata, scenes = (float(figure) for figure in row.replace("|", " ").split())
        assert alone <= metadata <= scenes
    assert len(opened) == 2
    for goal in ("p95 of every warm call", "The same at fresh causal cuts", "Open and first answers"):
        assert re.search(rf"^- {goal}.*: (met|missed) \(", printed, re.MULTILINE), goal
    assert len(re.findall(r"^\| \d+ segments \|", printed, re.MULTILINE)) == 2


def facts(warm: float, cut: float, scenes: float) -> dict[int, dict[str, Any]]:
    case = {"first": 1.0, "p50": 1.0, "p95": warm, "cut50": 1.0, "cut95": cut}
    return {9: {"segments": 9, "open": 0.1, "metadata": 0.2, "scenes": scenes, "cases": {"list_scenes": case}}}


@pytest.mark.parametrize(
    ("figures", "verdicts"),
    [
        ((20.0, 20.0, 1.0), ["met"] * 3),
        ((20.1, 9.0, 0.5), ["missed", "met", "met"]),
        ((1.0, 90.0, 1.1), ["met", "missed", "missed"]),
    ],
)
def test_each_goal_is_said_to_be_met_or_missed(figures: tuple[float, float, float], verdicts: list[str]) -> None:
    told = [line for line in goals(facts(*figures)) if line.startswith("- ")]
    assert [found for line in told for found in re.findall(r": (met|missed) \(", line)] == verdicts
