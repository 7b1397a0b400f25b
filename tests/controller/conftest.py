"""A small toolset and a scripted model, so that a test says every word of a conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from controller.answers import Question
from controller.conversation import Preamble, Prompts
from controller.episode import Budget, Episode, Task
from controller.loop import run_episode
from tests.support.scripted import ScriptedChatModel
from tool_induction import ToolDeclaration
from world_api.chat import Call, Prices, completion

TASK = Task(
    question=Question(text="When does it rain?"),
    video_id="clip",
    world_hash="0" * 64,
    session="default",
    revision=0,
    system="flat",
    library=None,
)
_STRING = {"type": "object", "properties": {"video_id": {"type": "string"}, "query": {"type": "string"}}}


class FakeTools:
    """Two tools: ``find`` returns a stretch, ``fail`` a fault. Keeps the calls."""

    def __init__(self, *, in_turn: bool = True) -> None:
        self._in_turn = in_turn
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.result: dict[str, Any] = {"candidates": [{"start_time": 12.04, "end_time": 18.0, "snippet": "rain"}]}
        self.lean = {"candidates": [{"time": "12.04-18", "snippet": "rain"}]}  #: the result as a model reads it

    def get_tools(self) -> Sequence[ToolDeclaration]:
        # In turn, so that the list of calls is in their order.
        return [
            ToolDeclaration(name=name, description=name, parameters=_STRING, in_turn=self._in_turn)
            for name in ("find", "fail")
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.called.append((name, arguments))
        if name == "fail":
            return {"error": {"code": "broken", "message": "it broke", "hint": "do without"}}
        return self.result


class Conversation:
    """An episode that was run, with everything a test looks at."""

    def __init__(self, episode: Episode, model: ScriptedChatModel, tools: FakeTools) -> None:
        self.episode = episode
        self.model = model
        self.tools = tools

    def observation(self, call_id: str) -> dict[str, Any]:
        """What the model was told about a call."""
        found = [item for item in self.episode.messages if item.get("tool_call_id") == call_id]
        assert len(found) == 1, f"{len(found)} messages answer {call_id}"
        told: dict[str, Any] = json.loads(found[0]["content"])
        return told


Hold = Callable[..., Conversation]


@pytest.fixture
def hold(stepping_clock: Any) -> Hold:
    """Runs an episode on scripted replies."""

    def run(
        *replies: Any,
        budget: Budget | None = None,
        tools: FakeTools | None = None,
        clock: Any = None,
        model: Any = None,
        prompts: Prompts | None = None,
        prices: Prices | None = None,
        preamble: Preamble | None = None,
        **task: Any,
    ) -> Conversation:
        from dataclasses import replace

        scripted, used = ScriptedChatModel(replies), tools or FakeTools()
        episode = run_episode(
            replace(TASK, **task),
            model=model or scripted,
            tools=used,
            budget=budget or Budget(),
            clock=clock or stepping_clock(),
            prompts=prompts or Prompts(),
            prices=prices or Prices(),
            preamble=preamble or Preamble(),
        )
        return Conversation(episode, scripted, used)

    return run


@pytest.fixture
def fake_tools() -> type[FakeTools]:
    """Makes toolsets whose result a test may set."""
    return FakeTools


def calls(*made: Call, **more: Any) -> dict[str, Any]:
    return completion(model="scripted", calls=made, **more)


def finds(call_id: str = "c1") -> dict[str, Any]:
    return calls(Call(tool="find", arguments={"query": "rain"}, id=call_id))


def submits(answer: str = "At 12 s.", *spans: tuple[float, float], call_id: str = "end") -> dict[str, Any]:
    cited = [{"start_time": start, "end_time": end} for start, end in spans]
    return calls(Call(tool="submit_answer", arguments={"answer": answer, "spans": cited}, id=call_id))


class Replies:
    """The replies tests are written with."""

    calls = staticmethod(calls)
    finds = staticmethod(finds)
    submits = staticmethod(submits)

    @staticmethod
    def says(text: str, **more: Any) -> dict[str, Any]:
        return completion(model="scripted", content=text, **more)


@pytest.fixture
def replies() -> type[Replies]:
    """Builds replies."""
    return Replies
