"""The last request: the model cannot be asked again, so whatever answer it gives is taken, and its slips are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget
from world_api.chat import Call

SPANS = [{"start_time": 1, "end_time": 2}, {"start_time": 9, "end_time": 3}, {"start_time": "x"}, 5]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "submit_answer", "arguments": {"answer": "At 1 s.", "spans": [{"start_time": 1, "end_time": 2}]}}',
        '```json\n{"name": "submit_answer", "parameters": {"answer": "At 1 s.", "spans": '
        '[{"start_time": 1, "end_time": 2}]}}\n```',
        '<tool_call>{"name": "submit_answer", "arguments": '
        '"{\\"answer\\": \\"At 1 s.\\", \\"spans\\": [{\\"start_time\\": 1, \\"end_time\\": 2}]}"}</tool_call>',
        '<function=submit_answer>{"answer": "At 1 s.", "spans": [{"start_time": 1, "end_time": 2}]}</function>',
        'I saw {rain}.\n```json\n{"name": "submit_answer", "arguments": {"answer": "At 1 s.", "spans": '
        '[{"start_time": 1, "end_time": 2}]}}\n```\nThat {is} all.',
    ],
)
def test_an_answer_that_is_a_call_in_the_text_is_taken(hold: Any, replies: Any, text: str) -> None:
    episode = hold(replies.says(text), budget=Budget(rounds=0)).episode
    assert (episode.outcome, episode.answer, episode.slips) == ("forced", "At 1 s.", {"call_in_text": 1})
    assert [(span.start_time, span.end_time) for span in episode.spans] == [(1.0, 2.0)]


@pytest.mark.parametrize(
    "arguments", [{"answer": "yes"}, {"answer": " yes ", "spans": None}, {"answer": "yes", "x": 1}]
)
def test_an_answer_without_spans_is_taken_and_counted_as_a_slip(hold: Any, replies: Any, arguments: Any) -> None:
    last = replies.calls(Call(tool="submit_answer", arguments=arguments, id="a"))
    episode = hold(last, budget=Budget(rounds=0)).episode
    assert (episode.outcome, episode.answer, episode.spans) == ("forced", "yes", [])
    assert episode.slips == {"bad_answer": 1}


def test_spans_that_are_none_are_dropped_and_the_others_stay(hold: Any, replies: Any) -> None:
    last = replies.calls(Call(tool="submit_answer", arguments={"answer": "yes", "spans": SPANS}, id="a"))
    episode = hold(last, budget=Budget(rounds=0)).episode
    assert [(span.start_time, span.end_time) for span in episode.spans] == [(1.0, 2.0)]
    assert episode.slips == {"bad_answer": 1}


def test_an_answer_that_was_refused_before_stands_if_nothing_follows(hold: Any, replies: Any) -> None:
    refused = replies.calls(Call(tool="submit_answer", arguments={"answer": "At 12 s."}, id="a"))
    for last in ({"choices": [{"message": {"content": ""}}]}, replies.finds(), replies.says('{"name": "find"}')):
        episode = hold(refused, last, budget=Budget(rounds=1)).episode
        assert (episode.outcome, episode.reason, episode.answer) == ("forced", "rounds", "At 12 s.")
        assert episode.slips["bad_answer"] == 1


def test_a_later_answer_goes_before_one_that_was_refused(hold: Any, replies: Any) -> None:
    refused = replies.calls(Call(tool="submit_answer", arguments={"answer": "At 12 s."}, id="a"))
    assert hold(refused, replies.says("At 9 s."), budget=Budget(rounds=1)).episode.answer == "At 9 s."


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "find", "arguments": {"answer": "no"}}',
        '<tool_call>{"name": "submit_answer", "arguments": [1]}</tool_call>',
        '<tool_call>{"name": "submit_answer", "arguments": "{"}</tool_call>',
        '<tool_call>{"name": "submit_answer", "arguments": {"answer": "  "}}</tool_call>',
        "<tool_call>submit_answer",
        "<tool_call>submit_answer {}",
        '{"name": "find", "arguments": {"answer": "submit_answer"}}',
    ],
)
def test_a_call_in_the_text_that_is_no_answer_is_none(hold: Any, replies: Any, text: str) -> None:
    episode = hold(replies.says(text), budget=Budget(rounds=0)).episode
    assert (episode.outcome, episode.reason) == ("failed", "no_answer")


def test_words_before_a_call_are_the_last_answer_only_if_there_is_no_other(hold: Any, replies: Any) -> None:
    text = 'At 12 s.\n```json\n{"name": "find", "arguments": {"query": "rain"}}\n```'
    episode = hold(replies.says(text), budget=Budget(rounds=0)).episode
    assert (episode.outcome, episode.answer, episode.slips) == ("forced", "At 12 s.", {"call_in_text": 1})
    refused = replies.calls(Call(tool="submit_answer", arguments={"answer": "At 9 s."}, id="a"))
    assert hold(refused, replies.says(text), budget=Budget(rounds=1)).episode.answer == "At 9 s."


def test_text_that_is_not_unicode_does_not_lose_an_answer(hold: Any, replies: Any) -> None:
    text = '<tool_call>{"name": "submit_answer", "arguments": {"answer": "a\\ud800b"}}</tool_call>'
    assert hold(replies.says(text), budget=Budget(rounds=0)).episode.answer == "a?b"


def cut(replies: Any, text: str) -> Any:
    reply = replies.says(text)
    reply["choices"][0]["finish_reason"] = "length"
    return reply


def test_words_that_were_cut_off_at_last_are_taken_and_marked(hold: Any, replies: Any) -> None:
    episode = hold(cut(replies, "Let me see, the rain begins"), budget=Budget(rounds=0)).episode
    assert (episode.outcome, episode.slips) == ("forced", {"cut_reply": 1})


def test_words_that_were_cut_off_are_no_answer_while_there_is_time_for_another(hold: Any, replies: Any) -> None:
    held = hold(cut(replies, "Let me see, the rain begins"), replies.says("At 12 s."))
    assert (held.episode.outcome, held.episode.answer, held.episode.slips) == ("prose", "At 12 s.", {"cut_reply": 1})
    assert json.loads(held.model.requests[1]["messages"][-1]["content"])["error"]["code"] == "cut_reply"


def test_what_was_cut_off_and_has_no_type_is_counted_as_both(hold: Any, replies: Any) -> None:
    question = Question(text="How many?", kind="count")
    episode = hold(cut(replies, "Let me see, some"), replies.says("3"), question=question).episode
    assert (episode.value, episode.slips) == (3, {"cut_reply": 1, "untyped_answer": 1})
    assert episode.rounds[0].problems == ["cut_reply", "untyped_answer"]
