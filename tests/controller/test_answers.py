"""Submitted answers: what the schema that is sent allows is what is taken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from controller.answers import FinalAnswer, Question, parse_answer, submit_answer_tool
from controller.conversation import Prompts

QUESTIONS = {
    "open": Question(text="Why?"),
    "choice": Question(text="Which?", kind="choice", options=("red", "green", "blue")),
    "interval": Question(text="When?", kind="interval"),
    "count": Question(text="How many?", kind="count"),
    "order": Question(text="Which first?", kind="order", options=("dog", "cat", "bird")),
}
WORDS = Prompts().of_answer
_times = st.sampled_from([0, 1, 2.5, -1, 1e12, True, "1"])
_spans = st.fixed_dictionaries(
    {}, optional={"start_time": _times, "end_time": _times, "x": st.none()}
) | st.sampled_from([None, 3])
_values = (
    st.sampled_from(["A", "B", "D", "a", "", "red", 0, 1, 3, 3.0, 2.5, -1, True, None])
    | st.lists(st.sampled_from(["A", "B", "C", "D", 1]), max_size=4)
    | _spans
)


def parse(kind: str, answer: Any, spans: Any = ()) -> FinalAnswer | str:
    return parse_answer(QUESTIONS[kind], {"answer": answer, "spans": list(spans)})


@given(
    kind=st.sampled_from(sorted(QUESTIONS)),
    arguments=st.fixed_dictionaries(
        {}, optional={"answer": _values, "spans": st.lists(_spans, max_size=3) | st.none(), "x": st.none()}
    ),
)
def test_what_is_taken_is_valid_by_the_schema_that_was_sent(kind: str, arguments: dict[str, Any]) -> None:
    schema = submit_answer_tool(QUESTIONS[kind], WORDS).parameters
    valid = Draft202012Validator(schema).is_valid(arguments)
    taken = isinstance(parse_answer(QUESTIONS[kind], arguments), FinalAnswer)
    backwards = valid and _runs_backwards(arguments)
    assert taken == (valid and not backwards)


def _runs_backwards(arguments: dict[str, Any]) -> bool:
    """No schema can say that an end lies after its start."""
    answer = arguments["answer"]
    spans = [*arguments["spans"], *([answer] if isinstance(answer, dict) else [])]
    return any(span["end_time"] < span["start_time"] for span in spans)


@pytest.mark.parametrize(
    ("kind", "given", "value", "text"),
    [
        ("open", " rain ", "rain", "rain"),
        ("choice", "B", "B", "B. green"),
        ("count", 3, 3, "3"),
        ("count", 3.0, 3, "3"),
        ("order", ["B", "A", "C"], ["B", "A", "C"], "B, A, C"),
        (
            "interval",
            {"start_time": 36001, "end_time": 36002.5},
            {"start_time": 36001.0, "end_time": 36002.5},
            "36001 - 36002.5 s",
        ),
    ],
)
def test_an_answer_has_a_value_and_a_text(kind: str, given: Any, value: Any, text: str) -> None:
    answer = parse(kind, given)
    assert isinstance(answer, FinalAnswer)
    assert (answer.value, answer.text) == (value, text)


def test_an_interval_is_itself_cited() -> None:
    own, other = {"start_time": 1.0, "end_time": 2.0}, {"start_time": 5.0, "end_time": 6.0}
    answer = parse("interval", own, [other, own])
    assert isinstance(answer, FinalAnswer)
    assert [(span.start, span.end) for span in answer.spans] == [(1.0, 2.0), (5.0, 6.0)]


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("open", "", "answer: give the answer as text; it must not be empty"),
        ("open", 3, "answer: give the answer as text"),
        ("choice", "green", "answer: give one letter of A, B, C, and nothing else"),
        ("count", "3", "answer: give a whole number from 0, as a number and not as text"),
        ("count", -1, "whole number from 0"),
        ("count", True, "whole number from 0"),
        ("order", ["B", "A"], "(missing C)"),
        ("order", ["A", "A", "B", "E"], "(there is no E; more than once A; missing C)"),
        ("order", "B, A, C", "answer: give a list of letters"),
        ("interval", [1, 2], "answer: give an object of start_time and end_time"),
        ("interval", {"start_time": 9, "end_time": 3}, "answer: end_time is before start_time"),
        ("interval", {"start_time": -1, "end_time": 3}, "answer: start_time and end_time are seconds"),
    ],
)
def test_what_cannot_be_taken_is_told_exactly(kind: str, given: Any, told: str) -> None:
    refused = parse(kind, given)
    assert isinstance(refused, str)
    assert told in refused


def test_every_fault_of_an_answer_is_told_at_once() -> None:
    told = parse_answer(QUESTIONS["count"], {"answer": "x", "spans": [{"start_time": 1}], "why": "y"})
    assert isinstance(told, str)
    assert "answer: " in told
    assert "spans: number 0: " in told
    assert "why: not a parameter" in told
