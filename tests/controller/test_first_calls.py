"""What a system calls itself before the model is asked: kept in the record, shown as data, and no call of the model's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from controller.answers import Question
from controller.conversation import FirstCall, Preamble, Prompts
from controller.episode import Budget, Episode, Task
from controller.loop import run_episode
from controller.systems import OwnCalls
from tests.support.scripted import ScriptedChatModel
from tests.support.systems import data_in
from world_api.chat import Call, completion
from world_api.core import Spent, charge

Own = Callable[..., dict[str, Any]]
TASK = Task(
    question=Question(text="What?"), video_id="clip", world_hash="0" * 64, session="default", revision=0, system="given"
)
ANSWER = completion(
    model="scripted", calls=[Call(tool="submit_answer", arguments={"answer": "this", "spans": []}, id="end")]
)


class Held:
    """An episode and what was asked."""

    def __init__(self, episode: Episode, model: ScriptedChatModel) -> None:
        self.episode = episode
        self.requests = model.requests


@pytest.fixture
def hold(stepping_clock: Any) -> Callable[..., Held]:
    """Runs an episode that opens with calls."""

    def held(own: dict[str, Own], *calls: FirstCall, budget: Budget | None = None, **chosen: Any) -> Held:
        model = ScriptedChatModel([ANSWER])
        episode = run_episode(
            TASK,
            model=model,
            tools=OwnCalls(own),
            budget=budget or Budget(),
            clock=stepping_clock(**chosen),
            prompts=Prompts(),
            preamble=Preamble(instructions="from_material", first_calls=calls),
        )
        return Held(episode, model)

    return held


def test_what_is_shown_is_shown_as_data_and_the_rest_is_only_kept(hold: Any) -> None:
    own = {"look": lambda place: {"place": place, "start_time": place, "end_time": place + 1}}
    held = hold(
        own, FirstCall(tool="look", arguments={"place": 1}, shown=False), FirstCall(tool="look", arguments={"place": 2})
    )
    assert [data["place"] for data in data_in(held.requests[0])] == [2]
    assert [(call.round, call.ran, call.arguments["place"]) for call in held.episode.calls[:2]] == [
        (0, True, 1),
        (0, True, 2),
    ]


def test_a_call_that_is_needed_and_fails_ends_the_episode_before_anything_is_asked(hold: Any) -> None:
    held = hold({}, FirstCall(tool="look", arguments={}))
    assert (held.episode.outcome, held.episode.reason) == ("failed", "unknown_tool")
    assert held.requests == []
    assert held.episode.calls[0].failed


def test_a_call_that_is_not_needed_may_fail(hold: Any) -> None:
    held = hold({}, FirstCall(tool="look", arguments={}, needed=False))
    assert held.episode.answer == "this"


def test_they_count_as_no_call_of_the_models(hold: Any) -> None:
    calls = [FirstCall(tool="look", arguments={"place": n}) for n in range(5)]
    held = hold({"look": lambda place: {"place": place}}, *calls, budget=Budget(calls=1))
    assert (held.episode.outcome, len(held.episode.calls)) == ("submitted", 6)


def test_what_they_spend_is_charged_to_them_and_to_the_budget(hold: Any) -> None:
    def look(place: int) -> dict[str, Any]:
        charge(Spent(purpose="perception", model="eye", request=str(place), prompt=500, completion=10))
        return {"place": place}

    calls = [FirstCall(tool="look", arguments={"place": n}) for n in range(5)]
    held = hold({"look": look}, *calls, budget=Budget(tokens=1000))
    spent = [[item.request for item in call.spent] for call in held.episode.calls]
    assert spent == [["0"], ["1"]]
    assert (held.episode.outcome, held.episode.reason) == ("forced", "tokens")


def test_those_that_only_read_are_made_side_by_side_and_kept_in_order(hold: Any) -> None:
    both = threading.Barrier(2, timeout=10)

    def look(place: int) -> dict[str, Any]:
        both.wait()  # breaks, and with it the call, unless two are under way
        return {"place": place}

    calls = [FirstCall(tool="look", arguments={"place": n}, reads=True) for n in range(4)]
    held = hold({"look": look}, *calls)
    assert [call.result for call in held.episode.calls[:4]] == [{"place": n} for n in range(4)]


def test_one_that_may_write_is_made_alone(hold: Any) -> None:
    under_way: list[int] = []

    def look(place: int) -> dict[str, Any]:
        under_way.append(place)
        return {"seen": list(under_way)}

    calls = [FirstCall(tool="look", arguments={"place": n}) for n in range(3)]
    held = hold({"look": look}, *calls)
    assert [call.result["seen"] for call in held.episode.calls[:3]] == [[0], [0, 1], [0, 1, 2]]
