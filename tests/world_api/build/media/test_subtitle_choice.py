"""Which of a video's subtitles are taken, and how those inside it are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.subtitle_files import srt, video_with
from world_api.core import MediaFault
from world_api.media import subtitles
from world_api.media.decoder import MediaWorker
from world_api.media.subtitles import (
    CueList,
    SubtitleSource,
    choose_subtitles,
    find_sidecars,
    look_inside,
    read_stream,
)


def test_a_link_to_another_folder_is_not_followed_unless_named(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    secret = tmp_path / "elsewhere" / "secret.srt"
    secret.write_bytes(srt("secret"))
    video = video_with(tmp_path / "here" / "film.mkv")
    (tmp_path / "here" / "film.srt").symlink_to(secret)
    chosen = choose_subtitles(video)
    assert (chosen.cues, [loss.code for loss in chosen.losses]) == ((), ["subtitles_elsewhere"])
    assert [cue.text for cue in choose_subtitles(video, str(tmp_path / "here" / "film.srt")).cues] == ["secret"]


def test_pipes_folders_and_dangling_links_are_no_subtitles(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv")
    os.mkfifo(tmp_path / "film.srt")
    (tmp_path / "film.vtt").mkdir()
    (tmp_path / "film.ass").symlink_to(tmp_path / "gone.ass")
    assert choose_subtitles(video).source is None


def test_sidecars_are_found_by_name_and_language(tmp_path: Path) -> None:
    video = tmp_path / "film [1].mp4"
    assert find_sidecars(video) == ([], [])
    names = {
        "film [1].vtt": "", "film [1].SRT": "", "film [1].de.srt": "de", "film [1].zh-Hans-CN.ass": "zh", "film [1].chs.srt": "zh",
        "film [1].En.forced.srt": "en", "film [1].pt_BR.srt": "pt", "film [1].eng.ssa": "en",
    }  # fmt: skip
    for name in [*names, "film [1] extras.srt", "film [1].director.cut.srt", "film.srt", "film [1].txt"]:
        (tmp_path / name).touch()
    found, _ = find_sidecars(video)
    assert {source.name: source.language for source in found} == names
    assert [source.name for source in found][:2] == ["film [1].SRT", "film [1].vtt"]
    assert [source.name for source in found if source.is_partial] == ["film [1].En.forced.srt"]


def test_what_the_videos_own_name_ends_in_is_no_language(tmp_path: Path) -> None:
    for name in ("talk.web.srt", "talk.web.pt-BR.srt"):
        (tmp_path / name).touch()
    found, _ = find_sidecars(tmp_path / "talk.web.mp4")
    assert [source.language for source in found] == ["", "pt"]


def test_a_file_with_the_videos_very_name_comes_first(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"inside")], sound="eng")
    for name, word in (("film.en.srt", "english"), ("film.srt", "plain"), ("film.aa.srt", "afar")):
        (tmp_path / name).write_bytes(srt(word))
    chosen = choose_subtitles(video)
    assert chosen.source is not None
    assert (chosen.source.name, chosen.why, chosen.cues[0].text) == ("film.srt", "it has the video's name", "plain")


def test_then_comes_the_language_of_the_sound(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"inside")], sound="eng")
    (tmp_path / "film.de.srt").write_bytes(srt("deutsch"))
    chosen = choose_subtitles(video)
    assert (chosen.language, chosen.why) == ("en", "it is in the language of the sound")
    assert [cue.text for cue in chosen.cues] == ["inside"]


def test_then_comes_the_first_and_what_is_partial_is_last(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "fre", b"dedans")], sound="jpn")
    (tmp_path / "film.de.forced.srt").write_bytes(srt("schild"))
    assert choose_subtitles(video).language == "fr"
    (tmp_path / "film.zh.srt").write_bytes(srt("你好"))
    assert choose_subtitles(video).language == "zh"


def test_what_holds_no_cue_is_passed_over_and_noted(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"inside")])
    (tmp_path / "film.srt").write_text("1\n00:00:05,000 --> 00:00:04,000\nbackwards\n")
    chosen = choose_subtitles(video)
    assert [cue.text for cue in chosen.cues] == ["inside"]
    assert [loss.code for loss in chosen.losses] == ["subtitles_damaged", "subtitles_empty"]


@pytest.mark.parametrize(("wanted", "words"), [("en", "inside"), ("ENG", "inside"), ("zh", "里面"), ("none", None)])
def test_a_language_can_be_wanted(tmp_path: Path, wanted: str, words: str | None) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "chi", "里面".encode()), ("subrip", "eng", b"inside")])
    cues = choose_subtitles(video, wanted).cues
    assert [cue.text for cue in cues] == ([] if words is None else [words])


def test_a_language_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"inside")])
    with pytest.raises(MediaFault, match=r"stream 1 \(en\)") as caught:
        choose_subtitles(video, "sv")
    assert caught.value.code == "no_such_subtitles"
    with pytest.raises(MediaFault, match="no subtitle file"):
        choose_subtitles(video, str(tmp_path / "gone.srt"))


@pytest.mark.parametrize(
    ("container", "codec", "data", "words", "speaker"),
    [
        ("matroska", "subrip", b"Good <i>day</i>", "Good day", ""),
        ("matroska", "ass", b"0,0,Default,Ann,0,0,0,,{\\an8}Good\\Nday{\\p1}m 0 0{\\p0}", "Good day", "Ann"),
        ("matroska", "webvtt", b"Good <b>day</b>", "Good day", ""),
        ("mp4", "mov_text", b"\x00\x08Good day", "Good day", ""),
        ("mp4", "mov_text", b"\x00\x12\xfe\xff" + "Good day".encode("utf-16-be"), "Good day", ""),
        ("mp4", "mov_text", b"\x00\x06\xff\xfe" + "你好".encode("utf-16-le"), "你好", ""),
    ],
)
def test_every_kind_of_text_stream_is_read(
    tmp_path: Path, container: str, codec: str, data: bytes, words: str, speaker: str
) -> None:
    video = video_with(tmp_path / "film.bin", [(codec, "eng", data)], container=container)
    (source,) = look_inside(video).texts
    (cue,) = read_stream(source.path, source.stream).cues
    assert (cue.text, cue.speaker, source.language) == (words, speaker, "en")
    assert (cue.start, cue.end) == pytest.approx((0.2, 0.7), abs=0.01)


@pytest.mark.parametrize("code", ["decoder_died", "decoder_stalled"])
def test_a_stream_that_stops_its_decoder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"first"), ("subrip", "fre", b"second")], sound="eng")
    read = subtitles.read_source

    def dies_of_the_first(source: SubtitleSource, film: Path, worker: MediaWorker) -> CueList:
        if source.language == "en":
            raise MediaFault(code, "the decoder came to a halt", hint="none")
        return read(source, film, worker)

    monkeypatch.setattr(subtitles, "read_source", dies_of_the_first)
    chosen = choose_subtitles(video)
    assert [cue.text for cue in chosen.cues] == ["second"]
    assert [(loss.code, "came to a halt" in loss.message) for loss in chosen.losses] == [("subtitles_damaged", True)]
    assert choose_subtitles(video, "en").source is None


def test_other_faults_of_a_stream_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"words")])

    def is_gone(source: SubtitleSource, film: Path, worker: MediaWorker) -> CueList:
        raise MediaFault("source_missing", "the video is gone", hint="none")

    monkeypatch.setattr(subtitles, "read_source", is_gone)
    with pytest.raises(MediaFault, match="gone"):
        choose_subtitles(video)


def test_reading_a_stream_shows_life_though_its_words_come_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtitles, "_PACKETS", 2)
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"words")])
    signs: list[None] = []
    read = read_stream(video, 1, lambda: signs.append(None))
    assert [cue.text for cue in read.cues] == ["words"]
    assert len(signs) >= 3  # of five frames of picture and one event


@pytest.mark.shared_data
@pytest.mark.media
def test_a_real_embedded_stream_is_read(shared_data: Path) -> None:
    video = shared_data / "video" / "decoder_cases" / "nasa_13013.mp4"
    cues = read_stream(video, look_inside(video).texts[0].stream).cues
    assert cues
    assert all(cue.text and cue.end > cue.start for cue in cues)
