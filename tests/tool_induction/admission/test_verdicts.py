"""What admission says of tools that compile and are no good, and of those that are."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tool_induction import load_library
from tool_induction.admission import REASONS, admit, schema_worlds
from tool_induction.compiler import ToolPrice
from tool_induction.language import INT

SEARCH = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 10},
    "save_as": "hits",
}
EARLIEST = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "hit"}
COUNT = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "number"}
FOUND = {"start_time": {"type": "Time", "from": "{{ hit.start_time }}"}}
NUMBER = {"number": {"type": "int", "from": "{{ number }}"}}


def test_a_tool_that_does_what_it_says_is_admitted(tool: Any, verdicts: Any) -> None:
    verdict = verdicts(tool(SEARCH, EARLIEST, outputs=FOUND))["some_tool"]

    assert (verdict.admitted, verdict.reason, verdict.suggestion) == (True, "admitted", "")
    assert {run.world for run in verdict.runs} == set(schema_worlds())


def test_a_tool_that_breaks_where_nothing_is_wrong_is_refused(tool: Any, verdicts: Any) -> None:
    read = {"video_id": "{{video_id}}", "level": "event", "query": "{{query}}", "top_k": 5}
    events = {"type": "call_world_api", "api": "read_memory", "params": read, "save_as": "read"}
    ids = {"type": "project", "inputs": "read", "fields": {"id": "{{item.memory_id}}"}, "save_as": "ids"}
    merged = {
        "type": "call_world_api",
        "api": "merge_events",
        "params": {"video_id": "{{video_id}}", "event_ids": ["{{query}}", "{{query}}"]},
        "save_as": "merged",
    }
    outputs = {"event": {"type": "string", "from": "{{ merged.merged_event.content }}"}}

    verdict = verdicts(tool(events, ids, merged, outputs=outputs))["some_tool"]

    assert (verdict.admitted, verdict.reason) == (False, "fails")
    assert "unknown_id" in verdict.explanation
    assert verdict.suggestion


def test_a_tool_that_costs_more_than_was_announced_is_refused(tool: Any, compiled: Any) -> None:
    tools = compiled(tool(SEARCH, EARLIEST, outputs=FOUND))
    cheap = {name: replace(item, price=ToolPrice()) for name, item in tools.items()}

    (verdict,) = admit(cheap).verdicts

    assert verdict.reason == "over_price"
    assert "1 calls, at most 0" in verdict.explanation


def test_a_tool_that_never_comes_to_its_end_is_refused(tool: Any, verdicts: Any) -> None:
    inner = {
        "type": "loop",
        "loop_over": "hits",
        "as": "other",
        "do": [{"type": "set", "value": "{{ other.start_time }}", "save_as": "t"}],
        "save_as": "times",
    }
    outer = {"type": "loop", "loop_over": "hits", "as": "one", "do": [inner], "save_as": "all_times"}
    search = SEARCH | {"params": SEARCH["params"] | {"top_k": 200}}  # type: ignore[operator]
    outputs = {"number": {"type": "int", "from": "{{ all_times | length }}"}}

    verdict = verdicts(tool(search, outer, outputs=outputs))["some_tool"]

    assert verdict.reason == "over_budget"
    assert "'many'" in verdict.explanation


def test_a_result_that_is_not_what_was_declared_is_refused(tool: Any, compiled: Any) -> None:
    (item,) = compiled(
        tool(SEARCH, EARLIEST, outputs={"text": {"type": "string", "from": "{{ hit.snippet }}"}})
    ).values()
    output = replace(item.tool.outputs[0], type=INT)
    wrong = replace(item, tool=replace(item.tool, outputs=(output,)))

    (verdict,) = admit({"some_tool": wrong}).verdicts

    assert verdict.reason == "wrong_type"
    assert "outputs.text" in verdict.explanation


def test_a_time_that_is_made_up_is_refused(tool: Any, verdicts: Any) -> None:
    outputs = {"start_time": {"type": "Time", "from": "{{ hit.start_time | default(0) }}"}}

    verdict = verdicts(tool(SEARCH, EARLIEST, outputs=outputs))["some_tool"]

    assert verdict.reason == "invents"
    assert "start_time = 0" in verdict.explanation


def test_zero_is_an_answer_where_nothing_is(tool: Any, verdicts: Any) -> None:
    assert verdicts(tool(SEARCH, COUNT, outputs=NUMBER))["some_tool"].admitted


def test_a_time_that_follows_from_what_was_asked_is_not_made_up(tool: Any, verdicts: Any) -> None:
    inputs = {"video_id": "string", "moment": "Time"}
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "params": {"video_id": "{{video_id}}", "start_time": "{{moment}}", "end_time": "{{moment + 5}}"},
        "save_as": "caption",
    }
    outputs = {
        "text": {"type": "string", "from": "{{ caption.caption }}"},
        "end_time": {"type": "Time", "from": "{{ caption.end_time }}"},
    }

    assert verdicts(tool(describe, inputs=inputs, outputs=outputs))["some_tool"].admitted


def test_a_tool_that_answers_although_every_call_failed_is_refused(tool: Any, verdicts: Any) -> None:
    rows = {"type": "set", "value": "{{ hits.candidates | default([]) }}", "save_as": "rows"}
    count = COUNT | {"inputs": "rows"}

    verdict = verdicts(tool(SEARCH | {"on_error": "null"}, rows, count, outputs=NUMBER))["some_tool"]

    assert verdict.reason == "swallows_errors"
    assert "number = 0" in verdict.explanation
    assert "on_error" in verdict.suggestion


def test_calls_that_only_add_something_may_fail(tool: Any, verdicts: Any) -> None:
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "on_error": "null",
        "params": {"video_id": "{{video_id}}", "start_time": "{{hit.start_time}}", "end_time": "{{hit.end_time}}"},
        "save_as": "caption",
    }
    outputs = FOUND | {"text": {"type": "string?", "from": "{{ caption.caption }}"}}
    sure = {"type": "require", "condition": "hit is not none", "reason": "nothing"}

    assert verdicts(tool(SEARCH, EARLIEST, sure, describe, outputs=outputs))["some_tool"].admitted


def test_a_tool_that_knows_only_the_examples_is_refused(tool: Any, verdicts: Any) -> None:
    only = {"type": "require", "condition": "query in ['Mei', 'Ada']", "reason": "not one of them"}
    document = tool(only, SEARCH, EARLIEST, outputs=FOUND)

    told = verdicts(document, entities=["Mei", "Ada"], others=["the man in grey", "a heron"])["some_tool"]

    assert told.reason == "only_examples"
    assert verdicts(tool(SEARCH, EARLIEST, outputs=FOUND), entities=["Mei"], others=["a heron"])["some_tool"].admitted


def test_a_tool_whose_condition_never_holds_is_refused(tool: Any, verdicts: Any) -> None:
    sure = {
        "type": "filter",
        "inputs": "hits",
        "where": "item.start_time > 0.5 and item.start_time < 0.5",
        "save_as": "sure",
    }
    earliest = EARLIEST | {"inputs": "sure"}

    verdict = verdicts(tool(SEARCH, sure, earliest, outputs=FOUND))["some_tool"]

    assert verdict.reason == "always_empty"


def test_a_condition_on_words_of_the_tool_can_hold(tool: Any, verdicts: Any) -> None:
    about = {"type": "filter", "inputs": "hits", "where": "'umbrella' in item.snippet", "save_as": "wet"}

    assert verdicts(tool(SEARCH, about, EARLIEST | {"inputs": "wet"}, outputs=FOUND))["some_tool"].admitted


def test_a_tool_that_always_says_the_same_is_refused(tool: Any, verdicts: Any) -> None:
    same = {"type": "set", "value": "it is on the table", "save_as": "answer"}
    outputs = {"answer": {"type": "string", "from": "{{ answer }}"}}

    assert verdicts(tool(SEARCH, same, outputs=outputs))["some_tool"].reason == "constant"


def test_a_tool_that_only_says_whether_is_admitted(tool: Any, verdicts: Any) -> None:
    present = {"type": "aggregate", "operation": "any", "inputs": "hits", "save_as": "present"}
    outputs = {"present": {"type": "bool", "from": "{{ present }}"}}

    assert verdicts(tool(SEARCH, present, outputs=outputs))["some_tool"].admitted


def test_an_answer_without_evidence_is_refused(tool: Any, verdicts: Any) -> None:
    inputs = {"video_id": "string", "start": "Time", "end": "Time"}
    middle = {"type": "set", "value": "{{ (start + end) / 2 }}", "save_as": "middle"}
    outputs = {"middle": {"type": "Time", "from": "{{ middle }}"}}

    assert verdicts(tool(middle, inputs=inputs, outputs=outputs))["some_tool"].reason == "no_evidence"


def test_a_tool_that_calls_a_refused_one_is_refused(tool: Any, verdicts: Any) -> None:
    outputs = {"start_time": {"type": "Time", "from": "{{ hit.start_time | default(0) }}"}}
    inner = tool(SEARCH, EARLIEST, outputs=outputs, name="inner")
    call = {
        "type": "call_tool",
        "tool": "inner",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
        "save_as": "made",
    }
    outer = tool(call, SEARCH, EARLIEST, outputs=FOUND, name="outer")

    assert {name: item.reason for name, item in verdicts(outer, inner).items()} == {
        "outer": "broken_callee",
        "inner": "invents",
    }


def test_the_packaged_tools_are_admitted() -> None:
    told = admit(load_library("hand_A").tools)

    assert [item.tool for item in told.verdicts if not item.admitted] == []


def test_verdicts_can_be_written_down_and_read(tool: Any, compiled: Any) -> None:
    bad = {"start_time": {"type": "Time", "from": "{{ hit.start_time | default(0) }}"}}
    documents = (tool(SEARCH, EARLIEST, outputs=FOUND), tool(SEARCH, EARLIEST, outputs=bad, name="bad_tool"))

    told = admit(compiled(*documents))

    records = [json.loads(json.dumps(item.record(), allow_nan=False)) for item in told.verdicts]
    assert told.admitted == ("some_tool",)
    assert {item["reason"] for item in records} == {"admitted", "invents"} <= REASONS


def test_admission_says_the_same_twice(tool: Any, compiled: Any) -> None:
    tools = compiled(tool(SEARCH, EARLIEST, outputs=FOUND))

    assert admit(tools, reuse=False) == admit(tools, reuse=False)


def test_a_verdict_that_is_kept_is_that_of_new_runs(tool: Any, compiled: Any) -> None:
    first = tool(SEARCH, EARLIEST, outputs=FOUND)
    changed = tool(SEARCH, EARLIEST | {"operation": "pick_latest"}, outputs=FOUND)
    before = admit(compiled(first))

    kept, other = admit(compiled(changed | {"tool_name": "another"}, first)), admit(compiled(changed))

    assert kept.verdicts[1] == before.verdicts[0]
    assert kept == admit(compiled(changed | {"tool_name": "another"}, first), reuse=False)
    assert other == admit(compiled(changed), reuse=False) != before


def test_an_input_that_changes_nothing_gets_a_warning_and_an_amount_a_note(tool: Any, verdicts: Any) -> None:
    inputs = {"video_id": "string", "query": "string", "colour": "string", "least": {"type": "float", "default": 0}}
    idle = {
        "type": "filter",
        "inputs": "hits",
        "where": "colour != '' and item.start_time > -1 - least * 0",
        "save_as": "kept",
    }

    document = tool(SEARCH, idle, EARLIEST | {"inputs": "kept"}, inputs=inputs, outputs=FOUND)

    verdict = verdicts(document)["some_tool"]
    assert "the input least changed nothing in the trials" in verdict.notes
    (dead,) = [item for item in verdict.weaknesses if item.code == "dead_input"]
    assert dead.message.startswith("colour changed nothing in the trials")
