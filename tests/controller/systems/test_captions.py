"""``socratic`` where a model looks at every clip: all of them, or a refusal by name; what is missing is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.systems import build_system
from tests.support.systems import data_in
from world_api.api import open_session
from world_api.core import BackendFault, EpisodeFault, Expected, LookReply, LookRequest, Spent
from world_api.session import Session, VisionConfig

TENS = {"clip_seconds": 10.0, "top_k": 3}


class Looking:
    """A model that tells where it looked; ``faults``: what befalls it, by the start of the clip."""

    name = producer = "looking"
    longest_side = 64

    def __init__(self, faults: dict[float, str]) -> None:
        self._faults = faults
        self.starts: list[float] = []

    def expects(self, task: str, pictures: int, width: int, height: int) -> Expected:
        return Expected(prompt=1, completion=1, most_completion=1, assumed="")

    def look(self, request: LookRequest) -> LookReply:
        self.starts.append(request.span.start)
        if (code := self._faults.get(request.span.start)) is not None:
            raise BackendFault(code, "it did not work")
        spent = Spent(purpose="perception", model=self.name, request=request.request, prompt=1, completion=1)
        text = f"a folder at {request.span.start:g}"
        return LookReply(text=text, confidence=None, uncertain="", actions=(), spent=spent)


@pytest.fixture
def look(context: Any, film_store: Any) -> Callable[..., Any]:
    """Asks ``socratic`` on the made minute with a model that looks; the episode, the looker, the context."""

    def looked(
        *,
        looks: int | None,
        faults: dict[float, str] | None = None,
        looking: Looking | None = None,
        before: Callable[[Session], Any] = lambda _: None,
    ) -> Any:
        store: Path = film_store()
        looking, given = looking or Looking(faults or {}), context(options=TENS)
        session = open_session(store, "made", name=None, seeing=VisionConfig(vision=looking, most_looks=looks))
        before(session)
        episode = build_system("socratic", given).answer(Question(text="Where is the folder?"), session)
        return episode, looking, given.model

    return looked


def test_every_clip_is_looked_at(look: Any) -> None:
    episode, looking, model = look(looks=6)
    [data] = data_in(model.requests[0])
    assert sorted(looking.starts) == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert (data["of"], episode.outcome) == (6, "submitted")
    assert "undescribed" not in data and "hint" not in data


def test_too_few_looks_are_refused_before_one_is_paid_for(look: Any) -> None:
    looking = Looking({})
    with pytest.raises(EpisodeFault, match="all 6 clips") as refused:
        look(looks=5, looking=looking)
    assert (refused.value.code, looking.starts) == ("looks_too_few", [])
    assert "--looks 6" in refused.value.hint


def test_looks_that_an_earlier_question_has_used_up_fail_the_episode_by_name(look: Any) -> None:
    def earlier(session: Session) -> None:
        from world_api.operations import run

        run(session, "describe_segment", {"video_id": "made", "start_time": 3.0, "end_time": 4.0})

    episode, _, model = look(looks=6, before=earlier)
    assert (episode.outcome, episode.reason) == ("failed", "looks_spent")
    assert "1 of 6 clips" in episode.fault.message
    assert model.requests == []


def test_a_clip_that_a_model_refuses_is_counted_with_its_reason(look: Any) -> None:
    episode, _, model = look(looks=None, faults={10.0: "sight_refused", 40.0: "sight_unreadable"})
    [data] = data_in(model.requests[0])
    assert episode.outcome == "submitted"
    assert data["of"] == 6
    assert data["undescribed"] == {"sight_refused": 1, "sight_unreadable": 1}
    assert "2 of 6 clips could not be described" in data["hint"]


def test_an_endpoint_that_goes_away_fails_the_episode_by_name(look: Any) -> None:
    episode, _, model = look(looks=None, faults={50.0: "endpoint_unreachable"})
    assert (episode.outcome, episode.reason) == ("failed", "endpoint_unreachable")
    assert model.requests == []


def test_where_no_clip_could_be_described_it_is_said_why(look: Any) -> None:
    episode, _, _ = look(looks=None, faults={10.0 * n: "sight_refused" for n in range(6)})
    assert (episode.outcome, episode.reason) == ("failed", "no_captions")
    assert "sight_refused: 6" in episode.fault.message
