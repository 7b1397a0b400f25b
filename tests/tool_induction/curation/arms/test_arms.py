"""Library arms: what stands beside an induced library in an experiment is a library like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tool_induction import Origin, ToolLibrary, compile_document, freeze_library, load_library, run_tool
from tool_induction.admission import schema_worlds
from tool_induction.compiler import openai_declaration
from tool_induction.curation import ARM_KINDS, composites_like, make_arm, placebo_of
from tool_induction.domains import Seen
from tool_induction.language import walk_steps
from world_api.core import ToolFault

DATE = "2026-02-03"
MAX_STEPS = 60  #: of one block, as docs/tool-language-reference.md says
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


def call(api: str, save_as: str, *, over: str | None = None, most: int = 0, **params: Any) -> dict[str, Any]:
    loop = {"loop_over": over, "max_items": most} if over else {}
    params = {"video_id": "{{ video_id }}", **params}
    return {"type": "call_world_api", "api": api, "params": params, "save_as": save_as, **loop}


SPAN = {"start_time": "{{ item.start_time }}", "end_time": "{{ item.end_time }}"}
SEARCH = call("search_segments_by_text", "hits", query="{{ query }}", top_k=20)


def tool(name: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """A tool that gives what its last step binds."""
    return {
        "tool_name": name,
        "description": f"Does {name.replace('_', ' ')} for what is looked for.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"found": {"type": "list", "from": f"{{{{ {steps[-1]['save_as']} }}}}"}},
        "steps": list(steps),
    }


JUDGE = {"type": "judge", "inputs": "hits", "question": "Is it so?", "answers": ["yes", "no"], "max_items": 8}
#: Tools that have a model look, and one that has it judge.
DEAR = [
    tool("look_closely", SEARCH, call("inspect_segment", "seen", over="hits", most=10, question="{{ query }}", **SPAN)),
    tool(
        "read_then_look",
        call("scan_segments", "hits", query="{{ query }}"),
        call("read_transcript", "lines", over="hits", most=4, **SPAN),
        call("describe_segment", "told", over="hits", most=7, **SPAN),
        call("inspect_segment", "seen", over="hits", most=3, question="{{ query }}", **SPAN),
    ),
    tool("look_at_actions", SEARCH, call("recognize_actions", "done", over="hits", most=20, **SPAN)),
    tool("judge_hits", SEARCH, JUDGE | {"save_as": "judged"}),
]


def dear(tmp_path: Path) -> ToolLibrary:
    compiled = compile_document({"tools": DEAR}, allow_judge=True, groups={"inspect"}).require()
    origin = Origin(how="hand-written", date=DATE)
    freeze_library(compiled, tmp_path / "dear", name="dear", origin=origin)
    return load_library(tmp_path / "dear", allow_judge=True, groups={"inspect"})


#: How many times another each part of a price may be, one more added to both, to seconds a hundredth.
NEAR = 1.1


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("groups", [frozenset[str](), frozenset({"inspect"})])
@pytest.mark.parametrize("seed", range(2))
def test_random_composites_are_as_many_as_long_and_as_dear_in_every_part(
    name: str, groups: frozenset[str], seed: int
) -> None:
    tools = load_library(name).tools
    drawn = composites_like(tools, seed=seed, groups=groups)
    compiled = compile_document({"tools": [item.document for item in drawn]}, groups=groups).require()
    assert len(compiled) == len(tools)
    for composite, made_like, real in zip(compiled.values(), drawn, tools.values(), strict=True):
        assert length(composite) == length(real)
        assert composite.price.most.calls == real.price.most.calls == made_like.record["takes_of_like"]["calls"]
        assert near(composite.price.most.seconds + 0.01, real.price.most.seconds + 0.01)
        assert {part: ratio for part, ratio in made_like.record["ratios"].items() if not near(ratio, 1)} == {}


def near(one: float, other: float) -> bool:
    return one <= other * NEAR and other <= one * NEAR


@pytest.mark.parametrize("seed", range(2))
def test_composites_of_tools_that_have_models_look_and_judge_are_as_dear(tmp_path: Path, seed: int) -> None:
    library = dear(tmp_path)
    folder = tmp_path / f"random_{seed}"
    make_arm("random", library, folder, name="random", date=DATE, seed=seed, allow_judge=True, groups={"inspect"})
    arm = load_library(folder, allow_judge=True, groups={"inspect"})
    for composite, real in zip(arm.tools.values(), library.tools.values(), strict=True):
        assert (composite.price.most.tokens, composite.price.most.model_calls, composite.price.most.calls) == (
            real.price.most.tokens, real.price.most.model_calls, real.price.most.calls,
        )  # fmt: skip
        assert near(composite.price.most.seconds, real.price.most.seconds)
        assert length(composite) == length(real)
    told = arm.manifest["composites"]
    assert [item["like"] for item in told] == list(library.tools)
    assert [item["takes_of_like"]["looks"] for item in told] == [0, 7, 20, 0]
    assert [item["takes"]["looks"] for item in told] == [0, 7, 20, 0]
    assert [item["judges"] for item in told] == [False, False, False, True]
    assert all(near(ratio, 1) for item in told for ratio in item["ratios"].values())


def test_a_price_that_no_composite_can_have_is_told_in_the_manifest(tmp_path: Path) -> None:
    lone = tool("look_once", call("describe_segment", "told", start_time=0, end_time=5))
    lone["outputs"] = {"told": {"type": "string", "from": "{{ told.caption }}"}}
    lone["inputs"] = {"video_id": "string"}
    compiled = compile_document(lone).require()
    library = freeze_library(compiled, tmp_path / "lone", name="lone", origin=Origin(how="hand-written", date=DATE))
    [told] = make_arm("random", library, tmp_path / "random", name="random", date=DATE).manifest["composites"]
    assert (told["steps"], told["steps_of_like"]) == (2, 1)
    assert (told["takes"]["calls"], told["takes_of_like"]["calls"], told["ratios"]["calls"]) == (2, 1, 1.5)
    assert told["ratios"]["looks"] == 1.0


def test_what_a_wrapper_takes_through_the_tools_it_calls_is_its_composite_s_too() -> None:
    inner = tool(
        "look_often",
        SEARCH,
        call("detect_objects", "seen", over="hits", most=12, timestamp="{{ item.center_time }}", category="any"),
    )
    params = {"video_id": "{{ video_id }}", "query": "{{ query }}"}
    outer = tool("look_again", {"type": "call_tool", "tool": "look_often", "params": params, "save_as": "again"})
    outer["outputs"] = {"found": {"type": "list", "from": "{{ again.found }}"}}
    _, wrapper = composites_like(compile_document({"tools": [inner, outer]}).require(), seed=1)
    assert wrapper.record["takes"] == wrapper.record["takes_of_like"]
    assert (wrapper.record["steps"], wrapper.record["steps_of_like"]) == (2, 1)


def test_random_composites_follow_from_the_seed_alone(tmp_path: Path) -> None:
    first, again, other = (
        made("random", "hand_B", tmp_path / name, seed=seed) for name, seed in (("one", 1), ("two", 1), ("three", 2))
    )
    assert first.hash == again.hash != other.hash
    assert first.manifest["seed"] == 1
    assert (tmp_path / "one" / "library.json").read_bytes() == (tmp_path / "two" / "library.json").read_bytes()


@pytest.mark.parametrize("name", LIBRARIES)
def test_random_composites_run_and_find_what_their_steps_find(name: str) -> None:
    compiled = compile_document(
        {"tools": [item.document for item in composites_like(load_library(name).tools, seed=3)]}
    ).require()
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
        assert openai_declaration(tool, strict=False) == openai_declaration(real.tools[tool.name], strict=False)
        arguments = {item.name: 5 if item.type_name in ("Time", "number") else "x" for item in tool.tool.inputs}
        arguments |= {item.name: ["x", "y"] for item in tool.tool.inputs if item.type_name.startswith("list")}
        arguments = {key: value for key, value in arguments.items() if _required(tool, key)}
        result = run_tool(placebo.tools, tool.name, {**arguments, "video_id": world.video_id}, call=world, world=world)
        assert result["status"] == "empty", result
        assert result["evidence"] == []
        assert result["calls"]["logical"] == 0


def long_tool(first: dict[str, Any], steps: int) -> dict[str, Any]:
    """A tool of so many steps in one block."""
    cut = {"type": "aggregate", "operation": "top_k", "inputs": "hits", "params": {"k": 5, "key": "start_time"}}
    begun = [first] if first is SEARCH else [first, SEARCH]
    return tool("go_a_long_way", *begun, *(cut | {"save_as": f"cut{n}"} for n in range(steps - len(begun))))


def test_a_placebo_that_there_is_no_room_for_is_refused_by_name(tmp_path: Path) -> None:
    document = long_tool(SEARCH, MAX_STEPS)
    with pytest.raises(ToolFault, match="no_placebo") as caught:
        placebo_of(compile_document(document).require())
    assert "go_a_long_way" in str(caught.value)


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
