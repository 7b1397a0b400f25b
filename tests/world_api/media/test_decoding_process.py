"""Decoding processes that answer single requests: whose they are, and that none is left behind."""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from math import inf
from pathlib import Path

import av
import numpy as np
import pytest
from av.filter import Graph

from tests.support.building import Silent, StandingClock
from tests.support.decoders import is_alive, killing, number_of
from tests.support.subtitle_files import video_with
from world_api import open_world
from world_api.api import build_world
from world_api.core import Image, MediaFault, TimeSpan
from world_api.media.container import DEFAULT_LIMITS, Limits, probe
from world_api.media.decoder import MediaWorker, VideoFrames, VideoPass
from world_api.media.decoder_server import DecoderServer
from world_api.media.frames import Fitter, Want
from world_api.media.process import Closed, DecoderProcess, Message, Wire, anonymous_file
from world_api.media.shared_memory import Slots
from world_api.media.subtitles import SubtitleSource, choose_subtitles, read_source
from world_api.options import BuildOptions, Listening
from world_api.recipes import speech_stages

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


def test_a_build_outlives_a_death_while_the_file_is_probed(
    film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths = killing(monkeypatch, "probe", times=1)
    report = build_world(film, tmp_path / "store", progress=Silent(), clock=StandingClock())
    assert (len(deaths), report.losses) == (1, ())


def test_a_second_death_ends_the_build_and_does_not_blame_the_file_alone(
    film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths = killing(monkeypatch, "probe", times=9)
    with pytest.raises(MediaFault, match=r"film\.mp4 failed twice: it was ended by SIGKILL") as caught:
        build_world(film, tmp_path / "store", progress=Silent(), clock=StandingClock())
    assert (caught.value.code, len(deaths)) == ("decoder_died", 2)
    assert "memory" in caught.value.hint and "may be damaged" in caught.value.hint


def test_random_access_outlives_its_process(film: Path) -> None:
    frames = VideoFrames(film)
    first = frames.pictures_played_at([12.0], None)[0]
    process = frames._worker._process
    assert process is not None
    os.kill(number_of(process), signal.SIGKILL)
    assert np.array_equal(frames.pictures_played_at([12.0], None)[0], first)
    frames.close()


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
        frame.release()
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


pytestmark = pytest.mark.media

#: A picture and two text streams are three streams; with sound they are four.
TEXTS = (("subrip", "eng", b"first"), ("subrip", "fre", b"second"))
FEW = Limits(streams=2)


@pytest.fixture
def spoken_film(tmp_path: Path) -> Path:
    return video_with(tmp_path / "film.mkv", TEXTS, sound="eng")


def test_a_video_is_opened_once_to_look_inside(spoken_film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = av.open

    def counted(file: str, *arguments: object, **options: object) -> object:
        opened.append(file)
        return real(file, *arguments, **options)  # type: ignore[call-overload]  # av's own

    monkeypatch.setattr(av, "open", counted)
    ours, theirs = os.pipe()
    wire = Wire(read_from=ours, write_to=theirs)
    answer = DecoderServer(wire, json.dumps(asdict(DEFAULT_LIMITS)), "-1").answer(
        {"do": "texts", "path": str(spoken_film)}
    )
    os.close(ours)
    os.close(theirs)
    assert answer is not None
    message, _ = answer
    assert opened == [f"file:{spoken_film}"]
    assert [text["language"] for text in message["texts"]] == ["en", "fr"]
    assert (message["has_sound"], message["language"]) == (True, "en")


def test_a_message_that_claims_more_bytes_than_come_reserves_no_memory() -> None:
    ours, theirs = os.pipe()
    wire = Wire(read_from=ours, write_to=theirs)
    os.write(theirs, b'{"bytes": 1000000000000000}\nabc')
    os.close(theirs)
    with pytest.raises(Closed):
        wire.receive(timeout=1.0)
    os.close(ours)


def texts(spoken_film: Path, limits: Limits) -> None:
    with closing(MediaWorker(limits)) as worker:
        choose_subtitles(spoken_film, worker=worker)


def cues(spoken_film: Path, limits: Limits) -> None:
    source = SubtitleSource(kind="embedded", name="stream 2", language="en", path=spoken_film, stream=2)
    with closing(MediaWorker(limits)) as worker:
        read_source(source, worker)


def sound(spoken_film: Path, limits: Limits) -> None:
    with closing(MediaWorker(limits)) as worker:
        worker.sound(probe(spoken_film), TimeSpan(start=0.0, end=1.0))


def words_of_a_recipe(spoken_film: Path, limits: Limits) -> None:
    with closing(MediaWorker(limits)) as worker:
        speech_stages(spoken_film, Listening(speech="off"), worker)


@pytest.mark.parametrize("ask", [texts, cues, sound, words_of_a_recipe])
def test_what_is_asked_for_is_read_within_the_limits_that_were_given(
    spoken_film: Path, ask: Callable[[Path, Limits], None]
) -> None:
    ask(spoken_film, DEFAULT_LIMITS)
    with pytest.raises(MediaFault) as caught:
        ask(spoken_film, FEW)
    assert caught.value.code == "too_many_streams"


@pytest.mark.parametrize(
    ("what", "ask"), [("texts", texts), ("cues", cues), ("audio", sound), ("texts", words_of_a_recipe)]
)
def test_whatever_is_asked_for_is_read_by_a_new_process_if_one_died(
    spoken_film: Path, what: str, ask: Callable[[Path, Limits], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths = killing(monkeypatch, what, times=1)
    ask(spoken_film, DEFAULT_LIMITS)
    assert len(deaths) == 1


def test_a_build_with_wider_limits_reads_the_words_of_a_file_that_the_usual_ones_refuse(tmp_path: Path) -> None:
    many = [("subrip", "eng", f"line {number}".encode()) for number in range(DEFAULT_LIMITS.streams)]
    spoken_film = video_with(tmp_path / "many.mkv", many)
    options = BuildOptions(
        listening=Listening(speech="off"), limits=Limits(streams=len(many) + 1),
        without=("screen_texts", "moving_things", "stitches", "look_links"),
    )  # fmt: skip
    store = tmp_path / "store"
    report = build_world(spoken_film, store, progress=Silent(), clock=StandingClock(), options=options)
    assert open_world(store, report.video_id).rows("speech").column("text").to_pylist() == ["line 0"]


pytestmark = pytest.mark.media

Tell = Callable[..., list[Message]]


@pytest.fixture
def tell(make_video: Callable[..., Path], empty_room: Image) -> Tell:
    """Everything that is told of the frames of a video of two seconds, without the numbers of slots."""
    video = make_video("room.mp4", [empty_room] * 20, rate=10)

    def told(*, batch: int, limits: Limits = DEFAULT_LIMITS, until: float | None = None) -> list[Message]:
        source, handle = probe(video), anonymous_file()
        slots = Slots.for_frames(source.width, source.height, handle=handle)
        ours, theirs = os.pipe()
        wire = Wire(read_from=ours, write_to=theirs)
        # No more frames than there are slots, so that none is waited for.
        want = Want(fps=5.0, spans=((0.0, 2.0),), picture=(32, "bgr"))
        request: Message = {
            "do": "decode", "source": asdict(source), "wants": [asdict(want)], "state": None, "skip": 0.0, "after": -1.0,
            "settled": None, "until": until, "slots": {"count": slots.count, "size": slots.size},
            "batch": batch,
        }  # fmt: skip
        answer = DecoderServer(wire, json.dumps(asdict(limits)), str(handle)).answer(request)
        assert answer is not None
        wire.send({**answer[0], "done": True})
        messages: list[Message] = []
        while not (messages and "done" in messages[-1]):
            message = wire.receive(timeout=1.0)[0]
            for frame in message.get("frames", ()):
                frame.pop("slot", None)
            messages.extend(message.get("frames", [message]))
        for file in (ours, theirs, handle):
            os.close(file)
        return messages

    return told


BATCHES = pytest.mark.parametrize("batch", [1, 3, 4])


@BATCHES
def test_every_frame_is_sent_and_the_wanted_ones_with_their_picture(tell: Tell, batch: int) -> None:
    messages = tell(batch=batch)
    assert len([message for message in messages if "t" in message]) == 20
    assert len([message for message in messages if "pictures" in message]) == 10
    assert messages == tell(batch=1)


@BATCHES
def test_a_video_longer_than_the_limit_ends_before_the_first_frame_beyond_it(tell: Tell, batch: int) -> None:
    messages = tell(batch=batch, limits=replace(DEFAULT_LIMITS, duration=0.95))
    end = messages[-1]["end"]
    assert messages[-1]["cut"]
    assert (end["last_time"], end["last_time"] + end["last_duration"]) == (pytest.approx(0.9), pytest.approx(0.95))


@BATCHES
def test_nothing_is_sent_after_the_last_frame_that_is_wanted(tell: Tell, batch: int) -> None:
    messages = tell(batch=batch, until=1.0)
    assert messages[-1] == {"stopped": True, "done": True}
    assert max(message["t"] for message in messages if "t" in message) == pytest.approx(1.0)


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p", "yuv420p10le", "nv12", "gray", "rgb24", "yuvj420p"])
@pytest.mark.parametrize(("width", "height"), [(640, 360), (360, 640), (17, 401), (1280, 960), (2, 2), (3000, 2)])
def test_a_frame_of_any_size_and_format_is_fitted_with_its_proportions(
    width: int, height: int, pixel_format: str
) -> None:
    grey = np.full((height, width, 3), 180, np.uint8)
    raw = av.VideoFrame.from_ndarray(grey, format="bgr24").reformat(format=pixel_format)
    fitter = Fitter(640, 480)
    picture = fitter.fit(raw).to_ndarray(format="bgr24")
    assert picture.shape == (480, 640, 3)
    bright = picture.mean(axis=2) > 90
    rows, columns = np.flatnonzero(bright.any(axis=1)), np.flatnonzero(bright.any(axis=0))
    share = min(640 / width, 480 / height)
    assert len(columns) == pytest.approx(max(2, share * width), abs=4)
    assert len(rows) == pytest.approx(max(2, share * height), abs=4)
    assert rows.mean() == pytest.approx(239.5, abs=4) and columns.mean() == pytest.approx(319.5, abs=4)


@pytest.mark.nightly
def test_a_picture_size_that_changes_with_every_frame_leaves_no_filter_graphs_behind() -> None:
    fitter, before = Fitter(64, 48), count_graphs()
    sizes = [(width, 100 - width) for width in range(20, 80, 2)]
    for width, height in [*sizes, *sizes]:
        fitted = fitter.fit(av.VideoFrame(width, height, "yuv420p"))
        assert (fitted.width, fitted.height) == (64, 48)
    assert count_graphs() - before <= 4


def count_graphs() -> int:
    """How many filter graphs there are in this process."""
    gc.collect()
    return sum(isinstance(thing, Graph) for thing in gc.get_objects())
