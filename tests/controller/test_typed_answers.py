"""Questions of every kind: the answer is asked for, taken and recorded in the type of its question."""

from __future__ import annotations

from typing import Any

import pytest

from controller.answers import Question
from controller.conversation import Prompts
from controller.episode import Budget
from world_api.chat import Call

CHOICE = Question(text="Where does it rain?", kind="choice", options=("in the kitchen", "in the garden"))
COUNT = Question(text="How often does it rain?", kind="count")
INTERVAL = Question(text="When does it rain?", kind="interval")
ORDER = Question(text="What comes first?", kind="order", options=("rain", "snow", "sun"))
RIGHT: list[tuple[Question, Any, str]] = [
    (CHOICE, "B", "B. in the garden"),
    (COUNT, 3, "3"),
    (INTERVAL, {"start_time": 12.0, "end_time": 18.0}, "12 - 18 s"),
    (ORDER, ["C", "A", "B"], "C, A, B"),
]


def submits(answer: Any, call_id: str = "end") -> Call:
    return Call(tool="submit_answer", arguments={"answer": answer, "spans": []}, id=call_id)


@pytest.mark.parametrize(("question", "answer", "text"), RIGHT)
def test_an_answer_of_the_type_ends_the_episode(hold: Any, replies: Any, question: Any, answer: Any, text: str) -> None:
    episode = hold(replies.calls(submits(answer)), question=question).episode
    assert (episode.outcome, episode.value, episode.answer) == ("submitted", answer, text)
    assert episode.task.question == question


def test_the_model_is_shown_the_options_and_the_form(hold: Any, replies: Any) -> None:
    request = hold(replies.calls(submits("B")), question=CHOICE).model.requests[0]
    assert "A. in the kitchen\nB. in the garden\n" in request["messages"][1]["content"]
    declared = request["tools"][-1]["function"]["parameters"]["properties"]["answer"]
    assert declared["enum"] == ["A", "B"]


@pytest.mark.parametrize(("question", "answer", "text"), RIGHT)
def test_an_answer_of_another_type_goes_back_with_what_is_wrong(
    hold: Any, replies: Any, question: Any, answer: Any, text: str
) -> None:
    held = hold(replies.calls(submits("somewhere", "bad")), replies.calls(submits(answer)), question=question)
    told = held.observation("bad")["error"]
    assert told["code"] == "bad_answer"
    assert "answer: give " in told["message"]
    assert (held.episode.outcome, held.episode.value) == ("submitted", answer)
    assert held.episode.slips == {"bad_answer": 1}


@pytest.mark.parametrize(
    ("question", "words", "value"),
    [
        (CHOICE, "The answer is B.", "B"),
        (COUNT, "Three times.", 3),
        (INTERVAL, "From 12 s to 18 s.", {"start_time": 12.0, "end_time": 18.0}),
        (ORDER, "C, A, B", ["C", "A", "B"]),
    ],
)
def test_words_that_can_be_read_in_one_way_are_an_answer(
    hold: Any, replies: Any, question: Any, words: str, value: Any
) -> None:
    episode = hold(replies.finds(), replies.says(words), question=question).episode
    assert (episode.outcome, episode.value, episode.slips) == ("prose", value, {})


def test_words_that_cannot_are_handed_back(hold: Any, replies: Any) -> None:
    held = hold(replies.says("Hard to say."), replies.calls(submits("B")), question=CHOICE)
    told = held.model.requests[1]["messages"][-1]
    assert (told["role"], '"code":"untyped_answer"' in told["content"]) == ("user", True)
    assert (held.episode.outcome, held.episode.value) == ("submitted", "B")
    assert held.episode.slips == {"untyped_answer": 1}


def test_words_that_never_become_the_type_end_in_a_forced_request_for_it(hold: Any, replies: Any) -> None:
    held = hold(*[replies.says("Hard to say.")] * 3, replies.says("B"), question=CHOICE)
    assert (held.episode.outcome, held.episode.reason, held.episode.value) == ("forced", "malformed_replies", "B")
    assert "one of A, B" in held.model.requests[-1]["messages"][-1]["content"]
    assert "tools" not in held.model.requests[-1]


def test_an_answer_that_never_gets_its_type_fails_by_name_and_its_words_are_kept(hold: Any, replies: Any) -> None:
    held = hold(replies.says("Somewhere outside."), question=CHOICE, budget=Budget(rounds=0))
    episode = held.episode
    assert (episode.outcome, episode.reason, episode.value) == ("failed", "untyped_answer", None)
    assert episode.answer == "Somewhere outside."
    assert episode.fault is not None
    assert "(rounds)" in episode.fault.message


def test_at_last_a_typed_answer_goes_before_words_whenever_it_was_given(hold: Any, replies: Any) -> None:
    unspanned = replies.calls(Call(tool="submit_answer", arguments={"answer": "B"}, id="a"))
    episode = hold(unspanned, replies.says("Hard to say."), question=CHOICE, budget=Budget(rounds=1)).episode
    assert (episode.outcome, episode.value) == ("forced", "B")


@pytest.mark.parametrize("answer", ["B", "B.", "in the garden", "the answer is B"])
def test_a_last_answer_in_a_call_is_read_like_words(hold: Any, replies: Any, answer: str) -> None:
    episode = hold(replies.calls(submits(answer)), question=CHOICE, budget=Budget(rounds=0)).episode
    assert (episode.outcome, episode.value) == ("forced", "B")


def test_an_interval_is_checked_against_what_tools_returned(hold: Any, replies: Any) -> None:
    found = hold(replies.finds(), replies.calls(submits({"start_time": 12.0, "end_time": 18.0})), question=INTERVAL)
    assert [(span.start_time, span.returned_by) for span in found.episode.spans] == [(12.0, ["c1"])]
    made_up = hold(replies.finds(), replies.calls(submits({"start_time": 40.0, "end_time": 44.0})), question=INTERVAL)
    assert [(span.start_time, span.returned_by) for span in made_up.episode.spans] == [(40.0, [])]


def test_the_prompts_of_another_language_ask_for_the_same_type(hold: Any, replies: Any) -> None:
    held = hold(replies.says("一共三次。"), question=COUNT, prompts=Prompts("zh"))
    assert (held.episode.outcome, held.episode.value, held.episode.language) == ("prose", 3, "zh")
    assert "问题：" in held.model.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thought_is_kept_and_is_no_answer(hold: Any, replies: Any, field: str) -> None:
    reply = replies.says("B")
    reply["choices"][0]["message"][field] = "It could be A, or the answer is A."
    episode = hold(reply, question=CHOICE).episode
    assert episode.rounds[0].thought == "It could be A, or the answer is A."
    assert episode.value == "B"


@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_thought_that_a_server_left_in_the_text_is_taken_apart(hold: Any, replies: Any, tag: str) -> None:
    episode = hold(replies.says(f"<{tag}>Is it A?</{tag}>\n\nB"), question=CHOICE).episode
    assert (episode.rounds[0].thought, episode.value) == ("Is it A?", "B")
    cut = hold(replies.says(f"<{tag}>Is it A? or"), replies.says("B"), question=CHOICE).episode
    assert (cut.slips, cut.value) == ({"empty_reply": 1}, "B")


def test_what_the_wire_carries_is_repeated(hold: Any, replies: Any) -> None:
    reply = replies.finds()
    reply["choices"][0]["message"]["carried"] = [{"type": "reasoning", "id": "r1"}]
    held = hold(reply, replies.submits())
    assert held.model.requests[1]["messages"][2]["carried"] == [{"type": "reasoning", "id": "r1"}]
    assert "carried" not in held.episode.messages[-2]
