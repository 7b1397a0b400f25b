"""Whatever a server sends, an episode ends with an answer or a named reason, and its record can be written and read."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from controller.answers import Question, value_of
from controller.conversation import Prompts
from controller.episode import Budget, Episode, Task, episode_from_record
from controller.episode_tools import AtomicTools
from controller.loop import run_episode
from controller.records import Conditions, JournalEntry, replay_entry
from controller.systems import SystemContext
from tests.support.scripted import ScriptedChatModel
from world_api.chat import Exchange, RecordingChatModel, RecordingClock
from world_api.core import json_line, parse_json
from world_api.session import Session

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
        '{"answer": "B", "spans": []}',
        '{"answer": ["B", "A"], "spans": []}',
        '{"answer": 3, "spans": []}',
        '{"answer": {"start_time": 1, "end_time": 2}, "spans": [{"start_time": 1, "end_time": 2}]}',
    ]
)
_texts = st.sampled_from(
    [
        "B",
        "3",
        "12 - 18 s",
        "B, A",
        "<think>hm",
        "<think>hm</think>B",
        "So.",
        '{"name": "submit_answer", "arguments": {"answer": "a\\ud800"}}',
        '<tool_call>{"name": "find"}</tool_call>',
    ]
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
        "reasoning_content": _scalars,
        "carried": _scalars,
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


_questions = st.sampled_from(
    [
        Question(text="When does it rain?"),
        Question(text="Which?", kind="choice", options=("a", "b")),
        Question(text="When?", kind="interval"),
        Question(text="How often?", kind="count"),
        Question(text="先后顺序？", kind="order", options=("a", "b")),
    ]
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
            tools=given.inputs.tools(AtomicTools),
            budget=given.budget,
            clock=given.clock,
            prompts=Prompts(),
        )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    script=st.lists(_replies, min_size=7, max_size=7),
    question=_questions,
    window=st.sampled_from([None, 300, 1_000]),
    side_by_side=st.booleans(),
)
def test_any_replies_end_in_an_answer_or_a_named_reason(
    hold: Any, fake_tools: Any, script: list[dict[str, Any]], question: Question, window: int | None, side_by_side: bool
) -> None:
    budget = Budget(rounds=6, calls=5, window=window)
    held = hold(*script, budget=budget, tools=breaking(fake_tools(in_turn=not side_by_side)), question=question)
    episode = held.episode
    assert (episode.value is None) == (episode.outcome == "failed")
    assert (episode.answer is None) == (episode.outcome == "failed" and episode.reason != "untyped_answer")
    assert episode.value is None or value_of(question, episode.value) == episode.value
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
        takes_turns(request["messages"])


def takes_turns(messages: list[dict[str, Any]]) -> None:
    """What strict servers and their templates want of a conversation that they are sent."""
    assert messages[0]["role"] == "system"
    waiting: list[str] = []
    for message in messages[1:]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        assert message["content"] or waiting
    assert not waiting
    spoken = [item["role"] for item in messages[1:] if item["role"] != "tool" and not item.get("tool_calls")]
    assert spoken == ["user", "assistant"] * (len(spoken) // 2) + ["user"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    script=st.lists(_replies, min_size=5, max_size=5), rounds=st.integers(0, 4), question=_questions, side=st.booleans()
)
def test_any_replies_replay_byte_for_byte(
    hold: Any,
    fake_tools: Any,
    stepping_clock: Any,
    script: list[dict[str, Any]],
    rounds: int,
    question: Question,
    side: bool,
) -> None:
    exchanges: list[Exchange] = []
    clock = RecordingClock(stepping_clock(step=0.1))
    model = RecordingChatModel(ScriptedChatModel(script), clock=stepping_clock(), keep=exchanges.append)
    tools = breaking(fake_tools(in_turn=not side))
    held = hold(model=model, budget=Budget(rounds=rounds), tools=tools, clock=clock, question=question)
    stored = episode_from_record(parse_json(json_line(held.episode.record())))
    lines = [parse_json(json_line(exchange.record())) for exchange in exchanges]
    kept = [Exchange(**{key: line[key] for key in ("request", "reply", "fault", "seconds")}) for line in lines]
    entry = JournalEntry(
        name="any", episode=stored, conditions=Conditions(system="made"), readings=tuple(clock.readings)
    )
    assert replay_entry(entry, kept, build=partial(Made, stored.task)).identical
