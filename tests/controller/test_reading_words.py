"""Typed answers in words: read where the reply is the answer, and in no other case."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from controller.answers import NUMBER_WORDS, Kind, Question, read_prose, value_of

#: Questions with replies that are taken and replies that are refused, by kind and language.
TABLES: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "words").glob("*.yaml"))
}
YES_NO = Question(text="Does he?", kind="choice", options=("Yes", "No"))
COUNT = Question(text="How many people are seen after 10 minutes?", kind="count")


def question_in(table: str) -> Question:
    given = TABLES[table]["question"]
    return Question(text=given["text"], kind=given["kind"], options=tuple(given.get("options", ())))


TAKEN = [
    pytest.param(name, reply, group["value"], id=f"{name}-{reply!r}")
    for name, table in TABLES.items()
    for group in table["taken"]
    for reply in group["replies"]
]
REFUSED = [
    pytest.param(name, reply, id=f"{name}-{reply!r}") for name, table in TABLES.items() for reply in table["refused"]
]


@pytest.mark.parametrize(("table", "reply", "value"), TAKEN)
def test_a_reply_that_is_the_answer_is_taken(table: str, reply: str, value: Any) -> None:
    assert read_prose(question_in(table), reply) == value


@pytest.mark.parametrize(("table", "reply"), REFUSED)
def test_a_reply_that_denies_doubts_intends_or_only_mentions_is_refused(table: str, reply: str) -> None:
    assert read_prose(question_in(table), reply) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("No", "B"),
        ("Yes, he does.", "A"),
        ("Yes.", "A"),
        ("No, he does not.", None),
        ("It is not clear.", None),
        ("Yes. Let me search for it.", None),
        ("Yes, I am searching for it", None),
        ("Yes and no", None),
        ("A. No", None),
    ],
)
def test_a_denial_is_no_option_by_itself(text: str, letter: str | None) -> None:
    assert read_prose(YES_NO, text) == letter


@pytest.mark.parametrize(
    ("asked", "text", "number"),
    [
        ("How many people are seen after 10 minutes?", "10 minutes", None),
        ("How many minutes does it last?", "10 minutes", 10),
        ("How many cars pass the two people?", "2 people", None),
        ("How many red cars pass?", "3 cars", 3),
        ("How often does he wave?", "3 times", 3),
        ("How often does he wave?", "3 hours", None),
        ("In how many scenes does he find the dog?", "He finds the dog in scene 3", None),
        ("How many dozen eggs are there, or two hundred?", "two dozen eggs", None),
        ("有几个人在3分钟后出现？", "3分钟", None),
        ("有几个人在3分钟后出现？", "3个人", 3),
    ],
)
def test_a_number_may_have_beside_it_only_what_the_question_counts(asked: str, text: str, number: int | None) -> None:
    assert read_prose(Question(text=asked, kind="count"), text) == number


def test_a_last_line_that_gives_the_answer_is_read_after_reasons_and_after_nothing_else() -> None:
    question = question_in("choice_en")
    assert read_prose(question, "A is wrong: he is not there.\nAnswer: B") == "B"
    for before in ("The answer is C.", "The screen says:", "Somebody might write", '"Listen.', "选C。"):
        assert read_prose(question, f"{before}\nAnswer: B") is None, before
    assert read_prose(question, "He is not there.\nAnswer: B. Or not.") is None


PARTS = {
    "choice": ["B", "(B)", "B.", "in the garden", "花园", "option B", "选项B", "Yes", "No"],
    "count": ["3", "three", "twenty-one", "3 people", "三", "3次", "一百零五个"],
    "interval": ["12-18", "12 s to 18 s", "between 3 and 4", "0:12-0:18", "从12秒到18秒", "[1, 2.5]"],
    "order": ["B, A, C", "BAC", "cat, dog, bird", "B→A→C", "先B，再A，最后C", "猫、狗、鸟"],
}
LEADS = ["", "Answer: ", "The answer is ", "So the answer is ", "I choose ", "答案是", "答案：", "我选", "所以选"]
TAILS = [
    "",
    ".",
    "。",
    "!",
    ". He waits.",
    " because he waits",
    "，因为他在。",
    ", he does",
    " is correct",
    "是正确的",
    "?",
]
WORDS = st.lists(
    st.sampled_from(
        "A B C a 3 three 三 12 - 18 to and , . : not 不 is the answer option 选 in garden 秒 \n".split(" ")
    ),
    max_size=8,
).map(" ".join)
NAMES = st.sampled_from(sorted(TABLES))


#: A table, and an answer that fits its kind.
ANSWERS = NAMES.flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(PARTS[question_in(name).kind])))


@given(answer=ANSWERS, lead=st.sampled_from(LEADS), tail=st.sampled_from(TAILS))
@pytest.mark.parametrize("denial", ["not ", "不是", "never ", "没有", "neither "])
def test_what_is_taken_stands_in_the_text_and_a_denial_before_it_takes_it_back(
    denial: str, answer: tuple[str, str], lead: str, tail: str
) -> None:
    name, part = answer
    question = question_in(name)
    value = read_prose(question, lead + part + tail)
    assert value is None or stands_in(value, question, part)
    assert read_prose(question, lead + denial + part + tail) is None
    assert read_prose(question, denial + lead + part + tail) is None


@pytest.mark.parametrize(("table", "reply", "value"), [item for item in TAKEN if "\n" not in item.values[1]])
@pytest.mark.parametrize("denial", ["not ", "不是", "It is not ", "并非"])
def test_no_reply_of_one_line_is_taken_with_a_denial_before_it(table: str, reply: str, value: Any, denial: str) -> None:
    assert read_prose(question_in(table), denial + reply) is None


@given(name=NAMES, text=WORDS)
def test_of_any_words_only_those_are_taken_that_stand_there_undenied(name: str, text: str) -> None:
    question = question_in(name)
    value = read_prose(question, text)
    if value is not None:
        assert stands_in(value, question, text)
        assert not re.search("not|不", text.rpartition("\n")[2])


def stands_in(value: Any, question: Question, text: str) -> bool:
    """Whether an answer can be found in words, by its letters, options' words or numbers."""
    if question.kind in ("choice", "order"):
        options = dict(zip(question.letters, question.options, strict=True))
        return all(letter in text.upper() or options[letter] in text.casefold() for letter in value)
    if question.kind == "interval":
        return all(_seconds_in(text) >= {time} for time in value.values())
    spelled = {word for word, number in NUMBER_WORDS.items() if number == value} | {str(value)}
    parts = sum(NUMBER_WORDS.get(word, 0) for word in re.findall("[a-z]+", text.casefold()))
    chinese = {"三": 3, "一百零五": 105}
    return value == parts or any(
        word in text for word in spelled | {word for word in chinese if chinese[word] == value}
    )


def _seconds_in(text: str) -> set[float]:
    clocks = re.findall(r"(\d+):(\d+)", text)
    return {60.0 * int(minutes) + int(seconds) for minutes, seconds in clocks} | set(
        map(float, re.findall(r"\d+(?:\.\d+)?", text))
    )


@given(text=st.text(alphabet="ABC dog(), 12.-:sto秒到三个答案是不\n", max_size=60) | st.text(max_size=60), name=NAMES)
def test_what_is_read_is_of_its_type(text: str, name: str) -> None:
    question = question_in(name)
    read = read_prose(question, text)
    assert read is None or value_of(question, read) == read


def question_of(kind: Kind, options: int = 3) -> Question:
    names = tuple(f"thing number {n}" for n in range(options)) if kind in ("choice", "order") else ()
    return Question(text="q", kind=kind, options=names)


@pytest.mark.parametrize("kind", ["choice", "count", "interval", "order"])
@pytest.mark.parametrize(
    "part",
    [
        "A ",
        "A, ",
        "1,",
        "one ",
        "1:",
        "1 - ",
        "(",
        "B.",
        "选",
        "一",
        "@ ",
        " ",
        "答案是",
        "answer is ",
        "in total ",
        "\n",
    ],
)
def test_long_runs_of_one_sign_are_read_quickly(kind: Any, part: str) -> None:
    """What grows faster than its text would not end here."""
    read_prose(question_of(kind, options=26), (part * 4_000)[:4_000])


@pytest.mark.parametrize("table", sorted(TABLES))
def test_more_words_than_an_answer_has_are_not_read(table: str) -> None:
    assert read_prose(question_in(table), "B 3 12-18 " * 1_000) is None
