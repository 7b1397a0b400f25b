"""The real worlds that tools are tried on."""

from __future__ import annotations

from typing import Any

from tool_induction import compile_document
from tool_induction.admission import admit
from tool_induction.domains import Domain
from tool_induction.inducer import trial_worlds


def test_what_one_tool_writes_is_not_seen_by_the_next(domain: Domain, make_world: Any, tools: Any) -> None:
    make_world()
    tried_on = trial_worlds(domain, ("made",), store=make_world.store)
    writing = {
        "tool_name": "note_it",
        "description": "Notes the words. Use for notes. Not for answers.",
        "inputs": {"video_id": "string", "looks": "string"},
        "outputs": {"memory_id": {"type": "string", "from": "{{ note.memory_id }}"}},
        "steps": [
            {
                "type": "call_world_api",
                "api": "write_memory",
                "params": {
                    "video_id": "{{video_id}}",
                    "level": "event",
                    "time_range": {"start_time": 0, "end_time": 5},
                    "content": "{{looks}}",
                },
                "save_as": "note",
            }
        ],
    }
    reading = tools.searching("read_notes")
    reading["outputs"] = {"notes": {"type": "list<Memory>", "from": "{{ notes.memories }}"}}
    reading["steps"] = [
        {
            "type": "call_world_api",
            "api": "read_memory",
            "params": {"video_id": "{{video_id}}", "level": "event", "query": "{{looks}}", "top_k": 5},
            "save_as": "notes",
        }
    ]
    compiled = compile_document([writing, reading]).require()
    verdicts = admit(compiled, examples=tried_on.open()).verdicts
    runs = {item.tool: [run for run in item.runs if run.example] for item in verdicts}
    assert all(run.outputs.get("memory_id") for run in runs["note_it"])
    assert runs["note_it"]
    assert [run.outputs.get("notes") for run in runs["read_notes"]] == [[] for _ in runs["read_notes"]] != []
