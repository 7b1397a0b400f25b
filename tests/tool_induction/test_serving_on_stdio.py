"""``videoworld serve`` on real pipes: whoever sends a request is answered, whatever the line holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAST = 99
EVERY = "every answer without a number"


def request(number: Any, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def call(number: Any, name: str, **arguments: Any) -> bytes:
    return request(number, "tools/call", {"name": name, "arguments": {"video_id": "made", **arguments}})


def conversation(store: Path, *lines: bytes) -> dict[Any, Any]:
    """The answers to some lines, by the number they answer; read until a last request, which is sound, is answered."""
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    sent = [
        request(0, "initialize", greeting),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        *lines,
        call(LAST, "get_video_metadata"),
    ]
    answers: dict[Any, Any] = {}
    unnumbered: list[dict[str, Any]] = []
    with subprocess.Popen(
        [sys.executable, "-m", "videoworld", "serve", "made", "--store", str(store)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join(sent) + b"\n")
        process.stdin.flush()
        while LAST not in answers and (line := process.stdout.readline()):
            answer = json.loads(line)
            answers[answer["id"]] = answer
            if answer["id"] is None:
                unnumbered.append(answer)
        process.stdin.close()
    assert answers[LAST]["result"]["isError"] is False
    return answers | ({EVERY: unnumbered} if len(unnumbered) > 1 else {})


def data_of(answer: dict[str, Any]) -> Any:
    return json.loads(answer["result"]["content"][0]["text"])["data_from_video"]


def test_every_odd_line_of_one_conversation_is_answered(make_world: Any) -> None:
    make_world()
    spelt = rb'"\ud800 folder \udc00"'
    answers = conversation(
        make_world.store,
        call(1, "search_segments_by_text", query="QUERY", top_k=2).replace(b'"QUERY"', spelt),
        call(2, "NAME").replace(b'"NAME"', spelt),
        call(3, "write_memory", level="event", content="CONTENT", time_range={"start_time": 1, "end_time": 2}).replace(
            b'"CONTENT"', spelt
        ),
        call(4, "search_segments_by_text", query="QUERY", top_k=2).replace(b"QUERY", b"\xed\xa0\x80 \xff"),
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"no/such"}',
        b'{"jsonrpc":"1.0","id":5,"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":"two","method":"tools/list","params":[1]}',
        b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":' + b"[" * 500 + b"]" * 500 + b"}}",
        b"[1, 2]",
    )
    assert not answers[1]["result"]["isError"]
    assert data_of(answers[2])["error"]["code"] == "unknown_operation"
    assert not answers[3]["result"]["isError"]
    assert not answers[4]["result"]["isError"]
    told = {number: answer["error"]["code"] for number, answer in answers.items() if "error" in answer}
    assert told == {"\ufffd": -32601, 5: -32600, "two": -32600, 6: -32602, None: -32600}
    written = (make_world.store / "made" / "sessions" / "default.jsonl").read_text(encoding="utf-8")
    assert "\ufffd folder \ufffd" in written


@pytest.mark.parametrize("broken", [b'{"jsonrpc":"2.0","id":7,"method"', b"[" * 100_000])
def test_what_is_no_json_is_answered_without_a_number_and_what_nobody_waits_for_not_at_all(
    make_world: Any, broken: bytes
) -> None:
    make_world()
    silent = (b"", b"  ", b'{"jsonrpc":"1.0","method":"notifications/initialized"}')
    answers = conversation(make_world.store, *silent, broken)
    assert set(answers) == {0, LAST, None}
    assert answers[None]["error"]["code"] == -32700


def test_a_folder_that_broke_under_a_session_is_a_tool_error(make_world: Any) -> None:
    make_world()
    log = make_world.store / "made" / "sessions" / "default.jsonl"
    log.mkdir(parents=True)
    error = data_of(conversation(make_world.store, call(1, "read_memory", level="event"))[1])["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] != 0


def test_a_request_with_an_id_of_no_use_is_answered_without_a_number(make_world: Any) -> None:
    make_world()
    lines = [request(number, "ping", {}) for number in (15.5, True, None, {})]
    errors = [answer["error"] for answer in conversation(make_world.store, *lines)[EVERY]]
    assert [error["code"] for error in errors] == [-32600] * 4
    assert all("id" in error["message"] for error in errors)


def test_worlds_and_libraries_are_resources_and_the_start_says_what_is_served(make_world: Any) -> None:
    make_world()
    make_world(video_id="second")
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    uris = {2: "videoworld://worlds", 3: "videoworld://libraries", 4: "videoworld://no"}
    read = [request(number, "resources/read", {"uri": uri}) for number, uri in uris.items()]
    sent = [
        request(0, "initialize", greeting),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        request(1, "resources/list", {}),
        *read,
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "videoworld", "serve", "made", "--tools", "hand_A", "--store", str(make_world.store)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"\n".join(sent) + b"\n")
        process.stdin.flush()
        answers = {answer["id"]: answer for answer in (json.loads(process.stdout.readline()) for _ in range(5))}
        process.stdin.close()
        said = process.stderr.read().decode()
    assert [one["uri"] for one in answers[1]["result"]["resources"]] == [
        "videoworld://worlds",
        "videoworld://libraries",
    ]
    worlds, libraries = (json.loads(answers[number]["result"]["contents"][0]["text"]) for number in (2, 3))
    assert {one["video_id"]: one["served"] for one in worlds} == {"made": True, "second": False}
    assert [one["name"] for one in libraries if one["served"]] == ["hand_A"]
    assert all(one["tools"] for one in libraries)
    assert "error" in answers[4]
    assert "serving made" in said
    assert "16 operations" in said
    assert "tools of hand_A" in said
