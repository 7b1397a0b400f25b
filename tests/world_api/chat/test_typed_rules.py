"""The rule-based model answers in the type it is asked for, by the schema of the answer or by the words of the wish."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from controller.answers import KINDS, Question, submit_answer_tool
from controller.conversation import Prompts
from world_api.chat import RuleBasedChatModel
from world_api.core import json_line
from world_api.schemas import openai_tool

Answers = Mapping[str, Callable[[dict[str, Any]], Any]]
_OPERATIONS = "search_segments_by_text search_segments_by_semantics describe_segment detect_objects list_entities list_scenes".split()
THREE = ("a red coat", "a blue coat", "a green folder")


def asked(question: Question, answers: Answers, *, language: str = "en", tools_left: int = 20) -> tuple[Any, list[str]]:
    """The answer (as submitted, or the words of a forced one), and the tools that were called, on the loop's own prompts."""
    model, prompts = RuleBasedChatModel(), Prompts(language)
    options = list(zip(question.letters, question.options, strict=True))
    told = prompts.render("question", video_id="clip", question=question.text, kind=question.kind, options=options)
    messages: list[dict[str, Any]] = [{"role": "user", "content": told}]
    submit = submit_answer_tool(question, prompts.of_answer)
    offer = [openai_tool(submit.name, submit.description, submit.parameters, strict=False)]
    offer += [openai_tool(name, name, {"type": "object", "properties": {}}, strict=False) for name in _OPERATIONS]
    called: list[str] = []
    while True:
        request = {"model": model.name, "messages": messages} | ({"tools": offer} if tools_left > 0 else {})
        tools_left -= 1
        message = model.complete(request)["choices"][0]["message"]
        if not message.get("tool_calls"):
            return message["content"], called
        messages.append(message)
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            if name == "submit_answer":
                return arguments["answer"], called
            called.append(name)
            result = answers.get(name, lambda _: {"candidates": []})(arguments)
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": json_line({"data_from_video": result})}
            )


def found_at(**starts: float) -> Answers:
    """A search that finds each of these words at a time."""

    def search(arguments: dict[str, Any]) -> Any:
        times = [start for word, start in starts.items() if word in arguments["query"]]
        return {"candidates": [{"start_time": start, "end_time": start + 5, "snippet": "x"} for start in times]}

    return {"search_segments_by_text": search}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_order_is_that_of_the_times_and_what_is_not_found_comes_last(language: str) -> None:
    question = Question(text="In which order are they seen?", kind="order", options=THREE)
    answer, called = asked(question, found_at(red=30.0, folder=10.0), language=language)
    assert answer == ["C", "A", "B"]
    assert called == ["search_segments_by_text"] * 3


def test_a_choice_is_the_option_that_shares_words_with_what_was_found() -> None:
    question = Question(text="What is on the desk?", kind="choice", options=THREE)
    answers = {
        **found_at(desk=3.0),
        "describe_segment": lambda _: {"caption": "Somebody puts down a folder."},
    }
    assert asked(question, answers)[0] == "C"


def test_an_interval_is_the_stretch_that_was_found() -> None:
    question = Question(text="When does the red coat appear?", kind="interval")
    assert asked(question, found_at(red=12.0))[0] == {"start_time": 12.0, "end_time": 17.0}
    assert asked(question, {})[0] == {"start_time": 0.0, "end_time": 0.0}


def test_a_count_is_a_number() -> None:
    people = {"detections": [{"entity_id": f"e{n}", "category": "person"} for n in range(3)]}
    question = Question(text="How many people are there?", kind="count")
    seen = {"detect_objects": lambda _: people}
    listed = {"entities": [{"entity_id": f"e{n}"} for n in range(3)]}
    assert asked(question, {**seen, "list_entities": lambda _: listed})[0] == 3
    assert asked(question, seen)[0] == 0  # whether they are others again is not known
    assert asked(question, {})[0] == 0


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(text="Which order?", kind="order", options=THREE), "C, A, B"),
        (Question(text="What about the folder?", kind="choice", options=THREE), "C"),
        (Question(text="When does the red coat appear?", kind="interval"), "30.0 - 35.0"),
        (Question(text="How many people are there?", kind="count"), "0"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_where_no_tool_is_left_it_answers_in_the_words_that_are_wanted(
    question: Question, words: str, language: str
) -> None:
    """After the searches of the first round nothing is on offer any more."""
    from controller.answers import read_prose

    answer, _ = asked(question, found_at(red=30.0, folder=10.0), language=language, tools_left=1)
    assert read_prose(question, answer) is not None
    if question.kind != "choice":
        assert answer == words


@given(kind=st.sampled_from(KINDS), text=st.text(min_size=1, max_size=40), language=st.sampled_from(["en", "zh"]))
def test_whatever_is_asked_the_answer_is_of_its_type(kind: Any, text: str, language: str) -> None:
    from controller.answers import parse_answer
    from world_api.core import EpisodeFault

    options = THREE if kind in ("choice", "order") else ()
    try:
        question = Question(text=text, kind=kind, options=options)
    except EpisodeFault:  # a text of white space alone
        return
    answer, _ = asked(question, found_at(coat=4.0), language=language)
    assert not isinstance(parse_answer(question, {"answer": answer, "spans": []}), str)
