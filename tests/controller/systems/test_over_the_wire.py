"""Systems through the real client: pictures arrive as a server takes them, and a server that takes none is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.systems import pictures_in, seconds_shown
from world_api.chat import Call, Endpoint, OpenAIChatModel, completion

ANSWER = completion(
    model="m", calls=[Call(tool="submit_answer", arguments={"answer": "grey", "spans": []}, id="c1")], usage=(900, 9)
)


@pytest.fixture
def served(chat_server: Any, stepping_clock: Any) -> Callable[..., OpenAIChatModel]:
    """A model on the test server, which plays these answers."""

    def model(*answers: Any) -> OpenAIChatModel:
        chat_server.play(*answers)
        clock = stepping_clock()
        endpoint = Endpoint(base_url=chat_server.url, api_key="sk-some-key-or-other")
        return OpenAIChatModel(endpoint, "m", clock=clock, sleep=clock.sleep)

    return model


def test_frames_arrive_as_pictures(play: Any, served: Any, chat_server: Any) -> None:
    played = play("direct", model=served(ANSWER), options={"frames": 3}, takes_images=None)
    assert (played.episode.outcome, played.episode.answer) == ("submitted", "grey")
    [received] = chat_server.received
    assert seconds_shown(pictures_in(received.body)) == [10, 30, 50]
    assert played.episode.usage.prompt == 900


def test_a_server_that_takes_no_images_ends_the_episode_by_name(play: Any, served: Any, chat_server: Any) -> None:
    refusal = chat_server.refusal(400, "this model does not support image input")
    episode = play("direct", model=served(refusal), takes_images=None).episode
    assert (episode.outcome, episode.reason) == ("failed", "endpoint_refused_request")
    assert "image" in episode.fault.message


def test_estimated_tokens_of_pictures_do_not_follow_the_size_of_their_files(play: Any, served: Any) -> None:
    uncounted = {key: value for key, value in ANSWER.items() if key != "usage"}
    usage = play(
        "direct", model=served(uncounted), options={"frames": 8, "max_side": 64}, takes_images=None
    ).episode.usage
    assert usage.estimated
    assert usage.prompt < 30_000
