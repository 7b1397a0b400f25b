"""The page on the loop tells every way in which an episode ends, and its example runs."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, get_args

from controller.answers import KINDS
from controller.episode import Budget, Limit, Outcome
from controller.messages import Problem

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "controller.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## The loop\n")[1].split("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, the marks of code left out."""
    lines = SECTION.split(f"### {heading}\n")[1].split("\n### ")[0].splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table]


def test_every_kind_of_answer_is_told() -> None:
    assert tuple(row[0] for row in rows("Typed answers")) == KINDS


def test_every_limit_is_told_with_its_default() -> None:
    told = {row[0].split(" ")[0]: row[0].split("(")[1].rstrip(")").replace(",", "") for row in rows("Budgets")}
    usual = dataclasses.asdict(Budget())
    assert told.keys() == {*get_args(Limit), "window"}
    for name, default in told.items():
        assert usual[name] == (None if default == "none" else float(default))


def test_every_outcome_and_every_limit_that_forces_one_is_told() -> None:
    told = rows("Outcomes")
    assert {row[0] for row in told} == set(get_args(Outcome))
    forced = {reason for row in told if row[0] == "forced" for reason in row[1].split(", ")}
    assert forced == {*get_args(Limit), "window", "malformed_replies"}


def test_every_slip_is_told() -> None:
    told = SECTION.split("Slips are counted by name")[1].split("Arguments are never")[0]
    assert set(re.findall(r"`([a-z_]+)`", told)) == set(get_args(Problem))


def test_the_example_runs(open_made: Any, monkeypatch: Any) -> None:
    import world_api

    monkeypatch.setattr(world_api, "open_session", lambda *_, **__: open_made())
    [code] = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    made: dict[str, Any] = {"store": None}
    exec(compile(code, "example", "exec"), made)  # noqa: S102 - the page is ours
    assert made["episode"].outcome == "submitted"
    assert isinstance(made["episode"].value, int)
