"""Typed answers in words: read where there is one way to read them, and in no other case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.conversation.typed.kinds import value_of
from controller.conversation.typed.prose import read_prose
from controller.questions import Kind, Question

PLACES = Question(text="Where?", kind="choice", options=("in the kitchen", "in the garden", "kitchen door"))
PLACES_ZH = Question(text="在哪里？", kind="choice", options=("厨房", "花园", "卧室"))
YES_NO = Question(text="Does he?", kind="choice", options=("Yes", "No"))
COUNT = Question(text="How often?", kind="count")
INTERVAL = Question(text="When?", kind="interval")
ORDER = Question(text="In which order?", kind="order", options=("dog", "cat", "bird"))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("**B**", "B"),
        ("B.", "B"),
        ("$\\boxed{B}$", "B"),
        ("Answer: B", "B"),
        ("The answer is B.", "B"),
        ("The correct answer is (C) because A is wrong.", "C"),
        ("B. in the garden", "B"),
        ("in the garden", "B"),
        ("It happens in the garden.", "B"),
        ("He stands at the kitchen door", "C"),
        ("Option C", "C"),
        ('{"answer": "B"}', "B"),
        ("answer: in the garden", "B"),
        ("```\nB\n```", "B"),
        ("D", None),
        ("either A or B", None),
        ("A person walks", None),
        ("It is not in the kitchen.", None),
        ("A. in the kitchen\nB. in the garden", None),
        ("I think option B, not option A", None),
        ("The answer is B. Actually the answer is C.", None),
        ("in the kitchen or in the garden", None),
        ("I cannot say.", None),
        ("B " * 5_000, None),
    ],
)
def test_an_option_is_read_from_words_that_name_one(text: str, letter: str | None) -> None:
    assert read_prose(PLACES, text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("选B", "B"),
        ("答案是B", "B"),
        ("答案：C。", "C"),
        ("在花园里", "B"),
        ("花园", "B"),
        ("B、花园", "B"),
        ("不是厨房", None),
        ("厨房和花园", None),
    ],
)
def test_an_option_is_read_from_chinese(text: str, letter: str | None) -> None:
    assert read_prose(PLACES_ZH, text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [("No", "B"), ("Yes, he does.", "A"), ("No, he does not.", None), ("It is not clear.", None)],
)
def test_a_denial_is_no_option_by_itself(text: str, letter: str | None) -> None:
    assert read_prose(YES_NO, text) == letter


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        ("three", 3),
        ("Three times.", 3),
        ("twice", 2),
        ("twenty-one", 21),
        ("1,200", 1200),
        ("There are 3 people.", 3),
        ("3 times, at 12 s and 40 s", 3),
        ("They meet 5 times (12-18 s, 30-35 s)", 5),
        ("0:12-0:40: three", 3),
        ("12 seconds", 12),
        ("zero", 0),
        ("One person", 1),
        ("一共三次", 3),
        ("有两只狗", 2),
        ("二十一次", 21),
        ("一百零五个", 105),
        ("他在12秒和40秒出现，共2次", 2),
        ("一起出现了3次", 3),
        ("-3", None),
        ("3.5", None),
        ("1e3", None),
        ("2 or 3", None),
        ("3 red cars and 2 blue cars", None),
        ("No one appears", None),
        ("One person appears twice", None),
        ("more than 3", None),
        ("at least 3 people", None),
        ("not 3", None),
        ("第三次", None),
        ("第3次出现", None),
        ("最多3个", None),
        ("没有人", None),
        ("9" * 400, None),
    ],
)
def test_a_number_is_read_where_there_is_one_that_says_how_many(text: str, number: int | None) -> None:
    assert read_prose(COUNT, text) == number


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("12.0 - 18.5", (12.0, 18.5)),
        ("12-18 s", (12.0, 18.0)),
        ("from 12 to 18 seconds", (12.0, 18.0)),
        ("between 12 s and 18 s", (12.0, 18.0)),
        ("0:12–0:18", (12.0, 18.0)),
        ("1:00:05 - 1:00:10", (3605.0, 3610.0)),
        ("12.0-18.5, that is 12.0-18.5", (12.0, 18.5)),
        ("start_time: 12.0, end_time: 18.5", (12.0, 18.5)),
        ('{"start_time": 1, "end_time": 2}', (1.0, 2.0)),
        ("The answer is 3 - 5 s. It could be 9 - 12.", (3.0, 5.0)),
        ("从12秒到18秒", (12.0, 18.0)),
        ("第12秒至第18秒", (12.0, 18.0)),
        ("12 s", None),
        ("18 - 12", None),
        ("12 to 18 and 30 to 40", None),
    ],
)
def test_a_stretch_is_read_where_there_is_one(text: str, span: tuple[float, float] | None) -> None:
    read = read_prose(INTERVAL, text)
    assert (None if read is None else (read["start_time"], read["end_time"])) == span


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("B, A, C", "BAC"),
        ("BAC", "BAC"),
        ("B > A > C", "BAC"),
        ("B→A→C", "BAC"),
        ("B then A then C", "BAC"),
        ("(B), (A), (C)", "BAC"),
        ('["B", "A", "C"]', "BAC"),
        ("1. cat\n2. dog\n3. bird", "BAC"),
        ("1. B\n2. A\n3. C", "BAC"),
        ("The correct order is C, A, B.", "CAB"),
        ("顺序是B、C、A", "BCA"),
        ("B, A", None),
        ("A, A, B, C", None),
        ("A, B, C or B, A, C", None),
        ("BACK", None),
        ("first the dog then the cat", None),
    ],
)
def test_an_order_is_read_where_all_letters_stand_in_one(text: str, letters: str | None) -> None:
    assert read_prose(ORDER, text) == (None if letters is None else list(letters))


@given(
    text=st.text(alphabet="ABC dog(), 12.-:sto秒到三个答案是不\n", max_size=60) | st.text(max_size=60),
    question=st.sampled_from([PLACES, PLACES_ZH, YES_NO, COUNT, INTERVAL, ORDER]),
)
def test_what_is_read_is_of_its_type(text: str, question: Question) -> None:
    read = read_prose(question, text)
    assert read is None or value_of(question, read) == read


def question_of(kind: Kind, options: int = 3) -> Question:
    names = tuple(f"thing number {n}" for n in range(options)) if kind in ("choice", "order") else ()
    return Question(text="q", kind=kind, options=names)


@pytest.mark.parametrize("kind", ["choice", "count", "interval", "order"])
@pytest.mark.parametrize("part", ["A ", "A, ", "1,", "one ", "1:", "1 - ", "(", "B.", "选", "一", "@ ", " ", "答案是"])
def test_long_runs_of_one_sign_are_read_quickly(kind: Any, part: str) -> None:
    """What grows faster than its text would not end here."""
    read_prose(question_of(kind, options=26), (part * 4_000)[:4_000])
