"""The page on systems says what there is, and its example runs."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
import types
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from controller import Journal, Question, answer_recorded, build_system, replay_recorded, system_names
from controller.systems import ENTRY_POINT_GROUP, LoopSystem
from tests.support.systems import data_in, entry_points_of
from tool_induction.curation import ARM_KINDS
from world_api.api import open_session

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "controller.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Systems\n")[1].split("\n## ")[0]


def test_the_table_names_every_system() -> None:
    table = SECTION.split("| system | options |")[0]
    assert tuple(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)) == system_names()


def test_every_option_is_told_with_its_default(context: Any) -> None:
    table = SECTION.split("| system | options |")[1].split("\n\n")[0]
    for name in system_names():
        system = build_system(name, context())
        assert isinstance(system, LoopSystem)
        for option, default in system.options.model_dump(mode="json").items():
            assert f"`{option}`" in table, (name, option)
            if isinstance(default, int) and not isinstance(default, bool):
                assert f"`{option}` ({default}" in table, (name, option, default)


def test_every_kind_of_arm_is_told() -> None:
    arms = SECTION.split("### Library arms")[1].split("###")[0]
    assert set(ARM_KINDS) <= set(re.findall(r"`(\w+)`", arms))


def test_the_example_of_a_system_of_ones_own_runs_and_replays(
    context: Any, film_store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml, python = (re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL) for kind in ("toml", "python"))
    [(name, value)] = tomllib.loads(toml[0])["project"]["entry-points"][ENTRY_POINT_GROUP].items()
    module = types.ModuleType(value.split(":")[0])
    exec(compile(python[0], "example", "exec"), module.__dict__)  # noqa: S102 - the page is ours
    monkeypatch.setitem(sys.modules, "their_package", types.ModuleType("their_package"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(
        metadata,
        "entry_points",
        entry_points_of(metadata.EntryPoint(name=name, value=value, group=ENTRY_POINT_GROUP)),
    )

    assert name in system_names()
    store = film_store()
    session = open_session(store, "made", name=None)
    given = context()
    assert build_system(name, given).answer(Question(text="What is said?"), session).answer == "In the room."
    assert "blue folder" in str(data_in(given.model.requests[0]))
    journal = Journal(tmp_path / "records")
    _, entry = answer_recorded(Question(text="What?"), session, system=name, context=context(), journal=journal)
    shutil.rmtree(store)
    assert replay_recorded(journal, entry).identical
