"""A word that nothing can judge never leaves a result ``ok`` where it could change it, whatever a tool does to be rid of it.

A word could change a result if all things having it and no thing having it give different results: then the result
with the word must not be ``ok``. Forty tools are drawn at random, and each output is tried by itself, so that no other
one makes the result uncertain; further ones try to drop what is unsure on purpose.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.tool_documents import documents
from tool_induction.admission import staged_sessions
from tool_induction.compiler import compile_document
from tool_induction.runtime import Memo, run_tool
from world_api.operations import run

ABSENT, UNJUDGED = "person in pink", "with glasses"
#: Every tool asks the same few things of the same films, so that each is computed once.
ANSWERS = Memo()
FORTY = settings(max_examples=40, suppress_health_check=list(HealthCheck))
SEARCH = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 12},
    "save_as": "hits",
}
DETECT = {
    "type": "call_world_api",
    "api": "detect_objects",
    "loop_over": "hits",
    "on_error": "skip",
    "params": {
        "video_id": "{{video_id}}",
        "timestamp": "{{item.center_time}}",
        "category": "person",
        "text_query": "{{query}}",
    },
    "save_as": "seen",
}


def keep(items: str, where: str) -> dict[str, Any]:
    return {"type": "filter", "inputs": items, "where": where, "save_as": "kept"}


def bind(value: str) -> dict[str, Any]:
    return {"type": "set", "value": value, "save_as": "value"}


#: steps after the search, and the output
DROPPING: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "only hits that lack nothing": ([keep("hits", "item.lacks | length == 0")], "int", "{{ kept | length }}"),
    "only detections that lack nothing": ([DETECT, keep("seen", "not item.lacks")], "int", "{{ kept | length }}"),
    "a projection without the field": (
        [{"type": "project", "inputs": "hits", "fields": {"at": "{{ item.start_time }}"}, "save_as": "kept"}],
        "int",
        "{{ kept | length }}",
    ),
    "a word instead of a number": (
        [keep("hits", "item.lacks | length == 0"), bind("{{ 'yes' if kept | length > 0 else 'no' }}")],
        "string",
        "{{ value }}",
    ),
    "a number in a text": ([DETECT, bind("seen {{ seen | length }} times")], "string", "{{ value }}"),
    "a number that is multiplied": (
        [DETECT, bind("{{ (seen | length) * 2 }}")],
        "number",
        "{{ value }}",
    ),
    "groups": (
        [{"type": "aggregate", "operation": "group_by", "inputs": "hits", "params": {"key": "snippet"}, "save_as": "kept"}],
        "int",
        "{{ kept | length }}",
    ),
    "a loop that reads the field": (
        [
            {
                "type": "loop",
                "loop_over": "hits",
                "max_items": 12,
                "do": [{"type": "set", "value": "{{ item.start_time if item.lacks | length == 0 else none }}", "save_as": "one"}],
                "save_as": "kept",
            }
        ],
        "list",
        "{{ kept }}",
    ),
    "a branch on what was not judged": (
        [{"type": "if", "condition": "hits.unmatched | length > 0", "then": [bind("{{ 0 }}")], "else": [bind("{{ 1 }}")]}],
        "int",
        "{{ value }}",
    ),
    "another search for what was found": (
        [SEARCH | {"params": SEARCH["params"] | {"query": "{{ hits.candidates[0].snippet | default('x') }}"}, "save_as": "kept"}],
        "list",
        "{{ kept }}",
    ),
}  # fmt: skip


def outcome(tools: Any, name: str, query: str, session: Any) -> tuple[str, str]:
    """The status, and the outputs without what says only how they were asked for."""
    result = run_tool(
        tools,
        name,
        {"video_id": session.video_id, "query": query},
        call=partial(run, session),
        world=session,
        memo=ANSWERS,
    )
    text = json.dumps([result["status"], result["outputs"]], sort_keys=True, ensure_ascii=False)
    return result["status"], re.sub(r'"score": [^,}]*', "", text.replace(query, "QUERY"))


def statuses_where_it_matters(document: list[Any]) -> list[str]:
    compiled = compile_document(json.dumps(document))
    if not compiled.ok:
        return []
    name, found = document[-1]["tool_name"], []
    for session in staged_sessions():
        for looks in [track.hint for track in session.view.tracks if track.category == "person"][:2]:
            every, none = (outcome(compiled.tools, name, query, session) for query in (looks, ABSENT))
            if "error" not in (every[0], none[0]) and every[1] != none[1]:
                found.append(outcome(compiled.tools, name, f"{looks} {UNJUDGED}", session)[0])
    return found


def test_no_drawn_tool_is_sure_of_what_nothing_can_judge() -> None:
    seen: list[str] = []

    @FORTY
    @given(documents())
    def drawn(document: list[Any]) -> None:
        last = document[-1]
        for name, output in last["outputs"].items():
            found = statuses_where_it_matters([*document[:-1], {**last, "outputs": {name: output}}])
            assert "ok" not in found, (name, last)
            seen.extend(found)

    drawn()
    assert len(seen) > 100


@pytest.mark.parametrize("way", DROPPING)
def test_no_way_of_dropping_what_is_unsure_makes_a_result_sure(way: str) -> None:
    steps, kind, source = DROPPING[way]
    document = {
        "tool_name": "drop_it",
        "description": "A tool that drops what is not sure, to see whether that can be done at all.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"answer": {"type": kind, "from": source}},
        "steps": [SEARCH, *steps],
    }
    assert compile_document(json.dumps([document])).ok
    found = statuses_where_it_matters([document])
    if way == "a branch on what was not judged":
        # It says only whether a word can be judged, which is the same for every thing that there is.
        assert found == []
        return
    assert found
    assert "ok" not in found
