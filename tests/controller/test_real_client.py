"""Whole episodes through the real client: what servers do, and how the episode goes on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Episode
from controller.systems import flat
from world_api.chat import Call, Endpoint, OpenAIChatModel, completion

SEARCH = Call(tool="search_segments_by_text", arguments={"video_id": "made", "query": "red", "top_k": 3}, id="c1")
ANSWER = Call(
    tool="submit_answer",
    arguments={"answer": "At 32 s.", "spans": [{"start_time": 32, "end_time": 38}]},
    id="c2",
)
Run = Callable[..., Episode]


def calling(*calls: Call) -> dict[str, Any]:
    return completion(model="m", calls=calls, usage=(100, 10))


@pytest.fixture
def answer(chat_server: Any, stepping_clock: Any, open_made: Any) -> Run:
    """Plays a scenario and runs an episode on the made minute against it."""

    def run(*scenario: Any, base_url: str | None = None) -> Episode:
        chat_server.play(*scenario)
        clock = stepping_clock()
        endpoint = Endpoint(base_url=base_url or chat_server.url, api_key="sk-some-key-or-other")
        model = OpenAIChatModel(endpoint, "m", clock=clock, sleep=clock.sleep)
        return flat(model=model, clock=clock).answer(Question(text="When does the person in red appear?"), open_made())

    return run


def test_tool_calls_run_and_the_answer_is_backed_by_them(answer: Run) -> None:
    episode = answer(calling(SEARCH), calling(ANSWER))
    assert (episode.outcome, episode.answer) == ("submitted", "At 32 s.")
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.estimated) == (200, 20, False)
    assert episode.spans
    assert all(span.returned_by for span in episode.spans)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda server: server.refusal(429, "slow down", Retry_After="3"), id="rate limit"),
        pytest.param(lambda server: server.refusal(500, "oops"), id="server error"),
        pytest.param(lambda server: server.cut(calling(SEARCH)), id="cut mid-body"),
        pytest.param(lambda server: server.raw(b"<html>"), id="not JSON"),
    ],
)
def test_passing_trouble_leaves_no_trace_in_the_episode(answer: Run, chat_server: Any, trouble: Any) -> None:
    episode = answer(trouble(chat_server), calling(SEARCH), calling(ANSWER))
    assert (episode.outcome, len(episode.rounds), episode.slips) == ("submitted", 2, {})


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "Incorrect API key", "endpoint_refused_key"),
        (404, "The model `m` does not exist", "endpoint_unknown_model"),
        (500, "oops", "endpoint_error"),
        (429, "slow down", "endpoint_rate_limited"),
    ],
)
def test_lasting_trouble_ends_the_episode_by_name(
    answer: Run, chat_server: Any, status: int, message: str, code: str
) -> None:
    episode = answer(chat_server.refusal(status, message))
    assert (episode.outcome, episode.reason, episode.answer) == ("failed", code, None)


def test_a_closed_port_ends_the_episode_by_name(answer: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    episode = answer({}, base_url=f"http://127.0.0.1:{port}/v1")
    assert (episode.outcome, episode.reason) == ("failed", "endpoint_unreachable")


def test_an_endpoint_that_dies_half_way_keeps_what_was_found(answer: Run, chat_server: Any) -> None:
    episode = answer(calling(SEARCH), chat_server.refusal(401, "expired"))
    assert (episode.outcome, episode.reason) == ("failed", "endpoint_refused_key")
    assert [call.tool for call in episode.tool_calls] == ["search_segments_by_text"]


def test_arguments_that_are_not_json_go_back_and_are_mended(answer: Run, chat_server: Any) -> None:
    broken = Call(tool="search_segments_by_text", arguments='{"query": "red"', id="c0")
    episode = answer(calling(broken), calling(SEARCH), calling(ANSWER))
    assert (episode.outcome, episode.slips) == ("submitted", {"arguments_not_json": 1})
    told = chat_server.received[1].body["messages"][-1]
    assert (told["role"], told["tool_call_id"]) == ("tool", "c0")
    assert "arguments_not_json" in told["content"]


def test_a_reply_without_content_is_asked_for_again(answer: Run) -> None:
    episode = answer(completion(model="m"), calling(ANSWER))
    assert (episode.outcome, episode.slips) == ("submitted", {"empty_reply": 1})


def test_a_server_that_drops_the_tools_still_gives_an_answer(answer: Run) -> None:
    episode = answer(completion(model="m", content="I cannot see videos.", usage=(5, 5)))
    assert (episode.outcome, episode.answer) == ("prose", "I cannot see videos.")
