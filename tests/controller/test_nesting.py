"""Values nested in one another: what could not be written into a record is refused by name before it gets there."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from controller.episode import episode_from_record
from world_api.chat import Call
from world_api.core import MAX_LEVELS, is_deep, json_line, parse_json

DEEP = (MAX_LEVELS + 2, 300, 900, 5_000)


def nested(levels: int) -> dict[str, Any]:
    return functools.reduce(lambda inner, _: {"k": inner}, range(levels - 1), {})


def stored(episode: Any) -> bool:
    record = episode.record()
    return bool(episode_from_record(parse_json(json_line(record))).record() == record)


@pytest.mark.parametrize("levels", [1, 100, MAX_LEVELS, *DEEP])
def test_a_result_is_kept_as_deep_as_it_can_be_stored(hold: Any, replies: Any, fake_tools: Any, levels: int) -> None:
    tools = fake_tools()
    tools.result = nested(levels)
    episode = hold(replies.finds(), replies.submits(), tools=tools).episode
    assert episode.outcome == "submitted"
    assert episode.internal_faults == (levels in DEEP)
    assert stored(episode)


@pytest.mark.parametrize("levels", DEEP)
def test_arguments_that_are_too_deep_go_back(hold: Any, replies: Any, levels: int) -> None:
    written = '{"k":' * levels + "1" + "}" * levels
    held = hold(replies.calls(Call(tool="find", arguments=written, id="c1")), replies.submits())
    assert held.observation("c1")["error"]["code"] == "arguments_not_json"
    assert stored(held.episode)


@pytest.mark.parametrize("levels", DEEP[:2])
@pytest.mark.parametrize("place", ["carried", "tool_calls"])
def test_a_reply_that_is_too_deep_ends_the_episode_by_name(hold: Any, replies: Any, levels: int, place: str) -> None:
    reply = replies.finds()
    reply["choices"][0]["message"][place] = [nested(levels)]
    episode = hold(reply).episode
    assert (episode.outcome, episode.reason) == ("failed", "bad_model_reply")
    assert stored(episode)


@pytest.mark.parametrize(
    ("value", "levels", "deep"),
    [(1, 0, False), ([], 0, False), ([1], 0, True), ([1], 1, False), ([[1]], 1, True), ({"a": [1]}, 2, False)],
)
def test_levels_are_lists_and_objects_that_hold_something(value: Any, levels: int, deep: bool) -> None:
    assert is_deep(value, levels=levels) == deep
    assert is_deep(json.loads(json.dumps(value)), levels=levels) == deep
