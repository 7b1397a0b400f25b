"""Tools have the time of the episode all together, and what one that was given up has spent is known."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from controller.episode import Budget
from controller.loop import CallExecutor
from controller.messages import ToolCall
from tool_induction import ToolDeclaration
from world_api import SystemClock
from world_api.core import Spent, charge, remaining

_GIVE_UP = 20.0
OVERTIME = {"error": {"code": "tool_overtime", "message": "", "hint": ""}}
TOO_LATE = {"error": {"code": "budget_spent", "message": "", "hint": ""}}


class Tools:
    def __init__(self, work: Callable[[dict[str, Any]], dict[str, Any]], *, writes: bool = False) -> None:
        self._work, self._writes = work, writes

    def get_tools(self) -> Sequence[ToolDeclaration]:
        return [ToolDeclaration(name="work", description="work", parameters={"type": "object"}, writes=self._writes)]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._work(arguments)


def calling(tools: Tools) -> CallExecutor:
    return CallExecutor(tools=tools, clock=SystemClock(), overtime=OVERTIME, too_late=TOO_LATE)


def many(number: int) -> list[ToolCall]:
    return [ToolCall(id=f"c{n}", tool="work", arguments={"n": n}, written="{}") for n in range(number)]


def spent(request: str) -> Spent:
    return Spent(purpose="perception", model="eyes", request=request, prompt=10, completion=1)


@pytest.fixture
def let_go() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_calls_that_hang_are_given_up_all_together(let_go: threading.Event) -> None:
    def work(arguments: dict[str, Any]) -> dict[str, Any]:
        let_go.wait(_GIVE_UP)
        return {}

    began = time.monotonic()
    made = calling(Tools(work)).execute(many(20), left=0.05)
    assert [one.result for one in made] == [OVERTIME] * 20
    assert time.monotonic() - began < 5.0  # twenty times the shortest wait would be ten


def test_what_a_call_spent_before_it_was_given_up_is_known(let_go: threading.Event) -> None:
    def work(arguments: dict[str, Any]) -> dict[str, Any]:
        charge(spent("first"))
        let_go.wait(_GIVE_UP)
        return {}

    [made] = calling(Tools(work)).execute(many(1), left=0.05)
    assert (made.timed_out, [item.request for item in made.spent]) == (True, ["first"])


def test_a_call_that_was_given_up_asks_no_more(let_go: threading.Event) -> None:
    asked: list[str] = []
    ended = threading.Event()

    def work(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            remaining(300.0)
            asked.append("in time")
            let_go.wait(_GIVE_UP)
            remaining(300.0)
            asked.append("too late")
        finally:
            ended.set()
        return {}

    calling(Tools(work)).execute(many(1), left=0.05)
    let_go.set()
    assert ended.wait(_GIVE_UP)
    assert asked == ["in time"]


def test_a_call_that_writes_is_waited_for_and_asks_no_more_than_there_is_time_for() -> None:
    allowed: list[float] = []

    def work(arguments: dict[str, Any]) -> dict[str, Any]:
        for _ in range(1_000):
            allowed.append(remaining(300.0))
            time.sleep(0.01)
        return {}

    made = calling(Tools(work, writes=True)).execute(many(2), left=0.05)
    assert made[0].result["error"]["code"] == "no_time_left"
    assert allowed == sorted(allowed, reverse=True)
    assert max(allowed) <= 0.5
    assert [(one.ran, one.result) for one in made[1:]] == [(False, TOO_LATE)]


def test_a_call_that_there_was_no_time_for_did_not_run(hold: Any, replies: Any, stepping_clock: Any) -> None:
    from world_api.chat import Call

    ran: list[int] = []

    def work(arguments: dict[str, Any]) -> dict[str, Any]:
        ran.append(arguments["n"])
        return {}

    made = [Call(tool="work", arguments={"n": n}, id=f"c{n}") for n in range(3)]
    held = hold(
        replies.calls(*made),
        replies.says("So."),
        tools=Tools(work, writes=True),
        budget=Budget(seconds=7.5),
        clock=stepping_clock(step=1.0),
    )
    assert 0 < len(ran) < 3
    assert [call.ran for call in held.episode.calls] == [n in ran for n in range(3)]
    assert held.observation("c2")["error"]["code"] == "budget_spent"
    assert (held.episode.outcome, held.episode.reason) == ("forced", "seconds")
