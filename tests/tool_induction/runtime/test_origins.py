"""From each output back to the calls it was computed from, and to its evidence."""

from typing import Any

import pytest

from tool_induction import Trace, run_tool
from tool_induction.runtime import TraceNode, tree_lines

ARGUMENTS = {"video_id": "film", "query": "somebody"}
DETECT = {
    "type": "call_world_api",
    "api": "detect_objects",
    "loop_over": "hits",
    "params": {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"},
    "save_as": "seen",
}
LOOK = {
    "type": "call_world_api",
    "api": "describe_segment",
    "params": {"video_id": "{{video_id}}", "start_time": 1, "end_time": 2},
    "save_as": "text",
}
WORDS = {"words": {"type": "string?", "from": "{{ text.caption }}"}}


@pytest.fixture
def told(compiled: Any, world: Any) -> Any:
    """Runs the last of some documents: the node of its run, with where its outputs came from."""

    def go(*documents: Any) -> TraceNode:
        trace = Trace()
        tools = compiled(*documents)
        run_tool(tools, documents[-1]["tool_name"], ARGUMENTS, call=world, world=world, trace=trace)
        return trace.root.children[0]

    return go


def aggregate(operation: str, inputs: Any = "seen", name: str = "x", **params: Any) -> Any:
    return {"type": "aggregate", "operation": operation, "inputs": inputs, "params": params, "save_as": name}


def test_what_was_picked_came_from_every_call_behind_the_list(told: Any, document: Any) -> None:
    tool = told(
        document(DETECT, aggregate("pick_earliest"), outputs={"t": {"type": "Time?", "from": "{{ x.start_time }}"}})
    )

    assert tool.outputs["t"].calls == (1, 2, 3, 4)
    assert [call.made_from for call in tool.calls()] == [(), (1,), (1,), (1,)]


def test_what_was_counted_came_from_every_call_that_could_have_added_to_it(told: Any, document: Any) -> None:
    tool = told(document(DETECT, aggregate("count"), outputs={"n": {"type": "int", "from": "{{ x }}"}}))

    assert tool.outputs["n"].calls == (1, 2, 3, 4)


def test_an_answer_came_from_its_own_call_whose_arguments_lead_further_back(told: Any, document: Any) -> None:
    text = LOOK | {"params": LOOK["params"] | {"end_time": "{{ (hits | length) + 2 }}"}}

    tool = told(document(text, outputs=WORDS))

    assert tool.outputs["words"].calls == (2,)
    assert [call.made_from for call in tool.calls()] == [(), (1,)]


def test_conditions_that_choose_a_value_are_behind_it(told: Any, document: Any) -> None:
    late = {"type": "filter", "inputs": "seen", "where": "{{ item.start_time > 40 }}", "save_as": "late"}
    one = {"type": "set", "value": 1, "save_as": "one"}
    two = {"type": "set", "value": 2, "save_as": "one"}
    branch = {"type": "if", "condition": "{{ late | length > 0 }}", "then": [one], "else": [two]}
    word = {"type": "set", "value": "{{ query }}", "save_as": "word"}
    enough = {"type": "require", "condition": "{{ late | length > 0 }}"}

    outputs = {"one": "int", "word": "string"}
    tool = told(document(DETECT, late, branch, enough, word, outputs=outputs))

    assert tool.outputs["one"].calls == (1, 2, 3, 4)
    assert tool.outputs["word"].calls == ()


def test_an_output_of_a_called_tool_came_from_the_calls_made_there(told: Any, document: Any) -> None:
    first = aggregate("pick_earliest", name="first")
    inner = document(DETECT, first, outputs={"start_time": "number", "end_time": "number"}, name="inner")
    step = {
        "type": "call_tool",
        "tool": "inner",
        "params": {"video_id": "{{video_id}}", "query": "x"},
        "save_as": "hit",
    }
    outer = document(step, outputs={"t": {"type": "Time", "from": "{{ hit.start_time }}"}}, name="outer")

    tool = told(inner, outer)

    assert tool.outputs["t"].calls == (2, 3, 4, 5)


def test_a_call_that_failed_stands_behind_the_null_that_took_its_place(told: Any, document: Any, world: Any) -> None:
    world.fails = [1]
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "on_error": "null",
        "params": {"video_id": "{{video_id}}", "start_time": 1, "end_time": 2},
        "save_as": "text",
    }

    tool = told(document(describe, outputs={"words": {"type": "string?", "from": "{{ text.caption }}"}}))

    assert tool.outputs["words"].calls == (2,)


def test_an_answer_that_was_remembered_is_a_call_like_any_other(told: Any, document: Any) -> None:
    again = {**DETECT, "save_as": "again"}

    tool = told(
        document(DETECT, again, aggregate("first", "again"), outputs={"x": {"type": "record?", "from": "{{ x }}"}})
    )

    assert tool.outputs["x"].calls[-1] > 4
    assert [call.outcome for call in tool.calls()][4:] == ["cached"] * 3


def test_evidence_is_told_by_output_and_by_call(told: Any, document: Any) -> None:
    pick = aggregate("pick_earliest")
    outputs = {
        "t": {"type": "Time?", "from": "{{ x.start_time }}"},
        "n": {"type": "int", "from": "{{ hits | length }}"},
    }

    tool = told(document(DETECT, pick, outputs=outputs))

    detected = [place for place, calls in enumerate(tool.evidence) if calls == (4,)]
    assert len(detected) == 1
    assert detected[0] in tool.outputs["t"].evidence
    assert detected[0] not in tool.outputs["n"].evidence
    assert tool.record()["outputs"]["t"]["evidence"] == list(tool.outputs["t"].evidence)


def test_what_was_written_bears_on_what_a_session_remembers(told: Any, document: Any) -> None:
    write = {"type": "call_world_api", "api": "register_entity", "save_as": "new"}
    params = {"video_id": "{{video_id}}", "timestamp": 1, "entity_hint": "x"}
    entities = {"type": "call_world_api", "api": "list_entities", "params": {"video_id": "{{video_id}}"}}

    tool = told(document(write | {"params": params}, entities | {"save_as": "who"}))

    assert [call.made_from for call in tool.calls()] == [(), (), (2,)]


def test_the_tree_shows_steps_items_calls_and_what_they_fed(told: Any, document: Any) -> None:
    pick = aggregate("pick_earliest")
    tool = told(document(DETECT, pick, outputs={"t": {"type": "Time?", "from": "{{ x.start_time }}"}}))
    root = TraceNode(kind="run", name="run", children=[tool])

    assert tree_lines(root) == [
        'small_tool(video_id="film", query="somebody") -> ok (4 ok)',
        "├─ [0] hits = #1 search_segments_by_text(top_k=5) -> ok, 3 items  => t",
        "├─ [1] seen = detect_objects for each of 3 items",
        '│  ├─ [0] #2 detect_objects(timestamp=65, category="person") -> ok, 1 item',
        '│  ├─ [1] #3 detect_objects(timestamp=15, category="person") -> ok, 0 items',
        '│  └─ [2] #4 detect_objects(timestamp=35, category="person") -> ok, 1 item  => t',
        "└─ [2] x = pick_earliest",
        "outputs",
        "  t  from #1-#4; evidence 0, 1",
        "  evidence 0 given by #4",
        "  evidence 1 given by #1",
    ]


def test_the_tree_counts_what_there_is_much_of_and_keeps_what_failed(told: Any, document: Any, world: Any) -> None:
    world.segments = [(n * 10, n * 10 + 2) for n in range(40)]
    world.fails = [301.0]
    skips = {**DETECT, "on_error": "skip"}
    make = document(skips, outputs={"n": {"type": "int", "from": "{{ hits | length }}"}})
    make["steps"][0]["params"]["top_k"] = 40

    lines = tree_lines(TraceNode(kind="run", name="run", children=[told(make)]), width=70)

    assert [line.strip(" ├└│─") for line in lines if "like these" in line] == [
        "… 22 items like these: 22 ok",
        "… 9 items like these: 9 ok",
    ]
    assert any("frame_unreadable" in line for line in lines)
    assert max(map(len, lines)) <= 70
