"""One fault planted deep in a document: in loops inside loops, in branches, in called tools, in outputs.

It is told first, at its place, and nothing else is told as an error but what could not be compiled because of it.
"""

import copy
import json
from typing import Any

import pytest

from tests.support.positions import locate
from tool_induction import compile_document

SEARCH: Any = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 4},
    "save_as": "hits",
}
INNER: Any = {
    "tool_name": "look_around",
    "description": "Looks for persons around the moments that a search finds.",
    "inputs": {"video_id": "string", "query": "string"},
    "outputs": {"seen": "list<record>", "start_time": {"type": "Time?", "from": "{{ seen[0].start_time }}"}},
    "steps": [
        SEARCH,
        {
            "type": "loop",
            "loop_over": "hits",
            "as": "hit",
            "do": [
                {
                    "type": "aggregate",
                    "operation": "sample_times",
                    "params": {"interval": "{{ hit }}", "step": 2, "max_items": 3},
                    "save_as": "moments",
                },
                {
                    "type": "call_world_api",
                    "api": "detect_objects",
                    "loop_over": "moments",
                    "params": {"video_id": "{{video_id}}", "timestamp": "{{item}}", "category": "person"},
                    "save_as": "found",
                },
            ],
            "save_as": "seen",
        },
    ],
}
OUTER: Any = {
    "tool_name": "tell_around",
    "description": "Tells what happens around the moments that a search finds, if there are persons.",
    "inputs": {"video_id": "string", "query": "string"},
    "outputs": {
        "text": {"type": "string", "from": "{{ told }}"},
        "start_time": {"type": "Time?", "from": "{{ around.start_time }}"},
    },
    "steps": [
        {
            "type": "call_tool",
            "tool": "look_around",
            "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
            "save_as": "around",
        },
        {
            "type": "if",
            "condition": "{{ around.seen | length > 0 }}",
            "then": [
                {
                    "type": "filter",
                    "inputs": "{{ around.seen }}",
                    "where": "{{ item.category == 'person' }}",
                    "save_as": "persons",
                },
                {
                    "type": "aggregate",
                    "operation": "concat_text",
                    "inputs": "persons",
                    "params": {"key": "entity_hint"},
                    "save_as": "told",
                },
            ],
            "else": [
                {"type": "set", "value": [], "save_as": "persons"},
                {"type": "set", "value": "nobody", "save_as": "told"},
            ],
        },
    ],
}
DOCUMENT = {"tools": [INNER, OUTER]}

BODY = ("tools", 0, "steps", 1, "do")
LOOK = (*BODY, 1)
THEN = ("tools", 1, "steps", 1, "then")
ELSE = ("tools", 1, "steps", 1, "else")

FAULTS: list[tuple[str, tuple[Any, ...], Any, str, str]] = [
    # in a loop inside a loop
    ("api", (*LOOK, "api"), "detect_object", "E_UNKNOWN_API", "api"),
    ("parameter", (*LOOK, "params", "time"), 3, "E_UNKNOWN_PARAM", "params.time"),
    ("parameter left out", (*LOOK, "params", "category"), ..., "E_MISSING_PARAM", "params"),
    ("name", (*LOOK, "loop_over"), "moment", "E_UNDEFINED", "loop_over"),
    ("expression", (*LOOK, "params", "timestamp"), "{{ item ** 2 }}", "E_EXPR_FORBIDDEN", "params.timestamp"),
    ("half an expression", (*LOOK, "params", "timestamp"), "{{ item + }}", "E_EXPR_SYNTAX", "params.timestamp"),
    ("type", (*LOOK, "params", "timestamp"), "{{ hit }}", "E_TYPE", "params.timestamp"),
    ("field", (*LOOK, "params", "timestamp"), "{{ hit.start }}", "E_TYPE", "params.timestamp"),
    ("null", (*LOOK, "params", "timestamp"), "{{ moments[0] }}", "E_OPTIONAL", "params.timestamp"),
    ("word", (*LOOK, "on_error"), "ignore", "E_SHAPE", "on_error"),
    ("bound", (*LOOK, "max_items"), 1000, "E_SHAPE", "max_items"),
    ("name twice", (*LOOK, "save_as"), "moments", "E_REDEFINED", "save_as"),
    ("later name", (*BODY, 0, "params", "interval"), "{{ found[0] }}", "E_FORWARD", "params.interval"),
    ("aggregate", (*BODY, 0, "operation"), "sample_time", "E_UNKNOWN_AGGREGATE", "operation"),
    ("parameter's type", (*BODY, 0, "params", "step"), "two", "E_TYPE", "params.step"),
    ("item", ("tools", 0, "steps", 1, "loop_over"), "{{ item.candidates }}", "E_ITEM_OUTSIDE_LOOP", "loop_over"),
    (
        "third loop",
        (*LOOK,),
        {
            "type": "loop",
            "loop_over": "moments",
            "as": "at",
            "do": [
                {
                    "type": "call_world_api",
                    "api": "detect_objects",
                    "loop_over": "moments",
                    "params": {"video_id": "{{video_id}}", "timestamp": "{{item}}", "category": "person"},
                    "save_as": "x",
                }
            ],
            "save_as": "found",
        },
        "E_DEPTH",
        "do[0]",
    ),
    # in a branch
    ("condition", ("tools", 1, "steps", 1, "condition"), "{{ around.summary }}", "E_TYPE", ""),
    ("where", (*THEN, 0, "where"), "{{ item.kategory == 'person' }}", "E_TYPE", "where"),
    ("impossible comparison", (*THEN, 0, "where"), "{{ item.start_time == 'noon' }}", "E_TYPE", "where"),
    ("key", (*THEN, 1, "params", "key"), "entity", "E_TYPE", "params.key"),
    ("key as expression", (*THEN, 1, "params", "key"), "{{ query }}", "E_TYPE", "params.key"),
    ("name of the other branch", (*THEN, 1, "save_as"), "said", "E_BRANCH_MISMATCH", "..."),
    ("type of the other branch", (*ELSE, 0, "value"), 3, "E_BRANCH_MISMATCH", "...."),
    ("key of a step", (*ELSE, 1, "from"), "x", "E_SHAPE", "from"),
    ("reserved name", (*ELSE, 1, "save_as"), "none", "E_NAME", "save_as"),
    # at the call of a tool
    ("tool", ("tools", 1, "steps", 0, "tool"), "look_arround", "E_UNKNOWN_TOOL", ""),
    ("input", ("tools", 1, "steps", 0, "params", "qery"), "x", "E_UNKNOWN_PARAM", ""),
    ("input left out", ("tools", 1, "steps", 0, "params", "query"), ..., "E_MISSING_PARAM", "params"),
    ("input's type", ("tools", 1, "steps", 0, "params", "query"), 3, "E_TYPE", ""),
    ("an output that is not there", ("tools", 1, "outputs", "start_time", "from"), "{{ around.start }}", "E_TYPE", ""),
    ("circle", ("tools", 1, "steps", 0, "tool"), "tell_around", "E_CYCLE", ""),
    # in what comes out and goes in
    ("output's type", ("tools", 1, "outputs", "text", "type"), "strng", "E_TYPE", ""),
    ("output's value", ("tools", 1, "outputs", "text", "type"), "Time", "E_TYPE", "."),
    ("output unbound", ("tools", 1, "outputs", "where"), "string", "E_OUTPUT_UNBOUND", ""),
    ("default's type", ("tools", 1, "inputs", "query"), {"type": "string", "default": 3}, "E_TYPE", "default"),
    ("enum without values", ("tools", 1, "inputs", "query"), {"type": "enum"}, "E_SHAPE", ""),
    ("the called tool's own fault", (*LOOK, "params", "category"), "{{ what }}", "E_UNDEFINED", "params.category"),
]


def test_without_a_fault_the_document_compiles() -> None:
    assert compile_document(DOCUMENT).ok, [item.record() for item in compile_document(DOCUMENT).diagnostics]


@pytest.mark.parametrize(
    ("path", "value", "code", "inside"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS]
)
def test_a_fault_planted_deep_is_told_first_and_at_its_place(path: Any, value: Any, code: str, inside: str) -> None:
    document: Any = copy.deepcopy(DOCUMENT)
    holder = document
    for part in path[:-1]:
        holder = holder[part]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    compilation = compile_document(document)

    first = compilation.diagnostics[0]
    assert first.code == code, [(item.code, item.json_path, item.message) for item in compilation.diagnostics]
    where = first.json_path
    planted = path[: len(path) - inside.count(".")] if inside.startswith(".") else path
    told = first.path[: len(planted)] == planted or planted[: len(first.path)] == first.path
    assert told, (where, planted)
    assert inside.startswith(".") or not inside or where.endswith(inside), where
    assert locate(json.dumps(document), first.path) is not None
    others = {item.code for item in compilation.diagnostics if item.severity == "error" and not item.follows}
    assert others == {code}
