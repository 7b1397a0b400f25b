"""Frames are told of several at once: which ones together, and when, changes nothing of what is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from world_api.core import Image
from world_api.media import Want
from world_api.media.container import DEFAULT_LIMITS, Limits, probe
from world_api.media.decoder_server import DecoderServer
from world_api.media.process import Message, Wire
from world_api.media.shared_memory import Slots, anonymous_file

pytestmark = pytest.mark.media

Tell = Callable[..., list[Message]]


@pytest.fixture
def tell(make_video: Callable[..., Path], empty_room: Image) -> Tell:
    """Everything that is told of the frames of a video of two seconds, without the numbers of slots."""
    video = make_video("room.mp4", [empty_room] * 20, rate=10)

    def told(*, at_once: int, limits: Limits = DEFAULT_LIMITS, stops: bool = False, end: float = 2.0) -> list[Message]:
        source, handle = probe(video), anonymous_file()
        slots = Slots.for_frames(source.width, source.height, handle=handle)
        ours, theirs = os.pipe()
        wire = Wire(read_from=ours, write_to=theirs)
        # No more frames than there are slots, so that none is waited for.
        want = Want(fps=5.0, spans=((0.0, end),), picture=(32, "bgr"))
        request: Message = {
            "do": "decode", "source": source.record(), "wants": [want.record()], "state": None, "leap": 0.0, "after": -1.0,
            "settled": None, "stops": stops, "slots": slots.record(), "at_once": at_once,
        }  # fmt: skip
        answer = DecoderServer(wire, json.dumps(limits.record()), str(handle)).answer(request)
        assert answer is not None
        wire.send({**answer[0], "done": True})
        messages: list[Message] = []
        while not (messages and "done" in messages[-1]):
            message = wire.receive(timeout=1.0)[0]
            message.pop("slot", None)
            messages.append(message)
        for file in (ours, theirs, handle):
            os.close(file)
        return messages

    return told


@pytest.mark.parametrize("at_once", [3, 4])
def test_frames_told_together_are_those_told_one_by_one(tell: Tell, at_once: int) -> None:
    together = tell(at_once=at_once)
    assert together == tell(at_once=1)
    assert len([message for message in together if "t" in message]) == 20
    assert len([message for message in together if "pictures" in message]) == 10


@pytest.mark.parametrize("at_once", [3, 4])
def test_a_video_longer_than_the_limit_ends_at_the_same_frame(tell: Tell, at_once: int) -> None:
    limits = replace(DEFAULT_LIMITS, duration=0.95)
    together = tell(at_once=at_once, limits=limits)
    assert together == tell(at_once=1, limits=limits)
    assert together[-1]["cut"]
    assert together[-1]["end"]["last_time"] == pytest.approx(1.0)


@pytest.mark.parametrize("at_once", [3, 4])
def test_nothing_is_told_after_the_last_frame_that_is_wanted(tell: Tell, at_once: int) -> None:
    together = tell(at_once=at_once, stops=True, end=1.0)
    assert together == tell(at_once=1, stops=True, end=1.0)
    assert together[-1]["stopped"]["last_time"] == pytest.approx(1.0)


def test_to_send_nothing_is_no_sign_of_life() -> None:
    ours, theirs = os.pipe()
    wire = Wire(read_from=ours, write_to=theirs)
    before = wire.sent_at
    wire.flush()
    assert wire.sent_at == before
    wire.hold({"t": 1.0})
    wire.hold({"t": 2.0})
    wire.flush()
    assert wire.sent_at > before
    assert [wire.receive(timeout=1.0)[0] for _ in range(2)] == [{"t": 1.0}, {"t": 2.0}]
    os.close(ours)
    os.close(theirs)
