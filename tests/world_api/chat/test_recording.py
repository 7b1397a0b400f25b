"""Recordings: what is kept, and how a replay refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted import ScriptedChatModel
from world_api.chat import (
    Exchange,
    RecordingChatModel,
    RecordingClock,
    ReplayChatModel,
    append_line,
    completion,
    read_exchanges,
    read_lines,
)
from world_api.core import BackendFault, EpisodeFault, content_hash

FIRST = {"model": "m", "messages": [{"role": "user", "content": "一"}]}
SECOND = {"model": "m", "messages": [{"role": "user", "content": "two"}]}


def record(requests: list[dict[str, Any]], replies: list[Any], clock: Any) -> list[Exchange]:
    kept: list[Exchange] = []
    model = RecordingChatModel(ScriptedChatModel(replies), clock=clock, keep=kept.append)
    for request in requests:
        try:
            model.complete(request)
        except BackendFault:
            continue
    return kept


def test_a_recording_keeps_request_reply_and_time(stepping_clock: Any, tmp_path: Path) -> None:
    reply = completion(model="m", content="好")
    exchange = record([FIRST], [reply], stepping_clock(step=1.5))[0]
    assert (exchange.request, exchange.reply, exchange.seconds) == (FIRST, reply, 1.5)
    append_line(tmp_path / "r.jsonl", exchange.record())
    assert read_exchanges(tmp_path / "r.jsonl") == [exchange]


def test_the_recorded_seconds_begin_at_zero_whatever_the_clock_says(stepping_clock: Any) -> None:
    stepping = stepping_clock(step=0.5)
    stepping.seconds = 86_400.0
    clock = RecordingClock(stepping)
    assert [clock.monotonic() for _ in range(3)] == [0.0, 0.5, 1.0]
    assert clock.readings == [0.0, 0.5, 1.0]


def test_a_replay_gives_equal_requests_their_replies_in_order(stepping_clock: Any) -> None:
    replies = [completion(model="m", content=text) for text in ("a", "b", "c")]
    replayed = ReplayChatModel(record([FIRST, SECOND, FIRST], replies, stepping_clock()), name="m")
    assert [replayed.complete(request) for request in (FIRST, FIRST, SECOND)] == [replies[0], replies[2], replies[1]]


def test_a_changed_request_is_refused_and_the_change_is_named(stepping_clock: Any) -> None:
    replayed = ReplayChatModel(record([FIRST], [completion(model="m")], stepping_clock()), name="m")
    with pytest.raises(EpisodeFault, match=r"replay_mismatch") as caught:
        replayed.complete(SECOND)
    assert "$.messages[0].content" in caught.value.message


def test_a_request_too_many_is_refused(stepping_clock: Any) -> None:
    replayed = ReplayChatModel(record([FIRST], [completion(model="m")], stepping_clock()), name="m")
    replayed.complete(FIRST)
    with pytest.raises(EpisodeFault, match="used up"):
        replayed.complete(FIRST)


def test_a_recorded_fault_is_raised_again(stepping_clock: Any) -> None:
    fault = BackendFault("endpoint_rate_limited", "slow down", hint="wait")
    replayed = ReplayChatModel(record([FIRST], [fault], stepping_clock()), name="m")
    with pytest.raises(BackendFault) as caught:
        replayed.complete(FIRST)
    assert caught.value.record() == fault.record()


@pytest.mark.parametrize("reply", [{"choices": [], "logprobs": float("inf")}, {"choices": [object()]}, ["no object"]])
def test_a_reply_that_cannot_be_stored_is_kept_as_a_fault(stepping_clock: Any, tmp_path: Path, reply: Any) -> None:
    exchange = record([FIRST], [reply], stepping_clock())[0]
    assert exchange.reply is None
    assert exchange.fault is not None
    assert exchange.fault["code"] == "bad_model_reply"
    append_line(tmp_path / "r.jsonl", exchange.record())
    assert read_exchanges(tmp_path / "r.jsonl") == [exchange]


def test_a_last_line_that_a_crash_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    append_line(path, {"a": 1})
    with path.open("ab") as file:
        file.write(b'{"b": ')
    assert list(read_lines(path)) == [{"a": 1}]


@pytest.mark.parametrize("line", [b"not json\n", b"[]\n", b'{"x": NaN}\n', b'{"x": -1e999}\n', b"\xff\xfe\n"])
def test_a_damaged_line_is_refused_by_number(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"{}\n" + line + b"{}\n")
    with pytest.raises(EpisodeFault, match=r"line 2 of r\.jsonl"):
        list(read_lines(path))


def test_an_edited_exchange_is_refused(stepping_clock: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    entry = record([FIRST], [completion(model="m")], stepping_clock())[0].record()
    entry["request"]["messages"][0]["content"] = "something else"
    path.write_text(json.dumps(entry) + "\n")
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        read_exchanges(path)


@pytest.mark.parametrize(
    "damage",
    [
        {"reply": None},
        {"reply": [1]},
        {"reply": None, "fault": {"code": "x"}},
        {"reply": None, "fault": "oops"},
        {"seconds": None},
        {"request": 5, "request_hash": content_hash(5)},
    ],
)
def test_an_exchange_that_is_not_whole_is_refused(stepping_clock: Any, tmp_path: Path, damage: dict[str, Any]) -> None:
    path = tmp_path / "r.jsonl"
    entry = record([FIRST], [completion(model="m")], stepping_clock())[0].record()
    append_line(path, entry | damage)
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        read_exchanges(path)


def test_a_recording_of_another_schema_is_refused(stepping_clock: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    entry = record([FIRST], [completion(model="m")], stepping_clock())[0].record()
    append_line(path, entry | {"schema_version": 99})
    with pytest.raises(EpisodeFault, match="recording_schema"):
        read_exchanges(path)


def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(EpisodeFault, match="recording_missing"):
        read_exchanges(tmp_path / "none.jsonl")
