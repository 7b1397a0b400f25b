"""Subtitles beside and inside videos: their words, times and encodings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.subtitle_files import ASS, SRT, cues_of, srt, video_with
from world_api.media import choose_subtitles, read_subtitles
from world_api.media.subtitles import decode


def test_times_and_words_of_srt() -> None:
    first, second = cues_of(SRT)
    assert (first.start, first.end, first.text) == (1.5, 2.75, "Hello there, you.")
    assert (second.start, second.text) == (60.0, "Bye & thanks")


def test_webvtt_with_header_notes_settings_and_voices() -> None:
    text = "WEBVTT - title\n\nNOTE nothing\n\nid\n00:01.000 --> 00:02.000 align:start\n<v Ann>Good <b>day</b>\n"
    (cue,) = cues_of(text)
    assert (cue.start, cue.end, cue.text, cue.speaker) == (1.0, 2.0, "Good day", "Ann")


def test_ass_gives_words_and_speakers_but_no_drawings_and_no_comments(tmp_path: Path) -> None:
    path = tmp_path / "film.ass"
    path.write_text(ASS)
    read = read_subtitles(path)
    assert [(cue.start, cue.end, cue.text, cue.speaker) for cue in read.cues] == [
        (1.0, 2.5, "Good day, you all", "Ann"),
        (432005.0, 432006.0, "late words", ""),
    ]
    assert read.left_out == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030"])
def test_chinese_in_any_usual_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes("1\r\n00:00:01,000 --> 00:00:02,000\r\n你好，世界\r\n".encode(encoding))
    assert [cue.text for cue in read_subtitles(path).cues] == ["你好，世界"]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("big5", "這個花園今天很安靜，我們都在這裡等你"),
        ("big5hkscs", "佢哋喺呢個花園度等你，今日好靜，我哋都喺度，嘅"),
        ("gb18030", "这个花园今天很安静，我们都在这里等你"),
        ("cp932", "今日の庭はとても静かですね"),
        ("cp949", "오늘 정원은 아주 조용합니다"),
        ("cp1252", "Größe, créée à Málaga"),
    ],
)
def test_other_encodings_are_told_apart(encoding: str, text: str) -> None:
    assert decode(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode(encoding)).count(text) == 1


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "你好，世界"),
        ("utf-8", "Größe, créée à Málaga"),
        ("big5", "這個花園今天很安靜，我們都在這裡等你"),
        ("big5hkscs", "佢哋喺呢個花園度等你，今日好靜，我哋都喺度"),
        ("gb18030", "这个花园今天很安静，我们都在这里等你"),
        ("cp932", "今日の庭はとても静かですね"),
        ("cp949", "오늘 정원은 아주 조용합니다"),
        ("cp1252", "“Größe”, créée à Málaga"),
    ],
)
@pytest.mark.parametrize("bad", [b"\xff", b"\x81", b"\x81\n\x8d"])
@pytest.mark.parametrize("is_before", [True, False])
def test_a_damaged_byte_damages_nothing_else(encoding: str, text: str, bad: bytes, is_before: bool) -> None:
    good = (f"00:01.000 --> 00:02.000\n{text}\n\n" * 3).encode(encoding)
    worse = b"00:00.500 --> 00:00.900\nhm " + bad + b"\n\n"
    decoded = decode(worse + good if is_before else good + worse)
    assert decoded.count(text) == 3


def test_of_damaged_characters_it_is_said_how_many(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv")
    (tmp_path / "film.srt").write_bytes(srt("Größe, créée à Málaga", "hm").replace(b"hm", b"h\xffm"))
    chosen = choose_subtitles(video)
    assert [cue.text for cue in chosen.cues] == ["Größe, créée à Málaga", "h\ufffdm"]
    (loss,) = chosen.losses
    assert (loss.code, "1 character" in loss.message) == ("subtitles_damaged", True)


def test_bytes_in_no_encoding_survive(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes(b"1\n00:00:01,000 --> 00:00:02,000\ncaf\xe9 \xff\xff\n")
    assert len(read_subtitles(path).cues) == 1


@pytest.mark.parametrize(
    "text", ["Señor García", "Größe, créée à Málaga", "“Ça va?” – naïve façade… £5", "Ångström, Øre og Æble"]
)
def test_accents_of_european_words_are_not_chinese(text: str) -> None:
    assert text in decode(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode("cp1252"))


def test_chinese_beside_english_is_chinese() -> None:
    text = "今天的花园很安静……“真的” The garden is quiet today"
    assert text in decode(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode("gb18030"))
