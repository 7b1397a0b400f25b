"""Gold that is present, absent or undeterminable; what an answer says of it; and the tables of both."""

from __future__ import annotations

from typing import Any

import pytest

from controller.answers import Question
from eval.datasets import Item, item_from_record, item_record
from eval.scoring import score_value, stance_of
from eval.tables import Study, tables_of
from tests.support.sample_rows import sample_row, table_of

SPAN = {"start_time": 4.0, "end_time": 8.0}


def item(kind: str, answer: Any, **more: Any) -> Item:
    options = ("Yes", "No") if kind == "choice" else ("rain", "snow") if kind == "order" else ()
    question = Question(text="What?", kind=kind, options=options, may_abstain=True)  # type: ignore[arg-type]
    return Item(id="i", video_id="v", question=question, answer=answer, **more)


SEEN = {"labels": {"absence": "B"}}


@pytest.mark.parametrize(
    ("asked", "given", "right", "said"),
    [
        (item("interval", SPAN), SPAN, True, "present"),
        (item("interval", SPAN), "not_there", False, "absent"),
        (item("interval", SPAN), "cannot_be_told", False, "undeterminable"),
        (item("interval", "not_there"), "not_there", True, "absent"),
        (item("interval", "not_there"), SPAN, False, "present"),
        (item("interval", "not_there"), "cannot_be_told", False, "undeterminable"),
        (item("interval", "cannot_be_told"), "cannot_be_told", True, "undeterminable"),
        (item("interval", "cannot_be_told"), "not_there", False, "absent"),
        (item("count", 0), "not_there", True, "absent"),
        (item("count", 0), 0, True, "absent"),
        (item("count", 3), 0, False, "absent"),
        (item("count", 3), "not_there", False, "absent"),
        (item("choice", "B", **SEEN), "B", True, "absent"),
        (item("choice", "B", **SEEN), "not_there", True, "absent"),
        (item("choice", "A", **SEEN), "B", False, "absent"),
        (item("choice", "B"), "not_there", False, "absent"),  # "no" to another question than whether it is seen
        (item("choice", "not_there"), "A", False, "present"),
        (item("order", "not_there"), "not_there", True, "absent"),
        (item("open", "a hat"), "a hat", True, "present"),
        (item("open", "not_there"), "a hat", False, "present"),
        (item("count", "cannot_be_told"), None, False, None),
    ],
)
def test_an_abstention_is_right_only_where_the_video_says_the_same(
    asked: Item, given: Any, right: bool, said: Any
) -> None:
    assert score_value(asked, given, None if given is None else str(given)).correct == right
    assert stance_of(asked, given) == said
    assert item_from_record(item_record(asked)) == asked


def test_a_forced_question_takes_no_abstention_and_its_line_says_nothing_of_it() -> None:
    forced = Item(id="i", video_id="v", question=Question(text="When?", kind="interval"), answer=SPAN)
    assert "may_abstain" not in item_record(forced)
    assert score_value(forced, "cannot_be_told", "cannot be told").details["reason"] == "no_answer"
    with pytest.raises(ValueError, match="an interval is"):
        item_from_record({**item_record(forced), "answer": "not_there"})


ROWS = [
    sample_row(item="q1", gold="present", said="present", correct=True),
    sample_row(item="q2", gold="present", said="absent"),
    sample_row(item="q3", gold="present", said="undeterminable"),
    sample_row(item="q4", gold="absent", said="absent", correct=True),
    sample_row(item="q5", gold="absent", said="present"),
    sample_row(item="q6", gold="undeterminable", said="undeterminable", correct=True),
    sample_row(item="q7", gold="undeterminable", outcome="failed"),
]


def test_the_confusion_counts_every_answer_against_the_truth_and_names_its_samples() -> None:
    table = table_of(Study(rows=tuple(ROWS)), "confusion")
    said = ("said_present", "said_absent", "said_undeterminable", "said_nothing")
    counts = {table.cell(row, "gold").value: [table.cell(row, key).value for key in said] for row in range(3)}
    assert counts == {"present": [1, 1, 1, 0], "absent": [1, 1, 0, 0], "undeterminable": [0, 0, 1, 1]}
    assert [key.rpartition("/")[2] for key in table.samples(1, "said_present")] == ["q5"]
    assert table.cell(1, "accuracy").value == 0.5


def test_risk_is_of_what_was_answered_and_coverage_the_share_of_it() -> None:
    table = table_of(Study(rows=tuple(ROWS)), "risk_coverage")
    found = {key: table.cell(0, key).value for key in ("accuracy", "coverage", "risk", "abstained", "rightly")}
    assert found == {"accuracy": 3 / 7, "coverage": 4 / 7, "risk": 0.5, "abstained": 2, "rightly": 0.5}


def test_a_run_of_forced_questions_has_the_tables_that_it_had() -> None:
    names = {table.name for table in tables_of(Study(rows=(sample_row(),)))}
    assert names.isdisjoint({"confusion", "risk_coverage"})
