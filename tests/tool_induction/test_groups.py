"""Tools that call operations of an optional group: compiled, frozen, loaded and run only where it is on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tool_induction import LibraryTools, Origin, compile_document, freeze_library, load_library
from tool_induction.admission import admit
from tool_induction.documents import emission_schema
from tool_induction.inducer import InducerPrompts, Settings
from tool_induction.library import MANIFEST_FILE, TOOLS_FILE
from world_api import Session
from world_api.core import ToolFault
from world_api.operations import OPERATIONS, operations_of

INSPECT = frozenset({"inspect"})
Opened = Callable[..., Session]
ORIGIN = Origin(how="hand-written", date="2026-01-01")


def step(api: str, save_as: str, **more: Any) -> dict[str, Any]:
    params = {"video_id": "{{video_id}}", **more.pop("params")}
    return {"type": "call_world_api", "api": api, "params": params, "save_as": save_as, **more}


#: Counts the moments at which something is said or seen, and has a model look at the first of them.
COUNTING: dict[str, Any] = {
    "tool_name": "count_moments",
    "description": "Counts in how many segments something is said, written or seen, and when. Use when all must be counted.",
    "inputs": {"video_id": "string", "query": "string", "question": {"type": "string", "default": "what is there?"}},
    "outputs": {
        "count": {"type": "int", "from": "{{ found.matched_in_all }}"},
        "first_time": {"type": "Time", "from": "{{ first_match.start_time }}"},
        "said": {"type": "int", "from": "{{ lines | length }}"},
    },
    "steps": [
        step("scan_segments", "found", params={"query": "{{query}}"}),
        {"type": "aggregate", "operation": "pick_earliest", "inputs": "found", "save_as": "first_match"},
        {"type": "require", "condition": "{{ first_match is not none }}", "status": "empty"},
        step(
            "read_transcript",
            "lines",
            params={"start_time": "{{ first_match.start_time }}", "end_time": "{{ first_match.end_time }}"},
        ),
    ],
}
LOOKING: dict[str, Any] = {
    **COUNTING,
    "tool_name": "look_at_moments",
    "outputs": {"seen": {"type": "list", "from": "{{ seen }}"}},
    "steps": [
        step("scan_segments", "found", params={"query": "{{query}}"}),
        step(
            "inspect_segment",
            "seen",
            loop_over="found",
            max_items=5,
            params={
                "start_time": "{{ item.start_time }}",
                "end_time": "{{ item.end_time }}",
                "question": "{{ question }}",
            },
        ),
    ],
}


def without_questions(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"inputs": {key: value for key, value in document["inputs"].items() if key != "question"}}


TOOLS = {"tools": [without_questions(COUNTING), LOOKING]}


def test_a_tool_that_calls_an_operation_that_is_off_does_not_compile() -> None:
    found = [item for item in compile_document(TOOLS).diagnostics if item.severity == "error"]
    assert [(item.code, item.json_path) for item in found] == [
        ("E_OPERATION_OFF", "$.tools[0].steps[0].api"),
        ("E_OPERATION_OFF", "$.tools[0].steps[3].api"),
        ("E_OPERATION_OFF", "$.tools[1].steps[0].api"),
        ("E_OPERATION_OFF", "$.tools[1].steps[1].api"),
    ]
    assert "--with inspect" in found[0].suggestion


def test_with_its_group_on_it_compiles_and_its_price_counts_the_looks() -> None:
    tools = compile_document(TOOLS, groups=INSPECT).require()
    looked = operations_of("inspect")["inspect_segment"].price
    assert tools["count_moments"].price.most.tokens == 0
    assert tools["look_at_moments"].price.most.model_calls == 5
    assert tools["look_at_moments"].price.most.tokens == 5 * looked.tokens
    again = compile_document({"tools": [item.frozen for item in tools.values()]}, groups=INSPECT).require()
    assert [item.frozen for item in again.values()] == [item.frozen for item in tools.values()]


def test_tokens_that_looks_may_need_are_bounded_like_those_of_judges() -> None:
    look = LOOKING["steps"][1] | {"max_items": 20}
    for looks, codes in ((3, set()), (4, {"E_BUDGET"})):
        steps = [LOOKING["steps"][0], *(look | {"save_as": f"seen{number}"} for number in range(looks))]
        document = LOOKING | {"steps": steps, "outputs": {"seen": {"type": "list", "from": "{{ seen0 }}"}}}
        diagnostics = compile_document(document, groups=INSPECT).diagnostics
        assert {item.code for item in diagnostics if item.severity == "error"} == codes


@pytest.mark.parametrize("groups", [frozenset[str](), INSPECT])
def test_no_tool_takes_the_name_of_an_operation_that_is_off(groups: frozenset[str]) -> None:
    document = {**LOOKING, "tool_name": "read_transcript"}
    assert "E_NAME" in {item.code for item in compile_document(document, groups=groups).diagnostics}


def test_a_misspelt_operation_is_corrected_only_to_one_that_is_on() -> None:
    document = json.loads(json.dumps(without_questions(COUNTING)).replace("scan_segments", "scan_segment"))
    said = {
        groups: next(
            item for item in compile_document(document, groups=groups).diagnostics if item.found == "scan_segment"
        )
        for groups in (frozenset[str](), INSPECT)
    }
    assert {item.code for item in said.values()} == {"E_UNKNOWN_API"}
    assert "scan_segments" in said[INSPECT].suggestion
    assert "scan_segments" not in said[frozenset()].suggestion + said[frozenset()].expected


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A frozen library that needs the group."""
    folder = tmp_path / "counting"
    freeze_library(compile_document(TOOLS, groups=INSPECT).require(), folder, name="counting", origin=ORIGIN)
    return folder


def test_a_library_records_the_groups_it_needs_and_loads_only_where_they_are_on(library: Path) -> None:
    manifest = json.loads((library / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert manifest["groups"] == ["inspect"]
    assert list(load_library(library, groups=INSPECT).tools) == ["count_moments", "look_at_moments"]
    with pytest.raises(ToolFault) as caught:
        load_library(library)
    assert caught.value.code == "operations_off"
    assert "counting" in caught.value.message
    assert "'inspect'" in caught.value.message
    assert "--with inspect" in caught.value.hint


def test_a_library_of_the_sixteen_says_nothing_of_groups_and_loads_beside_any(tmp_path: Path, seed_text: str) -> None:
    freeze_library(compile_document(seed_text).require(), tmp_path / "plain", name="plain", origin=ORIGIN)
    assert "groups" not in json.loads((tmp_path / "plain" / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert load_library(tmp_path / "plain").hash == load_library(tmp_path / "plain", groups=INSPECT).hash


def test_a_document_that_is_no_folder_is_refused_by_its_faults(tmp_path: Path) -> None:
    file = tmp_path / "counting.json"
    file.write_text(json.dumps(TOOLS), encoding="utf-8")
    with pytest.raises(ToolFault, match="E_OPERATION_OFF"):
        load_library(file)
    assert len(load_library(file, groups=INSPECT).tools) == 2


def test_a_library_is_not_offered_on_a_session_whose_groups_are_off(library: Path, open_made: Opened) -> None:
    loaded = load_library(library, groups=INSPECT)
    for offer in (LibraryTools.on_session,):
        with pytest.raises(ToolFault) as caught:
            offer(loaded, open_made())
        assert caught.value.code == "operations_off"
        offer(loaded, open_made(groups=INSPECT))


def test_its_tools_run_on_a_world(library: Path, open_made: Opened) -> None:
    tools = LibraryTools.on_session(load_library(library, groups=INSPECT), open_made(groups=INSPECT))
    result = tools.call_tool("count_moments", {"video_id": "made", "query": '"blue folder"'})
    assert result["status"] == "ok"
    assert result["outputs"] == {"count": 1, "first_time": 22.0, "said": 1}
    assert result["evidence"]
    assert tools.call_tool("count_moments", {"video_id": "made", "query": '"elephant"'})["status"] == "empty"
    # What is only mentioned is not seen, and nothing judges whether a thing is there.
    for query in ("blue folder", "elephant", 'somebody says "blue folder"'):
        assert tools.call_tool("count_moments", {"video_id": "made", "query": query})["status"] == "partial"
    refused = tools.call_tool("look_at_moments", {"video_id": "made", "query": "blue folder"})
    assert refused["error"]["code"] == "no_vision_model"


def test_admission_tries_them_on_made_worlds_and_takes_them(open_made: Opened) -> None:
    admission = admit(compile_document(TOOLS, groups=INSPECT).require())
    assert [(item.tool, item.reason) for item in admission.verdicts] == [
        ("count_moments", "admitted"),
        ("look_at_moments", "admitted"),
    ]


def test_the_prompt_lists_the_operations_of_a_group_only_where_it_is_on() -> None:
    alone, beside = InducerPrompts(), InducerPrompts(groups=INSPECT)
    for name, operation in operations_of("inspect").items():
        assert name not in alone.system("plain")
        assert f"- {name}(" in beside.system("plain")
        assert operation.description in beside.system("plain")
        assert f"- {name}(" in beside.language()
    assert alone.hash != beside.hash
    assert "through 19 operations" in beside.system("plain")


def test_a_server_is_held_to_the_operations_that_are_on() -> None:
    alone, beside = (json.dumps(emission_schema(groups=groups)) for groups in (frozenset[str](), INSPECT))
    for name in operations_of("inspect"):
        assert f'"{name}"' not in alone
        assert f'"{name}"' in beside


def test_an_induction_records_its_groups_only_where_it_has_any() -> None:
    assert "groups" not in Settings().record()
    assert Settings(groups=INSPECT).record()["groups"] == ["inspect"]


def test_the_command_line_switches_a_group_on(cli: Cli, library: Path) -> None:
    refused = cli("tools", "check", str(library), "--json", store=None)
    assert refused.status == 1
    assert refused.json["error"]["code"] == "operations_off"
    assert cli("tools", "check", str(library), "--with", "inspect", "--json", store=None).json["ok"]
    faults = cli("tools", "check", str(library / TOOLS_FILE), "--json", store=None)
    assert {item["code"] for item in faults.json["diagnostics"]} >= {"E_OPERATION_OFF"}
    unknown = cli("tools", "check", str(library), "--with", "inspekt", "--json", store=None)
    assert unknown.json["error"]["code"] == "unknown_group"
    for command in ("schemas",):
        assert cli("tools", command, str(library), store=None).status == 1
        assert "count_moments" in cli("tools", command, str(library), "--with", "inspect", store=None).out
    prompt = cli("induce", "A_locate_count", "--dry-run", "--with", "inspect").out
    assert all(name in prompt for name in (*OPERATIONS, *operations_of("inspect")))
