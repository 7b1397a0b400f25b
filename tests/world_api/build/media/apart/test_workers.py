"""Decoding processes that answer single requests: whose they are, and that none is left behind."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from contextlib import closing
from math import inf
from pathlib import Path

import numpy as np
import pytest

from tests.support.decoders import is_alive, number_of
from world_api.core import MediaFault
from world_api.media.container import DEFAULT_LIMITS, Limits, probe
from world_api.media.decoder import DecoderProcess, MediaWorker, VideoFrames, VideoPass, release
from world_api.media.frames import Want
from world_api.media.process import Message

pytestmark = pytest.mark.media

MakeVideo = Callable[..., Path]


@pytest.fixture
def film(make_video: MakeVideo) -> Path:
    """Six seconds at ten frames a second, lighter from frame to frame."""
    return make_video("film.mp4", [np.full((48, 64, 3), 40 + n, np.uint8) for n in range(60)])


def halt(worker: MediaWorker) -> int:
    """Start a worker's process and stop it in its tracks: it lives, and says nothing. Its number."""
    number = number_of(worker._started())
    os.kill(number, signal.SIGSTOP)
    return number


def test_a_decoder_that_says_nothing_is_ended_and_named(film: Path) -> None:
    with closing(MediaWorker(Limits(timeout=0.8))) as worker:
        number = halt(worker)
        with pytest.raises(MediaFault) as caught:
            worker.probe(film)
        assert caught.value.code == "decoder_stalled"
        assert caught.value.hint
        assert not is_alive(number)


def test_a_worker_that_died_of_a_request_answers_the_next(film: Path) -> None:
    with closing(MediaWorker(Limits(timeout=6.0))) as worker:
        halt(worker)
        with pytest.raises(MediaFault):
            worker.ask({"do": "probe"}, film)
        message, _ = worker.ask({"do": "probe"}, film)
    assert message["probe"]["width"] == 64


def test_a_worker_that_named_a_fault_answers_the_next_request(film: Path, tmp_path: Path) -> None:
    with closing(MediaWorker()) as worker:
        for _ in range(3):
            with pytest.raises(MediaFault) as caught:
                worker.probe(tmp_path / "gone.mp4")
            assert caught.value.code == "no_such_file"
            assert worker.probe(film).width == 64


def test_random_access_outlives_its_process(film: Path) -> None:
    frames = VideoFrames(film)
    first = frames.frame_played_at(12.0)
    process = frames._worker._process
    assert process is not None
    os.kill(number_of(process), signal.SIGKILL)
    with pytest.raises(MediaFault) as caught:
        frames.frame_played_at(12.0)
    assert caught.value.code == "decoder_died"
    assert np.array_equal(frames.frame_played_at(12.0), first)


def handed_over(film: Path) -> tuple[MediaWorker, DecoderProcess]:
    worker = MediaWorker()
    worker.probe(film)
    process = worker.detach()
    assert process is not None
    return worker, process


def test_a_process_that_was_handed_over_outlives_its_worker(film: Path) -> None:
    worker, process = handed_over(film)
    assert worker.detach() is None
    worker.close()
    del worker
    gc.collect()
    assert is_alive(number_of(process))
    process.end()
    assert not is_alive(number_of(process))
    process.end()


def test_a_worker_that_handed_its_process_over_starts_another_and_ends_only_that(film: Path) -> None:
    worker, process = handed_over(film)
    worker.probe(film)
    own = worker.detach()
    assert own is not None
    assert number_of(own) != number_of(process)
    own.end()
    assert is_alive(number_of(process))
    process.end()


def test_a_process_that_nobody_holds_any_more_is_ended(film: Path) -> None:
    worker, process = handed_over(film)
    worker.start()
    kept = worker._process
    assert kept is not None
    numbers = [number_of(process), number_of(kept)]
    del worker, process, kept
    gc.collect()
    assert [is_alive(number) for number in numbers] == [False, False]


def everything(film: Path, process: DecoderProcess) -> VideoPass:
    wants = (Want(fps=None, spans=((0.0, inf),)),)
    return VideoPass(source=probe(film), limits=DEFAULT_LIMITS, wants=wants, process=process)


def test_a_pass_ends_the_process_it_was_given_though_it_never_began(film: Path) -> None:
    _, process = handed_over(film)
    everything(film, process).close()
    assert not is_alive(number_of(process))


def test_a_pass_ends_the_process_it_was_given_once_it_is_through(film: Path) -> None:
    _, process = handed_over(film)
    for frame in everything(film, process):
        assert is_alive(number_of(process))
        release(frame)
    assert not is_alive(number_of(process))


def test_an_answer_that_was_broken_off_is_not_taken_for_the_next_one(
    film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: DecoderProcess, request: Message) -> tuple[Message, bytes]:
        self.notify(request)
        raise KeyboardInterrupt

    with closing(MediaWorker()) as worker:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(DecoderProcess, "ask", interrupted)
            worker.ask({"do": "frames", "times": [1.0], "longest_side": None}, film)
        assert worker.probe(film).width == 64
