"""A model and tools that answer at once, with what real operations gave on a made world; they note their own time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.operation_calls import CASES, Draws
from controller.episode_tools import Toolset
from controller.systems.base import EpisodeInputs
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import Call, completion
from world_api.operations import run
from world_api.session.session import Session

ROUNDS = 12
OPERATIONS = ("search_segments_by_text", "describe_segment", "detect_objects")  #: called in each round, side by side


@dataclass(frozen=True, kw_only=True)
class Script:
    """The calls of each round, and what they bring."""

    calls: list[list[Call]]
    results: dict[tuple[str, str], dict[str, Any]]


@dataclass(kw_only=True)
class Times:
    """When the model was asked and had answered, and how long tools took after each reply (seconds)."""

    asked: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    tools: list[float] = field(default_factory=list)


class InstantModel:
    """Plays a script from memory and notes when it was asked."""

    name = "instant"

    def __init__(self, script: Script, times: Times) -> None:
        self._script, self._times = script, times

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The calls of the next round; after the last of them the answer."""
        self._times.asked.append(time.perf_counter())
        place = len(self._times.answered)
        end = Call(tool="submit_answer", arguments={"answer": "At 12 s.", "spans": []}, id="end")
        made = self._script.calls[place] if place < len(self._script.calls) else [end]
        reply = completion(model=self.name, calls=made, usage=(1000, 50))
        self._times.answered.append(time.perf_counter())
        self._times.tools.append(0.0)
        return reply


class InstantTools:
    """The declarations of real tools; results from memory, and the time that takes."""

    def __init__(self, declared: Sequence[ToolDeclaration], script: Script, times: Times) -> None:
        self._declared, self._script, self._times = declared, script, times
        self._guard = threading.Lock()

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """The declarations."""
        return self._declared

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The kept result."""
        began = time.perf_counter()
        result = self._script.results[name, json.dumps(arguments)]
        with self._guard:
            self._times.tools[-1] += time.perf_counter() - began
        return result


class InstantGround(EpisodeInputs):
    """Offers the instant tools to any system, and material that was made once for all."""

    def __init__(self, tools: Toolset, made: dict[str, Any]) -> None:
        self._tools, self._made = tools, made

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """Those tools."""
        return self._tools

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """The value that was made first."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


def script_on(session: Session, seed: int) -> Script:
    """Calls drawn by seed for each round, and what the operations of the session give for them."""
    draws = Draws(session, seed)
    cases = [next(case for case in CASES if case.name == name) for name in OPERATIONS]
    rounds: list[list[Call]] = []
    results: dict[tuple[str, str], dict[str, Any]] = {}
    for number in range(ROUNDS):
        made: list[Call] = []
        for case in cases:
            given = {"video_id": session.video_id, **case.draw(draws)}
            results[case.operation, json.dumps(given)] = run(session, case.operation, given)
            made.append(Call(tool=case.operation, arguments=given, id=f"c{number}_{len(made)}"))
        rounds.append(made)
    return Script(calls=rounds, results=results)
