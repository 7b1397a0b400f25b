"""Which tools of a library do the same, and which of them stays."""

from __future__ import annotations

import json
from typing import Any

from tool_induction.admission import admit

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


def test_of_two_tools_with_one_plan_the_first_is_kept_and_the_other_named(tool: Any, compiled: Any) -> None:
    told = admit(
        compiled(tool(SEARCH, EARLIEST, outputs=FOUND, name="one"), tool(SEARCH, EARLIEST, outputs=FOUND, name="two"))
    )

    assert told.admitted == ("one",)
    assert told.unpruned == ("one", "two")
    two = told.verdicts[1]
    assert (two.reason, two.kept) == ("duplicate", "one")
    assert "'one'" in two.explanation


def test_of_two_tools_that_answer_the_same_the_cheaper_one_is_kept(tool: Any, compiled: Any) -> None:
    other_names = json.loads(json.dumps(tool(SEARCH, EARLIEST, outputs=FOUND, name="cheap")).replace("hits", "seen"))
    entities = {
        "type": "call_world_api",
        "api": "list_entities",
        "params": {"video_id": "{{video_id}}"},
        "save_as": "known",
    }
    dear = tool(SEARCH, EARLIEST, entities, outputs=FOUND, name="dear")

    told = admit(compiled(dear, other_names))

    assert told.admitted == ("cheap",)
    assert told.verdicts[0].kept == "cheap"
    assert "the same answers" in told.verdicts[0].explanation


def test_a_tool_that_others_call_is_not_dropped_as_a_duplicate(tool: Any, compiled: Any) -> None:
    call = {
        "type": "call_tool",
        "tool": "two",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
        "save_as": "made",
    }
    twice = {"value": {"type": "float", "from": "{{ made.start_time * 2 }}"}}
    documents = [tool(SEARCH, EARLIEST, outputs=FOUND, name=name) for name in ("one", "two")]

    told = admit(compiled(*documents, tool(call, outputs=twice, name="three")))

    assert told.admitted == ("two", "three")


def test_tools_that_ask_differently_are_no_duplicates(tool: Any, compiled: Any) -> None:
    latest = EARLIEST | {"operation": "pick_latest"}
    semantic = SEARCH | {"api": "search_segments_by_semantics"}
    documents = [
        tool(SEARCH, EARLIEST, outputs=FOUND, name="earliest"),
        tool(SEARCH, latest, outputs=FOUND, name="latest"),
        tool(semantic, EARLIEST, outputs=FOUND, name="by_meaning"),
    ]

    assert admit(compiled(*documents)).admitted == ("earliest", "latest", "by_meaning")
