"""Library arms: what stands beside an induced library in an experiment is a library like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tool_induction.admission.worlds import schema_worlds
from tool_induction.compiler.compiling import compile_document
from tool_induction.compiler.emit import openai_face
from tool_induction.domains.guard import Seen
from tool_induction.language.model import walk_steps
from tool_induction.libraries.arms.composites import composites_like
from tool_induction.libraries.arms.making import ARM_KINDS, make_arm
from tool_induction.library import Origin, ToolLibrary, freeze_library, load_library
from tool_induction.runtime.running import run_tool
from world_api.core.faults import ToolFault

DATE = "2026-02-03"
LIBRARIES = ("hand_A", "hand_B", "hand_C")


def made(kind: str, parent: str | ToolLibrary, folder: Path, **more: Any) -> ToolLibrary:
    library = parent if isinstance(parent, ToolLibrary) else load_library(parent)
    return make_arm(kind, library, folder, name=folder.name, date=DATE, **more)


def length(tool: Any) -> int:
    return sum(1 for _ in walk_steps(tool.tool.steps))


@pytest.mark.parametrize("kind", ARM_KINDS)
def test_an_arm_is_frozen_and_loads_like_any_library(kind: str, tmp_path: Path) -> None:
    arm = made(kind, "hand_A", tmp_path / kind)
    loaded = load_library(tmp_path / kind)
    parent = load_library("hand_A")
    assert (loaded.hash, loaded.manifest["arm"]) == (arm.hash, kind)
    assert loaded.manifest["of"] == {"name": "hand_A", "content_hash": parent.hash}
    assert loaded.manifest["lineage"][-1]["content_hash"] == parent.hash


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("seed", range(4))
def test_random_composites_are_as_many_as_long_and_as_dear(name: str, seed: int) -> None:
    tools = load_library(name).tools
    compiled = compile_document(composites_like(tools, seed=seed)).require()
    assert len(compiled) == len(tools)
    for composite, real in zip(compiled.values(), tools.values(), strict=True):
        assert length(composite) == length(real)
        assert composite.price.most.calls == real.price.most.calls


def test_random_composites_follow_from_the_seed_alone(tmp_path: Path) -> None:
    first, again, other = (
        made("random", "hand_B", tmp_path / name, seed=seed) for name, seed in (("one", 1), ("two", 1), ("three", 2))
    )
    assert first.hash == again.hash != other.hash
    assert first.manifest["seed"] == 1
    assert (tmp_path / "one" / "library.json").read_bytes() == (tmp_path / "two" / "library.json").read_bytes()


@pytest.mark.parametrize("name", LIBRARIES)
def test_random_composites_run_and_find_what_their_steps_find(name: str) -> None:
    compiled = compile_document(composites_like(load_library(name).tools, seed=3)).require()
    world = schema_worlds()["many"]
    for tool in compiled.values():
        given = {"video_id": world.video_id, "query": "a red kettle"}
        arguments = {item.name: given[item.name] for item in tool.tool.inputs}
        result = run_tool(compiled, tool.name, arguments, call=world, world=world)
        assert result["status"] in ("ok", "partial"), result
        assert result["calls"]["logical"] <= tool.price.most.calls


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_placebo_is_told_word_for_word_like_the_real_tool_and_finds_nothing(name: str, tmp_path: Path) -> None:
    real, placebo = load_library(name), made("placebo", name, tmp_path / "placebo")
    world = schema_worlds()["many"]
    for tool in placebo.tools.values():
        assert openai_face(tool, strict=False) == openai_face(real.tools[tool.name], strict=False)
        arguments = {item.name: 5 if item.type_name in ("Time", "number") else "x" for item in tool.tool.inputs}
        arguments |= {item.name: ["x", "y"] for item in tool.tool.inputs if item.type_name.startswith("list")}
        arguments = {key: value for key, value in arguments.items() if _required(tool, key)}
        result = run_tool(placebo.tools, tool.name, {**arguments, "video_id": world.video_id}, call=world, world=world)
        assert result["status"] == "empty", result
        assert result["evidence"] == []
        assert result["calls"]["logical"] == 0


def _required(tool: Any, name: str) -> bool:
    return any(item.name == name and item.required for item in tool.tool.inputs)


@pytest.mark.parametrize("kind", ["selected", "unselected", "hand_written", "own", "other"])
def test_a_label_leaves_the_tools_as_they_are(kind: str, tmp_path: Path) -> None:
    arm, parent = made(kind, "hand_A", tmp_path / kind), load_library("hand_A")
    assert arm.hash == parent.hash
    assert (arm.manifest["origin"], arm.manifest["domain"]) == (parent.manifest["origin"], parent.manifest["domain"])


def test_what_an_induction_saw_stays_known_of_its_arms_and_not_of_random_ones(tmp_path: Path) -> None:
    induction = {
        "examples_used": ["Who is it?"],
        "example_worlds": {"film": "0"},
        "log_sha256": "0",
        "files": {"a": "0"},
    }
    origin = Origin(how="induced", date=DATE, domain="A_locate_count", details={"induction": induction})
    induced = freeze_library(load_library("hand_A").tools, tmp_path / "induced", name="induced", origin=origin)
    seen = Seen.by(induced.manifest)
    assert seen.videos == {"film"}
    for kind in ("placebo", "own"):
        assert Seen.by(made(kind, induced, tmp_path / kind).manifest) == seen
    assert Seen.by(made("random", induced, tmp_path / "random").manifest) == Seen()


def test_an_arm_of_an_arm_is_refused(tmp_path: Path) -> None:
    arm = made("own", "hand_A", tmp_path / "own")
    with pytest.raises(ToolFault, match="already_an_arm"):
        made("placebo", arm, tmp_path / "placebo")
    assert not (tmp_path / "placebo").exists()


def test_the_command_makes_an_arm_and_says_what_it_is(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "arm"
    outcome = cli("tools", "arm", "random", "hand_A", "--seed", "7", "--out", str(out), "--json", store=None)
    told = json.loads(outcome.out)
    assert (outcome.status, told["arm"], told["of"]["name"]) == (0, "random", "hand_A")
    assert load_library(out).manifest["seed"] == 7
    assert cli("tools", "check", str(out), store=None).status == 0
    assert cli("tools", "arm", "random", "hand_A", "--out", str(out), store=None).status == 1
    unknown = cli("tools", "arm", "magic", "hand_A", "--out", str(tmp_path / "b"), "--json", store=None)
    assert json.loads(unknown.out)["error"]["code"] == "unknown_arm"
