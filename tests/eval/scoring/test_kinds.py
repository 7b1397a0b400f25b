"""What counts as right, by kind of answer."""

from __future__ import annotations

from typing import Any

import pytest

from controller.answers import Question
from eval.datasets import Item
from eval.scoring import score_value
from world_api.core import EvalFault

OPTIONS = {"choice": ("in", "out", "above"), "order": ("ann", "ben", "carl", "dora")}


def item(kind: str, answer: Any, *also: Any, text: str = "What?") -> Item:
    question = Question(text=text, kind=kind, options=OPTIONS.get(kind, ()))
    return Item(id="i", video_id="v", question=question, answer=answer, also=also)


def span(start: float, end: float) -> dict[str, float]:
    return {"start_time": start, "end_time": end}


def scored(kind: str, expected: Any, given: Any, *also: Any, **settings: Any) -> Any:
    protocol = {"scoring": {kind: {"scorer": kind, **settings}}} if settings else None
    return score_value(item(kind, expected, *also), given, None if given is None else str(given), protocol=protocol)


@pytest.mark.parametrize("kind", ["choice", "interval", "count", "order", "open"])
def test_an_episode_without_an_answer_is_wrong(kind: str) -> None:
    answers = {"choice": "A", "interval": span(1, 2), "count": 3, "order": list("ABCD"), "open": "a hat"}
    score = score_value(item(kind, answers[kind]), None, None)
    assert (score.correct, score.score, score.details["reason"]) == (False, 0.0, "no_answer")


def test_a_letter_is_right_or_wrong_and_several_may_be_accepted() -> None:
    assert scored("choice", "B", "B").correct
    assert not scored("choice", "B", "A").correct
    assert scored("choice", "B", "A", "A").correct
    assert scored("choice", "B", "B").details["options"] == 3


@pytest.mark.parametrize("broken", ["Z", 3, ["A"], {"start_time": 1}])
def test_what_is_no_letter_is_no_answer(broken: Any) -> None:
    assert scored("choice", "A", broken).details["reason"] == "no_answer"


def test_an_interval_is_scored_by_its_best_iou_and_recall_at_each_threshold() -> None:
    score = scored("interval", span(10, 20), span(12, 22))
    assert score.score == pytest.approx(8 / 12)
    assert score.correct
    assert score.details["recall_1_at_0.3"] and score.details["recall_1_at_0.5"]
    assert not score.details["recall_1_at_0.7"]
    assert (score.details["start_error"], score.details["end_error"]) == (2.0, 2.0)
    assert scored("interval", span(10, 20), span(40, 50), span(40, 51)).correct


def test_the_iou_from_which_an_interval_is_right_is_the_protocols() -> None:
    assert not scored("interval", span(10, 20), span(12, 22), correct_at=0.7).correct
    assert scored("interval", span(10, 20), span(15, 25), correct_at=0.3).correct


def test_an_iou_that_is_the_threshold_reaches_it() -> None:
    assert scored("interval", span(0, 10), span(0, 5)).correct


def test_moments_match_only_themselves_unless_they_are_widened() -> None:
    assert scored("interval", span(5, 5), span(5, 5)).score == 1.0
    assert scored("interval", span(5, 5), span(4, 6)).score == 0.0
    assert scored("interval", span(5, 5), span(4, 6), least_seconds=2.0).score == 1.0


def test_a_count_is_exact_unless_the_protocol_gives_room() -> None:
    score = scored("count", 10, 8)
    assert (score.correct, score.score) == (False, 0.8)
    assert (score.details["error"], score.details["absolute_error"], score.details["relative_error"]) == (-2, 2, 0.2)
    assert scored("count", 10, 8, within=2).correct
    assert scored("count", 10, 8, within_share=0.2).correct
    assert scored("count", 10, 8, 9).details["error"] == -1
    assert scored("count", 0, 3).score == 0.0
    assert scored("count", 0, 0).correct


def test_an_order_is_scored_by_tau_and_right_where_all_of_it_is() -> None:
    score = scored("order", list("ABCD"), list("ABDC"))
    assert score.details["tau"] == pytest.approx(4 / 6, abs=1e-6)
    assert score.score == pytest.approx((4 / 6 + 1) / 2)
    assert not score.correct
    assert scored("order", list("ABCD"), list("DCBA")).score == 0.0
    assert scored("order", list("ABCD"), list("ABDC"), list("ABDC")).correct
    assert scored("order", list("ABCD"), list("ABDC"), correct_at=0.6).correct


def test_words_are_right_without_case_marks_and_articles() -> None:
    assert scored("open", "The red hat.", "red hat").correct
    score = scored("open", "a red hat", "a red cap")
    assert not score.correct
    assert score.score == pytest.approx(0.5)
    assert scored("open", "hat", "cap", "cap").correct


def test_from_an_f1_that_the_protocol_names_words_are_right() -> None:
    protocol = {"scoring": {"open": {"scorer": "text/1", "f1_at": 0.5}}}
    assert score_value(item("open", "a red hat"), None, "red cap", protocol=protocol).correct


def test_chinese_is_taken_by_characters_and_the_score_says_so() -> None:
    score = score_value(item("open", "红色的帽子。"), "红色帽子", "红色帽子")
    assert score.scorer == "text_cjk/1"
    assert score.score == pytest.approx(2 * 1.0 * 0.8 / 1.8)
    assert score_value(item("open", "红色的帽子。"), None, "红色的帽子").correct
    assert score_value(item("open", "3号"), None, "３号").correct


def test_numbers_may_be_accepted_answers_of_open_questions() -> None:
    assert score_value(item("open", 2022), None, "2022.").correct


@pytest.mark.parametrize(
    ("kind", "answer"), [("choice", None), ("choice", "Q"), ("count", "three"), ("open", None), ("interval", [1, 2])]
)
def test_an_item_that_cannot_be_scored_is_named(kind: str, answer: Any) -> None:
    with pytest.raises(EvalFault) as caught:
        score_value(item(kind, answer), "A", "A")
    assert caught.value.code == "item_without_answer"
    assert "'i'" in caught.value.message
