"""Captions of a whole video: what they will take, several at a time, and going on after a break."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.numbered_film import number_in
from tests.support.vision_server import VisionServer, pictures_of
from tests.world_api.session.conftest import numbers_sent
from world_api.core import BackendFault, VideoWorldError, ledger
from world_api.session import LookEstimate, MadeLooks, Session, VisionConfig, estimate_looks, make_looks

pytestmark = pytest.mark.media
Open = Callable[..., Session]


def estimated(session: Session, eyes: VisionConfig) -> LookEstimate:
    assert session.backends.seeing is not None
    return estimate_looks(session.view, session.backends.seeing, eyes)


def captioned(session: Session, eyes: VisionConfig, told: list[tuple[float, float]] | None = None) -> MadeLooks:
    assert session.backends.seeing is not None
    note = (told if told is not None else []).append
    return make_looks(
        session.view, session.backends.seeing, eyes, progress=lambda done, total: note((done, total))
    )  # fmt: skip


def test_what_is_sent_is_what_was_estimated(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes()
    session = open_film(eyes=eyes)
    before = estimated(session, eyes)
    assert before.kept == 0
    assert before.requests == len(session.view.segments) > 3
    told: list[tuple[float, float]] = []
    with ledger() as book:
        done = captioned(session, eyes, told)
    assert (done.made, done.failed) == (before.requests, ())
    assert len(vision_server.requests) == before.requests
    assert sum(len(numbers) for numbers in numbers_sent(vision_server)) == before.frames
    assert len(book.items) == before.requests
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == pytest.approx((60.0, 60.0))
    after = estimated(open_film(eyes=eyes), eyes)
    assert (after.requests, after.frames, after.prompt, after.kept) == (0, 0, 0, before.requests)


def test_an_estimate_learns_from_the_captions_that_were_made(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(at_once=1)
    vision_server.refuse = lambda body: (401, "no more") if len(vision_server.requests) > 3 else None
    session = open_film(eyes=eyes)
    assert "is taken for" in estimated(session, eyes).assumed
    with pytest.raises(BackendFault):
        captioned(session, eyes)
    learnt = estimated(open_film(eyes=eyes), eyes)
    assert learnt.assumed == "as 3 captions of this video have taken"
    assert learnt.completion == 20 * learnt.requests
    vision_server.refuse = lambda body: None
    with ledger() as book:
        captioned(open_film(eyes=eyes), eyes)
    assert sum(item.prompt for item in book.items) == pytest.approx(learnt.prompt, rel=0.1)


def test_a_second_run_sends_nothing(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes()
    captioned(open_film(eyes=eyes), eyes)
    sent = len(vision_server.requests)
    again = captioned(open_film(eyes=eyes), eyes)
    assert (again.made, again.kept) == (0, sent)
    assert len(vision_server.requests) == sent


def test_a_server_that_dies_midway_leaves_what_it_said(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(at_once=2)
    vision_server.refuse = lambda body: (503, "gone") if len(vision_server.requests) > 3 else None
    session = open_film(eyes=eyes)
    wanted = estimated(session, eyes).requests
    with pytest.raises(BackendFault) as caught:
        captioned(session, eyes)
    assert caught.value.code == "endpoint_error"
    assert f"3 of {wanted} captions were made and are kept" in caught.value.hint
    vision_server.refuse = lambda body: None
    vision_server.requests.clear()
    done = captioned(open_film(eyes=eyes), eyes)
    assert (done.made, done.kept) == (wanted - 3, 3)
    assert len(vision_server.requests) == wanted - 3


def test_a_key_that_is_refused_ends_the_run_at_once(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(at_once=1)
    vision_server.refuse = lambda body: (401, "no")
    with pytest.raises(BackendFault) as caught:
        captioned(open_film(eyes=eyes), eyes)
    assert caught.value.code == "endpoint_refused_key"
    assert len(vision_server.requests) == 1


def test_a_picture_that_a_server_objects_to_does_not_end_the_run(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(at_once=1)
    objected = [(400, "your input was flagged by our safety system")]
    vision_server.refuse = lambda body: objected[0] if 2 in {number // 100 for number in numbers(body)} else None
    session = open_film(eyes=eyes)
    done = captioned(session, eyes)
    assert {fault.code for _, fault in done.failed} == {"endpoint_refused_request"}
    assert done.made == len(session.view.segments) - len(done.failed) > 0


def numbers(body: dict[str, Any]) -> list[int]:
    return [number_in(picture) for picture in pictures_of(body)]


def test_one_stretch_of_which_nothing_usable_is_said_does_not_end_the_run(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(at_once=1)
    usual = vision_server.say
    vision_server.say = lambda body, pictures: "{" if len(vision_server.requests) == 2 else usual(body, pictures)
    session = open_film(eyes=eyes)
    done = captioned(session, eyes)
    [(span, fault)] = done.failed
    assert (span, fault.code) == (session.view.segments[1], "sight_unreadable")
    assert done.made == len(session.view.segments) - 1
    assert captioned(open_film(eyes=eyes), eyes).made == 1


def test_a_model_that_never_says_anything_usable_is_not_paid_to_the_end(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(at_once=1)
    vision_server.say = lambda body, pictures: ""
    with pytest.raises(VideoWorldError) as caught:
        captioned(open_film(eyes=eyes), eyes)
    assert caught.value.code == "sight_unreadable"
    assert len(vision_server.requests) == 5


def test_captions_are_asked_for_side_by_side(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    both = threading.Barrier(2, timeout=10)
    broken = threading.Event()

    def before() -> None:
        if not broken.is_set():
            both.wait()  # ends only where two are under way together
            broken.set()

    vision_server.before = before
    eyes = make_eyes(at_once=2)
    assert captioned(open_film(eyes=eyes), eyes).failed == ()


def test_a_display_that_fails_ends_the_run_with_its_fault(
    open_film: Open, make_eyes: Callable[..., VisionConfig]
) -> None:
    def broken(done: float, total: float) -> None:
        raise BrokenPipeError("the display is gone")

    eyes = make_eyes(at_once=1)
    session = open_film(eyes=eyes)
    assert session.backends.seeing is not None
    with pytest.raises(BrokenPipeError):
        make_looks(session.view, session.backends.seeing, eyes, progress=broken)


def test_behind_a_cut_only_the_visible_part_is_captioned(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes()
    captioned(open_film(eyes=eyes, as_of=25.0), eyes)
    assert max(number for numbers in numbers_sent(vision_server) for number in numbers) < 250
