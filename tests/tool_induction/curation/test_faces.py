"""A library's schemas as other programs read them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from mcp import types

from tests.support.command_line import Cli
from tool_induction import load_library
from tool_induction.curation import Format, formatted_tools
from world_api.schemas import strict_violations

GOLDENS = Path(__file__).resolve().parents[2] / "golden"
LIBRARIES = ("hand_A", "hand_B", "hand_C")
FORMATS: tuple[Format, ...] = get_args(Format)


def made(library: str, wanted: Format) -> Any:
    return formatted_tools(load_library(library).tools, wanted)


@pytest.mark.parametrize("wanted", FORMATS)
def test_the_faces_of_a_library_are_as_published(wanted: Format) -> None:
    golden = GOLDENS / f"hand_A.{wanted}.json"
    text = json.dumps(made("hand_A", wanted), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("library", LIBRARIES)
def test_strict_tools_keep_the_rules_of_strict_mode(library: str) -> None:
    for tool in made(library, "openai-strict"):
        assert tool["function"]["strict"]
        assert strict_violations(tool["function"]["parameters"]) == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_loose_tools_require_what_has_no_default_and_nothing_else(library: str) -> None:
    for tool in made(library, "openai"):
        declared = {
            item.name: item.required for item in load_library(library).tools[tool["function"]["name"]].tool.inputs
        }
        assert tool["function"]["parameters"]["required"] == [name for name, needed in declared.items() if needed]


@pytest.mark.parametrize("library", LIBRARIES)
def test_mcp_tools_are_such_and_say_that_they_only_read(library: str) -> None:
    for tool in made(library, "mcp"):
        read = types.Tool.model_validate(tool)
        assert read.annotations is not None
        assert read.annotations.read_only_hint
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert "$ref" not in json.dumps(schema)


def test_a_tool_that_writes_says_so(compiled: Any, document: Any) -> None:
    step = {
        "type": "call_world_api", "api": "write_memory", "save_as": "memory",
        "params": {"video_id": "{{video_id}}", "level": "event", "content": "{{query}}",
                   "time_range": {"start_time": 0, "end_time": 1}},
    }  # fmt: skip
    tools = compiled(document(step))
    [tool] = formatted_tools(tools, "mcp")
    assert tool["annotations"]["readOnlyHint"] is False  # type: ignore[index]  # MCP tools are objects


def test_a_tool_that_strict_mode_cannot_say_is_offered_without_it(compiled: Any, document: Any) -> None:
    tools = compiled(document(inputs={"free": "record"}, outputs={"it": {"type": "record", "from": "{{ free }}"}}))
    [tool] = formatted_tools(tools, "openai-strict")
    assert "strict" not in tool["function"]  # type: ignore[operator]  # function tools are objects


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_card_has_an_example_call_that_the_tool_takes(library: str) -> None:
    from tool_induction.curation import IMAGINED, example_arguments
    from tool_induction.runtime import check_arguments

    for card, item in zip(made(library, "cards"), load_library(library).tools.values(), strict=True):
        lines = card.splitlines()
        assert lines[0].startswith(f"{item.name}(video_id: string")
        assert lines[0].count("<") == lines[0].count(">") - lines[0].count("->")
        assert lines[-1].startswith(f"  example: {item.name}(video_id=")
        check_arguments(item, example_arguments(item.tool, IMAGINED))


@pytest.mark.parametrize("wanted", FORMATS)
def test_the_command_prints_them(cli: Cli, wanted: str) -> None:
    outcome = cli("tools", "schemas", "hand_A", "--format", wanted, "--json", store=None)
    assert (outcome.status, len(outcome.json)) == (0, len(load_library("hand_A").tools))
    plain = cli("tools", "schemas", "hand_A", "--format", wanted, store=None).out
    assert (json.loads(plain) == outcome.json) if wanted != "cards" else plain.startswith("locate_first_appearance(")
