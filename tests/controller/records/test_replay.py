"""Recorded episodes: they replay byte for byte without world or endpoint, and refuse what was not recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget, Episode, FaultRecord, episode_from_record
from controller.records import Journal, answer_recorded, replay_recorded
from controller.systems import SystemContext
from tests.support.journals import forge
from tests.support.scripted import ScriptedChatModel
from tool_induction import ToolLibrary, load_library
from world_api import SystemClock
from world_api.chat import Endpoint, OpenAIChatModel, RuleBasedChatModel
from world_api.core import BackendFault, EpisodeFault, json_line

QUESTION = "When does the person in red first appear?"


class Recorded:
    """An episode recorded on the made minute, and where."""

    def __init__(self, folder: Path, episode: Episode, name: str) -> None:
        self.folder = folder
        self.journal = Journal(folder)
        self.episode = episode
        self.name = name


@pytest.fixture
def record(open_made: Any, tmp_path: Path) -> Callable[..., Recorded]:
    """Records an episode with any model."""

    def run(
        model: Any, *, question: str = QUESTION, budget: Budget | None = None, library: ToolLibrary | None = None
    ) -> Recorded:
        folder = tmp_path / "records"
        episode, name = answer_recorded(
            Question(text=question),
            open_made(),
            system="flat" if library is None else "hier",
            context=SystemContext(model=model, clock=SystemClock(), budget=budget or Budget(), library=library),
            journal=Journal(folder),
        )
        return Recorded(folder, episode, name)

    return run


def test_a_recorded_episode_replays_byte_for_byte(record: Any) -> None:
    kept = record(RuleBasedChatModel())
    assert len(kept.episode.tool_calls) >= 4
    replayed = replay_recorded(kept.journal, kept.name)
    assert replayed.identical
    assert json_line(replayed.episode.record()) == json_line(kept.episode.record())
    assert replayed.episode.timings == kept.episode.timings


def test_an_episode_with_induced_tools_replays_byte_for_byte(record: Any) -> None:
    kept = record(RuleBasedChatModel(), library=load_library("hand_A"))
    assert kept.episode.tool_calls[0].inner_calls
    assert replay_recorded(kept.journal, kept.name).identical


def test_what_is_stored_reads_back_as_the_same_episode(record: Any) -> None:
    kept = record(RuleBasedChatModel())
    [entry] = kept.journal.entries()
    assert entry.name == kept.name
    assert entry.episode.record() == kept.episode.record()
    assert entry.episode.tool_calls[0].tool == "search_segments_by_text"


def test_a_changed_question_is_refused(record: Any) -> None:
    kept = record(RuleBasedChatModel())
    with pytest.raises(EpisodeFault, match="replay_mismatch") as caught:
        replay_recorded(kept.journal, kept.name, question=Question(text="When does the person in black appear?"))
    assert "$.messages[1].content" in caught.value.message


def test_an_episode_of_slips_and_a_spent_budget_replays_too(record: Any, replies: Any) -> None:
    script = [{}, replies.finds(), replies.says("So.")]
    kept = record(ScriptedChatModel(script), budget=Budget(rounds=2))
    assert kept.episode.slips == {"no_choices": 1, "unknown_tool": 1}
    assert (kept.episode.outcome, kept.episode.reason) == ("forced", "rounds")
    assert replay_recorded(kept.journal, kept.name).identical


@pytest.mark.parametrize("budget", [Budget(rounds=0), Budget(calls=0), Budget(tokens=0)])
def test_an_episode_that_offered_no_tools_replays_too(record: Any, replies: Any, budget: Budget) -> None:
    kept = record(ScriptedChatModel([replies.says("So.")]), budget=budget)
    assert [item.tools_offered for item in kept.episode.rounds] == [False]
    assert replay_recorded(kept.journal, kept.name).identical


def test_an_episode_whose_endpoint_failed_replays_its_failure(record: Any) -> None:
    kept = record(ScriptedChatModel([BackendFault("endpoint_error", "oops", hint="wait")]))
    replayed = replay_recorded(kept.journal, kept.name)
    assert replayed.identical
    assert replayed.episode.fault == FaultRecord(code="endpoint_error", message="oops", hint="wait")


def test_an_endpoint_is_needed_only_once_and_its_key_is_written_nowhere(
    record: Any, replies: Any, chat_server: Any, stepping_clock: Any
) -> None:
    key = "sk-nobody-may-read-this"
    search = {"video_id": "made", "query": "红", "top_k": 3}
    call = {"id": "c1", "type": "function", "function": {"name": "search_segments_by_text"}}
    call["function"]["arguments"] = json.dumps(search)
    chat_server.play(
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]},
        replies.submits("At 32 s.", (32.0, 38.0)),
    )
    clock = stepping_clock()
    endpoint = Endpoint(base_url=chat_server.url, api_key=key)
    kept = record(OpenAIChatModel(endpoint, "some-model", clock=clock, sleep=clock.sleep))
    assert kept.episode.answer == "At 32 s."
    asked = len(chat_server.received)
    assert replay_recorded(kept.journal, kept.name).identical
    assert len(chat_server.received) == asked
    for file in kept.folder.rglob("*"):
        assert file.is_dir() or key not in file.read_text()


def test_episodes_of_the_same_moment_get_names_of_their_own(record: Any) -> None:
    names = [record(RuleBasedChatModel()).name for _ in range(3)]
    kept = record(RuleBasedChatModel())
    assert len({*names, kept.name}) == 4
    assert [entry.name for entry in kept.journal.entries()] == [*names, kept.name]


def test_an_edited_result_in_the_record_is_noticed(record: Any) -> None:
    kept = record(RuleBasedChatModel())
    forge(kept.folder, lambda line: line["episode"]["calls"][0]["result"].update(candidates=[]))
    with pytest.raises(EpisodeFault, match="replay_mismatch"):
        replay_recorded(kept.journal, kept.name)


def test_an_unknown_episode_is_named_with_those_there_are(record: Any) -> None:
    kept = record(RuleBasedChatModel())
    with pytest.raises(EpisodeFault, match="unknown_episode") as caught:
        replay_recorded(kept.journal, "another")
    assert kept.name in caught.value.hint


def test_a_record_of_another_schema_is_refused(record: Any) -> None:
    kept = record(RuleBasedChatModel())
    whole = kept.episode.record()
    with pytest.raises(EpisodeFault, match="recording_schema"):
        episode_from_record(whole | {"schema_version": 99})
    del whole["task"]
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        episode_from_record(whole)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EpisodeFault, match="record_not_writable"):
        Journal(tmp_path / "file").begin("x")
