"""The decoding process opens a file once for each request, and within the limits of whoever asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import av
import pytest

from tests.support.building import Silent, StandingClock
from tests.support.subtitle_files import video_with
from world_api.api import build_world
from world_api.core import MediaFault, TimeSpan
from world_api.media import SubtitleSource, choose_subtitles
from world_api.media.container import DEFAULT_LIMITS, Limits, probe
from world_api.media.decoder import MediaWorker, VideoSound
from world_api.media.decoder_server import DecoderServer
from world_api.media.process import Wire
from world_api.media.subtitles import read_source
from world_api.options import BuildOptions, Listening
from world_api.recipes import speech_stage
from world_api.world import open_world

pytestmark = pytest.mark.media

#: A picture and two text streams are three streams; with sound they are four.
TEXTS = (("subrip", "eng", b"first"), ("subrip", "fre", b"second"))
FEW = Limits(streams=2)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    return video_with(tmp_path / "film.mkv", TEXTS, sound="eng")


def test_a_video_is_opened_once_to_look_inside(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = av.open

    def counted(file: str, *arguments: object, **options: object) -> object:
        opened.append(file)
        return real(file, *arguments, **options)  # type: ignore[call-overload]  # av's own

    monkeypatch.setattr(av, "open", counted)
    ours, theirs = os.pipe()
    wire = Wire(read_from=ours, write_to=theirs)
    answer = DecoderServer(wire, json.dumps(DEFAULT_LIMITS.record()), "-1").answer({"do": "texts", "path": str(film)})
    os.close(ours)
    os.close(theirs)
    assert answer is not None
    message, _ = answer
    assert opened == [f"file:{film}"]
    assert [text["language"] for text in message["texts"]] == ["en", "fr"]
    assert (message["has_sound"], message["language"]) == (True, "en")


def texts(film: Path, limits: Limits) -> None:
    with closing(MediaWorker(limits)) as worker:
        choose_subtitles(film, worker=worker)


def cues(film: Path, limits: Limits) -> None:
    source = SubtitleSource(kind="embedded", name="stream 2", language="en", path=film, stream=2)
    with closing(MediaWorker(limits)) as worker:
        read_source(source, film, worker)


def sound(film: Path, limits: Limits) -> None:
    with closing(VideoSound(probe(film), limits=limits)) as hear:
        hear(TimeSpan(start=0.0, end=1.0))


def words_of_a_recipe(film: Path, limits: Limits) -> None:
    with closing(MediaWorker(limits)) as worker:
        speech_stage(film, Listening(speech="off"), worker)


@pytest.mark.parametrize("ask", [texts, cues, sound, words_of_a_recipe])
def test_what_is_asked_for_is_read_within_the_limits_that_were_given(
    film: Path, ask: Callable[[Path, Limits], None]
) -> None:
    ask(film, DEFAULT_LIMITS)
    with pytest.raises(MediaFault) as caught:
        ask(film, FEW)
    assert caught.value.code == "too_many_streams"


def test_a_build_with_wider_limits_reads_the_words_of_a_file_that_the_usual_ones_refuse(tmp_path: Path) -> None:
    many = [("subrip", "eng", f"line {number}".encode()) for number in range(DEFAULT_LIMITS.streams)]
    film = video_with(tmp_path / "many.mkv", many)
    options = BuildOptions(
        listening=Listening(speech="off"), limits=Limits(streams=len(many) + 1),
        without=("screen_texts", "moving_things", "stitches", "look_links"),
    )  # fmt: skip
    store = tmp_path / "store"
    report = build_world(film, store, progress=Silent(), clock=StandingClock(), options=options)
    assert open_world(store, report.video_id).rows("speech").column("text").to_pylist() == ["line 0"]
