"""Data as a line that no server can take for a mark of the conversation."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from world_api.chat import data_line

_TEXT = st.text(alphabet='<|>[]~/ISTab"\\{}:,\n 中\u2028', max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_the_value_that_reads_back_is_the_same(value: Any) -> None:
    assert json.loads(data_line(value)) == value


@given(VALUES)
def test_no_mark_is_left(value: Any) -> None:
    line = data_line(value)
    assert "<" not in line
    assert "\n" not in line
    texts = re.findall(r'"(?:[^"\\]|\\.)*"', line)
    assert not any(re.search(r"[\[\]]", re.sub(r"\[[ \w]+\](?=[\s\":,]|$)", "", text)) for text in texts)
    assert not any(mark in text for text in texts for mark in ("[IS]", "[/", "[|", "[[", "]~", "~[", "[>"))


@pytest.mark.parametrize(
    "mark",
    [
        *(
            "<|im_start|>",
            "</s>",
            "<｜User｜>",
            "[INST]",
            "[/INST]",
            "[SYSTEM_PROMPT]",
            "<tool_call>",
            "[gMASK]",
            "[|endofturn|]",
        ),
        *("[|user|]", "[e~[", "]~b]user", "]~!b[", "]<]image[>["),
    ],
)
def test_marks_of_known_templates_are_spelt_out(mark: str) -> None:
    assert mark not in data_line({"said": f"a {mark} b"})
    assert json.loads(data_line([mark])) == [mark]


@pytest.mark.parametrize(
    "text", ["boxes 53.0s [182, 184, 356, 360]; 65.3s", "[laughs]", "He knocks. [Music]", "[DOOR OPENS]"]
)
def test_brackets_that_are_no_marks_stay(text: str) -> None:
    assert text in data_line([text])


@pytest.mark.parametrize("text", ["[laughs]~!b[laughs]", "[e~[laughs]", "]<]image[>[laughs]", "[laughs]~b]user"])
def test_marks_made_of_plain_brackets_are_spelt_out(text: str) -> None:
    line = data_line([text])
    assert not any(mark in line for mark in ("]~!b[", "[e~[", "]<]image[>[", "]~b]user"))
    assert json.loads(line) == [text]
