"""Behind a causal cut every system runs again offline too; and what a recording keeps of pictures."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from controller import Journal, Question, answer_recorded, replay_recorded
from tests.support.systems import THIRD_PARTY, Willing
from world_api.api import open_session
from world_api.core import EpisodeFault, json_line

pytestmark = pytest.mark.usefixtures("third_party")

CASES: list[tuple[str, dict[str, Any]]] = [
    ("flat", {}),
    ("flat+domain", {}),
    ("flat+review", {}),
    ("hints", {}),
    ("flat+compose", {}),
    ("hier", {}),
    ("hier", {"exposure": "tools"}),
    ("hier", {"exposure": "tools-first"}),
    ("hier", {"exposure": "on-demand"}),
    ("pipeline", {}),
    ("direct", {"frames": 5, "max_side": 64}),
    ("socratic", {"clip_seconds": 10.0}),
    ("blind", {}),
    ("blind", {"variant": "transcript"}),
    (THIRD_PARTY, {"any": "thing"}),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_an_episode_behind_a_cut_runs_again_byte_for_byte(
    context: Any, film_store: Any, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    store = film_store()
    session = open_session(store, "made", as_of=30.0, name=None)
    journal = Journal(tmp_path / "records")
    question = Question(text="Where is the folder?", as_of=30.0)
    model = Willing()
    episode, entry = answer_recorded(
        question, session, system=name, context=context(model=model, options=options), journal=journal
    )
    assert episode.answer == "In the room."
    asked = len(model.requests)
    shutil.rmtree(store)
    replayed = replay_recorded(journal, entry)
    assert replayed.identical, replayed.difference
    assert json_line(replayed.episode.record()) == json_line(episode.record())
    assert len(model.requests) == asked


def test_pictures_are_kept_once_beside_the_episode_and_not_in_it(context: Any, film_store: Any, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "records")
    session = open_session(film_store(), "made", name=None)
    given = context(options={"frames": 2, "max_side": 64})
    episode, _ = answer_recorded(Question(text="What?"), session, system="direct", context=given, journal=journal)
    assert "base64" not in json_line(episode.record())
    assert json_line(episode.record()).count("sha256:") == 6  # in the call's result, in the data, and as two pictures
    assert "base64" in str(given.model.requests[0])


def test_another_question_is_no_replay(context: Any, film_store: Any, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "records")
    session = open_session(film_store(), "made", name=None)
    question = Question(text="Where is the folder?")
    _, entry = answer_recorded(question, session, system="socratic", context=context(), journal=journal)
    with pytest.raises(EpisodeFault, match="replay_mismatch"):
        replay_recorded(journal, entry, question=Question(text="Where is the cup?"))
