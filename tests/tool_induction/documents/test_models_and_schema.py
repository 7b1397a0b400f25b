"""The JSON Schema is made from the document model: what one accepts, the other accepts."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from tool_induction import compile_document, limits
from tool_induction.compiler import check_shape
from tool_induction.documents import (
    Aggregate,
    Block,
    CallWorldApi,
    If,
    Input,
    Loop,
    Output,
    Require,
    Set,
    Tool,
    language_schema,
    tool_schema,
)
from tool_induction.language import STEP_MODELS, Findings, read_tool

ROOT = Path(__file__).resolve().parents[3]
RECORDINGS = ROOT.parent / "shared" / "recordings" / "induction"
LANGUAGE = Draft202012Validator(language_schema())
FILES = [ROOT / "toollibs" / "examples" / "people.json", *sorted((ROOT / "toollibs").glob("*/library.json"))]

EVERYTHING: Any = {
    "tool_name": "use_everything",
    "description": "Uses every step of the language once; only a test has a use for it.",
    "inputs": {
        "video_id": "string",
        "query": {"type": "string", "description": "what to look for", "default": None},
        "kind": {"type": "enum", "enum": ["a", "b"], "default": "a"},
    },
    "outputs": {"times": {"type": "list", "from": "{{ rows }}", "description": "when"}, "n": "int"},
    "steps": [
        {
            "type": "call_world_api",
            "api": "list_scenes",
            "params": {"video_id": "{{video_id}}", "time_range": None},
            "loop_over": ["a"],
            "as": "word",
            "max_items": 3,
            "until": False,
            "on_error": "null",
            "save_as": "scenes",
        },
        {"type": "call_tool", "tool": "other_tool", "params": {}, "save_as": "other"},
        {
            "type": "loop",
            "loop_over": "scenes",
            "do": [{"type": "set", "value": None, "save_as": "one"}],
            "save_as": "x",
        },
        {"type": "filter", "inputs": "scenes", "where": True, "save_as": "kept"},
        {"type": "project", "inputs": {"a": 1}, "fields": {"item": "{{ item }}", "b": None}, "save_as": "rows"},
        {"type": "aggregate", "operation": "count", "inputs": ["rows"], "params": {"key": None}, "save_as": "n"},
        {"type": "judge", "inputs": "rows", "question": "?", "answers": ["yes", "no"], "max_items": 4, "save_as": "j"},
        {
            "type": "if",
            "condition": "n > 1",
            "then": [{"type": "require", "condition": "n", "status": "ambiguous", "reason": "why"}],
            "else": [{"type": "require", "condition": False}],
        },
    ],
}


def accepted(tool: Any) -> bool:
    return check_shape(tool, (), Findings(), allow_judge=True)


def by_model(value: Any) -> bool:
    if isinstance(value, dict):
        value = value["tools"] if "tools" in value and "steps" not in value else [value]
    return isinstance(value, list) and 1 <= len(value) <= limits.MAX_TOOLS and all(map(accepted, value))


def written_again(tool: Any) -> Any:
    return read_tool(tool, (), Findings()).document()


def agreed(value: Any) -> bool:
    """Whether both accept a document; they must agree."""
    verdicts = (by_model(value), LANGUAGE.is_valid(value))
    assert verdicts[0] == verdicts[1], (verdicts, value)
    return verdicts[0]


def test_the_schemas_are_valid_json_schema() -> None:
    Draft202012Validator.check_schema(language_schema())
    Draft202012Validator.check_schema(tool_schema())


def test_an_enum_names_its_values_for_both() -> None:
    def declared(**more: Any) -> bool:
        return agreed(EVERYTHING | {"inputs": {"mood": {"type": "enum", **more}}})

    assert declared(enum=["calm", "cross"])
    assert not declared()
    assert agreed(EVERYTHING | {"inputs": {"mood": {"type": "string"}}})


def test_every_key_of_the_language_is_described() -> None:
    def undescribed(node: Any, place: str) -> list[str]:
        found = [f"{place}.{key}" for key, inner in node.get("properties", {}).items() if not inner.get("description")]
        return found + ([] if "description" in node else [place])

    whole = language_schema()
    schemas = {name: node for name, node in whole["$defs"].items() if name != "file"}
    assert [line for name, node in schemas.items() for line in undescribed(node, name)] == []


def test_a_document_with_every_step_is_accepted_by_both_and_comes_back_with_nothing_lost() -> None:
    assert agreed(EVERYTHING)
    assert agreed([EVERYTHING])
    assert agreed({"tools": [EVERYTHING], "note": "not looked at"})
    assert {step["type"] for step in EVERYTHING["steps"]} | {"require", "set"} == set(STEP_MODELS)
    again = written_again(EVERYTHING)
    assert agreed(again)
    assert written_again(again) == again
    written = zip(again["steps"], EVERYTHING["steps"], strict=True)
    assert all(step.keys() >= given.keys() for step, given in written)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_what_comes_with_the_product_is_accepted_and_comes_back_as_it_was(file: Any) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))

    assert agreed(document)
    assert file.parent.name == "examples" or [written_again(tool) for tool in document["tools"]] == document["tools"]


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings (../shared/recordings) are not here")
@pytest.mark.parametrize("file", sorted(RECORDINGS.glob("*.json")), ids=lambda file: file.stem)
def test_on_recorded_documents_both_agree_and_what_compiles_is_accepted(file: Any) -> None:
    tools = json.loads(file.read_text(encoding="utf-8"))
    sound = compile_document(tools).tools

    for tool in tools:
        assert agreed(tool) or tool["tool_name"] not in sound


WRONG: list[tuple[str, list[Any], Any]] = [
    ("no name", ["tool_name"], ...),
    ("a name that is none", ["tool_name"], "Not A Name"),
    ("a name with a line break", ["tool_name"], "a\n"),
    ("a reserved input", ["inputs", "item"], "string"),
    ("an input's name", ["inputs", "1x"], "string"),
    ("an input's type is long", ["inputs", "query"], "x" * 81),
    ("null for an input", ["inputs", "query"], None),
    ("null for a description", ["inputs", "query", "description"], None),
    ("an unknown key of an input", ["inputs", "query", "values"], []),
    ("no output", ["outputs"], {}),
    ("null for a step's key", ["steps", 0, "on_error"], None),
    ("another word", ["steps", 0, "on_error"], "retry"),
    ("a list for a record", ["steps", 0, "params"], []),
    ("as without a loop", ["steps", 1, "as"], "x"),
    ("max_items is not whole", ["steps", 0, "max_items"], 2.5),
    ("max_items is too large", ["steps", 0, "max_items"], 201),
    ("max_items is true", ["steps", 0, "max_items"], True),
    ("a number for a condition", ["steps", 3, "where"], 1),
    ("a key of another step", ["steps", 3, "do"], []),
    ("a number for inputs", ["steps", 3, "inputs"], 1),
    ("no field", ["steps", 4, "fields"], {}),
    ("a python name", ["steps", 7, "otherwise"], []),
    ("an empty block", ["steps", 7, "then"], []),
    ("a reserved name", ["steps", 5, "save_as"], "None"),
    ("an unknown type", ["steps", 5, "type"], "agg"),
    ("a type that is no text", ["steps", 5, "type"], ["filter"]),
    ("no type", ["steps", 5, "type"], ...),
    ("a step that is none", ["steps", 5], "count"),
    ("too many steps", ["steps"], [{"type": "set", "value": 1, "save_as": "x"}] * 61),
    ("null for an aggregate's inputs", ["steps", 5, "inputs"], None),
]
RIGHT: list[tuple[str, list[Any], Any]] = [
    ("max_items is a whole float", ["steps", 0, "max_items"], 3.0),
    ("a call with do is a loop", ["steps", 2, "type"], "call_world_api"),
    ("do without a type is a loop", ["steps", 2, "type"], ...),
    ("an aggregate without inputs", ["steps", 5, "inputs"], ...),
    ("a field called item", ["steps", 4, "fields", "item"], [None, {"x": []}]),
    ("no inputs at all", ["inputs"], {}),
    ("a loop called item", ["steps", 0, "as"], "item"),
]


def changed(path: list[Any], value: Any) -> Any:
    document = copy.deepcopy(EVERYTHING)
    holder = document
    for part in path[:-1]:
        holder = holder[part]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return document


@pytest.mark.parametrize(("path", "value"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_both_refuse_and_so_does_the_compiler(path: Any, value: Any) -> None:
    document = changed(path, value)

    assert not agreed(document)
    assert {item.code for item in compile_document(document).diagnostics} & {"E_SHAPE", "E_NAME", "E_SIZE"}


@pytest.mark.parametrize(("path", "value"), [case[1:] for case in RIGHT], ids=[case[0] for case in RIGHT])
def test_both_accept(path: Any, value: Any) -> None:
    assert agreed(changed(path, value))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.sampled_from([2.0, 0.5, 1e300]) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from(
    "type do then else otherwise as variable loop_over save_as inputs where from source default tools steps max_items "
    "value item none params".split(" ")
) | st.sampled_from(["x\n", ""])
WORDS = st.sampled_from([*STEP_MODELS, "item", "x", "null", "fail", "empty", "a\n", "{{ x }}"])


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inside:
        found += places(value, (*path, key))
    return found


PLACES = places(EVERYTHING)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from("rda"), KEYS, JSON | WORDS), min_size=1, max_size=3))
def test_whatever_is_changed_model_and_schema_agree_and_what_compiles_is_accepted(changes: Any) -> None:
    document = copy.deepcopy(EVERYTHING)
    for path, what, key, value in changes:
        holder: Any = document
        try:
            for part in path[:-1]:
                holder = holder[part]
            if what == "d":
                del holder[path[-1]]
            elif what == "a" and isinstance(holder[path[-1]], dict):
                holder[path[-1]][key] = value
            else:
                holder[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away

    sound = agreed(document)
    compiled = compile_document(document)
    assert sound or not compiled.tools


def test_a_tool_written_in_python_is_a_document() -> None:
    tool = Tool(
        name="count_hits",
        description="Counts what a search for some words finds. Not for counting people.",
        inputs={"video_id": "string", "words": Input(type_name="string", description="what to look for")},
        outputs={"found": Output(type_name="int", source="{{ n }}"), "start_time": "Time?"},
        steps=[
            CallWorldApi(
                api="search_segments_by_text",
                params={"video_id": "{{video_id}}", "query": "{{words}}", "top_k": 5},
                save_as="hits",
            ),
            Aggregate(operation="count", inputs="hits", save_as="n"),
            Block(
                loop=Loop(over="hits", variable="hit"),
                body=[Set(value="{{ hit.start_time }}", save_as="t")],
                save_as="times",
            ),
            If(
                condition="{{ n > 3 }}",
                then=[Set(value=True, save_as="many")],
                otherwise=[Set(value=False, save_as="many")],
            ),
            Require(condition="{{ n > 0 }}", reason="nothing was found"),
            Aggregate(operation="pick_earliest", inputs="hits", save_as="first_hit"),
        ],
    )

    document = tool.document()

    assert agreed(document)
    assert compile_document(tool).ok, [item.record() for item in compile_document(tool).diagnostics]
    assert list(document["steps"][2]) == ["type", "loop_over", "as", "do", "save_as"]


def test_what_the_language_has_not_is_refused_in_a_tool_written_in_python_too() -> None:
    def codes(*steps: Any) -> set[str]:
        tool = Tool(name="one", description="A tool.", inputs={}, outputs={"y": "any"}, steps=steps)
        return {item.code for item in compile_document(tool).diagnostics if item.severity == "error"}

    assert codes(Set(value=1, save_as="y")) == set()
    assert codes(Set(value=1, save_as="and")) == {"E_NAME"}
    assert codes(Set(value="{{ 1 + }}", save_as="y")) == {"E_EXPR_SYNTAX"}
