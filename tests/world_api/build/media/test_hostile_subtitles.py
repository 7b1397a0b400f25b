"""Subtitles that are damaged, endless, or made to stall whoever reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.subtitle_files import cues_of, srt, video_with
from world_api.core import Image
from world_api.media.subtitles import choose_subtitles, decode, parse_cues, read_stream, read_subtitles

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


def test_of_more_cues_than_a_video_has_time_for_the_first_are_taken_and_that_is_said(tmp_path: Path) -> None:
    video = video_with(tmp_path / "film.mkv")
    (tmp_path / "film.srt").write_text(many(2001, apart=0.001))
    chosen = choose_subtitles(video)
    assert [cue.text for cue in chosen.cues] == [f"line {n}" for n in range(2000)]
    assert [loss.code for loss in chosen.losses] == ["subtitles_cut"]


def test_a_long_video_may_have_more_cues_and_none_has_more_than_there_could_be(
    tmp_path: Path, make_video: Callable[..., Path]
) -> None:
    picture: list[Image] = [np.zeros((48, 64, 3), np.uint8)] * 2
    video = make_video("film.mp4", picture, times=[0.0, 150.0])
    (tmp_path / "film.srt").write_text(many(2500, apart=0.06))
    chosen = choose_subtitles(video)
    assert (len(chosen.cues), chosen.losses) == (2500, ())
    (tmp_path / "film.srt").write_text(many(50_001, apart=0.06))
    read = read_subtitles(tmp_path / "film.srt")
    assert (len(read.cues), read.is_cut) == (50_000, True)
