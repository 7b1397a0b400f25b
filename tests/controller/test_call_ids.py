"""Ids of calls: each call of a conversation has its own, so that each observation answers one call."""

from __future__ import annotations

from typing import Any

from world_api.chat import Call


def ids_called(episode: Any) -> list[str]:
    return [call["id"] for item in episode.messages for call in item.get("tool_calls", ())]


def ids_answered(episode: Any) -> list[str]:
    return [item["tool_call_id"] for item in episode.messages if item["role"] == "tool"]


def test_a_made_up_id_never_meets_one_that_was_given(hold: Any, replies: Any) -> None:
    faulty = replies.calls(
        Call(tool="find", arguments={"query": "a"}, id="call_r1_1"),
        Call(tool="find", arguments={"query": "b"}, id=""),
        Call(tool="find", arguments={"query": "c"}, id="call_r1_1_2"),
    )
    held = hold(faulty, replies.submits())
    assert len(set(ids_called(held.episode))) == 4
    assert ids_called(held.episode) == ids_answered(held.episode)
    assert [call["query"] for _, call in held.tools.called] == ["a", "b", "c"]


def test_an_id_of_an_earlier_round_is_noticed_and_replaced(hold: Any, replies: Any) -> None:
    held = hold(
        replies.calls(Call(tool="find", arguments={"query": "a"}, id="c1")),
        replies.calls(Call(tool="find", arguments={"query": "b"}, id="c1")),
        replies.submits("x", (12.0, 18.0)),
    )
    assert ids_called(held.episode) == ids_answered(held.episode) == ["c1", "call_r2_0", "end"]
    assert held.observation("call_r2_0")["notice"]["code"] == "duplicate_call_id"
    assert held.episode.slips == {"duplicate_call_id": 1}
    assert held.episode.spans[0].returned_by == ["c1", "call_r2_0"]


def test_the_same_call_in_a_later_round_runs_again(hold: Any, replies: Any) -> None:
    held = hold(replies.finds("c1"), replies.finds("c1"), replies.submits())
    assert len(held.tools.called) == 2
    assert held.episode.slips == {"duplicate_call_id": 1}
