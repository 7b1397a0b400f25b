"""What is probed before anybody asks for it: the same answer, and never one to something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.building import Silent, StandingClock
from tests.support.decoders import decoder_of
from world_api.api import build_world
from world_api.build.media.apart.passes import VideoPass, let_go
from world_api.build.media.apart.process import DecoderProcess
from world_api.build.media.apart.worker import MediaWorker
from world_api.build.media.child.wire import Message
from world_api.build.media.limits import DEFAULT_LIMITS
from world_api.build.media.probe import probe
from world_api.build.media.wants import Want
from world_api.core.faults import MediaFault
from world_api.options import BuildOptions

pytestmark = pytest.mark.media

MakeVideo = Callable[..., Path]
WITHOUT_READING = BuildOptions(without=("screen_texts",))


@pytest.fixture
def worker() -> Iterator[MediaWorker]:
    made = MediaWorker()
    yield made
    made.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What decoding processes are asked to do, from now on."""
    done: list[str] = []
    begin = DecoderProcess.begin

    def noting(process: DecoderProcess, request: Message) -> None:
        done.append(request["do"])
        begin(process, request)

    monkeypatch.setattr(DecoderProcess, "begin", noting)
    return done


@pytest.fixture
def film(make_video: MakeVideo) -> Path:
    return make_video("film.mp4", [np.full((48, 64, 3), 7 * number, np.uint8) for number in range(20)])


@pytest.fixture
def other(make_video: MakeVideo) -> Path:
    return make_video("other.mp4", [np.full((96, 128, 3), 5 * number, np.uint8) for number in range(30)])


def test_a_video_that_is_probed_ahead_is_what_it_is(worker: MediaWorker, film: Path) -> None:
    worker.start(film)
    worker.start(film)
    assert worker.probe(film) == probe(film)
    assert worker.probe(film) == probe(film)


def test_it_is_probed_once(worker: MediaWorker, film: Path, asked: list[str]) -> None:
    worker.start(film)
    worker.start(film)
    worker.probe(film)
    assert asked == ["probe"]
    worker.probe(film)
    assert asked == ["probe", "probe"]


def test_a_build_probes_once(film: Path, tmp_path: Path, asked: list[str]) -> None:
    build_world(film, tmp_path / "store", progress=Silent(), clock=StandingClock(), options=WITHOUT_READING)
    assert asked.count("probe") == 1


def test_a_process_that_died_before_it_was_asked_costs_nothing(worker: MediaWorker, film: Path) -> None:
    worker.start(film)
    worker.kill()
    assert worker.probe(film) == probe(film)


def test_a_process_that_died_over_another_video_is_started_again(worker: MediaWorker, film: Path, other: Path) -> None:
    worker.start(film)
    worker.kill()
    assert worker.probe(other) == probe(other)


def test_a_video_that_was_replaced_meanwhile_is_probed_anew(worker: MediaWorker, film: Path, other: Path) -> None:
    worker.start(film)
    other.replace(film)
    assert (worker.probe(film).width, worker.probe(film).height) == (128, 96)


def test_another_request_gets_its_own_answer(worker: MediaWorker, film: Path, other: Path) -> None:
    worker.start(film)
    assert worker.probe(other) == probe(other)
    assert worker.probe(film) == probe(film)


def test_a_process_that_is_handed_over_has_nothing_left_to_say(worker: MediaWorker, film: Path) -> None:
    worker.start(film)
    process = worker.hand_over()
    assert process is not None
    wants = (Want(fps=None, spans=((0.0, 60.0),)),)
    decode = VideoPass(source=probe(film), limits=DEFAULT_LIMITS, wants=wants, process=process)
    times = [(frame.time, let_go(frame))[0] for frame in decode]
    assert len(times) == 20
    assert decode.lost == []
    assert decoder_of(decode) is None


@pytest.mark.parametrize("content", [None, b"", b"no video at all"])
def test_a_file_that_is_no_video_is_named_when_it_is_asked_for(
    content: bytes | None, worker: MediaWorker, film: Path, tmp_path: Path
) -> None:
    path = tmp_path / "nothing.mp4"
    if content is not None:
        path.write_bytes(content)
    worker.start(path)
    with pytest.raises(MediaFault) as ahead:
        worker.probe(path)
    with pytest.raises(MediaFault) as later:
        worker.probe(path)
    assert ahead.value.code == later.value.code
    assert worker.probe(film) == probe(film)
