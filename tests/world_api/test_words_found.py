"""Chinese words, said and written, are found by search; the world says where they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.building import Silent
from world_api import SystemClock
from world_api.api import build_world, open_session
from world_api.commands.worlds import inspection, inspection_text
from world_api.operations import run
from world_api.options import BuildOptions, Listening

SAID = "我们明天在花园里见面"


def found(store: Path, query: str) -> list[dict[str, Any]]:
    session = open_session(store, "film", name=None)
    result = run(session, "search_segments_by_text", {"video_id": "film", "query": query, "top_k": 3})
    candidates: list[dict[str, Any]] = result["candidates"]
    return candidates


@pytest.fixture
def film(make_film: Callable[[], Path]) -> Path:
    """Twelve grey seconds with subtitles in Chinese (GB 18030) and English."""
    path = make_film()
    chinese = (
        f"1\r\n00:00:02,000 --> 00:00:04,000\r\n今天很安静\r\n\r\n2\r\n00:00:08,000 --> 00:00:10,000\r\n{SAID}\r\n"
    )
    path.with_suffix(".zh.srt").write_bytes(chinese.encode("gb18030"))
    path.with_suffix(".en.srt").write_text("1\n00:00:08,000 --> 00:00:10,000\nWe meet in the garden tomorrow\n")
    return path


@pytest.fixture
def make_film(tmp_path: Path) -> Callable[[], Path]:
    from fractions import Fraction

    import av

    def make() -> Path:
        path = tmp_path / "film.mp4"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("libx264", rate=5)
            stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
            for number in range(60):
                frame = av.VideoFrame.from_ndarray(np.full((90, 160, 3), 90 + number // 30, np.uint8), format="bgr24")
                frame.pts, frame.time_base = number, Fraction(1, 5)
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return path

    return make


def built(film: Path, tmp_path: Path, subtitles: str) -> Path:
    store = tmp_path / "worlds"
    options = BuildOptions(listening=Listening(subtitles=subtitles))
    build_world(film, store, progress=Silent(), clock=SystemClock(), options=options)
    return store


@pytest.mark.media
def test_chinese_subtitles_are_found_by_chinese_words(film: Path, tmp_path: Path) -> None:
    store = built(film, tmp_path, "zh")
    best = found(store, "花园见面")[0]
    assert best["start_time"] <= 8.0 < best["end_time"]
    assert (best["snippet"], best["source"]) == (SAID, "speech")


@pytest.mark.media
def test_the_world_says_which_subtitles_it_holds(film: Path, tmp_path: Path) -> None:
    session = open_session(built(film, tmp_path, "en"), "film", name=None)
    assert [(line.text, line.language, line.source) for line in session.view.speech] == [
        ("We meet in the garden tomorrow", "en", "sidecar")
    ]
    record = inspection(session.view.world, None)
    assert record["words_from"] == "subtitles film.en.srt: its language was wanted"
    assert record["words_from"] in inspection_text(record)


@pytest.mark.media
def test_subtitles_that_gave_no_line_are_not_said_to_give_the_words(film: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.srt"
    wrong.write_text(
        "1\n00:00:02,000 --> 00:00:01,000\nback\n\n2\n99:00:00,000 --> 99:00:01,000\nfar\n\n"
        "3\n00:00:01,000 --> zz\nno\n\n4\n00:00:20,000 --> 00:00:21,000\nin the last clip, after the end\n"
    )
    record = inspection(open_session(built(film, tmp_path, str(wrong)), "film", name=None).view.world, None)
    assert record["speech"] == []
    assert record["words_from"] == ""
    assert [loss["code"] for loss in record["losses"]] == ["subtitles_damaged", "subtitles_outside"]
    assert all("2 cues were left out of wrong.srt" in loss["message"] for loss in record["losses"])


def recognised(start: float, end: float, text: str) -> dict[str, Any]:
    return {
        "start": start, "end": end, "text": text, "speaker": "", "language": "en", "source": "recognised", "confidence": 0.3,
        "known_at": end, "producer": "made/1",
    }  # fmt: skip


def word(line: float, start: float, text: str, known_at: float) -> dict[str, Any]:
    times = {"line_start": line, "start": start, "end": start + 0.5}
    return {**times, "word": text, "confidence": 0.4, "known_at": known_at, "producer": "made/1"}


def test_recognised_lines_carry_their_words_and_are_marked(make_world: Any) -> None:
    world = make_world(
        {
            "speech": [recognised(2.0, 4.0, "hello there")],
            "words": [word(2.0, 2.0, "hello", 4.0), word(2.0, 2.6, "there", 4.0), word(9.0, 9.0, "other", 10.0)],
        }
    )
    session = open_session(make_world.store, "made", name=None)
    (line,) = session.view.speech
    assert [(item.text, item.span.start) for item in line.words] == [("hello", 2.0), ("there", 2.6)]
    assert "hello there  (recognised, 30% sure)" in inspection_text(inspection(world, None))


def test_words_that_are_known_later_are_not_told_behind_a_cut(make_world: Any) -> None:
    make_world(
        {
            "speech": [recognised(2.0, 4.0, "hello there")],
            "words": [word(2.0, 2.0, "hello", 4.0), word(2.0, 2.6, "there", 9.0)],
        }
    )
    for as_of, expected in ((5.0, ["hello"]), (9.0, ["hello", "there"]), (None, ["hello", "there"])):
        (line,) = open_session(make_world.store, "made", as_of=as_of, name=None).view.speech
        assert [item.text for item in line.words] == expected


def test_chinese_on_the_screen_is_found_by_chinese_words(make_world: Any) -> None:
    box = {"x1": 0, "y1": 0, "x2": 90, "y2": 20, "confidence": 0.9, "producer": "made/1"}
    make_world({"screen_texts": [{"time": 12.0, "text": "第三章 花园", "known_at": 12.0, **box}]})
    session = open_session(make_world.store, "made", name=None)
    result = run(session, "search_segments_by_text", {"video_id": "made", "query": "花园", "top_k": 3})
    best = result["candidates"][0]
    assert (best["source"], best["snippet"]) == ("screen_text", "第三章 花园")
    assert best["start_time"] <= 12.0 < best["end_time"]
