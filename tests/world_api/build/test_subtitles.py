"""Subtitles beside and inside videos."""

from __future__ import annotations

from pathlib import Path

import pytest

from world_api.build.media.subtitles import find_sidecar, language_of, parse_cues, read_embedded, read_sidecar

SRT = "1\n00:00:01,500 --> 00:00:02,750\nHello <i>there</i>,\n  you.\n\n2\n00:01:00,0 --> 00:01:01,000\n{\\an8}Bye &amp; thanks\n"


def test_times_and_words_of_srt() -> None:
    first, second = parse_cues(SRT)
    assert (first.start, first.end, first.text) == (1.5, 2.75, "Hello there, you.")
    assert (second.start, second.text) == (60.0, "Bye & thanks")


def test_webvtt_with_header_notes_settings_and_voices() -> None:
    text = "WEBVTT - title\n\nNOTE nothing\n\nid\n00:01.000 --> 00:02.000 align:start\n<v Ann>Good <b>day</b>\n"
    (cue,) = parse_cues(text)
    assert (cue.start, cue.end, cue.text, cue.speaker) == (1.0, 2.0, "Good day", "Ann")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_chinese_in_any_usual_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes("1\r\n00:00:01,000 --> 00:00:02,000\r\n你好，世界\r\n".encode(encoding))
    assert [cue.text for cue in read_sidecar(path)] == ["你好，世界"]


def test_bytes_in_no_encoding_survive(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes(b"1\n00:00:01,000 --> 00:00:02,000\ncaf\xe9 \xff\xff\n")
    assert len(read_sidecar(path)) == 1


def test_malformed_cues_are_left_out_and_the_rest_survives() -> None:
    text = (
        "garbage\n\n1\n00:00:05,000 --> 00:00:04,000\nbackwards\n\n2\n00:00:xx --> 00:00:07,000\nno time\n\n"
        "3\n00:00:08,000 --> 00:00:09,000\n\n4\n00:00:10,000 --> 00:00:11,000\ngood\n5\n00:00:12,000 --> 00:00:13,000\nalso good"
    )
    assert [cue.text for cue in parse_cues(text)] == ["good", "also good"]


def test_the_sidecar_is_found_by_stem_and_by_language(tmp_path: Path) -> None:
    video = tmp_path / "film [1].mp4"
    assert find_sidecar(video) is None
    tagged = tmp_path / "film [1].de.srt"
    tagged.touch()
    assert find_sidecar(video) == tagged
    assert language_of(tagged, video) == "de"
    exact = tmp_path / "film [1].vtt"
    exact.touch()
    assert find_sidecar(video) == exact
    (tmp_path / "film [1] extras.srt").touch()
    assert find_sidecar(video) == exact


def test_a_suffix_in_capitals_is_a_suffix(tmp_path: Path) -> None:
    for name in ("film.SRT", "talk.En.VTT"):
        (tmp_path / name).touch()
    assert find_sidecar(tmp_path / "film.mp4") == tmp_path / "film.SRT"
    assert find_sidecar(tmp_path / "talk.mp4") == tmp_path / "talk.En.VTT"


def test_what_the_videos_own_name_ends_in_is_no_language(tmp_path: Path) -> None:
    video = tmp_path / "talk.web.mp4"
    assert language_of(tmp_path / "talk.web.srt", video) == ""
    assert language_of(tmp_path / "talk.web.pt-BR.srt", video) == "pt"


@pytest.mark.parametrize(
    "text", ["Señor García", "Größe, créée à Málaga", "“Ça va?” – naïve façade… £5", "Ångström, Øre og Æble"]
)
def test_accents_of_european_words_are_not_chinese(tmp_path: Path, text: str) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode("cp1252"))
    assert [cue.text for cue in read_sidecar(path)] == [text]


def test_chinese_beside_english_is_chinese(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    text = "今天的花园很安静……“真的” The garden is quiet today"
    path.write_bytes(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode("gb18030"))
    assert [cue.text for cue in read_sidecar(path)] == [text]


@pytest.mark.shared_data
@pytest.mark.media
def test_an_embedded_stream_is_read(shared_data: Path) -> None:
    cues, _ = read_embedded(shared_data / "video" / "decoder_cases" / "nasa_13013.mp4")
    assert all(cue.text and cue.end > cue.start for cue in cues)
    assert cues
