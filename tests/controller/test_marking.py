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
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
    assert line.count("[") == outside.count("[")
    assert line.count("]") == outside.count("]")


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
