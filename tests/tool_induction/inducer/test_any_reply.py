"""Whatever a model replies, an induction ends by name, and what it keeps can be written down and read again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.scripted import ScriptedChatModel
from tests.support.scripted_repairer import ScriptedRepairer
from tool_induction.domains import load_domain
from tool_induction.inducer import InducerPrompts, Requester, Settings, induce, log_lines, report_page, spent
from world_api import SystemClock
from world_api.chat import completion
from world_api.core import ToolFault

DOMAIN = load_domain("A_locate_count")
PROMPTS = InducerPrompts()

_words = st.sampled_from(
    [
        "",
        "x",
        "item",
        "{{ x }}",
        "{{ hits[0].start_time }}",
        "hits",
        "first",
        "set",
        "call_world_api",
        "list_scenes",
        "```",
        "|<b>",
        "\n# y\nFaults:\n- ",
    ]
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 500) | st.floats(-1e9, 1e9) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=6,
)
_keys = st.sampled_from(
    ["type", "api", "params", "save_as", "loop_over", "inputs", "operation", "where", "value", "condition"]
)
_steps = st.dictionaries(_keys, _values, max_size=5)
_tools = st.fixed_dictionaries(
    {"tool_name": _words | st.sampled_from(["find_it", "count_it"]) | _values},
    optional={
        "description": _words,
        "inputs": _values | st.just({"video_id": "string", "x": "string"}),
        "outputs": _values | st.dictionaries(_words, st.just("any"), max_size=2),
        "steps": st.lists(_steps, max_size=3) | _values,
        "other": _values,
    },
)
_replies = st.one_of(
    st.lists(_tools, max_size=4).map(json.dumps),
    st.lists(_tools, min_size=1, max_size=3).map(lambda tools: json.dumps({"tools": tools})[:-9]),
    st.text(alphabet='{}[]":,\\ax \n`', max_size=80),
    _values.map(json.dumps),
)


def ended(reply: str, repairs: Any, mode: Any) -> None:
    requester = Requester(repairs, Settings(mode=mode), clock=SystemClock())
    try:
        done = induce(DOMAIN, requester.settings, prompts=PROMPTS, requester=requester, document=reply)
    except ToolFault as fault:
        assert fault.code == "no_tools"
        return
    assert done.ending in ("all_usable", "repeats", "rounds_used", "no_reply")
    assert all(slot.current.reason() or slot.current.status == "admitted" for slot in done.draft.slots)
    assert [json.loads(json.dumps(line)) for line in log_lines(done)]
    page = report_page(done, {"model": "m"}, spent(requester.exchanges, None), DOMAIN)
    assert all(f"`{slot.name}`" in page for slot in done.draft.slots if slot.name.isidentifier())


@settings(max_examples=120)
@given(_replies, _replies)
def test_any_first_emission_and_any_repair_end_by_name(first: str, again: str) -> None:
    replies = [completion(model="m", content=again)] * 3
    ended(first, ScriptedChatModel(replies, name="m"), "structured" if len(again) % 2 else "plain")


@settings(max_examples=60)
@given(st.lists(_tools, min_size=1, max_size=3).map(json.dumps))
def test_any_tools_can_be_handed_back(first: str) -> None:
    ended(first, ScriptedRepairer(), "plain")


@pytest.mark.parametrize(
    "name", ["find_it\n# find_other", "find_it" * 40, "`find`", "|find|", "<b>", 5, None, "寻找", ""]
)
def test_no_name_of_a_tool_breaks_the_log_or_the_report(name: Any) -> None:
    ended(json.dumps([{"tool_name": name, "steps": []}]), ScriptedRepairer(), "plain")
