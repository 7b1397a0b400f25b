"""Subtitles beside and inside videos: their words, times and encodings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.support.subtitle_files import ASS, SRT, cues_of, srt, video_with
from world_api.core import MediaFault
from world_api.media import subtitles
from world_api.media.decoder import MediaWorker
from world_api.media.subtitles import (
    CueList,
    SubtitleSource,
    choose_subtitles,
    decode,
    find_sidecars,
    look_inside,
    parse_cues,
    read_stream,
    read_subtitles,
)


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

    def dies_of_the_first(source: SubtitleSource, worker: MediaWorker) -> CueList:
        if source.language == "en":
            raise MediaFault(code, "the decoder came to a halt", hint="none")
        return read(source, worker)

    monkeypatch.setattr(subtitles, "read_source", dies_of_the_first)
    chosen = choose_subtitles(video)
    assert [cue.text for cue in chosen.cues] == ["second"]
    assert [(loss.code, "came to a halt" in loss.message) for loss in chosen.losses] == [("subtitles_damaged", True)]
    assert choose_subtitles(video, "en").source is None


def test_other_faults_of_a_stream_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = video_with(tmp_path / "film.mkv", [("subrip", "eng", b"words")])

    def is_gone(source: SubtitleSource, worker: MediaWorker) -> CueList:
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


#: Text that makes careless patterns go over it again and again; a quadratic one would need many minutes for it.
SLOW = ["<v" + " " * 3_000_000, "<v.a" * 700_000, "<v " * 700_000, "{\\" * 700_000, "{\\p1" * 700_000, "<b" * 1_000_000]
SLOW += ["&#" * 1_000_000, "&" + "a" * 3_000_000, " " * 3_000_000 + "-->", "1:" * 1_000_000 + "-->"]


@pytest.mark.parametrize("nasty", SLOW, ids=lambda text: repr(text[:6]))
def test_a_megabyte_of_what_is_nearly_markup_is_read_in_one_go(nasty: str) -> None:
    event = f"[Events]\nDialogue: 0,0:00:01.00,0:00:02.50,D,{nasty},0,0,0,,{nasty}\nDialogue: {nasty}\n"
    for text in (f"00:01.000 --> 00:02.000\n{nasty}\n", f"{nasty}\n00:01.000 --> 00:02.000\na", event):
        cues = cues_of(text)
        assert all(len(cue.text) <= 2000 and len(cue.speaker) <= 200 for cue in cues)


def test_of_endless_nonsense_a_bounded_number_is_parsed_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes(srt("hello") + b"-->\n" * 3_000_000)
    read = read_subtitles(path)
    assert [cue.text for cue in read.cues] == ["hello"]
    assert read.left_out <= 100_000
    assert read.is_cut


def test_of_endless_lines_the_first_are_read_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes(srt("hello") + b"\n" * 5_000_000 + srt("far below"))
    read = read_subtitles(path)
    assert ([cue.text for cue in read.cues], read.is_cut) == (["hello"], True)


def test_who_speaks_is_told_whatever_space_stands_before_the_name() -> None:
    text = "00:01.000 --> 00:02.000\n<v.loud   Ann  Lee>Good day\n\n00:03.000 --> 00:04.000\n<v >Nobody\n"
    assert [(cue.speaker, cue.text) for cue in cues_of(text)] == [("Ann Lee", "Good day"), ("", "Nobody")]


@given(st.binary(max_size=400))
def test_no_bytes_are_refused(data: bytes) -> None:
    assert all(cue is None or (cue.text and cue.end > cue.start) for cue in parse_cues(decode(data)))


NASTY = st.lists(
    st.sampled_from(
        [
            *(
                "&#",
                "&#x",
                "9" * 5000,
                "f" * 5000,
                ";",
                "{\\p",
                "}",
                "<v",
                "<v.",
                ">",
                "<",
                " ",
                "\n",
                "\r",
                "-->",
                "word",
            ),
            *(
                "1" * 5000,
                "0:00:01.00",
                "00:01.000 --> 00:02.000\n",
                "[Events]\n",
                "Format: Start, End, Text\n",
                "\u0661",
            ),
            *(
                "Dialogue: 0,0:00:01.00,0:00:02.00,,,,,,,",
                "Dialogue: ",
                ",",
                ":",
                "\ud800",
                "&lt;",
                "\\N",
                "\u00b2",
                "\x00",
            ),
        ]
    ),
    max_size=40,
).map("".join)


@given(NASTY, st.booleans())
def test_no_text_is_refused(text: str, is_timed: bool) -> None:
    head = "00:01.000 --> 00:02.000\n" if is_timed else "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,,,,,,,"
    assert all(cue is None or (cue.text and cue.end > cue.start) for cue in parse_cues(head + text))


@pytest.mark.parametrize(
    "words", ["before &#" + "9" * 5000 + "; after", "before{\\p" + "9" * 5000 + "}m 0 0{\\p0} after"]
)
def test_numbers_too_long_to_read_do_not_spoil_a_cue(tmp_path: Path, words: str) -> None:
    body = f"0,0,Default,,0,0,0,,{words}".encode()
    video = video_with(tmp_path / "film.mkv", [("ass", "eng", body)])
    (tmp_path / "film.ass").write_text(f"[Events]\nDialogue: 0,0:00:01.00,0:00:02.50,D,,0,0,0,,{words}\n")
    for read in (read_subtitles(tmp_path / "film.ass"), read_stream(video, 1)):
        (cue,) = read.cues
        assert cue.text.startswith("before")
        assert cue.text.endswith("after")
        assert "99" not in cue.text


def test_malformed_cues_are_left_out_and_counted_and_the_rest_survives() -> None:
    text = (
        "garbage\n\n1\n00:00:05,000 --> 00:00:04,000\nbackwards\n\n2\n00:00:xx --> 00:00:07,000\nno time\n\n"
        "3\n00:00:08,000 --> 00:00:09,000\n\n4\n00:00:10,000 --> 00:00:11,000\ngood\n5\n00:00:12.000 --> 00:00:13.000\nalso good\n\n"
        "6\n00:00:14,000 --> 99:00:00,000\nfor days\n\n7\n-00:00:03,000 --> -00:00:02,000\nbefore all\n"
    )
    assert [cue.text for cue in cues_of(text)] == ["good", "also good"]
    assert list(parse_cues(text)).count(None) == 5


def test_cues_out_of_order_and_said_twice_come_in_order_and_once(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    body = "\n\n".join(
        f"{n}\n00:00:0{t},000 --> 00:00:0{t + 2},000\n{word}" for n, t, word in [(1, 5, "b"), (2, 4, "a")] * 2
    )
    path.write_text(body)
    assert [cue.text for cue in read_subtitles(path).cues] == ["a", "b"]


def test_hours_beyond_ninety_nine_are_hours() -> None:
    (cue,) = cues_of("1\n123:00:05,000 --> 123:00:06,000\nfar\n")
    assert cue.start == 123 * 3600 + 5


def test_a_huge_line_and_null_bytes_are_cut_down(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_bytes(b"\x00".join([b"1\n00:00:01,000 --> 00:00:02,000\n", b"word " * 100_000]))
    (cue,) = read_subtitles(path).cues
    assert cue.text.startswith("word word")
    assert len(cue.text) <= 2000


def test_of_a_huge_file_the_beginning_is_read_and_that_is_said(tmp_path: Path, make_video: Callable[..., Path]) -> None:
    video = video_with(tmp_path / "film.mkv")
    with (tmp_path / "film.srt").open("wb") as file:
        file.write(srt("hello"))
        file.truncate(1_000_000_000)  # sparse: a gigabyte of nothing
    chosen = choose_subtitles(video)
    assert [cue.text for cue in chosen.cues] == ["hello"]
    assert [loss.code for loss in chosen.losses] == ["subtitles_cut"]


def many(number: int, *, apart: float) -> str:
    """So many cues, one every so many seconds."""

    def clock(time: float) -> str:
        minutes, seconds = divmod(time, 60)
        return f"{int(minutes) // 60:02d}:{int(minutes) % 60:02d}:{seconds:06.3f}"

    return "".join(f"{clock(n * apart)} --> {clock(n * apart + 0.5)}\nline {n}\n\n" for n in range(number))


def test_none_has_more_cues_than_there_could_be(tmp_path: Path) -> None:
    (tmp_path / "film.srt").write_text(many(50_001, apart=0.06))
    read = read_subtitles(tmp_path / "film.srt")
    assert (len(read.cues), read.is_cut) == (50_000, True)
