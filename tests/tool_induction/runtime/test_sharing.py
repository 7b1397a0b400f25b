"""A memo that several runs share: what a session remembers is not told to another, and nobody can spoil what lies in it."""

import json
from typing import Any

import pytest

from tests.support.plans import AnyWorld
from tool_induction import Memo, run_tool
from world_api.api import open_session
from world_api.core import TimeSpan

SPAN = TimeSpan(start=0, end=1)
ARGUMENTS = {"video_id": "film", "query": "somebody"}
NOTES = {
    "tool_name": "read_notes",
    "description": "Use when notes are to be read. Not when nothing was written.",
    "inputs": {"video_id": "string", "query": "string"},
    "outputs": {"notes": {"type": "list", "from": "{{ m.memories }}"}},
    "steps": [
        {
            "type": "call_world_api",
            "api": "read_memory",
            "params": {"video_id": "{{video_id}}", "level": "event", "query": "{{query}}", "top_k": 3},
            "save_as": "m",
        }
    ],
}


class Notes:
    """A session that holds one note."""

    memo_key = "world@all"
    revision = 1

    def __init__(self, note: str) -> None:
        self.note = note
        self.session_key = note

    def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        times = {"start_time": 0.0, "end_time": 1.0, "center_time": 0.5}
        memory = {"memory_id": self.note, "level": "event", "content": self.note, "score": 1.0, **times}
        return {"evidence": [], "hint": "", "memories": [memory]}


@pytest.mark.parametrize("known", [True, False], ids=["told of the session", "not told"])
def test_a_session_is_not_given_what_another_wrote(compiled: Any, known: bool) -> None:
    tools, memo = compiled(NOTES), Memo()

    found = [
        run_tool(tools, "read_notes", ARGUMENTS, call=notes, world=notes if known else None, memo=memo)["outputs"]
        for notes in (Notes("from a"), Notes("from b"))
    ]

    assert ["from a" in json.dumps(one) for one in found] == [True, False]


def test_sessions_with_the_same_number_of_writes_have_different_keys(make_world: Any) -> None:
    make_world()
    first, second = (open_session(make_world.store, "made", name=name) for name in ("one", "two"))
    empty = first.session_key
    for session, content in ((first, "a"), (second, "b")):
        session.write_memory(level="event", span=SPAN, content=content)

    written = first.session_key
    assert first.revision == second.revision
    assert len({empty, written, second.session_key}) == 3
    assert open_session(make_world.store, "made", name="one").session_key == written

    first.overlay.drop()
    assert first.session_key == empty
    first.write_memory(level="event", span=SPAN, content="c")
    assert first.session_key not in (empty, written)


def test_evidence_that_a_caller_changes_stays_as_it_was_in_the_memo(compiled: Any, document: Any) -> None:
    world, memo = AnyWorld(), Memo()
    tools = compiled(document(outputs={"rows": {"type": "list", "from": "{{ hits }}"}}))
    arguments = next(
        {"video_id": "film", "query": query}
        for query in map(str, range(99))
        if run_tool(tools, "small_tool", {"video_id": "film", "query": query}, call=world)["evidence"]
    )

    first = run_tool(tools, "small_tool", arguments, call=world, world=world, memo=memo)
    kept = json.dumps(first)
    first["evidence"][0]["video_id"] = "spoilt"
    first["outputs"]["rows"][0]["snippet"] = "spoilt"

    again = run_tool(tools, "small_tool", arguments, call=world, world=world, memo=memo)
    assert again["calls"]["physical"] == 0
    assert json.dumps(again | {"calls": None}) == json.dumps(json.loads(kept) | {"calls": None})
