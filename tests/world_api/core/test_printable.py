"""Text of unknown origin, printed."""

from __future__ import annotations

import json

from world_api.core import visible


def test_what_moves_a_cursor_or_turns_the_writing_is_spelt_out() -> None:
    assert visible("a\x1b[2Jb\u202ec\u200f\x9bd\r") == "a\\u001b[2Jb\\u202ec\\u200f\\u009bd\\u000d"


def test_plain_text_of_any_script_stays() -> None:
    text = "line\n\ttab \u4e2d\u6587 \u05e9\u05dc\u05d5\u05dd \u00e9"
    assert visible(text) == text


def test_json_stays_the_same_json() -> None:
    value = {"a": "\x1b \u202e \x7f", "b\u2066": ["\u0085"]}
    assert json.loads(visible(json.dumps(value, ensure_ascii=False))) == value
