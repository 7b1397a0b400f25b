"""Replies kept by what was asked."""

from __future__ import annotations

import copy
import json
import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted import ScriptedChatModel
from world_api.chat import CachingChatModel, completion, endpoint_model, from_cache
from world_api.core import BackendFault, deadline

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "在吗?"}],
    "temperature": 0.7,
    "seed": 1,
}
FAULT = BackendFault("endpoint_rate_limited", "slow down", hint="wait")


def said(text: str) -> dict[str, Any]:
    return completion(model="m", content=text, usage=(10, 1))


def words(reply: dict[str, Any]) -> Any:
    return reply["choices"][0]["message"]["content"]


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"))


class Gated:
    """A model that answers when a test lets it, and counts who asks."""

    name = "m"

    def __init__(self, *outcomes: dict[str, Any] | BackendFault) -> None:
        self.asked = threading.Semaphore(0)
        self.let = threading.Event()
        self.requests = 0
        self._outcomes: Iterator[dict[str, Any] | BackendFault] = iter(outcomes)
        self._guard = threading.Lock()

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._guard:
            self.requests += 1
            outcome = next(self._outcomes)
        self.asked.release()
        assert self.let.wait(20)
        if isinstance(outcome, BackendFault):
            raise outcome
        return outcome


def test_what_was_asked_before_is_answered_from_the_folder_and_says_so(tmp_path: Path) -> None:
    first = CachingChatModel(ScriptedChatModel([said("yes")], name="m"), tmp_path)
    paid = first.complete(REQUEST)
    assert not from_cache(paid)
    kept = CachingChatModel(ScriptedChatModel([], name="m"), tmp_path).complete(REQUEST)
    assert from_cache(kept)
    assert {key: value for key, value in kept.items() if key != "videoworld"} == paid
    assert list(kept)[: len(paid)] == list(paid)  # in the server's own order


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"temperature": 0.0},
        {"model": "n"},
        {"tools": []},
        {"messages": [{"role": "user", "content": "在吗"}]},
    ],
)
def test_any_other_request_is_asked(tmp_path: Path, change: dict[str, Any]) -> None:
    model = CachingChatModel(ScriptedChatModel([said("one"), said("two")], name="m"), tmp_path)
    model.complete(REQUEST)
    other = model.complete({**REQUEST, **change})
    assert (words(other), from_cache(other)) == ("two", False)


def test_another_endpoint_is_asked(tmp_path: Path) -> None:
    script = ScriptedChatModel([said("here"), said("there")], name="m")
    CachingChatModel(script, tmp_path, at=lambda: "http://here/v1").complete(REQUEST)
    assert words(CachingChatModel(script, tmp_path, at=lambda: "http://there/v1").complete(REQUEST)) == "there"


def test_a_reply_is_kept_for_the_wire_it_came_over(tmp_path: Path) -> None:
    """A model whose wire changes while it is asked, because its server says so."""
    spoken = ["chat"]

    class Switching(ScriptedChatModel):
        def complete(self, request: dict[str, Any]) -> dict[str, Any]:
            spoken[0] = "responses"
            return super().complete(request)

    CachingChatModel(Switching([said("over responses")], name="m"), tmp_path, at=lambda: spoken[0]).complete(REQUEST)
    nobody = ScriptedChatModel([said("over chat")], name="m")
    assert from_cache(CachingChatModel(nobody, tmp_path, at=lambda: "responses").complete(REQUEST))
    assert words(CachingChatModel(nobody, tmp_path, at=lambda: "chat").complete(REQUEST)) == "over chat"


def test_each_wire_and_each_query_of_an_address_has_replies_of_its_own(
    chat_server: Any, tmp_path: Path, stepping_clock: Any
) -> None:
    over_responses = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]}
    both = {**said("yes"), "output": [over_responses]}
    chat_server.play(both)

    def ask(query: str, wire: Any) -> bool:
        named = {"OPENAI_BASE_URL": chat_server.url + query, "OPENAI_API_KEY": "k"}
        model = endpoint_model("m", clock=stepping_clock(), environment=named, wire=wire, cache=tmp_path)
        return from_cache(model.complete(REQUEST))

    asked = [("", "chat"), ("", "responses"), ("?d=1", "chat"), ("?d=2", "chat")]
    assert [ask(*one) for one in asked] == [False] * 4
    assert [ask(*one) for one in asked] == [True] * 4


def test_the_order_of_keys_makes_no_other_request(tmp_path: Path) -> None:
    model = CachingChatModel(ScriptedChatModel([said("yes")], name="m"), tmp_path)
    model.complete(REQUEST)
    assert from_cache(model.complete(dict(reversed(REQUEST.items()))))


def test_faults_are_not_kept(tmp_path: Path) -> None:
    model = CachingChatModel(ScriptedChatModel([FAULT, said("yes")], name="m"), tmp_path)
    with pytest.raises(BackendFault, match="slow down"):
        model.complete(REQUEST)
    assert entries(tmp_path) == []
    assert not from_cache(model.complete(REQUEST))


@pytest.mark.parametrize("choices", [[], [{}], [{"message": None}], ["yes"]])
def test_replies_without_a_message_are_not_kept(tmp_path: Path, choices: Any) -> None:
    model = CachingChatModel(ScriptedChatModel([{"choices": choices}, said("yes")], name="m"), tmp_path)
    assert model.complete(REQUEST) == {"choices": choices}
    assert words(model.complete(REQUEST)) == "yes"


def test_a_reply_that_is_no_json_is_a_fault_and_not_kept(tmp_path: Path) -> None:
    bad: dict[str, Any] = {"choices": [{"message": {"content": float("nan")}}]}
    with pytest.raises(BackendFault, match="bad_model_reply"):
        CachingChatModel(ScriptedChatModel([bad], name="m"), tmp_path).complete(REQUEST)
    assert entries(tmp_path) == []


def _no_key(text: str) -> str:
    return json.dumps({**json.loads(text), "key": "0" * 64})


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[1]",
        lambda text: "\x00" * 100,
        lambda text: text.replace("yes", "no"),
        lambda text: text.replace('"reply_hash"', '"hash"'),
        _no_key,
        lambda text: "[" * 100_000,
    ],
)
def test_a_damaged_entry_is_asked_for_again_and_replaced(tmp_path: Path, damage: Any) -> None:
    CachingChatModel(ScriptedChatModel([said("yes")], name="m"), tmp_path).complete(REQUEST)
    [entry] = entries(tmp_path)
    entry.write_text(damage(entry.read_text(encoding="utf-8")), encoding="utf-8")
    again = CachingChatModel(ScriptedChatModel([said("anew")], name="m"), tmp_path)
    assert (words(again.complete(REQUEST)), words(again.complete(REQUEST))) == ("anew", "anew")
    assert entries(tmp_path) == [entry]


def test_a_request_and_what_is_kept_are_left_as_they_were(tmp_path: Path) -> None:
    model = CachingChatModel(ScriptedChatModel([said("yes")], name="m"), tmp_path)
    request = copy.deepcopy(REQUEST)
    model.complete(request)
    [entry] = entries(tmp_path)
    before = entry.read_bytes()
    model.complete(request)["choices"][0]["message"]["content"] = "changed"
    assert request == REQUEST
    assert entry.read_bytes() == before
    assert words(model.complete(REQUEST)) == "yes"


def test_equal_requests_at_the_same_time_are_asked_once(tmp_path: Path) -> None:
    gated = Gated(said("yes"))
    model = CachingChatModel(gated, tmp_path)
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(model.complete, REQUEST) for _ in range(8)]
        assert gated.asked.acquire(timeout=20)
        gated.let.set()
        replies = [future.result(timeout=20) for future in asking]
    assert gated.requests == 1
    assert [words(reply) for reply in replies] == ["yes"] * 8
    assert sorted(map(from_cache, replies)) == [False] + [True] * 7


def test_who_waited_for_a_request_that_failed_asks_for_itself(tmp_path: Path) -> None:
    gated = Gated(FAULT, said("yes"), said("yes"))
    model = CachingChatModel(gated, tmp_path)
    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(model.complete, REQUEST) for _ in range(3)]
        assert gated.asked.acquire(timeout=20)
        gated.let.set()
        outcomes = [future.exception(timeout=20) or words(future.result()) for future in asking]
    assert outcomes.count("yes") == 2
    assert sum(isinstance(outcome, BackendFault) for outcome in outcomes) == 1


def test_waiting_for_an_equal_request_has_its_bound(tmp_path: Path) -> None:
    gated = Gated(said("yes"))
    model = CachingChatModel(gated, tmp_path)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(model.complete, REQUEST)
        assert gated.asked.acquire(timeout=20)
        with deadline(0.01), pytest.raises(BackendFault, match="endpoint_unreachable"):
            model.complete(REQUEST)
        gated.let.set()
        assert words(asking.result(timeout=20)) == "yes"


def test_whoever_waited_has_a_reply_of_its_own(tmp_path: Path) -> None:
    gated = Gated(said("yes"))
    model = CachingChatModel(gated, tmp_path)
    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(model.complete, REQUEST) for _ in range(2)]
        assert gated.asked.acquire(timeout=20)
        gated.let.set()
        one, other = [future.result(timeout=20) for future in asking]
    one["choices"][0]["message"]["content"] = "changed"
    assert words(other) == "yes"


def test_a_folder_that_cannot_be_one_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BackendFault, match="cache_not_writable"):
            CachingChatModel(ScriptedChatModel([], name="m"), folder)


def test_a_reply_that_is_paid_for_is_not_lost_with_the_disk(tmp_path: Path) -> None:
    model = CachingChatModel(ScriptedChatModel([said("one"), said("two")], name="m"), tmp_path)
    for place in range(256):
        (tmp_path / f"{place:02x}").write_text("in the way", encoding="utf-8")
    assert [words(model.complete(REQUEST)) for _ in range(2)] == ["one", "two"]


def _ask_all(folder: str, process: int) -> list[str]:
    replies = [said(f"{number}") for number in range(40)]
    model = CachingChatModel(ScriptedChatModel(replies, name="m"), Path(folder))
    return [str(words(model.complete({**REQUEST, "seed": number}))) for number in range(len(replies))][
        : process or None
    ]


def test_processes_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        pool.starmap(_ask_all, [(str(tmp_path), process) for process in range(3)])
    assert len(entries(tmp_path)) == 40
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".json"]
    kept = CachingChatModel(ScriptedChatModel([], name="m"), tmp_path)
    assert all(from_cache(kept.complete({**REQUEST, "seed": number})) for number in range(40))
