"""Every scenario file of ``tests/scenarios``: the real client and the real loop on the made minute, against what servers do."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget, Episode
from controller.records import Journal, answer_recorded, replay_recorded
from controller.systems import SystemContext
from tests.support.chat_server import Answer, ChatServer, Received
from tests.support.histories import RULES, takes_turns
from tests.support.scenarios import FOLDER, Scenario, read_scenarios
from world_api.chat import Endpoint, OpenAIChatModel, wire_named
from world_api.core import json_line

KEY = "sk-a-key-that-nobody-may-see"
CASES = [
    # A gigabyte takes seconds to unpack: one wire by day, the others at night.
    pytest.param(
        one,
        wire,
        id=f"{one.name}-{wire}",
        marks=[pytest.mark.nightly] if "gzip_bomb" in one.name and wire != one.wires[0] else [],
    )
    for one in read_scenarios()
    for wire in one.wires
]


@pytest.fixture
def elsewhere(chat_server: ChatServer) -> Iterator[ChatServer]:
    """A second server, which nobody was told to trust."""
    other = ChatServer()
    other.play({})
    yield other
    other.close()


@pytest.mark.parametrize(("scenario", "wire"), CASES)
def test_an_episode_ends_as_its_scenario_says(
    scenario: Scenario,
    wire: str,
    chat_server: ChatServer,
    elsewhere: ChatServer,
    stepping_clock: Any,
    open_made: Any,
    tmp_path: Path,
) -> None:
    chat_server.rules = (takes_turns, *(RULES[name] for name in scenario.history))
    chat_server.play(*(_with_key(answer) for answer in scenario.answers(wire, elsewhere=elsewhere.url)))
    clock = stepping_clock()
    endpoint = Endpoint(base_url=chat_server.url, api_key=KEY, **{"timeout": 5.0, **scenario.client})
    named = wire_named("chat" if wire == "chat" else "responses")
    model = OpenAIChatModel(endpoint, "m", clock=clock, sleep=clock.sleep, wire=named)
    journal = Journal(tmp_path / "records")
    with memory_up_to(scenario.expect.get("memory")):
        episode, name = answer_recorded(
            Question(**{"text": "Where is the person in red?", **scenario.question}),
            open_made(),
            system="flat",
            context=SystemContext(model=model, clock=clock, budget=replace(Budget(), **scenario.budget)),
            journal=journal,
        )
    meets(episode, scenario.expect, chat_server.received, waited=clock.seconds)
    assert all(well_formed(received.body) for received in chat_server.received)
    assert elsewhere.received == []
    assert [entry.name for entry in journal.entries()] == [name]
    chat_server.play(chat_server.refusal(500, "a replay asks nobody"))
    asked = len(chat_server.received)
    replayed = replay_recorded(journal, name)
    assert replayed.identical
    assert json_line(replayed.episode.record()) == json_line(episode.record())
    assert len(chat_server.received) == asked
    assert not any(
        KEY in path.read_text() for path in tmp_path.rglob("*") if path.is_file() and "worlds" not in path.parts
    )


def meets(episode: Episode, expect: dict[str, Any], received: list[Received], *, waited: float) -> None:
    """Compare an episode with what is expected of it."""
    found = (episode.outcome, episode.reason, episode.slips)
    assert found == (expect["outcome"], expect.get("reason"), expect.get("slips", {})), episode.fault
    assert (episode.fault is not None) == (episode.outcome == "failed")
    ran = [call.tool for call in episode.calls if call.ran]
    if "ran" in expect:
        assert ran == expect["ran"]
    for key, value in (("answer", episode.answer), ("value", episode.value)):
        if key in expect:
            assert value == expect[key]
    if "calls" in expect:
        assert len(ran) == expect["calls"]
    if "requests" in expect:
        assert len(received) == expect["requests"]
    if "told" in expect:
        assert expect["told"] in json.dumps(episode.messages, ensure_ascii=False)
    if "fault" in expect:
        assert episode.fault is not None
        assert expect["fault"] in episode.fault.message
    if "waited" in expect:
        assert waited >= expect["waited"]
    assert episode.usage.estimated is expect.get("estimated", False) or not episode.rounds


@contextmanager
def memory_up_to(megabytes: float | None) -> Iterator[None]:
    """Fails where Python's own memory grew by more; nothing is watched where no bound is given."""
    if megabytes is None:
        yield
        return
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < megabytes * 1024 * 1024, f"{peak / 1024 / 1024:.0f} MiB"


def well_formed(body: dict[str, Any]) -> bool:
    """Whether a request's history answers each call exactly once, under ids that are texts and distinct."""
    if "input" in body:
        made = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
        answered = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    else:
        made = [call["id"] for turn in body.get("messages", ()) for call in turn.get("tool_calls") or ()]
        answered = [turn["tool_call_id"] for turn in body.get("messages", ()) if turn["role"] == "tool"]
    return made == answered and len(set(made)) == len(made) and all(isinstance(item, str) and item for item in made)


def _with_key(answer: Answer) -> Answer:
    """``KEY`` in what a server says stands for the key it was sent."""
    if answer.announced is not None or b"KEY" not in answer.body[:10_000]:
        return answer
    return replace(answer, body=answer.body.replace(b"KEY", KEY.encode()))


def test_every_scenario_says_in_a_sentence_what_it_is_about() -> None:
    names = {path.stem for path in FOLDER.iterdir()}
    scenarios = read_scenarios()
    assert {scenario.name for scenario in scenarios} == names
    assert len(names) > 60
    assert all(scenario.about[0].isupper() and scenario.about.endswith(".") for scenario in scenarios)
