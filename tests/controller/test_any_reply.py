"""Whatever a server sends, an episode ends with an answer or a named reason, and its record can be written and read."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.budgets import Budget
from controller.conversation.prompting import Prompts
from controller.episode import Episode, Task, episode_from_record
from controller.loop import run_episode
from controller.questions import Question
from controller.records.conditions import Conditions
from controller.records.journal import Entry
from controller.records.replay import replay_entry
from controller.systems import SystemContext
from controller.toolsets import AtomicTools
from world_api.backends.chat.recording import Exchange, RecordingChatModel
from world_api.backends.chat.scripted import ScriptedChatModel
from world_api.backends.clocks import RecordingClock
from world_api.core.canonical import json_line, parse_json
from world_api.world.sessions.session import Session

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
_ids = st.sampled_from(["c1", "c2", "call_r1_0", "call_r1_1", "call_r2_0", "call_r2_0_2"])
_names = st.sampled_from(["find", "fail", "submit_answer", "fly", ""])
_arguments = st.sampled_from(
    [
        "{",
        "null",
        "[]",
        '{"query": "x"}',
        '{"query": 1e999}',
        '{"query": 1e-9}',
        '{"answer": "a"}',
        '{"answer": "a", "spans": []}',
        '{"answer": "a", "spans": [{"start_time": 1}]}',
    ]
)
_texts = st.sampled_from(
    ["So.", '{"name": "submit_answer", "arguments": {"answer": "a\\ud800"}}', '<tool_call>{"name": "find"}</tool_call>']
)
_calls = st.fixed_dictionaries(
    {},
    optional={
        "id": _ids | _scalars,
        "function": st.fixed_dictionaries({}, optional={"name": _names | _scalars, "arguments": _arguments | _scalars})
        | _scalars,
    },
)
_messages = st.fixed_dictionaries(
    {},
    optional={
        "content": _texts | _scalars | st.lists(_scalars, max_size=2),
        "tool_calls": st.lists(_calls | _scalars, max_size=4),
    },
)
_choice = {"message": _messages | _scalars, "finish_reason": st.sampled_from(["stop", "length"]) | _scalars}
_replies = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(st.fixed_dictionaries({}, optional=_choice), max_size=2) | _scalars,
        "usage": st.fixed_dictionaries({}, optional={"prompt_tokens": _scalars, "completion_tokens": _scalars})
        | _scalars,
    },
)


def breaking(tools: Any) -> Any:
    """The same tools, of which ``fail`` raises what no tool should."""
    call = tools.call_tool

    def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        result = call(name, arguments)
        if name == "fail":
            raise KeyError(name)
        return result

    tools.call_tool = call_tool
    return tools


class Made:
    """A system that runs the loop on what it is given, as ``hold`` does."""

    def __init__(self, task: Task, context: SystemContext) -> None:
        self._task, self._context = task, context

    def answer(self, question: Question, session: Session) -> Episode:
        given = self._context
        return run_episode(
            self._task,
            model=given.model,
            tools=given.ground.tools(AtomicTools),
            budget=given.budget,
            clock=given.clock,
            prompts=Prompts(),
        )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(script=st.lists(_replies, min_size=7, max_size=7))
def test_any_replies_end_in_an_answer_or_a_named_reason(
    hold: Any, fake_tools: Any, script: list[dict[str, Any]]
) -> None:
    held = hold(*script, budget=Budget(rounds=6, calls=5), tools=breaking(fake_tools()))
    episode = held.episode
    assert (episode.answer is None) == (episode.outcome == "failed")
    assert (episode.reason is None) == (episode.outcome in ("submitted", "prose"))
    assert episode_from_record(parse_json(json_line(episode.record()))).record() == episode.record()
    asked = [call["id"] for item in episode.messages for call in item.get("tool_calls", ())]
    answered = [item["tool_call_id"] for item in episode.messages if item["role"] == "tool"]
    assert len(set(asked)) == len(asked)
    assert answered == asked[: len(answered)]
    if episode.outcome == "submitted":
        assert asked == answered
    assert episode.reason != "internal_fault"
    assert episode.internal_faults == sum(name == "fail" for name, _ in held.tools.called)
    for request in held.model.requests:
        json.dumps(request, allow_nan=False).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(script=st.lists(_replies, min_size=5, max_size=5), rounds=st.integers(0, 4))
def test_any_replies_replay_byte_for_byte(
    hold: Any, fake_tools: Any, stepping_clock: Any, script: list[dict[str, Any]], rounds: int
) -> None:
    exchanges: list[Exchange] = []
    clock = RecordingClock(stepping_clock(step=0.1))
    model = RecordingChatModel(ScriptedChatModel(script), clock=stepping_clock(), keep=exchanges.append)
    held = hold(model=model, budget=Budget(rounds=rounds), tools=breaking(fake_tools()), clock=clock)
    stored = episode_from_record(parse_json(json_line(held.episode.record())))
    lines = [parse_json(json_line(exchange.record())) for exchange in exchanges]
    kept = [Exchange(**{key: line[key] for key in ("request", "reply", "fault", "seconds")}) for line in lines]
    entry = Entry(name="any", episode=stored, conditions=Conditions(system="made"), readings=tuple(clock.readings))
    assert replay_entry(entry, kept, build=partial(Made, stored.task)).identical
