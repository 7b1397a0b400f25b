"""Whatever a server sends, an episode ends with an answer or a named reason, and its record can be written and read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.budgets import Budget
from controller.episode import episode_from_record
from world_api.backends.chat.canonical import json_line, parse_json

_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
_names = st.sampled_from(["find", "fail", "submit_answer", "fly", ""])
_arguments = st.sampled_from(
    ['{"query": "x"}', "{", "null", "[]", '{"answer": "a", "spans": []}', '{"answer": "a", "spans": [{"start_time": 1}]}']
)  # fmt: skip
_calls = st.fixed_dictionaries(
    {},
    optional={
        "id": _scalars,
        "function": st.fixed_dictionaries({}, optional={"name": _names | _scalars, "arguments": _arguments | _scalars})
        | _scalars,
    },
)
_messages = st.fixed_dictionaries(
    {},
    optional={
        "content": _scalars | st.lists(_scalars, max_size=2),
        "tool_calls": st.lists(_calls | _scalars, max_size=4),
    },
)
_replies = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(st.fixed_dictionaries({}, optional={"message": _messages | _scalars}), max_size=2)
        | _scalars,
        "usage": st.fixed_dictionaries({}, optional={"prompt_tokens": _scalars, "completion_tokens": _scalars})
        | _scalars,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(script=st.lists(_replies, min_size=7, max_size=7))
def test_any_replies_end_in_an_answer_or_a_named_reason(hold: Any, script: list[dict[str, Any]]) -> None:
    held = hold(*script, budget=Budget(rounds=6, calls=5))
    episode = held.episode
    assert (episode.answer is None) == (episode.outcome == "failed")
    assert (episode.reason is None) == (episode.outcome in ("submitted", "prose"))
    assert episode_from_record(parse_json(json_line(episode.record()))).record() == episode.record()
    if episode.outcome == "submitted":
        asked = [call["id"] for item in episode.messages for call in item.get("tool_calls", ())]
        answered = [item["tool_call_id"] for item in episode.messages if item["role"] == "tool"]
        assert asked == answered
    for request in held.model.requests:
        json.dumps(request, allow_nan=False).encode()
