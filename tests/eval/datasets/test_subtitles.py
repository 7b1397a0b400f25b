"""Subtitles that a benchmark keeps in a form of its own reach the world that is built."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from eval.datasets import VideoFile, subtitles_to_build_with
from eval.runs import build_for_run
from tests.support.building import Silent, StandingClock
from tests.support.numbered_film import HEIGHT, WIDTH, drawn
from world_api.core import EvalFault
from world_api.world import open_world


def video(folder: Path, lines: Any, *, begins: float = 0.0) -> VideoFile:
    """A video with a JSON list of lines."""
    path = folder / "v_en.json"
    path.write_text(json.dumps(lines))
    return VideoFile(video_id="v", path=folder / "v.mp4", subtitles=path, subtitles_begin=begins)


def test_lines_without_words_or_times_are_passed_over_and_the_rest_is_in_order(tmp_path: Path) -> None:
    lines = [
        {"start": "00:01:00.5", "end": "00:01:02", "line": "second\nline"},
        {"timestamp": [1, 3.25], "text": "first"},
        {"start": "soon", "end": "later", "line": "never"},
        {"start": "00:00:09.000", "end": "00:00:10.000", "line": " "},
        {"timestamp": [], "text": "nowhere"},
        "no line",
    ]
    path = subtitles_to_build_with(video(tmp_path, lines), tmp_path / "made")
    assert path is not None
    assert path.read_text() == (
        "1\n00:00:01,000 --> 00:00:03,250\nfirst\n\n2\n00:01:00,500 --> 00:01:02,000\nsecond line\n"
    )


def test_a_file_that_a_build_reads_is_given_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "v.srt"
    assert subtitles_to_build_with(VideoFile(video_id="v", subtitles=path), tmp_path) == path
    assert subtitles_to_build_with(VideoFile(video_id="v"), tmp_path) is None


def test_what_is_no_list_of_lines_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvalFault) as caught:
        subtitles_to_build_with(video(tmp_path, {"lines": []}), tmp_path)
    assert caught.value.code == "bad_dataset"


@pytest.mark.media
def test_the_words_are_in_the_world_that_a_run_builds(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "v.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(60):
            frame = av.VideoFrame.from_ndarray(drawn(number), format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    said = video(tmp_path, [{"start": "00:10:01.000", "end": "00:10:03.000", "line": "the kettle boils"}], begins=600.0)
    build_for_run(tmp_path / "store", "classical", said, progress=Silent(), clock=StandingClock())
    rows = open_world(tmp_path / "store" / "classical", "v").rows("speech").to_pylist()
    assert [(row["start"], row["end"], row["text"]) for row in rows] == [(1.0, 3.0, "the kettle boils")]
