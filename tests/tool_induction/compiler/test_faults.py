import copy
import json
from typing import Any

import pytest

from tool_induction import compile_document
from tool_induction.language import CODES

LOOP = {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"}
DETECT = {"type": "call_world_api", "api": "detect_objects", "params": LOOP, "loop_over": "candidates", "save_as": "x"}


def planted(seed: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    """The seed document with one value put at a path (a list's end where the index is its length)."""
    broken = copy.deepcopy(seed)
    holder: Any = broken
    for part in path[:-1]:
        holder = holder[part]
    if isinstance(holder, list) and path[-1] == len(holder):
        holder.append(value)
    elif value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return broken


FAULTS: list[tuple[str, list[Any], Any, str, str, str]] = [
    ("a step key is missing", ["steps", 0, "api"], ..., "E_SHAPE", "$.steps[0]", ""),
    ("a step key is misspelt", ["steps", 1, "loopover"], "candidates", "E_SHAPE", "$.steps[1].loopover", "loop_over"),
    ("a step type is unknown", ["steps", 2, "type"], "agregate", "E_SHAPE", "$.steps[2].type", "aggregate"),
    ("judge is off", ["steps", 3], {"type": "judge"}, "E_SHAPE", "$.steps[3].type", "judgement"),
    ("a name is not one", ["steps", 0, "save_as"], "first hit", "E_NAME", "$.steps[0].save_as", ""),
    ("a tool name is not one", ["tool_name"], "Locate!", "E_NAME", "$.tool_name", "lower case"),
    ("a tool takes an operation's name", ["tool_name"], "detect_objects", "E_NAME", "$.tool_name", ""),
    ("a tool takes a controller's name", ["tool_name"], "submit_answer", "E_NAME", "$.tool_name", "another name"),
    ("a text clears the screen", ["description"], "Finds\x1b[2J it.", "E_SHAPE", "$.description", "leave it out"),
    ("a mark of direction", ["description"], "Finds \u200fti", "E_SHAPE", "$.description", "leave it out"),
    ("a mark of Arabic letters", ["description"], "Finds \u061cti", "E_SHAPE", "$.description", "leave it out"),
    ("a text runs the other way", ["description"], "Finds \u202eti", "E_SHAPE", "$.description", "leave it out"),
    (
        "an operation is misspelt",
        ["steps", 1, "api"],
        "detect_object",
        "E_UNKNOWN_API",
        "$.steps[1].api",
        "detect_objects",
    ),
    (
        "a tool is not there",
        ["steps", 3],
        {"type": "call_tool", "tool": "locate_first_apearance", "params": {}, "save_as": "y"},
        "E_UNKNOWN_TOOL",
        "$.steps[3].tool",
        "locate_first_appearance",
    ),
    (
        "an aggregate is misspelt",
        ["steps", 2, "operation"],
        "pick_earlyest",
        "E_UNKNOWN_AGGREGATE",
        "$.steps[2].operation",
        "pick_earliest",
    ),
    (
        "a parameter is misspelt",
        ["steps", 1, "params", "text_qery"],
        "red",
        "E_UNKNOWN_PARAM",
        "$.steps[1].params.text_qery",
        "text_query",
    ),
    ("a parameter is missing", ["steps", 0, "params", "top_k"], ..., "E_MISSING_PARAM", "$.steps[0].params", ""),
    (
        "two lists are missing",
        ["steps", 3],
        {"type": "aggregate", "operation": "intersect_by", "params": {"key": "start_time"}, "save_as": "both"},
        "E_MISSING_PARAM",
        "$.steps[3]",
        "a pair of lists {a, b}",
    ),
    (
        "an expression does not parse",
        ["steps", 0, "params", "query"],
        "{{ person_query && 1 }}",
        "E_EXPR_SYNTAX",
        "$.steps[0].params.query",
        "and",
    ),
    (
        "an expression calls",
        ["steps", 0, "params", "query"],
        "{{ person_query.upper() }}",
        "E_EXPR_FORBIDDEN",
        "$.steps[0].params.query",
        "filters",
    ),
    (
        "an expression is too long",
        ["steps", 0, "params", "query"],
        "{{ " + "1 + " * 200 + "1 }}",
        "E_EXPR_SIZE",
        "$.steps[0].params.query",
        "set",
    ),
    (
        "a name is misspelt",
        ["steps", 0, "params", "query"],
        "{{ person_qery }}",
        "E_UNDEFINED",
        "$.steps[0].params.query",
        "person_query",
    ),
    (
        "a later name is read",
        ["steps", 0, "params", "query"],
        "{{ first_hit.category }}",
        "E_FORWARD",
        "$.steps[0].params.query",
        "up",
    ),
    ("a name is bound twice", ["steps", 2, "save_as"], "candidates", "E_REDEFINED", "$.steps[2].save_as", "new name"),
    (
        "item stands outside a loop",
        ["steps", 0, "params", "query"],
        "{{ item.snippet }}",
        "E_ITEM_OUTSIDE_LOOP",
        "$.steps[0].params.query",
        "loop_over",
    ),
    (
        "a list stands where a time is wanted",
        ["steps", 3],
        {**DETECT, "params": {**LOOP, "timestamp": "{{ detections }}"}},
        "E_TYPE",
        "$.steps[3].params.timestamp",
        'loop_over: "detections" with "{{ item.timestamp }}"',
    ),
    (
        "null is not dealt with",
        ["steps", 3],
        {**DETECT, "params": {**LOOP, "timestamp": "{{ first_hit.start_time }}"}},
        "E_OPTIONAL",
        "$.steps[3].params.timestamp",
        "first_hit is not none",
    ),
    ("an output has no source", ["outputs", "where"], "string", "E_OUTPUT_UNBOUND", "$.outputs.where", "from"),
    (
        "branches bind different names",
        ["steps", 3],
        {
            "type": "if",
            "condition": "{{ detections | length > 3 }}",
            "then": [{"type": "set", "value": 1, "save_as": "many"}],
            "else": [{"type": "set", "value": 2, "save_as": "few"}],
        },
        "E_BRANCH_MISMATCH",
        "$.steps[3].else",
        "many",
    ),
    (
        "a tool calls itself",
        ["steps", 3],
        {
            "type": "call_tool",
            "tool": "locate_first_appearance",
            "params": {"video_id": "a", "person_query": "b"},
            "save_as": "y",
        },
        "E_CYCLE",
        "$.steps[3].tool",
        "",
    ),
    (
        "an input list has no bound",
        ["steps", 1, "loop_over"],
        "{{ times }}",
        "E_UNBOUNDED",
        "$.steps[1].loop_over",
        "max_items",
    ),
    ("a constant is out of range", ["steps", 0, "params", "top_k"], 50000, "E_TYPE", "$.steps[0].params.top_k", ""),
    (
        "a list of three stands for an interval",
        ["steps", 1, "params", "time_range"],
        [1, 2, 3],
        "E_TYPE",
        "$.steps[1].params.time_range",
        "start_time",
    ),
    ("an unknown type is declared", ["inputs", "person_query"], "strin", "E_TYPE", "$.inputs.person_query", "string"),
    (
        "a field is misspelt",
        ["steps", 1, "params", "timestamp"],
        "{{ item.centre_time }}",
        "E_TYPE",
        "$.steps[1].params.timestamp",
        "center_time",
    ),
    (
        "too many steps",
        ["steps"],
        [{"type": "set", "value": 1, "save_as": f"n{n}"} for n in range(99)],
        "E_SIZE",
        "$.steps",
        "",
    ),
    (
        "a search score is thresholded",
        ["steps", 2],
        {
            "type": "aggregate",
            "operation": "filter_by_score",
            "inputs": "candidates",
            "params": {"min_score": 0.5, "key": "score"},
            "save_as": "first_hit",
        },
        "E_SCORE",
        "$.steps[2].params.key",
        "confidence",
    ),
]


@pytest.mark.parametrize(
    ("what", "path", "value", "code", "where", "suggestion"), FAULTS, ids=[case[0] for case in FAULTS]
)
def test_a_planted_fault_is_named_at_its_place_with_a_suggestion(
    seed: dict[str, Any], codes: Any, what: str, path: Any, value: Any, code: str, where: str, suggestion: str
) -> None:
    if code == "E_UNBOUNDED":
        seed["inputs"]["times"] = "list<Segment>"
    compilation = compile_document(json.dumps(planted(seed, path, value)))

    assert (code, where) in codes(compilation)
    said = [item for item in compilation.diagnostics if (item.code, item.json_path) == (code, where)]
    assert any(suggestion in item.suggestion + item.message for item in said)
    assert (compilation.diagnostics[0].code, compilation.diagnostics[0].json_path) == (code, where)
    assert not compilation.tools


def test_every_json_path_exists_in_the_document(seed: dict[str, Any]) -> None:
    for _, path, value, *_ in FAULTS:
        broken = planted(seed, path, value)
        for item in compile_document(broken).diagnostics:
            holder: Any = broken
            for part in item.path:
                holder = holder[part]


def test_all_faults_of_a_document_are_told_at_once(seed: dict[str, Any], codes: Any) -> None:
    seed["steps"][0]["params"]["query"] = "{{ person_qery }}"
    seed["steps"][1]["params"]["text_qery"] = "red"
    seed["steps"][2]["operation"] = "pick_erliest"
    seed["outputs"]["where"] = {"type": "string", "from": "{{ nowhere }}"}

    assert {code for code, _ in codes(compile_document(seed))} == {
        "E_UNDEFINED",
        "E_UNKNOWN_PARAM",
        "E_UNKNOWN_AGGREGATE",
    }


def test_one_fault_does_not_raise_others(seed: dict[str, Any], codes: Any) -> None:
    seed["steps"][1]["api"] = "detect_object"

    assert codes(compile_document(seed)) == {("E_UNKNOWN_API", "$.steps[1].api")}


def test_a_sound_tool_beside_a_broken_one_still_compiles(seed: dict[str, Any], codes: Any) -> None:
    broken = copy.deepcopy(seed) | {"tool_name": "broken"}
    del broken["steps"][0]["save_as"]

    compilation = compile_document({"tools": [seed, broken]})

    assert not compilation.ok
    assert list(compilation.tools) == ["locate_first_appearance"]
    assert ("E_SHAPE", "$.tools[1].steps[0]") in codes(compilation)
    assert [tool["ok"] for tool in compilation.record()["tools"]] == [True, False]


def test_nothing_is_rewritten_silently(seed: dict[str, Any]) -> None:
    seed["steps"][2]["operation"] = "pick_erliest"

    compilation = compile_document(seed)

    assert "locate_first_appearance" not in compilation.tools


def test_a_record_of_a_compilation_has_exactly_the_promised_keys(seed: dict[str, Any]) -> None:
    record = compile_document(seed).record()

    assert set(record) == {"ok", "tools", "diagnostics"}
    assert set(record["tools"][0]) == {"name", "ok", "price"}
    assert set(record["diagnostics"][0]) == {
        "code",
        "severity",
        "tool",
        "json_path",
        "message",
        "found",
        "expected",
        "suggestion",
        "edits",
    }


def test_the_planted_faults_use_known_codes() -> None:
    assert {case[3] for case in FAULTS} <= CODES


@pytest.mark.parametrize("name", ["x\n", "x\n\n", "\nx"])
def test_a_name_with_a_line_break_is_no_name(document: Any, codes: Any, name: str) -> None:
    step = {"type": "set", "value": 1, "save_as": name}

    assert ("E_NAME", "$.steps[1].save_as") in codes(compile_document(document(step)))
    assert ("E_NAME", "$.tool_name") in codes(compile_document(document(name=name)))
    assert "E_NAME" in {code for code, _ in codes(compile_document(document(inputs={name: "int"})))}


def test_of_two_tools_with_one_name_neither_can_run(document: Any, codes: Any) -> None:
    compilation = compile_document([document(), document()])

    assert codes(compilation) == {("E_NAME", "$[0].tool_name"), ("E_NAME", "$[1].tool_name")}
    assert [item["ok"] for item in compilation.record()["tools"]] == [False, False]


def test_a_tool_that_could_not_be_read_is_not_called_unknown(document: Any) -> None:
    call = {"type": "call_tool", "tool": "bad", "params": {"video_id": "a", "query": "b"}, "save_as": "y"}
    found = compile_document([document(name="bad") | {"steps": []}, document(call, name="caller")])

    assert [item.message for item in found.diagnostics if item.code == "E_UNKNOWN_TOOL"] == [
        "'bad' cannot be called before its own faults are mended"
    ]


def test_a_fault_in_named_slots_is_told_under_its_name(document: Any, codes: Any) -> None:
    step = {"type": "aggregate", "operation": "order_check", "inputs": {"a": "hits", "b": "hits.no"}, "save_as": "x"}

    assert codes(compile_document(document(step, outputs={"x": "record"}))) == {("E_TYPE", "$.steps[1].inputs.b")}
