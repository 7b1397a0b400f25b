"""Calls of one reply: those that read run side by side, those that write alone; what is recorded is the same whatever ran first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from controller.episode import Budget
from controller.episode_tools import AtomicTools
from tool_induction import ToolDeclaration
from world_api.chat import Call
from world_api.core import EpisodeFault, Spent, as_stored, charge, json_line
from world_api.operations import run

_ANY = {"type": "object"}
#: Seconds after which a test gives up waiting for a thread; it is never waited for where all is well.
_GIVE_UP = 20.0


class Tools:
    """``read`` and ``write`` do what a test says."""

    def __init__(self, work: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        self.called: list[tuple[str, dict[str, Any]]] = []
        self._work = work

    def get_tools(self) -> Sequence[ToolDeclaration]:
        declared = [("read", False, False), ("turn", False, True), ("write", True, False)]
        return [
            ToolDeclaration(name=name, description=name, parameters=_ANY, writes=writes, in_turn=in_turn)
            for name, writes, in_turn in declared
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.called.append((name, arguments))
        return self._work(name, arguments)


def many(*names: str) -> list[Call]:
    return [Call(tool=name, arguments={"n": n}, id=f"c{n}") for n, name in enumerate(names)]


def test_calls_that_read_wait_for_each_other(hold: Any, replies: Any) -> None:
    together = threading.Barrier(4, timeout=_GIVE_UP)

    def work(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        together.wait()
        return {"n": arguments["n"]}

    held = hold(replies.calls(*many("read", "read", "read", "read")), replies.submits(), tools=Tools(work))
    assert [held.observation(f"c{n}")["data_from_video"] for n in range(4)] == [{"n": n} for n in range(4)]
    assert held.episode.internal_faults == 0


def test_a_call_that_writes_runs_alone_and_in_its_turn(hold: Any, replies: Any) -> None:
    under_way = 0
    most: dict[str, int] = {}
    order: list[int] = []
    guard = threading.Lock()

    def work(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        nonlocal under_way
        with guard:
            under_way += 1
            most[name] = max(most.get(name, 0), under_way)
            if name == "write":
                order.append(arguments["n"])
        with guard:
            under_way -= 1
        return {}

    names = ["read", "read", "write", "read", "write", "write", "read"]
    held = hold(replies.calls(*many(*names)), replies.submits(), tools=Tools(work))
    assert most["write"] == 1
    assert order == [2, 4, 5]
    called = [arguments["n"] for _, arguments in held.tools.called]
    assert called.index(2) == 2  # after both reads before it
    assert [call.id for call in held.episode.tool_calls] == [f"c{n}" for n in range(7)]


def test_calls_that_take_turns_do_so_in_order(hold: Any, replies: Any) -> None:
    held = hold(replies.calls(*many(*["turn"] * 8)), replies.submits(), tools=Tools(lambda _, arguments: arguments))
    assert [arguments["n"] for _, arguments in held.tools.called] == list(range(8))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(order=st.permutations(range(5)), writes=st.sets(st.integers(0, 4), max_size=2))
def test_whoever_ends_first_the_record_is_the_same(hold: Any, replies: Any, order: list[int], writes: set[int]) -> None:
    names = ["write" if n in writes else "read" for n in range(5)]

    def record(work: Callable[[str, dict[str, Any]], dict[str, Any]]) -> str:
        held = hold(replies.calls(*many(*names)), replies.submits(), tools=Tools(work))
        return json_line(held.episode.record())

    ended = [threading.Event() for _ in range(5)]

    def in_order(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """End after the calls of the same stretch that the permutation puts before."""
        n = arguments["n"]
        stretch = {m for m in range(5) if m not in writes and not any(min(m, n) < w < max(m, n) for w in writes)}
        for before in order[: order.index(n)]:
            if name == "read" and before in stretch:
                assert ended[before].wait(_GIVE_UP)
        charge(spent("same"))
        ended[n].set()
        return {"n": n}

    def at_once(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        charge(spent("same"))
        return {"n": arguments["n"]}

    assert record(in_order) == record(at_once)


def spent(request: str, *, physical: bool = True) -> Spent:
    return Spent(purpose="perception", model="eyes", request=request, prompt=10, completion=1, physical=physical)


def test_what_a_call_spends_is_its_own(hold: Any, replies: Any) -> None:
    def work(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        charge(spent(f"look {arguments['n']}"))
        return {}

    episode = hold(replies.calls(*many("read", "write", "turn")), replies.submits(), tools=Tools(work)).episode
    assert [[item.request for item in call.spent] for call in episode.tool_calls] == [
        ["look 0"],
        ["look 1"],
        ["look 2"],
    ]


def test_of_calls_that_wanted_the_same_the_first_is_the_one_that_paid(hold: Any, replies: Any) -> None:
    def work(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        charge(spent("same", physical=arguments["n"] == 2))  # as if the third thread had been the fastest
        return {}

    episode = hold(replies.calls(*many("read", "read", "read")), replies.submits(), tools=Tools(work)).episode
    assert [call.spent[0].physical for call in episode.tool_calls] == [True, False, False]


def test_looking_and_judging_count_in_the_budget_of_tokens_each_request_once(hold: Any, replies: Any) -> None:
    def work(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        charge(spent("same"))
        return {}

    first = [replies.calls(Call(tool="read", arguments={"n": n}, id=f"c{n}"), usage=(1, 1)) for n in range(3)]
    held = hold(*first, replies.submits(), tools=Tools(work), budget=Budget(tokens=18))
    assert held.episode.outcome == "submitted"  # 3 rounds of 2, and 11 once
    held = hold(*first, replies.says("So."), tools=Tools(work), budget=Budget(tokens=17))
    assert (held.episode.outcome, held.episode.reason) == ("forced", "tokens")


@pytest.mark.parametrize("name", ["read", "write"])
def test_what_an_episode_cannot_outlive_ends_it_from_any_thread(hold: Any, replies: Any, name: str) -> None:
    def work(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise EpisodeFault("replay_mismatch", "changed")

    with pytest.raises(EpisodeFault, match="changed"):
        hold(replies.calls(*many(name, name)), tools=Tools(work))


def test_a_call_that_hangs_is_given_up_when_the_time_is_over(hold: Any, replies: Any, stepping_clock: Any) -> None:
    let_go = threading.Event()

    def work(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if arguments["n"] == 0:
            let_go.wait(_GIVE_UP)
        return {"n": arguments["n"]}

    held = hold(
        replies.calls(*many("read", "read")),
        replies.says("Late."),
        tools=Tools(work),
        budget=Budget(seconds=0.4),
        clock=stepping_clock(step=0.05),
    )
    let_go.set()
    assert held.observation("c0")["error"]["code"] == "tool_overtime"
    assert held.observation("c1")["data_from_video"] == {"n": 1}
    assert (held.episode.outcome, held.episode.reason) == ("forced", "seconds")


def test_calls_of_a_reply_that_came_too_late_do_not_run(hold: Any, replies: Any, stepping_clock: Any) -> None:
    tools = Tools(lambda _, arguments: arguments)
    clock = stepping_clock(step=1.0)
    held = hold(
        replies.calls(*many("read")), replies.says("Late."), tools=tools, budget=Budget(seconds=4.0), clock=clock
    )
    assert tools.called == []
    assert held.observation("c0")["error"]["code"] == "budget_spent"
    assert (held.episode.outcome, held.episode.reason) == ("forced", "seconds")


def test_ten_thousand_calls_in_one_reply_are_answered_and_bounded(hold: Any, replies: Any) -> None:
    made = [Call(tool="read", arguments={"n": n}, id=f"c{n}") for n in range(10_000)]
    tools = Tools(lambda _, arguments: arguments)
    held = hold(replies.calls(*made, usage=(1, 1)), replies.submits(), tools=tools, budget=Budget(calls=100))
    assert len(tools.called) == 64
    told = [item for item in held.episode.messages if item["role"] == "tool"]
    assert len(told) == 66  # 64, the rest in one, and the answer
    assert held.episode.slips == {"too_many_calls": 1}
    assert held.episode.outcome == "submitted"
    few = hold(replies.calls(*made), replies.says("So."), tools=tools, budget=Budget(calls=10)).episode
    assert (few.outcome, few.reason, len(few.tool_calls)) == ("forced", "calls", 10)


def test_whoever_asks_the_same_again_is_told_and_what_changed_is_not(hold: Any, replies: Any) -> None:
    results = iter([{"n": 1}, {"n": 1}, {"n": 2}])
    again = [replies.calls(Call(tool="read", arguments={"q": "x"}, id=f"c{n}")) for n in range(3)]
    held = hold(*again, replies.submits(), tools=Tools(lambda *_: next(results)))
    assert "notice" not in held.observation("c0")
    assert held.observation("c1")["notice"]["code"] == "asked_before"
    assert held.observation("c1")["data_from_video"] == {"n": 1}
    assert "notice" not in held.observation("c2")
    assert held.episode.slips == {"asked_before": 1}


def test_one_tool_for_ever_is_bounded(hold: Any, replies: Any) -> None:
    script = [replies.calls(Call(tool="read", arguments={}, id=f"c{n}")) for n in range(12)]
    held = hold(*script, replies.says("So."), tools=Tools(lambda *_: {}))
    assert (held.episode.outcome, held.episode.reason) == ("forced", "rounds")
    assert held.episode.slips == {"asked_before": 11}


def test_no_thread_is_left_when_the_episode_is_over(hold: Any, replies: Any) -> None:
    before = set(threading.enumerate())
    hold(replies.calls(*many("read", "read")), replies.submits(), tools=Tools(lambda *_: {}))
    for thread in set(threading.enumerate()) - before:
        thread.join(_GIVE_UP)
        assert not thread.is_alive()


def test_operations_side_by_side_give_what_they_give_alone(hold: Any, replies: Any, open_made: Any) -> None:
    """On sessions that nothing has been asked of, so that all that is made once is wanted by several at a time."""
    video = {"video_id": "made"}
    made = [
        ("list_scenes", {}),
        ("search_segments_by_text", {"query": "person in red", "top_k": 5}),
        ("search_segments_by_semantics", {"query": "a person", "top_k": 5}),
        ("describe_segment", {"start_time": 0, "end_time": 30}),
        ("detect_objects", {"timestamp": 35.0, "category": "person"}),
        ("list_entities", {}),
        ("recognize_actions", {"start_time": 0, "end_time": 60}),
        ("get_video_metadata", {}),
    ]
    calls = [Call(tool=name, arguments={**video, **more}, id=f"c{n}") for n, (name, more) in enumerate(made)]
    together = [
        hold(replies.calls(*calls), replies.submits(), tools=AtomicTools(open_made())).episode for _ in range(5)
    ]
    session = open_made()
    alone = [run(session, name, {**video, **more}) for name, more in made]
    for episode in together:
        assert [call.result for call in episode.tool_calls] == [as_stored(result) for result in alone]
