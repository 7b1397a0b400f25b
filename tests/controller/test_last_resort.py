"""Errors nobody foresaw: they cost a call, or end the episode by name; what was paid for is on record."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.display import summary_record, summary_text
from controller.episode_tools import AtomicTools
from controller.records import Conditions, Journal, answer_recorded, replay_recorded
from controller.systems import SystemContext
from tests.support.scripted import ScriptedChatModel
from world_api import SystemClock
from world_api.chat import Call, completion
from world_api.core import EpisodeFault, StoreFault

SEARCH = Call(tool="search_segments_by_text", arguments={"video_id": "made", "query": "red", "top_k": 3}, id="c1")


def failing(error: BaseException) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise error

    return call


@pytest.mark.parametrize(
    "call",
    [
        failing(KeyError("words of the video")),
        failing(OverflowError()),
        failing(RecursionError()),
        lambda *_: {"confidence": math.nan},
        lambda *_: {"at": math.inf},
        lambda *_: {"object": object()},
        lambda *_: ["no", "object"],
        lambda *_: None,
    ],
)
def test_a_tool_that_breaks_is_an_observation_and_counted(
    hold: Any, replies: Any, fake_tools: Any, call: Callable[..., Any]
) -> None:
    tools = fake_tools()
    tools.call_tool = call
    held = hold(replies.finds(), replies.submits(), tools=tools)
    told = held.observation("c1")["data_from_video"]["error"]
    assert told["code"] == "internal_fault"
    assert "words of the video" not in told["message"]
    assert (held.episode.outcome, held.episode.internal_faults, held.episode.slips) == ("submitted", 1, {})
    assert summary_record(held.episode)["internal_faults"] == 1
    assert "internal fault" in summary_text(held.episode)


def test_a_named_fault_that_a_toolset_raises_is_an_observation(hold: Any, replies: Any, fake_tools: Any) -> None:
    tools = fake_tools()
    tools.call_tool = failing(StoreFault("store_locked", "locked", hint="wait"))
    held = hold(replies.finds(), replies.submits(), tools=tools)
    assert held.observation("c1")["data_from_video"]["error"]["code"] == "store_locked"
    assert held.episode.internal_faults == 0


def test_a_fault_of_the_episode_is_never_an_observation(hold: Any, replies: Any, fake_tools: Any) -> None:
    tools = fake_tools()
    tools.call_tool = failing(EpisodeFault("replay_mismatch", "changed"))
    with pytest.raises(EpisodeFault, match="replay_mismatch"):
        hold(replies.finds(), replies.submits(), tools=tools)


def test_an_operation_that_breaks_is_an_observation(open_made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.episode_tools.run", failing(KeyError("x")))
    told = AtomicTools(open_made()).call_tool("search_segments_by_text", {})
    assert told["error"]["code"] == "internal_fault"


def test_a_model_that_breaks_ends_the_episode_by_name_and_keeps_what_was_done(hold: Any, replies: Any) -> None:
    episode = hold(replies.finds(), ["no reply at all"]).episode
    assert (episode.outcome, episode.reason) == ("failed", "bad_model_reply")
    assert len(episode.tool_calls) == 1


class BreakingModel(ScriptedChatModel):
    """Plays its script, then fails as no model should."""

    def __init__(self, script: list[Any], error: BaseException) -> None:
        super().__init__(script)
        self._error = error

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().complete(request)
        except EpisodeFault:
            raise self._error from None


Ask = Callable[[BaseException], Any]


@pytest.fixture
def ask(open_made: Any, tmp_path: Path) -> Ask:
    """Records an episode whose model makes one call and then breaks."""

    def run(error: BaseException) -> Any:
        return answer_recorded(
            Question(text="When?"),
            open_made(),
            system="flat",
            context=SystemContext(
                model=BreakingModel([completion(model="m", calls=[SEARCH], usage=(70, 7))], error), clock=SystemClock()
            ),
            journal=Journal(tmp_path),
        )

    return run


def test_an_error_between_rounds_is_recorded_with_all_that_went_before(ask: Ask, tmp_path: Path) -> None:
    ask(AttributeError("surprise"))
    [entry] = Journal(tmp_path).entries()
    assert (entry.episode.outcome, entry.episode.reason) == ("failed", "internal_fault")
    assert [call.tool for call in entry.episode.tool_calls] == [SEARCH.tool]
    assert entry.episode.usage.prompt == 70


@pytest.mark.parametrize(
    ("error", "reason"), [(KeyboardInterrupt(), "interrupted"), (EpisodeFault("script_ended", "over"), "script_ended")]
)
def test_an_episode_that_is_broken_off_is_in_the_journal(
    ask: Ask, tmp_path: Path, error: BaseException, reason: str
) -> None:
    with pytest.raises(type(error)):
        ask(error)
    [entry] = Journal(tmp_path).entries()
    assert (entry.episode.outcome, entry.episode.reason) == ("failed", reason)
    assert (len(entry.episode.rounds), entry.episode.usage.prompt) == (1, 70)
    assert len(Journal(tmp_path).exchanges(entry.name)) == 1


def test_an_internal_fault_of_a_tool_replays_byte_for_byte(
    open_made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replies: Any
) -> None:
    monkeypatch.setattr("controller.episode_tools.run", failing(KeyError("x")))
    episode, name = answer_recorded(
        Question(text="When?"),
        open_made(),
        system="flat",
        context=SystemContext(
            model=ScriptedChatModel([completion(model="m", calls=[SEARCH]), replies.submits()]), clock=SystemClock()
        ),
        journal=Journal(tmp_path),
    )
    assert episode.internal_faults == 1
    assert replay_recorded(Journal(tmp_path), name).identical


def test_a_record_that_cannot_be_written_any_more_is_named(tmp_path: Path, hold: Any, replies: Any) -> None:
    recording = Journal(tmp_path).begin("x")
    (tmp_path / "timings.jsonl").mkdir()
    with pytest.raises(EpisodeFault, match="record_not_writable"):
        recording.finish(hold(replies.submits()).episode, Conditions(system="flat"), [])
