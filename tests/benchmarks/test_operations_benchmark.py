"""The benchmark of operations runs through on tiny worlds and has a row for every operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.operation_calls import CASES
from benchmarks.operations import main
from world_api.operations import OPERATIONS


def test_every_operation_is_measured() -> None:
    assert {case.operation for case in CASES} == set(OPERATIONS)


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
    assert len(re.findall(r"^\| \d+ segments \|", printed, re.MULTILINE)) == 2
