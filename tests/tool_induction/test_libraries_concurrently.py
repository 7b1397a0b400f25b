"""Every tool of every packaged library, on worlds: several calls at a time give what one at a time gives, to the byte."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.made_worlds import Plan, write_world
from tests.support.hammer import restless
from tool_induction import CompiledTool, RunLimits, Trace, run_tool
from tool_induction.compiler.emit import inputs_schema
from tool_induction.library import load_library
from world_api.api import open_session
from world_api.operations import run

TOOLLIBS = Path(__file__).resolve().parents[2] / "toollibs"
LIBRARIES = sorted(path.parent.name for path in TOOLLIBS.glob("*/library.json"))
WORDS = ("person in black", "a red coat", "door")


def arguments_of(tool: CompiledTool, video_id: str, word: str) -> dict[str, Any]:
    """Something of the right type for every input of a tool."""
    schema = inputs_schema(tool.tool)
    return {
        name: video_id if name == "video_id" else _value(name, schema["properties"][name], schema, word)
        for name in schema.get("required", ())
    }


def _value(name: str, schema: dict[str, Any], root: dict[str, Any], word: str) -> Any:
    if "$ref" in schema:
        return _value(name, root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, word)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _value(name, schema["anyOf"][0], root, word)
    match schema.get("type"):
        case "string":
            return "person" if "category" in name else word
        case "number" | "integer":
            return 50 if "end" in name else 5
        case "boolean":
            return True
        case "array":
            return [_value(name, schema.get("items", {"type": "string"}), root, word)]
        case "object":
            return {key: _value(key, part, root, word) for key, part in schema.get("properties", {}).items()}
    return word


def ran(tools: Any, name: str, store: Path, video_id: str, word: str, concurrency: int) -> tuple[str, str]:
    session = open_session(store, video_id, name=None)
    trace = Trace()
    record = run_tool(
        tools,
        name,
        arguments_of(tools[name], video_id, word),
        call=partial(run, session),
        world=session,
        limits=RunLimits(concurrency=concurrency),
        trace=trace,
    )
    return json.dumps(record), json.dumps(trace.root.record())


def agree(library: str, store: Path, video_id: str) -> set[str]:
    """Runs all tools of a library both ways; the statuses they ended with."""
    tools = load_library(library).tools
    seen = set()
    for name in tools:
        for word in WORDS:
            expected = ran(tools, name, store, video_id, word, 1)
            assert ran(tools, name, store, video_id, word, 8) == expected, (name, word)
            seen.add(json.loads(expected[0])["status"])
    return seen


def test_there_are_libraries() -> None:
    assert "hand_A" in LIBRARIES


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_does_the_same_at_several_calls_at_a_time(library: str, make_world: Any, tmp_path: Path) -> None:
    make_world()
    write_world(tmp_path, "drawn", Plan.of_segments(60, seed=3))

    with restless():
        seen = agree(library, make_world.store, "made") | agree(library, tmp_path, "drawn")

    assert seen & {"ok", "empty"}
