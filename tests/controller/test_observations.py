"""What the model is shown: cut results keep their shape, prompts are files with a hash."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from controller.conversation import MAX_RESULT_CHARACTERS
from controller.messages import Observation, ToolCall, shorten
from controller.prompts import Prompts
from world_api.core import json_line

CALL = ToolCall(id="c", tool="find", arguments={"query": "rain"}, written="{}")


def told(result: dict[str, Any]) -> dict[str, Any]:
    """The message that answers a call."""
    return Observation(call=CALL, result=result, is_data=True).message(Prompts(), limit=MAX_RESULT_CHARACTERS)


results = st.dictionaries(
    st.sampled_from("abcdef"),
    st.recursive(
        st.integers() | st.text(max_size=900) | st.none(),
        lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
        max_leaves=60,
    ),
    max_size=6,
)


@settings(deadline=None)
@given(result=results, limit=st.integers(min_value=2_000, max_value=4_000))
def test_a_cut_result_is_json_of_the_same_shape(result: dict[str, Any], limit: int) -> None:
    before = json.dumps(result)
    shown, note = shorten(result, limit)
    assert json.dumps(result) == before
    assert shown.keys() == result.keys()
    assert bool(note) == (shown != result)


_anything = st.recursive(
    st.integers() | st.text(max_size=400) | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=60), inner, max_size=40),
    max_leaves=40,
)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(result=st.dictionaries(st.text(max_size=60), _anything, max_size=40), limit=st.integers(20, 400))
def test_whatever_a_tool_returns_fits_the_limit(result: dict[str, Any], limit: int) -> None:
    shown, note = shorten(result, limit)
    assert len(json_line(shown)) <= limit
    assert bool(note) == (shown != result)


@pytest.mark.parametrize(
    "result",
    [
        {f"k{n}": "v" * 150 for n in range(3_000)},
        {"status": "ok", "outputs": {f"k{n}": "v" * 150 for n in range(3_000)}},
        {"a": [{f"k{n}": n for n in range(9_000)}]},
        {"k" * 90_000: 1, "b": 2},
        {f"{n}": [["x" * 190]] for n in range(900)},
        {"error": {"code": "x", "message": "m", "hint": {f"k{n}": "v" for n in range(9_000)}}},
        functools.reduce(lambda inner, _: {"deep" * 30: inner}, range(200), {"end": 1}),
    ],
)
def test_no_observation_is_beyond_the_limit(result: dict[str, Any]) -> None:
    content = told(result)["content"]
    assert len(content) < MAX_RESULT_CHARACTERS + 500
    assert "cut" in json.loads(content)


def test_of_a_wide_object_the_first_entries_stay() -> None:
    shown, _ = shorten({"status": "ok", "outputs": {f"k{n}": "v" * 150 for n in range(3_000)}}, 8_000)
    assert shown["status"] == "ok"
    assert list(shown["outputs"])[:2] == ["k0", "k1"]


def test_a_result_that_fits_is_shown_as_it_is() -> None:
    message = told({"a": [1, 2]})
    assert message == {"role": "tool", "tool_call_id": "c", "content": '{"data_from_video":{"a":[1,2]}}'}


def test_one_long_text_is_cut_at_its_end() -> None:
    shown, note = shorten({"caption": "a" * 10_000}, 1_000)
    assert len(json.dumps(shown)) <= 1_000
    assert shown["caption"].endswith("...")
    assert note is not None
    assert (note.shown, note.size) == (len(json_line(shown)), 10_014)
