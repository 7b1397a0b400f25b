"""How often a model may be asked in a session: every request counts, whatever comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.vision_server import VisionServer
from tests.world_api.session.conftest import numbers_sent, seeing_of, together
from world_api.core import (
    BackendFault,
    Expected,
    LookReply,
    LookRequest,
    LookTask,
    OperationFault,
    Spent,
    TimeSpan,
    ledger,
)
from world_api.operations import MAX_QUERY_CHARACTERS
from world_api.session import (
    LONGEST_QUESTION,
    MAX_SPOTS,
    LookSpot,
    Session,
    VisionConfig,
    estimate_question,
    make_looks,
)

pytestmark = pytest.mark.media
Open = Callable[..., Session]


def test_a_session_looks_no_more_often_than_allowed(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    seeing = seeing_of(open_film(eyes=make_eyes(looks=2)))
    for start in (1.0, 2.0, 1.0, 2.0):
        seeing.caption(TimeSpan(start=start, end=9.0), until=60.0)
    with pytest.raises(OperationFault) as caught:
        seeing.caption(TimeSpan(start=3.0, end=9.0), until=60.0)
    assert caught.value.code == "looks_spent"
    assert len(vision_server.requests) == 2


def test_looks_that_were_kept_count_like_those_that_are_made(
    open_film: Open, make_eyes: Callable[..., VisionConfig]
) -> None:
    for _ in range(2):
        seeing = seeing_of(open_film(eyes=make_eyes(looks=1)))
        seeing.caption(TimeSpan(start=1.0, end=9.0), until=60.0)
        with pytest.raises(OperationFault, match="which is all it may"):
            seeing.caption(TimeSpan(start=2.0, end=9.0), until=60.0)


def test_failing_again_and_again_spends_the_allowance(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    vision_server.say = lambda body, pictures: ""
    seeing = seeing_of(open_film(eyes=make_eyes(looks=3)))
    codes = []
    for _ in range(5):
        with pytest.raises((BackendFault, OperationFault)) as caught:
            seeing.caption(TimeSpan(start=1.0, end=9.0), until=60.0)
        codes.append(caught.value.code)
    assert codes == ["sight_unreadable"] * 3 + ["looks_spent"] * 2
    assert len(vision_server.requests) == 3


def test_threads_that_wait_for_a_look_that_fails_send_no_more_than_allowed(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    vision_server.say = lambda body, pictures: "{"
    seeing = seeing_of(open_film(eyes=make_eyes(looks=1)))

    def ask(_: int) -> str:
        with pytest.raises((BackendFault, OperationFault)) as caught:
            seeing.caption(TimeSpan(start=1.0, end=9.0), until=60.0)
        return caught.value.code

    assert sorted(together(ask, 8)) == ["looks_spent"] * 7 + ["sight_unreadable"]
    assert len(vision_server.requests) == 1


def test_threads_that_share_a_look_have_taken_one(open_film: Open, make_eyes: Callable[..., VisionConfig]) -> None:
    seeing = seeing_of(open_film(eyes=make_eyes(looks=2)))
    together(lambda _: seeing.caption(TimeSpan(start=1.0, end=9.0), until=60.0), 8)
    seeing.caption(TimeSpan(start=2.0, end=9.0), until=60.0)
    with pytest.raises(OperationFault, match="which is all it may"):
        seeing.caption(TimeSpan(start=3.0, end=9.0), until=60.0)


def refuses_settings(body: dict[str, Any]) -> tuple[int, str] | None:
    if "response_format" in body:
        return 400, "response_format is not supported"
    return (400, "temperature is not supported") if "temperature" in body else None


@pytest.mark.parametrize(("looks", "sent"), [(1, 1), (2, 2), (3, 3)])
def test_a_request_that_is_made_again_without_a_setting_counts(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer, looks: int, sent: int
) -> None:
    vision_server.refuse = refuses_settings
    eyes = make_eyes(looks=looks, frames=1)
    bound = estimate_question(eyes, 320, 192)
    codes, seeing = [], seeing_of(open_film(eyes=eyes))
    for start in (1.0, 2.0, 3.0):
        try:
            seeing.caption(TimeSpan(start=start, end=9.0), until=60.0)
        except OperationFault as fault:
            codes.append(fault.code)
    assert len(vision_server.requests) == sent == bound.requests
    assert sum(len(numbers) for numbers in numbers_sent(vision_server)) <= bound.frames
    assert set(codes) == {"looks_spent"}


def test_the_most_frames_are_those_of_the_look_that_takes_most(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(looks=1, frames=1)
    spots = [LookSpot(time=time, box=None) for time in (1.0, 2.0, 3.0, 4.0, 5.0)]
    with ledger() as book:
        seeing_of(open_film(eyes=eyes)).state(spots, "问" * 2000, subject="it", until=60.0)
    bound = estimate_question(eyes, 320, 192)
    assert bound.frames == sum(len(numbers) for numbers in numbers_sent(vision_server)) == MAX_SPOTS
    vision_server.usage = False
    with ledger() as book:
        seeing_of(open_film(eyes=eyes)).state(spots, "谁" * 2000, subject="it", until=60.0)
    [item] = book.items
    assert item.estimated
    assert item.prompt <= bound.prompt


def test_the_longest_question_that_is_reckoned_with_is_the_longest_that_is_taken() -> None:
    assert LONGEST_QUESTION == MAX_QUERY_CHARACTERS


# What cannot be kept.


class Odd:
    """Looks, and says or does what the others never would."""

    name = producer = "odd"
    longest_side = 64

    def __init__(self, *, says: str = "", raises: Exception | None = None) -> None:
        self._says = says
        self._raises = raises
        self.asked = 0

    def expects(self, task: LookTask, pictures: int, width: int, height: int) -> Expected:
        return Expected(prompt=1, completion=1, most_completion=1, assumed="")

    def look(self, request: LookRequest) -> LookReply:
        self.asked += 1
        if self._raises is not None:
            raise self._raises
        spent = Spent(purpose="perception", model="odd", request=request.request, prompt=1, completion=1)
        says = self._says if self.asked == 1 else "A hall."
        return LookReply(text=says, confidence=None, uncertain="", actions=(), spent=spent)


@pytest.mark.parametrize("says", ["half \ud800 of a character", "x" * 20_001])
def test_what_cannot_be_kept_is_a_named_fault_and_counts(open_film: Open, says: str) -> None:
    odd = Odd(says=says)
    seeing = seeing_of(open_film(eyes=VisionConfig(vision=odd, most_looks=2)))
    span = TimeSpan(start=1.0, end=5.0)
    with pytest.raises(BackendFault) as caught:
        seeing.caption(span, until=60.0)
    assert caught.value.code == "sight_unreadable"
    assert seeing.caption(span, until=60.0).text == "A hall."
    with pytest.raises(OperationFault, match="which is all it may"):
        seeing.caption(TimeSpan(start=2.0, end=5.0), until=60.0)


def test_a_model_whose_code_fails_spends_its_allowance(open_film: Open) -> None:
    odd = Odd(raises=KeyError("choices"))
    seeing = seeing_of(open_film(eyes=VisionConfig(vision=odd, most_looks=2)))
    for _ in range(4):
        with pytest.raises((BackendFault, OperationFault)):
            seeing.caption(TimeSpan(start=1.0, end=5.0), until=60.0)
    assert odd.asked == 2


def test_a_caption_that_cannot_be_kept_does_not_end_a_run(open_film: Open) -> None:
    eyes = VisionConfig(vision=Odd(says="half \udfff"), at_once=1)
    session = open_film(eyes=eyes)
    done = make_looks(session.view, seeing_of(session), eyes, progress=lambda done, total: None)
    assert [fault.code for _, fault in done.failed] == ["sight_unreadable"]
    assert done.made == len(session.view.segments) - 1
