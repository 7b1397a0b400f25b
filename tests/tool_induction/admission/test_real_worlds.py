"""Tools tried on worlds that were not made for trying."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tool_induction import load_library
from tool_induction.admission import ExampleWorld, admit, schema_worlds
from world_api.core import BackendFault, OperationFault
from world_api.operations import OPERATIONS, run

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


def _example(call: Any) -> ExampleWorld:
    return ExampleWorld(name="a real one", video_id="clip", texts=("a kettle",), open=lambda: (call, None))


def test_an_example_world_is_asked_for_its_own_texts(tool: Any, verdicts: Any) -> None:
    asked: list[Any] = []

    def call(name: str, arguments: Any) -> Any:
        asked.append((name, arguments))
        return schema_worlds()["one"](name, arguments)

    verdict = verdicts(tool(SEARCH, EARLIEST, outputs=FOUND), examples=[_example(call)])["some_tool"]

    assert verdict.admitted
    assert "a real one" in {run.world for run in verdict.runs}
    assert all(arguments["video_id"] == "clip" for _, arguments in asked)
    assert {arguments["query"] for name, arguments in asked if "search" in name} == {"a kettle"}


@pytest.mark.parametrize(
    ("fault", "admitted"),
    [(BackendFault("no_model", "no model is here"), True), (OperationFault("bad_arguments", "wrong"), False)],
    ids=["a backend is missing", "the tool asks wrongly"],
)
def test_only_faults_that_are_the_tools_own_count_on_an_example_world(
    tool: Any, verdicts: Any, fault: Exception, admitted: bool
) -> None:
    def call(name: str, arguments: Any) -> Any:
        raise fault

    assert verdicts(tool(SEARCH, EARLIEST, outputs=FOUND), examples=[_example(call)])["some_tool"].admitted is admitted


def test_every_run_on_an_example_world_that_can_be_opened_gets_a_session_of_its_own(tool: Any, verdicts: Any) -> None:
    opened: list[list[str]] = []

    def fresh() -> tuple[Any, None]:
        calls: list[str] = []
        opened.append(calls)

        def call(name: str, arguments: Any) -> Any:
            calls.append(name)
            return schema_worlds()["one"](name, arguments)

        return call, None

    example = ExampleWorld(name="a real one", video_id="clip", texts=("a kettle",), open=fresh)
    search = tool(SEARCH, EARLIEST, outputs=FOUND)
    runs = [
        run for item in verdicts(search, examples=[example]).values() for run in item.runs if run.world == "a real one"
    ]

    tried = [calls for calls in opened if "search_segments_by_text" in calls]
    assert len(tried) == len(runs) > 1
    assert all(calls == ["search_segments_by_text"] for calls in tried)
    listed = {name for calls in opened for name in calls} - {"search_segments_by_text"}
    assert all(OPERATIONS[name].state == "reads" for name in listed)


def _made_example(session: Any, last: str = "THE LONG WALK") -> ExampleWorld:
    texts = ("person in black", "person in red and white", last)
    return ExampleWorld(name="made", video_id="made", texts=texts, open=lambda: (partial(run, session), session))


def test_the_packaged_tools_are_admitted_on_a_real_world_too(open_made: Any) -> None:
    told = admit(load_library("hand_A").tools, examples=[_made_example(open_made())])

    assert [item for item in told.verdicts if not item.admitted] == []
    assert any(run.example and run.status == "ok" and run.evidence for item in told.verdicts for run in item.runs)


@pytest.mark.parametrize(("last", "code"), [("THE LONG WALK", "not_judged"), ("person in green", "nothing_matches")])
def test_what_a_real_world_happens_not_to_hold_is_noted_and_refuses_nothing(
    tool: Any, verdicts: Any, open_made: Any, last: str, code: str
) -> None:
    register = {
        "type": "call_world_api",
        "api": "register_entity",
        "params": {"video_id": "{{video_id}}", "timestamp": "{{at}}", "entity_hint": "{{looks}}"},
        "save_as": "entity",
    }
    track = {
        "type": "call_world_api",
        "api": "get_entity_trajectory",
        "params": {"video_id": "{{video_id}}", "entity_id": "{{entity.entity_id}}"},
        "save_as": "track",
    }
    inputs = {"video_id": "string", "at": "Time", "looks": "string"}
    outputs = {"track": {"type": "list<Appearance>", "from": "{{ track.trajectory }}"}}

    some_tool = tool(register, track, inputs=inputs, outputs=outputs)
    verdict = verdicts(some_tool, examples=[_made_example(open_made(), last)])["some_tool"]

    assert verdict.admitted, verdict
    assert any(code in note for note in verdict.notes)


def test_inputs_named_like_fields_of_a_listing_are_given_what_is_listed(
    tool: Any, verdicts: Any, open_made: Any
) -> None:
    track = {
        "type": "call_world_api",
        "api": "get_entity_trajectory",
        "params": {"video_id": "{{video_id}}", "entity_id": "{{entity_id}}"},
        "save_as": "track",
    }
    inputs = {"video_id": "string", "entity_id": "string", "category": "string"}
    kept = {"type": "filter", "inputs": "track.trajectory", "where": "category == 'person'", "save_as": "kept"}
    outputs = {"seen": {"type": "list<Appearance>", "from": "{{ kept }}"}}

    verdict = verdicts(tool(track, kept, inputs=inputs, outputs=outputs), examples=[_made_example(open_made())])[
        "some_tool"
    ]

    real = [run for run in verdict.runs if run.example]
    assert {run.arguments["category"] for run in real} == {"person"}
    assert all(run.status == "ok" and run.outputs["seen"] for run in real)
