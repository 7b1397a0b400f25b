import json
from typing import Any

import pytest

from tool_induction import Memo, RunLimits, ToolFault, Trace, run_tool
from tool_induction.aggregates import AGGREGATES

ARGUMENTS = {"video_id": "film", "query": "somebody"}
DETECT = {
    "type": "call_world_api",
    "api": "detect_objects",
    "loop_over": "hits",
    "params": {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"},
    "save_as": "seen",
}
SEEN = {"n": {"type": "int", "from": "{{ seen | length }}"}}


def called(document: Any, steps: Any, **extra: Any) -> Any:
    inner = {"type": "call_tool", "tool": "inner", "params": {"video_id": "{{video_id}}", "query": "{{query}}"}}
    return document(
        {**inner, "save_as": "hit", **extra},
        *steps,
        name="outer",
        outputs={"t": {"type": "Time?", "from": "{{ hit.center_time }}"}},
    )


@pytest.fixture
def inner(document: Any) -> Any:
    """A tool that finds one stretch, or ends as empty."""
    first = {"type": "aggregate", "operation": "pick_earliest", "inputs": "seen", "save_as": "first"}
    return document(DETECT, first, outputs={"start_time": "number", "end_time": "number"}, name="inner")


def test_a_called_tool_gives_its_outputs_a_centre_and_its_evidence(run: Any, document: Any, inner: Any) -> None:
    result = run(inner, called(document, []))

    assert result["outputs"] == {"t": 35.5}
    assert {piece["source"] for piece in result["evidence"]} == {"detector", "caption"}


def test_an_item_has_its_own_evidence_though_others_overlap_its_span(run: Any, document: Any, world: Any) -> None:
    world.segments = [(60, 70), (10, 70), (10, 69), (11, 70)]
    search = {
        "type": "call_world_api",
        "api": "search_segments_by_text",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 9},
        "save_as": "found",
    }
    third = {"type": "set", "value": "{{ found.candidates[2].evidence }}", "save_as": "proof"}
    result = run(document(search, third, outputs={"proof": {"type": "list<Evidence>", "from": "{{ proof }}"}}))
    assert [(piece["start_time"], piece["end_time"]) for piece in result["outputs"]["proof"]] == [(10, 69)]


def test_a_called_tool_that_finds_nothing_stops_its_caller_unless_told_otherwise(
    run: Any, document: Any, inner: Any, world: Any
) -> None:
    world.seen = []

    stopped = run(inner, called(document, []))
    went_on = run(inner, called(document, [], on_error="null"))

    assert stopped["status"] == "empty"
    assert stopped["summary"].startswith("empty: inner: nothing was found")
    assert (went_on["status"], went_on["outputs"]) == ("ok", {"t": None})


def test_a_caller_goes_on_when_one_of_two_called_tools_comes_back_empty(
    run: Any, world: Any, inner: Any, document: Any
) -> None:
    other = inner | {"tool_name": "other", "steps": [*inner["steps"]]}
    other["steps"][1] = DETECT | {"params": DETECT["params"] | {"category": "dog"}}
    call = {"type": "call_tool", "params": {"video_id": "{{video_id}}", "query": "{{query}}"}, "on_error": "null"}
    both = {"type": "set", "value": ["{{ one }}", "{{ two }}"], "save_as": "both"}
    seen = {"type": "filter", "inputs": "both", "where": "{{ item is not none }}", "save_as": "seen"}
    look, plain = world._detect_objects, {"outputs": SEEN, "name": "outer"}
    world._detect_objects = lambda asked: look(asked | ({"timestamp": -1} if asked["category"] == "dog" else {}))

    outer = document(
        call | {"tool": "inner", "save_as": "one"}, call | {"tool": "other", "save_as": "two"}, both, seen, **plain
    )
    result = run(inner, other, outer)

    assert (result["status"], result["outputs"]) == ("ok", {"n": 1})
    assert result["warnings"] == ["two: other: nothing was found"]


def test_a_called_tool_that_gives_no_reason_is_told_with_its_status(run: Any, world: Any, document: Any) -> None:
    world.segments = []
    stop = {"type": "require", "condition": "{{ hits | length > 0 }}", "status": "ambiguous"}
    result = run(
        document(stop, name="inner"),
        called(document, [], on_error="null") | {"outputs": {"n": {"type": "int", "from": "{{ hits | length }}"}}},
    )

    assert result["warnings"] == ["hit: inner: ambiguous"]


def test_a_fault_in_a_called_tool_reaches_the_caller_with_its_code(
    run: Any, document: Any, inner: Any, world: Any
) -> None:
    world.fails = [65.0]

    assert run(inner, called(document, []))["error"]["code"] == "frame_unreadable"


def test_the_same_call_is_made_once_and_counted_twice(run: Any, document: Any, world: Any) -> None:
    again = {**DETECT, "save_as": "again"}

    result = run(document(DETECT, again, outputs={**SEEN, "m": {"type": "int", "from": "{{ again | length }}"}}))

    assert result["calls"] == {"logical": 7, "physical": 4}
    assert result["cost"]["calls"] == 7
    assert len(world.asked) == 4


def test_what_a_session_wrote_makes_old_results_stale_only_where_they_depend_on_it(
    compiled: Any, document: Any, world: Any
) -> None:
    entities = {"type": "call_world_api", "api": "list_entities", "params": {"video_id": "{{video_id}}"}}
    write = {
        "type": "call_world_api",
        "api": "register_entity",
        "params": {"video_id": "{{video_id}}", "timestamp": 1, "entity_hint": "x"},
        "save_as": "new",
    }
    tools = compiled(document(entities | {"save_as": "before"}, write, entities | {"save_as": "after"}))
    memo = Memo()

    for _ in range(2):
        run_tool(tools, "small_tool", ARGUMENTS, call=world, world=world, memo=memo)

    assert world.names().count("search_segments_by_text") == 1
    assert world.names().count("register_entity") == 2  # writing is never remembered
    assert world.names().count("list_entities") == 3  # revisions 0, 1, 1 (remembered), 2


def test_another_world_shares_nothing(compiled: Any, document: Any, world: Any) -> None:
    tools, memo = compiled(document()), Memo()
    run_tool(tools, "small_tool", ARGUMENTS, call=world, world=world, memo=memo)
    world.memo_key = "world@30"
    run_tool(tools, "small_tool", ARGUMENTS, call=world, world=world, memo=memo)

    assert len(world.asked) == 2


@pytest.mark.parametrize(
    "limits",
    [RunLimits(items=2), RunLimits(result_bytes=1300), RunLimits(seconds=6.5), RunLimits(steps=1)],
    ids=["items", "bytes", "seconds", "steps"],
)
def test_a_budget_ends_a_run_with_what_was_found(run: Any, document: Any, limits: Any) -> None:
    ticks = iter(range(1000))
    monotonic = (lambda: float(next(ticks))) if limits.seconds == 6.5 else (lambda: 0.0)

    result = run(
        document(
            {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "segments"},
            DETECT,
            outputs={**SEEN, "segments": "int?"},
        ),
        limits=limits,
        monotonic=monotonic,
    )

    assert result["status"] == "budget_exhausted"
    assert "the run used" in result["summary"]
    if limits.steps != 1:
        assert result["outputs"]["segments"] == 3


def test_wrong_arguments_are_refused_before_anything_runs(run: Any, document: Any, world: Any) -> None:
    for arguments, word in (
        ({"video_id": "film"}, "query is missing"),
        ({**ARGUMENTS, "qery": "x"}, "qery is not an input"),
        ({**ARGUMENTS, "query": 5}, "query"),
    ):
        with pytest.raises(ToolFault) as fault:
            run(document(), arguments=arguments)
        assert fault.value.code == "bad_arguments"
        assert word in fault.value.message
    assert world.asked == []


def test_what_is_wrong_with_several_arguments_is_said_once_and_where(run: Any, document: Any) -> None:
    inputs = {"word": "string", "span": "Interval"}
    made = document(
        {"type": "set", "value": "{{ word }}", "save_as": "text"}, inputs=inputs, outputs={"text": "string"}
    )
    for arguments, said in (
        ({}, "small_tool: video_id, query, word, span are missing"),
        ({**ARGUMENTS, "word": "a", "span": {}}, "small_tool: span: start_time, end_time are missing"),
        ({**ARGUMENTS, "word": "a", "span": {"start_time": 1, "end_time": 2}, "x": 1, "y": 2},
         "small_tool: x, y are not inputs"),
    ):  # fmt: skip
        with pytest.raises(ToolFault) as fault:
            run(made, arguments=arguments)
        assert fault.value.message == said


def test_an_unknown_tool_is_named_with_the_nearest(compiled: Any, document: Any, world: Any) -> None:
    with pytest.raises(ToolFault) as fault:
        run_tool(compiled(document()), "small_tol", ARGUMENTS, call=world)
    assert (fault.value.code, fault.value.hint) == ("unknown_tool", "did you mean 'small_tool'?")


def test_defaults_fill_in_and_intervals_know_their_length(run: Any, document: Any) -> None:
    say = {"type": "set", "value": "{{ word }} {{ span.duration }}", "save_as": "text"}
    inputs = {"word": {"type": "string", "default": "long"}, "span": "Interval"}

    result = run(
        document(say, inputs=inputs, outputs={"text": "string"}),
        arguments={**ARGUMENTS, "span": {"start_time": 2, "end_time": 5}},
    )

    assert result["outputs"]["text"] == "long 3.0"


def test_a_number_that_is_no_whole_number_is_a_fault_of_the_operation(run: Any, document: Any, world: Any) -> None:
    calls = DETECT | {"loop_over": "more"}
    more = {
        "type": "call_world_api",
        "api": "search_segments_by_text",
        "params": {"video_id": "{{video_id}}", "query": "a", "top_k": "{{ n }}"},
        "save_as": "more",
    }
    make = document(more, calls, inputs={"n": "number"}, outputs=SEEN)

    run(make, arguments={**ARGUMENTS, "n": 2.0})

    assert [arguments["top_k"] for name, arguments in world.asked if name == "search_segments_by_text"] == [5, 2]
    assert all(isinstance(arguments.get("top_k", 1), int) for _, arguments in world.asked)


def test_long_outputs_are_whole(run: Any, document: Any) -> None:
    every_second = {"interval": {"start_time": 0, "end_time": 150}, "step": 1, "max_items": 150}
    step = {"type": "aggregate", "operation": "sample_times", "params": every_second, "save_as": "moments"}

    result = run(document(step, outputs={"moments": "list"}))

    assert len(result["outputs"]["moments"]) == 150
    assert result["warnings"] == []


def test_a_result_that_is_not_json_is_a_fault(compiled: Any, document: Any) -> None:
    tools = compiled(document())

    for answer in ({"candidates": [object()]}, [], None):
        result = run_tool(tools, "small_tool", ARGUMENTS, call=lambda name, arguments, given=answer: given)
        assert (result["status"], result["error"]["code"]) == ("error", "bad_result")


def test_two_runs_give_the_same_bytes(run: Any, document: Any) -> None:
    make = document(DETECT, outputs=SEEN)

    assert json.dumps(run(make)) == json.dumps(run(make))


def test_the_trace_is_a_tree_of_tools_steps_and_calls(run: Any, document: Any, inner: Any) -> None:
    trace = Trace()

    run(inner, called(document, []), trace=trace)

    outer = trace.root.children[0]
    assert (outer.kind, outer.name) == ("tool", "outer")
    assert [node.name for node in outer.children] == ["search_segments_by_text as hits", "inner as hit"]
    assert outer.children[1].children[0].name == "inner"
    assert outer.children[1].path == "$[1].steps[1]"


def test_what_follows_an_item_is_never_that_item(run: Any, document: Any) -> None:
    def beside(operation: str, time: str) -> Any:
        first = {"type": "aggregate", "operation": "sort_by", "inputs": "hits", "params": {"key": "start_time"}}
        step = {"type": "aggregate", "operation": operation, "inputs": "hits", "params": {"time": time}}
        steps = ({**first, "save_as": "rows"}, {**step, "save_as": "other"})
        return run(document(*steps, outputs={"t": {"type": "Time?", "from": "{{ other.start_time }}"}}))

    assert beside("next_after", "{{ rows[0].start_time | default(0) }}")["outputs"]["t"] == 30
    assert beside("previous_before", "{{ rows[1].start_time | default(0) }}")["outputs"]["t"] == 10
    assert AGGREGATES["previous_before"].run([10.0, 20.0], 20.0) == 10.0
    assert AGGREGATES["next_after"].run([10.0, 20.0], 10.0) == 20.0


@pytest.mark.parametrize("most", [0, 1, 9, 10, 17, 18, 19, 30, 1000])
def test_a_text_of_items_is_never_longer_than_was_asked_for(most: int) -> None:
    text = AGGREGATES["concat_text"].run(["aaaaaaaaa", "bbbbbbbbb", "cccc", "d"], max_chars=most)

    assert len(text) <= most
    assert AGGREGATES["concat_text"].run(["aaaaaaaaa", "bbbbbbbbb", "cccc"], max_chars=20) == "aaaaaaaaa\n(+2 more)"
    assert AGGREGATES["concat_text"].run(["ab", None, "cd"], max_chars=5) == "ab\ncd"


@pytest.mark.parametrize("status", ["partial", "empty", "ambiguous", "error"])
def test_a_require_that_stops_a_called_tool_stops_its_caller_with_its_status(
    run: Any, document: Any, status: str
) -> None:
    stop = {"type": "require", "condition": "{{ hits | length > 99 }}", "status": status, "reason": "too few"}
    outcome = run(
        document(stop, name="inner", outputs={"center_time": {"type": "Time", "from": "{{ 1 }}"}}), called(document, [])
    )

    assert (outcome["status"], outcome["outputs"]) == (status, {"t": None})


def test_a_fault_that_leaves_a_called_tool_something_to_say_is_still_a_fault_of_its_caller(
    run: Any, document: Any, world: Any
) -> None:
    world.fails = [1]
    look = {**DETECT, "params": {**DETECT["params"], "timestamp": 1}}
    del look["loop_over"]
    inner = document(look, name="inner", outputs={"center_time": {"type": "int", "from": "{{ hits | length }}"}})

    alone, within = run(inner), run(inner, called(document, []))

    assert (alone["status"], alone["outputs"]) == ("partial", {"center_time": 3})
    assert (within["status"], within["error"]["code"]) == ("error", "frame_unreadable")


def test_a_field_that_is_only_called_parent_is_shown(run: Any, document: Any) -> None:
    step = {"type": "set", "value": {"parent": "Bob", "evidence": "a letter", "age": 3}, "save_as": "x"}

    assert run(document(step, outputs={"x": "record"}))["outputs"]["x"] == step["value"]


@pytest.mark.parametrize(("above", "cited"), [(99, False), (20, True)], ids=["none matches", "one matches"])
def test_what_did_not_match_is_not_cited_for_an_answer_that_nothing_was_found(
    run: Any, document: Any, above: int, cited: bool
) -> None:
    late = {"type": "filter", "inputs": "hits", "where": f"{{{{ item.start_time > {above} }}}}", "save_as": "late"}
    count = {"type": "aggregate", "operation": "count", "inputs": "late", "save_as": "n"}

    result = run(document(late, count, outputs={"n": "int"}))

    assert result["status"] == "ok"
    assert bool(result["evidence"]) is cited is (result["outputs"]["n"] > 0)
