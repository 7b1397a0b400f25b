import json
from pathlib import Path
from typing import Any

import pytest

from tool_induction import LibraryTools, compile_document

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def toolset(world: Any) -> Any:
    tools = compile_document((ROOT / "toollibs" / "examples" / "people.json").read_text("utf-8")).require()
    return LibraryTools(tools, call=world, world=world)


def test_declarations_say_what_when_and_at_what_price(toolset: Any) -> None:
    first = toolset.get_tools()[0]

    assert first.name == "locate_first_appearance"
    assert "(Up to 21 atomic calls.)" in first.description
    assert first.parameters["required"] == ["video_id", "person_query"]


def test_a_call_gives_the_result_record(toolset: Any) -> None:
    result = toolset.call_tool("locate_first_appearance", {"video_id": "film", "person_query": "red"})

    assert (result["status"], result["outputs"]["start_time"]) == ("ok", 34.0)
    assert len(json.dumps(result)) < 1500


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("fly", {}, "unknown_tool"),
        ("locate_first_appearance", {}, "bad_arguments"),
        ("locate_first_appearance", {"video_id": "film", "person_query": None}, "bad_arguments"),
        ("locate_first_appearance", {"video_id": "film", "person_query": "a", "x": 1}, "bad_arguments"),
    ],
)
def test_a_wrong_call_is_an_observation(toolset: Any, name: str, arguments: Any, code: str) -> None:
    assert toolset.call_tool(name, arguments)["error"]["code"] == code


def test_results_are_remembered_between_calls(toolset: Any, world: Any) -> None:
    for _ in range(3):
        toolset.call_tool("locate_first_appearance", {"video_id": "film", "person_query": "red"})

    assert len(world.asked) == 4


def test_a_bug_below_a_tool_is_an_observation_too(toolset: Any, world: Any) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("somebody/film.mp4")

    world._search_segments_by_text = broken
    observed = toolset.call_tool("locate_first_appearance", {"video_id": "film", "person_query": "red"})

    assert observed["error"]["code"] == "internal_fault"
    assert "KeyError" in observed["error"]["message"]
    assert "somebody" not in observed["error"]["message"]


def test_arguments_that_are_no_json_are_an_observation(toolset: Any) -> None:
    for value in (float("inf"), 10**5000, "\ud800", {1: 2}):
        observed = toolset.call_tool("locate_first_appearance", {"video_id": "film", "person_query": value})
        assert observed["error"]["code"] == "bad_arguments"
