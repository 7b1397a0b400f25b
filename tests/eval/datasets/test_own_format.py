"""The project's own format: what is written is read again, and everything that is wrong is told with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from controller.answers import Question
from eval.datasets import BadItem, Item, item_from_record, item_record, load_dataset
from world_api.core import EvalFault, TimeSpan

GOOD: dict[str, Any] = {
    "schema_version": 1, "id": "q1", "video": "kitchen", "question": "How many?", "kind": "count", "answer": 3,
}  # fmt: skip


def line(**changes: Any) -> str:
    """The good line with changes; a value of None takes the key away."""
    record = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return json.dumps(record)


def load(folder: Path, *lines: str | bytes) -> EvalFault | None:
    """The fault of a file of these lines."""
    path = folder / "questions.jsonl"
    path.write_bytes(b"\n".join(item if isinstance(item, bytes) else item.encode() for item in lines) + b"\n")
    try:
        load_dataset(path)
    except EvalFault as fault:
        return fault
    return None


def test_a_file_of_questions_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(line() + "\n\n" + line(id="q2", video="hall", as_of=30, spans=[[1, 2.5]], also=[4]) + "\n")
    (tmp_path / "hall.webm").write_bytes(b"x")
    data = load_dataset(path)
    assert (data.name, len(data.items)) == ("mine", 2)
    second = data.items[1]
    assert second.question == Question(text="How many?", kind="count", as_of=30.0)
    assert second.spans == (TimeSpan(start=1, end=2.5),)
    assert second.also == (4,)
    assert data.missing == ("kitchen",)
    assert data.videos["hall"].path == tmp_path / "hall.webm"


ANSWERS = [
    ({"kind": "count", "answer": -1}, "a count is a whole number"),
    ({"kind": "count", "answer": 2.0}, "a count is a whole number"),
    ({"kind": "count", "answer": True}, "a count is a whole number"),
    ({"kind": "open", "answer": ""}, "answered by text"),
    ({"kind": "open", "answer": 3}, "answered by text"),
    ({"kind": "choice", "options": ["a", "b"], "answer": "C"}, "one of A, B"),
    ({"kind": "choice", "options": ["a", "b"], "answer": "b"}, "one of A, B"),
    ({"kind": "choice", "options": ["a", "b"], "answer": ["A"]}, "one of A, B"),
    ({"kind": "order", "options": ["a", "b"], "answer": ["A", "A"]}, "each once"),
    ({"kind": "order", "options": ["a", "b"], "answer": "AB"}, "each once"),
    ({"kind": "interval", "answer": [1, 2]}, "an interval is"),
    ({"kind": "interval", "answer": {"start_time": 3, "end_time": 2}}, "ends before it starts"),
    ({"kind": "interval", "answer": {"start_time": -3, "end_time": 2}}, "not a time in seconds"),
    ({"also": ["four"]}, "also[0]: a count"),
]
SHAPES = [
    ({"id": None}, "id is missing"),
    ({"answer": None}, "answer is missing"),
    ({"schema_version": 2}, "schema version 2"),
    ({"schema_version": True}, "schema version True"),
    ({"answr": 3}, "'answr' is not a key here"),
    ({"id": "a b"}, "is not a name"),
    ({"video": "Kitchen"}, "is not a video id"),
    ({"video": "../etc"}, "is not a video id"),
    ({"kind": "essay"}, "is not a kind"),
    ({"kind": ["open"]}, "is not a kind"),
    ({"question": 7}, "is not text"),
    ({"question": "  "}, "the question is empty"),
    ({"question": "x" * 20_001}, "20001 characters"),
    ({"options": ["a", "b"]}, "has options"),
    ({"kind": "choice", "options": ["a"], "answer": "A"}, "has 1 option;"),
    ({"kind": "choice", "options": ["a", "a"], "answer": "A"}, "there twice"),
    ({"kind": "choice", "options": ["a", 2], "answer": "A"}, "is not a list of texts"),
    ({"as_of": -1}, "not a time in seconds"),
    ({"as_of": "90"}, "not a time in seconds"),
    ({"spans": [[1]]}, "spans[0]"),
    ({"spans": [[2, 1]]}, "ends before it starts"),
    ({"spans": {"start": 1}}, "not a list of [start, end]"),
    ({"split": "train"}, "is not a split"),
    ({"labels": [1]}, "is not a JSON object"),
    ({"domain": ""}, "the name of a domain"),
]


@pytest.mark.parametrize(("changes", "told"), ANSWERS + SHAPES, ids=lambda item: str(item)[:60])
def test_what_is_wrong_with_a_line_is_told_with_its_number(tmp_path: Path, changes: Any, told: str) -> None:
    fault = load(tmp_path, line(id="q0"), line(**changes))
    assert fault is not None
    assert fault.code == "bad_dataset"
    assert "line 2: " in fault.message
    assert told in fault.message


def test_all_faults_are_told_at_once_and_counted(tmp_path: Path) -> None:
    fault = load(tmp_path, *(line(id=f"q{number}", answer="x") for number in range(11)))
    assert fault is not None
    assert fault.message.count("line ") == 8
    assert fault.message.endswith("; and 3 more")


def test_an_id_that_stands_twice_is_told_with_both_lines(tmp_path: Path) -> None:
    fault = load(tmp_path, line(), line(id="q2"), line())
    assert fault is not None
    assert "line 3: the id 'q1' is there a second time (first on line 1)" in fault.message


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b'{"id": "\xff"}', "line 2: it is not UTF-8"),
        (b"{", "line 2: it is not JSON"),
        (b"[1]", "line 2: it is not a JSON object"),
        (b'{"answer": NaN}', "line 2: it is not JSON"),
        (b"[" * 5000, "line 2: it is not JSON"),
        (b'{"a": ' + b"[" * 30 + b"]" * 30 + b"}", "nested more than"),
        (b"x" * (2**20 + 10), "more than"),
    ],
)
def test_bytes_that_are_no_question_are_told_with_their_line(tmp_path: Path, raw: bytes, told: str) -> None:
    fault = load(tmp_path, line(id="q0"), raw, line(id="q3", answer=-1))
    assert fault is not None
    assert told in fault.message
    assert "line 3: " in fault.message  # the lines after it are read as well


def test_an_empty_file_and_one_that_is_no_file_are_named(tmp_path: Path) -> None:
    fault = load(tmp_path)
    assert fault is not None
    assert "holds no question" in fault.message
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(EvalFault) as caught:
        load_dataset(tmp_path / "folder.jsonl")
    assert caught.value.code == "dataset_unreadable"


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    assert load(tmp_path, b"\xef\xbb\xbf" + line().encode()) is None


TEXT = st.text(min_size=1, max_size=30).map(str.strip).filter(bool)
SECONDS = st.floats(min_value=0, max_value=1e6, allow_nan=False)


@st.composite
def items(draw: st.DrawFn) -> Item:
    """Items of every kind."""
    kind = draw(st.sampled_from(("open", "choice", "interval", "count", "order")))
    options = draw(st.lists(TEXT, min_size=2, max_size=6, unique=True)) if kind in ("choice", "order") else []
    question = Question(text=draw(TEXT), kind=kind, options=tuple(options), as_of=draw(st.none() | SECONDS))
    ends = sorted((draw(SECONDS), draw(SECONDS)))
    answer = {
        "open": draw(TEXT),
        "choice": draw(st.sampled_from(question.letters or ("A",))),
        "interval": {"start_time": ends[0], "end_time": ends[1]},
        "count": draw(st.integers(0, 10**9)),
        "order": draw(st.permutations(question.letters or ("A",))),
    }[kind]
    return Item(
        id=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,20}", fullmatch=True)),
        video_id=draw(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)),
        question=question,
        answer=answer,
        also=(answer,),
        spans=(TimeSpan(start=ends[0], end=ends[1]),),
        split=draw(st.none() | st.just("test")),
        labels=draw(st.dictionaries(TEXT, st.integers() | TEXT, max_size=3)),
    )  # fmt: skip


@given(items())
def test_what_is_written_is_read_again(item: Item) -> None:
    record = json.loads(json.dumps(item_record(item)))
    assert item_from_record(record) == item


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "options", "also", "spans", "as_of", "split", "labels", "x"]), JSON))
def test_no_record_breaks_the_reader(changes: dict[str, Any]) -> None:
    try:
        item = item_from_record({**GOOD, **changes})
    except BadItem as error:
        assert error.faults
    else:
        assert item_from_record(item_record(item)) == item
