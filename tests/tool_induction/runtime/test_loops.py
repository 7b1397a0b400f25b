import json
from typing import Any

ARGUMENTS = {"video_id": "film", "query": "somebody"}
DETECT = {
    "type": "call_world_api",
    "api": "detect_objects",
    "loop_over": "hits",
    "params": {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"},
    "save_as": "seen",
}
SEEN = {"n": {"type": "int", "from": "{{ seen | length }}"}}


def test_items_of_a_loop_keep_their_own_times_and_inherit_what_they_lack(run: Any, document: Any) -> None:
    fields = {
        "own": "{{item.start_time}}",
        "segment": "{{item.parent.segment_id}}",
        "from_segment": "{{item.parent.start_time}}",
    }
    result = run(
        document(
            DETECT,
            {"type": "project", "inputs": "seen", "fields": fields, "save_as": "rows"},
            outputs={"rows": "list<record>"},
        )
    )

    assert [(row["own"], row["segment"], row["from_segment"]) for row in result["outputs"]["rows"]] == [
        (64.0, "seg_60", 60),
        (34.0, "seg_30", 30),
    ]
    assert "parent" not in json.dumps(result["outputs"]["rows"])
    assert [piece["source"] for piece in result["evidence"]].count("detector") == 2


def test_a_caption_made_of_a_segment_carries_its_times(run: Any, document: Any) -> None:
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "loop_over": "hits",
        "params": {"video_id": "{{video_id}}", "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"},
        "save_as": "texts",
    }
    joined = {
        "type": "aggregate",
        "operation": "concat_text",
        "inputs": "texts",
        "params": {"key": "caption", "sep": " / ", "with_times": True},
        "save_as": "story",
    }

    result = run(document(describe, joined, outputs={"story": "string"}))

    assert result["outputs"]["story"].startswith("[60.0-70.0 s] what happens from 60 / [10.0-20.0 s]")


def test_until_stops_in_item_order(run: Any, document: Any, world: Any) -> None:
    result = run(document(DETECT | {"until": "{{ seen | length > 0 }}"}, outputs=SEEN))

    assert result["outputs"]["n"] == 1
    assert world.names().count("detect_objects") == 1


def test_max_items_bounds_a_loop_and_what_was_left_out_is_said(run: Any, document: Any) -> None:
    result = run(document(DETECT | {"max_items": 2}, outputs=SEEN))

    assert result["calls"]["logical"] == 3
    assert result["warnings"] == ["seen: the first 2 of 3 items were looked at"]


def test_a_fault_inside_a_tool_is_a_status_with_its_code_never_an_exception(
    run: Any, document: Any, world: Any
) -> None:
    world.fails = [65.0]

    result = run(document(DETECT, outputs=SEEN))

    assert result["status"] == "error"
    assert result["error"]["code"] == "frame_unreadable"
    assert "cannot be read" in result["summary"]
    assert result["outputs"] == {"n": None}


def test_work_done_before_a_fault_is_not_lost(run: Any, document: Any, world: Any) -> None:
    world.fails = [65.0]

    result = run(
        document(
            {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "segments"},
            DETECT,
            outputs={**SEEN, "segments": "int"},
        )
    )

    assert result["status"] == "partial"
    assert result["outputs"] == {"n": None, "segments": 3}
    assert result["error"]["code"] == "frame_unreadable"


def test_skipped_faults_make_a_partial_answer_and_are_counted(run: Any, document: Any, world: Any) -> None:
    world.fails = [65.0]

    result = run(document(DETECT | {"on_error": "skip"}, outputs=SEEN))

    assert (result["status"], result["outputs"]) == ("partial", {"n": 1})
    assert "1 of 3 calls failed (frame_unreadable" in result["warnings"][0]


def test_nothing_found_is_no_answer_while_part_of_the_looking_failed(run: Any, document: Any, world: Any) -> None:
    world.fails, world.seen = [65.0], []
    first = {"type": "aggregate", "operation": "pick_earliest", "inputs": "seen", "save_as": "first"}

    result = run(document(DETECT | {"on_error": "skip"}, first, outputs={"start_time": "number"}))

    assert result["status"] == "partial"


def test_if_every_item_fails_the_loop_fails_whatever_on_error_says(run: Any, document: Any, world: Any) -> None:
    world.fails = [65.0, 15.0, 35.0]

    result = run(document(DETECT | {"on_error": "skip"}, outputs=SEEN))

    assert (result["status"], result["error"]["code"]) == ("error", "frame_unreadable")


def test_on_error_null_keeps_the_place_of_a_failed_call(run: Any, document: Any, world: Any) -> None:
    world.fails = [60]
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "on_error": "null",
        "params": {"video_id": "{{video_id}}", "start_time": 60, "end_time": 70},
        "save_as": "text",
    }

    result = run(document(describe, outputs={"caption": {"type": "string?", "from": "{{ text.caption }}"}}))

    assert (result["status"], result["outputs"]) == ("partial", {"caption": None})


def test_a_block_of_steps_is_done_for_each_item(run: Any, document: Any) -> None:
    block = {
        "type": "loop",
        "loop_over": "hits",
        "as": "segment",
        "save_as": "rows",
        "do": [
            {
                "type": "call_world_api",
                "api": "describe_segment",
                "params": {
                    "video_id": "{{video_id}}",
                    "start_time": "{{segment.start_time}}",
                    "end_time": "{{segment.end_time}}",
                },
                "save_as": "text",
            },
            {
                "type": "set",
                "value": {"say": "{{ text.caption | upper }}", "id": "{{segment.segment_id}}"},
                "save_as": "row",
            },
        ],
    }

    result = run(document(block, outputs={"rows": "list<record>"}))

    assert [row["say"] for row in result["outputs"]["rows"]][:2] == ["WHAT HAPPENS FROM 60", "WHAT HAPPENS FROM 10"]
    assert [row["start_time"] for row in result["outputs"]["rows"]] == [60, 10, 30]


def test_nested_loops_flatten_once_each(run: Any, document: Any) -> None:
    block = {
        "type": "loop",
        "loop_over": "hits",
        "as": "segment",
        "save_as": "all",
        "do": [DETECT | {"max_items": 2}],
    }

    result = run(document(block, outputs={"n": {"type": "int", "from": "{{ all | length }}"}}))

    assert result["outputs"]["n"] == 3  # of two times looked at, one shows somebody; three segments


def test_a_branch_is_chosen_and_both_bind_the_same_name(run: Any, document: Any, world: Any) -> None:
    world.segments = []
    other = {
        "type": "call_world_api",
        "api": "search_segments_by_semantics",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 5},
        "save_as": "found",
    }
    choose = {
        "type": "if",
        "condition": "{{ hits | length > 0 }}",
        "then": [{"type": "set", "value": "{{hits}}", "save_as": "found"}],
        "else": [other],
    }

    run(document(choose, outputs={"n": {"type": "int", "from": "{{ found | length }}"}}))

    assert world.names() == ["search_segments_by_text", "search_segments_by_semantics"]


def test_a_require_stops_with_its_status_and_reason(run: Any, document: Any) -> None:
    stop = {
        "type": "require",
        "condition": "{{ hits | length > 5 }}",
        "status": "ambiguous",
        "reason": "only {{ hits | length }} segments match {{ query }}",
    }

    result = run(document(stop, DETECT, outputs=SEEN))

    assert (result["status"], result["summary"]) == ("ambiguous", "ambiguous: only 3 segments match somebody")
    assert result["calls"]["logical"] == 1
