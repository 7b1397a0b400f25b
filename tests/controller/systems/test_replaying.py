"""Every system is recorded and run again offline: without its world, its video, its library or a socket."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.records import Journal, answer, replay_recorded
from tests.controller.systems.test_contract import every_system
from world_api.api import open_session
from world_api.core import json_line

pytestmark = pytest.mark.usefixtures("third_party")
Record = Callable[..., Journal]


@pytest.fixture
def record(context: Any, film_store: Any, tmp_path: Path) -> Record:
    """Records an episode on the made minute, and takes the minute and its film away."""

    def recorded(name: str, question: Question | None = None, **chosen: Any) -> Journal:
        store, journal = film_store(), Journal(tmp_path / "records")
        asked = question or Question(text="Where is the folder?")
        session = open_session(store, "made", as_of=asked.as_of, name=None)
        answer(asked, session, system=name, context=context(**chosen), journal=journal)
        shutil.rmtree(store)
        return journal

    return recorded


@every_system
def test_it_replays_byte_for_byte_without_world_or_network(
    record: Any, request: pytest.FixtureRequest, name: str, options: dict[str, Any]
) -> None:
    journal = record(name, options=options)
    [entry] = journal.entries()
    assert entry.episode.outcome in ("submitted", "prose")
    request.getfixturevalue("offline")
    replayed = replay_recorded(journal, entry.name)
    assert replayed.identical, replayed.difference
    assert json_line(replayed.episode.record()) == json_line(entry.episode.record())


@pytest.mark.parametrize(
    "question",
    [
        Question(text="When is it seen?", kind="interval", as_of=40.0),
        Question(text="Which?", kind="choice", options=("red", "black")),
        Question(text="In which order?", kind="order", options=("red", "black", "white")),
        Question(text="花园里有几个人？", kind="count"),
    ],
    ids=lambda question: question.kind,
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_typed_questions_replay_in_both_languages(
    record: Any, offline: None, question: Question, language: str
) -> None:
    from world_api.chat import RuleBasedChatModel

    journal = record("hier", question, language=language, model=RuleBasedChatModel())
    [entry] = journal.entries()
    assert (entry.episode.outcome, entry.episode.language) == ("submitted", language)
    assert entry.episode.value is not None
    assert replay_recorded(journal, entry.name).identical
