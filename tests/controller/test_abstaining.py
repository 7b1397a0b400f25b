"""Questions that may abstain: "not there" and "cannot be told" are answers beside those of the question's type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.answers import ABSTENTIONS, Question
from controller.episode import Budget, episode_from_record
from world_api.chat import Call

QUESTIONS = [
    Question(text="Where does it rain?", kind="choice", options=("in the kitchen", "outside"), may_abstain=True),
    Question(text="How often does it rain?", kind="count", may_abstain=True),
    Question(text="When does it rain?", kind="interval", may_abstain=True),
    Question(text="What comes first?", kind="order", options=("rain", "snow"), may_abstain=True),
    Question(text="Why does it rain?", may_abstain=True),
]


def submits(answer: Any, call_id: str = "end") -> Call:
    return Call(tool="submit_answer", arguments={"answer": answer, "spans": []}, id=call_id)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
@pytest.mark.parametrize("value", ABSTENTIONS)
def test_an_abstention_is_declared_taken_and_recorded(hold: Any, replies: Any, question: Question, value: str) -> None:
    held = hold(replies.calls(submits(value)), question=question)
    assert (held.episode.outcome, held.episode.value) == ("submitted", value)
    assert held.episode.answer == value.replace("_", " ")
    assert episode_from_record(held.episode.record()).task.question == question
    request = held.model.requests[0]
    declared = request["tools"][-1]["function"]["parameters"]["properties"]["answer"]
    assert declared["anyOf"][1]["enum"] == list(ABSTENTIONS)
    assert "cannot_be_told" in request["messages"][1]["content"]
    assert "fits best" not in request["messages"][0]["content"]


@pytest.mark.parametrize("question", QUESTIONS[:4], ids=lambda question: question.kind)
def test_a_question_without_abstentions_refuses_them_and_its_record_is_as_before(
    hold: Any, replies: Any, question: Question
) -> None:
    forced = replace(question, may_abstain=False)
    right = {"choice": "A", "count": 2, "interval": {"start_time": 1.0, "end_time": 2.0}, "order": ["A", "B"]}
    held = hold(
        replies.calls(submits("not_there", "bad")), replies.calls(submits(right[question.kind])), question=forced
    )
    assert (held.episode.slips, held.episode.value) == ({"bad_answer": 1}, right[question.kind])
    assert "may_abstain" not in held.episode.record()["task"]["question"]
    assert not any("cannot_be_told" in str(request) for request in held.model.requests)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("The answer is: cannot be told.", "cannot_be_told"),
        ("not_there", "not_there"),
        ("答案是：无法确定", "cannot_be_told"),
        ("视频中没有。", "not_there"),
    ],
)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_an_abstention_is_read_from_words_that_are_nothing_else(
    hold: Any, replies: Any, question: Question, words: str, value: str
) -> None:
    held = hold(replies.says(words), question=question, budget=Budget(rounds=1))
    assert held.episode.value == value


def test_an_open_answer_that_only_mentions_an_abstention_stays_text(hold: Any, replies: Any) -> None:
    words = "It rains, though why cannot be told."
    assert hold(replies.says(words), question=QUESTIONS[4]).episode.value == words
