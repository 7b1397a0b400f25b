"""Whole episodes over the Responses API, through the real client: the same loop, the same outcomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget, Episode
from controller.systems import flat
from tests.support.scripted import ScriptedChatModel
from world_api.chat import CachingChatModel, Endpoint, OpenAIChatModel, ResponsesWire
from world_api.core import ChatModel

Json = dict[str, Any]
Run = Callable[..., Episode]
FOUND = {"video_id": "made", "query": "red", "top_k": 3}
WRITTEN = json.dumps(FOUND)


def answer(*items: Json, **more: Any) -> Json:
    usage = {"input_tokens": 100, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 4}}
    return {"object": "response", "status": "completed", "output": list(items), "usage": usage, **more}


def thought(number: int) -> Json:
    summary = [{"type": "summary_text", "text": f"Thought {number}."}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": f"sealed {number}"}


def search(call_id: str | None = "c1", arguments: Any = WRITTEN) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "search_segments_by_text", "arguments": arguments}


def submit(text: str = "At 32 s.") -> Json:
    written = json.dumps({"answer": text, "spans": []})
    return {"type": "function_call", "call_id": "end", "name": "submit_answer", "arguments": written}


def words(text: str) -> Json:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


@pytest.fixture
def model(chat_server: Any, stepping_clock: Any) -> ChatModel:
    clock = stepping_clock()
    endpoint = Endpoint(base_url=chat_server.url, api_key="sk-some-key-or-other")
    return OpenAIChatModel(endpoint, "m", clock=clock, sleep=clock.sleep, wire=ResponsesWire())


@pytest.fixture
def run(chat_server: Any, stepping_clock: Any, open_made: Any, model: ChatModel) -> Run:
    """Plays a scenario and runs an episode on the made minute against it."""

    def ran(*scenario: Any, asking: ChatModel = model, **budget: Any) -> Episode:
        if scenario:
            chat_server.play(*scenario)
        system = flat(model=asking, clock=stepping_clock(), budget=Budget(**budget))
        return system.answer(Question(text="When does the person in red appear?"), open_made())

    return ran


def sent(chat_server: Any, number: int) -> list[Json]:
    body: Json = chat_server.received[number].body
    items: list[Json] = body["input"]
    return items


def test_a_reasoning_model_gets_its_thoughts_back_and_they_are_told(run: Run, chat_server: Any) -> None:
    episode = run(answer(thought(1), search()), answer(thought(2), submit()))
    assert (episode.outcome, episode.answer) == ("submitted", "At 32 s.")
    assert [item.thought for item in episode.rounds] == ["Thought 1.", "Thought 2."]
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.reasoning) == (200, 20, 8)
    second = sent(chat_server, 1)
    assert [item["type"] for item in second][-3:] == ["reasoning", "function_call", "function_call_output"]
    assert second[-3] == thought(1)
    assert second[-1]["call_id"] == second[-2]["call_id"] == "c1"


def test_siblings_are_answered_each(run: Run, chat_server: Any) -> None:
    episode = run(answer(search("c1"), search("c2"), search("c3")), answer(submit()))
    assert episode.outcome == "submitted"
    answered = [item["call_id"] for item in sent(chat_server, 1) if item["type"] == "function_call_output"]
    assert answered == ["c1", "c2", "c3"]


@pytest.mark.parametrize(
    ("odd", "slip"),
    [
        (search(arguments=None), "arguments_not_object"),
        (search(arguments="{"), "arguments_not_json"),
        (search(arguments=FOUND), "arguments_not_json"),
        (search() | {"name": "made_up"}, "unknown_tool"),
        (search(None), "missing_call_id"),
        ({"type": "function_call"}, "bad_call"),
    ],
)
def test_odd_calls_are_answered_in_a_form_the_server_takes(run: Run, chat_server: Any, odd: Json, slip: str) -> None:
    episode = run(answer(thought(1), odd), answer(submit()))
    assert episode.outcome == "submitted"
    assert slip in episode.slips
    call, output = sent(chat_server, 1)[-2:]
    assert (call["type"], output["type"]) == ("function_call", "function_call_output")
    assert call["call_id"] == output["call_id"]
    assert isinstance(json.loads(call["arguments"]), dict)


@pytest.mark.parametrize(
    "odd",
    [
        answer(),
        answer(thought(1), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        answer({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
        answer({"type": "web_search_call", "id": "ws"}),
    ],
)
def test_replies_that_say_nothing_are_slips_and_the_episode_goes_on(run: Run, chat_server: Any, odd: Json) -> None:
    episode = run(odd, answer(search()), answer(submit()))
    assert episode.outcome == "submitted"
    assert episode.slips == {"empty_reply": 1}
    assert all(item.get("content", "") is not None for item in sent(chat_server, 1))


def test_words_are_an_answer(run: Run) -> None:
    episode = run(answer(thought(1), words("At 32 s.")))
    assert (episode.outcome, episode.answer) == ("prose", "At 32 s.")


def test_a_server_that_asks_for_more_time_than_there_is_ends_the_episode_by_name(run: Run, chat_server: Any) -> None:
    episode = run(chat_server.refusal(429, "slow down", Retry_After="60"), seconds=20)
    assert (episode.outcome, episode.reason) == ("failed", "endpoint_rate_limited")
    assert episode.fault is not None
    assert "asks to wait 60 s" in episode.fault.message
    assert "are left" in episode.fault.message


def test_an_episode_from_the_cache_is_the_same_and_nothing_of_it_is_paid(
    run: Run, model: ChatModel, tmp_path: Path
) -> None:
    cold = run(answer(thought(1), search()), answer(submit()), asking=CachingChatModel(model, tmp_path))
    warm = run(asking=CachingChatModel(ScriptedChatModel([], name="m"), tmp_path))
    assert [item.physical for item in cold.rounds] == [True, True]
    assert [item.physical for item in warm.rounds] == [False, False]
    assert (warm.answer, warm.usage, warm.messages) == (cold.answer, cold.usage, cold.messages)
