"""Optional groups: off by default, switched on by name, refused by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tool_induction import compile_document, load_library
from world_api.core import OperationFault, ToolFault
from world_api.operations import (
    EVERY_OPERATION,
    OPERATIONS,
    check_groups,
    group_names,
    operations_for,
    operations_of,
    run,
)
from world_api.session import Session

Opened = Callable[..., Session]
INSPECT = ["inspect_segment", "read_transcript", "scan_segments"]


def test_the_sixteen_alone_are_offered_where_nothing_is_switched_on(open_made: Opened) -> None:
    assert list(operations_for(())) == list(OPERATIONS)
    assert len(OPERATIONS) == 16
    assert open_made().groups == frozenset()


def test_a_group_adds_its_operations_behind_the_sixteen() -> None:
    assert group_names() == ("inspect",)
    assert list(operations_of("inspect")) == INSPECT
    assert list(operations_for({"inspect"})) == [*OPERATIONS, *INSPECT] == list(EVERY_OPERATION)


@pytest.mark.parametrize("name", INSPECT)
def test_an_operation_whose_group_is_off_is_refused_by_name_whatever_its_arguments(
    open_made: Opened, name: str
) -> None:
    with pytest.raises(OperationFault) as caught:
        run(open_made(), name, {"nothing": "that fits"})
    assert caught.value.code == "operation_off"
    assert "'inspect'" in caught.value.message
    assert "--with inspect" in caught.value.hint
    assert all(operation in caught.value.hint for operation in OPERATIONS)


def test_an_unknown_operation_is_told_apart_from_one_that_is_off(open_made: Opened) -> None:
    for groups, offered in ((frozenset[str](), False), (frozenset({"inspect"}), True)):
        with pytest.raises(OperationFault) as caught:
            run(open_made(groups=groups), "read_transcripts", {})
        assert caught.value.code == "unknown_operation"
        assert ("read_transcript" in caught.value.hint) is offered


@pytest.mark.parametrize("names", [["inspekt"], ["inspect", ""], ["Inspect"], ["x" * 10_000]])
def test_a_group_that_is_not_there_is_named_with_those_there_are(open_made: Opened, names: list[str]) -> None:
    with pytest.raises(OperationFault) as caught:
        check_groups(names)
    assert caught.value.code == "unknown_group"
    assert caught.value.hint in ("one of: inspect", "did you mean 'inspect'?")
    assert len(caught.value.message) < 200
    with pytest.raises(OperationFault):
        open_made(groups=frozenset(names))


def test_the_sixteen_answer_the_same_beside_a_group(open_made: Opened) -> None:
    call = ("search_segments_by_text", {"video_id": "made", "query": "blue folder", "top_k": 5})
    alone, beside = open_made(), open_made(groups=frozenset({"inspect"}))
    assert run(alone, *call) == run(beside, *call)
    assert alone.memo_key == beside.memo_key


def test_a_category_is_left_out_by_name(open_made: Opened) -> None:
    left = operations_for({"no-memory", "inspect"})
    assert set(EVERY_OPERATION) - set(left) == {"write_memory", "read_memory", "merge_events"}
    session = open_made(groups=check_groups(["no-memory"]))
    with pytest.raises(OperationFault) as caught:
        run(session, "read_memory", {"video_id": "made", "level": "event", "query": "rain", "top_k": 3})
    assert caught.value.code == "operation_off"
    assert "'memory'" in caught.value.message
    assert "read_memory" not in caught.value.hint
    assert run(session, "get_video_metadata", {"video_id": "made"})["duration"] == 60.0


def test_tools_that_call_what_is_left_out_are_refused(open_made: Opened) -> None:
    with pytest.raises(ToolFault) as caught:
        load_library("hand_A", groups=["no-entities"])
    assert caught.value.code == "operations_off"
    document = {
        "tool_name": "note_it",
        "description": "Notes it. Use for notes.",
        "inputs": {"video_id": "string"},
        "outputs": {"id": {"type": "string", "from": "{{ made.memory_id }}"}},
        "steps": [
            {
                "type": "call_world_api",
                "api": "write_memory",
                "params": {
                    "video_id": "{{ video_id }}",
                    "level": "event",
                    "time_range": {"start_time": 1, "end_time": 2},
                    "content": "rain",
                },
                "save_as": "made",
            }
        ],
    }
    assert compile_document(document).ok
    faults = compile_document(document, groups=["no-memory"]).diagnostics
    assert [fault.code for fault in faults if fault.severity == "error"] == ["E_OPERATION_OFF"]
