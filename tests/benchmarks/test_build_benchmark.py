"""The benchmark of building runs through on any video and says every figure; how large they are is no matter here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from benchmarks.cutting import copy_beginning
from benchmarks.page import replace_section
from world_api.media import DecodePass, probe

pytestmark = [
    pytest.mark.media,
    pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not tell what a process took"),
]

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "build.py"
NUMBER = r"[+-]?[\d,]+(?:\.\d+)?"
FIGURES = [
    r"Machine: \d+ cores, .+, Python 3\.\d+",
    r"Versions: av .+ scenedetect-headless .+",
    rf"whole classical build, no screen text, no speech \| {NUMBER} \| {NUMBER}",
    rf"PySceneDetect's own command \(`list-scenes -n -q`\) \| {NUMBER} \| {NUMBER}",
    rf"PyAV alone: decode, bring down, convert \| {NUMBER} \| {NUMBER}",
    rf"Build over PySceneDetect's command: {NUMBER} \(goal: at most 1\.5; (?:met|missed)\)",
    rf"Build over decoding alone: {NUMBER}",
    *(rf"\| {stage} \| {NUMBER} \| {NUMBER} \|" for stage in ("cuts", "looks", "key_frames", "moving_things")),
    rf"Screen text: {NUMBER} seconds a frame read, {NUMBER} frames read a minute of video",
    rf"Most memory, first 3 seconds of .+: {NUMBER} MiB",
    rf"Most memory, all of it: {NUMBER} MiB \({NUMBER} %; goal: within 15 %; (?:met|missed)\)",
]


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """Six seconds, two shots."""
    path = tmp_path / "two shots.mp4"
    shots = [np.random.default_rng(seed).integers(0, 255, (9, 16, 3), np.uint8) for seed in (1, 2)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"preset": "veryfast", "g": "10"})
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for number in range(60):
            picture = shots[number // 30].repeat(10, axis=0).repeat(10, axis=1)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.mark.nightly
def test_one_run_says_every_figure_and_writes_them_on_the_page(video: Path, tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("# How fast it is\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), str(video), "--repeat", "1", "--long", str(video), "--first", "3",
         "--page", str(page)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert [figure for figure in FIGURES if not re.search(figure, ran.stdout)] == []
    assert page.read_text(encoding="utf-8").startswith(
        "# How fast it is\n\n<!-- begin: written by benchmarks/build.py -->"
    )
    assert ran.stdout.strip() in page.read_text(encoding="utf-8")


def test_a_video_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "gone.mp4")], capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert "gone.mp4" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_beginning_of_a_video_is_copied_and_no_more(video: Path, tmp_path: Path) -> None:
    copy = copy_beginning(video, tmp_path / "copy.mp4", seconds=3.0)
    decode = DecodePass(source=probe(copy))
    assert sum(1 for _ in decode) == pytest.approx(30, abs=4)


def test_a_section_takes_the_place_of_the_old_one_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nBefore.\n", encoding="utf-8")
    replace_section(page, "one.py", "old")
    replace_section(page, "two.py", "other")
    replace_section(page, "one.py", "new")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Page\n\nBefore.\n")
    assert "old" not in text
    assert text.index("new") < text.index("other")
    assert text.count("<!--") == 4
