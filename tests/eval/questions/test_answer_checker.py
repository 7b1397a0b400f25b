"""The check of questions: what is wrong is found, since answers are found anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.answers import ABSTENTIONS
from eval.sandbox import FilmFacts
from tests.support.answer_checker import check_items


def other_answer(item: Any) -> Any:
    """An answer of the same type that is wrong; of two abstentions the other one."""
    if item.answer in ABSTENTIONS:
        return next(value for value in ABSTENTIONS if value != item.answer)
    if item.question.kind == "choice":
        return next(letter for letter in item.question.letters if letter != item.answer)
    if item.question.kind == "count":
        return item.answer + 1
    if item.question.kind == "order":
        return [*item.answer[1:], item.answer[0]]
    return {name: value + 2.0 for name, value in item.answer.items()}


@pytest.mark.parametrize("split", ["induction", "development", "test"])
def test_every_wrong_answer_is_found(film: Any, questions: Any, split: Any) -> None:
    types = set()
    for seed in (9110, 9111, 9112):
        items = questions(seed, 3, split)
        wrong = [replace(item, answer=other_answer(item)) for item in items]
        assert [problem.item for problem in check_items(wrong, film(seed, 3, split))] == [item.id for item in items]
        types |= {(item.template or "").partition("/")[0] for item in items}
    assert len(types) >= 15


def test_two_people_of_one_description_are_found(film: Any, questions: Any) -> None:
    seed, item = next(
        (seed, item)
        for seed in range(9105, 9120)  # the first film that asks so
        for item in questions(seed, 3, "test")
        if item.labels["language"] == "en" and item.template == "first_appearance/test/0"
    )
    facts: FilmFacts = film(seed, 3, "test")
    named = next(person for person in facts.people if person.description in item.question.text)
    twins = tuple(replace(person, description=named.description) for person in facts.people)
    problems = check_items([item], replace(facts, people=twins))
    assert [problem.item for problem in problems] == [item.id]
    assert "names" in problems[0].message


def test_an_event_that_happens_again_makes_its_time_unclear(film: Any, questions: Any) -> None:
    facts: FilmFacts = film(9110, 3, "test")
    item = next(item for item in questions(9110, 3, "test") if item.template == "event_time/test/0")
    event = next(event for event in facts.events if event.start == item.answer["start_time"])
    again = replace(event, id="again", start=event.start + 20, end=event.end + 20)
    assert check_items([item], replace(facts, events=(*facts.events, again)))


@pytest.mark.parametrize(
    "change",
    [
        {"video_id": "sandbox-test-0001"},
        {"template": "first_appearance/induction/0"},
        {"template": None},
        {"split": "induction"},
        {"spans": 1e6},
    ],
)
def test_what_does_not_belong_to_the_film_or_the_split_is_found(film: Any, questions: Any, change: Any) -> None:
    item = next(item for item in questions(9110, 3, "test") if item.spans)
    if "spans" in change:
        change = {"spans": (replace(item.spans[0], end=change["spans"]),)}
    assert len(check_items([replace(item, **change)], film(9110, 3, "test"))) == 1


def test_reworded_templates_and_doubled_ids_are_found(film: Any, questions: Any) -> None:
    item = questions(9110, 3, "test")[0]
    reworded = replace(item, question=replace(item.question, text="Please say: " + item.question.text))
    assert check_items([reworded], film(9110, 3, "test"))
    assert [problem.message for problem in check_items([item, item], film(9110, 3, "test"))] == ["its id occurs twice"]
