"""The model's window: old results are folded into summaries of themselves, and what may not be folded never is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.conversation import Preamble
from controller.episode import Budget
from tests.support.scripted import ScriptedChatModel
from world_api.chat import Call, estimate_tokens
from world_api.core import BackendFault

RESULT = {
    "candidates": [
        {"start_time": float(n), "end_time": n + 1.5, "segment_id": f"seg_{n}", "snippet": f"rain falls, part {n}"}
        for n in range(40)
    ],
    "evidence": [{"source": "caption", "start_time": 0.0, "end_time": 1.5}],
    "hint": "",
}
WINDOW = 4_000
TOO_LONG = [
    "h answered 400: This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "h answered 400: the request exceeds the available context size, try increasing it",
    "h answered 400: prompt is too long: 208310 tokens > 200000 maximum",
    "h answered 400: Input length (9000) exceeds model's maximum context length (8192)",
    "h answered 400: The input is too long for requested model.",
]


def wide(fake_tools: Any) -> Any:
    tools = fake_tools()
    tools.result = RESULT
    return tools


def finds_differently(replies: Any, number: int) -> list[Any]:
    return [replies.calls(Call(tool="find", arguments={"query": f"rain {n}"}, id=f"c{n}")) for n in range(number)]


def tokens_of(request: dict[str, Any]) -> int:
    return sum(estimate_tokens(message) for message in request["messages"]) + estimate_tokens(request.get("tools", []))


def test_no_request_is_beyond_the_window_and_the_last_round_is_whole(hold: Any, replies: Any, fake_tools: Any) -> None:
    held = hold(*finds_differently(replies, 8), replies.submits(), budget=Budget(window=WINDOW), tools=wide(fake_tools))
    episode = held.episode
    assert episode.outcome == "submitted"
    assert sum(item.folded for item in episode.rounds) > 0
    for request in held.model.requests:
        assert tokens_of(request) <= WINDOW
        results = [message for message in request["messages"] if message["role"] == "tool"]
        if results:
            assert "folded" not in json.loads(results[-1]["content"])["data_from_video"]


def test_instructions_question_and_digest_are_never_folded(hold: Any, replies: Any, fake_tools: Any) -> None:
    digest = {"duration": 60.0, "scenes": [{"start_time": 0.0, "end_time": 60.0, "brief_caption": "rain"}]}
    held = hold(
        *finds_differently(replies, 8),
        replies.submits(),
        budget=Budget(window=WINDOW),
        tools=wide(fake_tools),
        preamble=Preamble(digest=digest, briefing="Mind the rain."),
    )
    first = held.model.requests[0]["messages"]
    assert all(request["messages"][:2] == first for request in held.model.requests)
    assert '{"found_by":"digest","data_from_video":{"duration":60,' in first[1]["content"]
    assert "Mind the rain." in first[0]["content"]


def test_a_folded_result_says_what_was_asked_and_what_there_was(hold: Any, replies: Any, fake_tools: Any) -> None:
    held = hold(*finds_differently(replies, 4), replies.submits(), budget=Budget(window=WINDOW), tools=wide(fake_tools))
    told = held.observation("c0")
    folded = told["data_from_video"]["folded"]
    assert (folded["tool"], folded["asked"]) == ("find", {"query": "rain 0"})
    assert folded["items"] == {"candidates": 40}
    assert (folded["spans"][0], folded["of_spans"]) == ([0.0, 1.5], 40)
    assert (folded["ids"][0], folded["of_ids"]) == ("seg_0", 40)
    assert folded["says"] == "rain falls, part 0"
    assert told["notice"]["code"] == "folded"
    assert held.episode.calls[0].result == RESULT


def test_where_summaries_are_too_much_the_oldest_say_only_that_they_are_gone(
    hold: Any, replies: Any, fake_tools: Any
) -> None:
    held = hold(
        *finds_differently(replies, 40),
        replies.submits(),
        budget=Budget(window=WINDOW + 2_000, rounds=60, calls=60),
        tools=wide(fake_tools),
    )
    assert held.episode.outcome == "submitted"
    assert held.observation("c0") == {
        "notice": {
            "code": "dropped",
            "message": "this old result is no longer here",
            "hint": "make the call again if you need it",
        }
    }


def test_where_even_that_is_too_much_an_answer_is_forced(hold: Any, replies: Any, fake_tools: Any) -> None:
    held = hold(replies.finds(), replies.says("At 1 s."), budget=Budget(window=1_050), tools=wide(fake_tools))
    assert (held.episode.outcome, held.episode.reason, held.episode.answer) == ("forced", "window", "At 1 s.")
    assert "truncated" in held.observation("c1")
    assert "fills the context window" in held.model.requests[-1]["messages"][-1]["content"]


def test_results_of_one_reply_share_what_the_window_allows(hold: Any, replies: Any, fake_tools: Any) -> None:
    made = [Call(tool="find", arguments={"query": str(n)}, id=f"c{n}") for n in range(8)]
    held = hold(replies.calls(*made), replies.submits(), budget=Budget(window=WINDOW), tools=wide(fake_tools))
    assert held.episode.outcome == "submitted"
    assert all("truncated" in held.observation(f"c{n}") for n in range(8))


@pytest.mark.parametrize("message", TOO_LONG)
def test_a_server_that_finds_the_request_too_long_is_asked_again_with_less(
    hold: Any, replies: Any, fake_tools: Any, message: str
) -> None:
    refusal = BackendFault("endpoint_refused_request", message, hint="")
    script = [*finds_differently(replies, 3), refusal, replies.submits()]
    held = hold(*script, tools=wide(fake_tools))
    assert held.episode.outcome == "submitted"
    assert held.episode.rounds[3].folded == 2
    assert tokens_of(held.model.requests[4]) < 0.8 * tokens_of(held.model.requests[3])


def test_a_server_that_finds_that_too_long_too_is_asked_for_the_answer(
    hold: Any, replies: Any, fake_tools: Any
) -> None:
    refusal = BackendFault("endpoint_refused_request", TOO_LONG[0], hint="")
    held = hold(
        *finds_differently(replies, 3), refusal, refusal, refusal, replies.says("At 1 s."), tools=wide(fake_tools)
    )
    assert (held.episode.outcome, held.episode.reason) == ("forced", "window")
    assert [item.number for item in held.episode.rounds] == [1, 2, 3, 4]
    assert "folded" in held.observation("c2")["data_from_video"]  # for the last request, the last round too


def test_a_server_that_finds_everything_too_long_ends_the_episode_by_name(
    hold: Any, replies: Any, fake_tools: Any
) -> None:
    refusal = BackendFault("endpoint_refused_request", TOO_LONG[0], hint="")
    episode = hold(replies.finds(), *[refusal] * 5, tools=wide(fake_tools)).episode
    assert (episode.outcome, episode.reason) == ("failed", "endpoint_refused_request")
    assert len(episode.tool_calls) == 1


def test_another_refusal_is_no_matter_of_length(hold: Any, replies: Any) -> None:
    refusal = BackendFault("endpoint_refused_request", "h answered 400: unknown parameter tools", hint="")
    assert hold(replies.finds(), refusal).episode.reason == "endpoint_refused_request"


class Counting(ScriptedChatModel):
    """Counts so many times what is estimated."""

    def __init__(self, replies: list[Any], *, scale: float) -> None:
        super().__init__(replies)
        self._scale = scale

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        counted = {"prompt_tokens": round(self._scale * tokens_of(request)), "completion_tokens": 1}
        return {**super().complete(request), "usage": counted}


@pytest.mark.parametrize(("scale", "folds"), [(0.5, False), (1.0, False), (3.0, True)])
def test_what_the_server_counts_corrects_the_estimate(
    hold: Any, replies: Any, fake_tools: Any, scale: float, folds: bool
) -> None:
    model = Counting([*finds_differently(replies, 4), replies.submits()], scale=scale)
    held = hold(model=model, budget=Budget(window=14_000, tokens=10**9), tools=wide(fake_tools))
    assert held.episode.outcome == "submitted"
    assert (sum(item.folded for item in held.episode.rounds) > 0) == folds
    assert all(scale * tokens_of(request) <= 14_000 for request in model.requests)


def test_a_folded_result_may_be_asked_for_again(hold: Any, replies: Any, fake_tools: Any) -> None:
    again = replies.calls(Call(tool="find", arguments={"query": "rain 0"}, id="again"))
    script = [*finds_differently(replies, 8), again, replies.submits()]
    held = hold(*script, budget=Budget(window=WINDOW), tools=wide(fake_tools))
    calls = {call.id: call for call in held.episode.tool_calls}
    assert calls["again"].result == calls["c0"].result
    assert sum(item.folded for item in held.episode.rounds) > 0
    assert held.episode.slips == {}
