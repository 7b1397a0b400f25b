"""A frame asked for at a time is the one that a pass through the video shows at that time, pixel by pixel."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from world_api.core import Image
from world_api.media import DecodePass, VideoFrames, probe

pytestmark = pytest.mark.media

#: Times leave the API rounded to milliseconds, so a frame counts as begun half of one early.
BEGUN = 5e-4


def check_random_access(path: Path, *, asked: int) -> None:
    decode = DecodePass(source=probe(path))
    shown = [(frame.time, frame.picture()) for frame in decode]
    draw = random.Random(path.name)
    times = [draw.uniform(0.0, decode.state.duration + 0.2) for _ in range(asked)]
    numbers = [max(0, sum(start <= time + BEGUN for start, _ in shown) - 1) for time in times]
    with closing(VideoFrames(path)) as frames:
        for time, number in zip(times, numbers, strict=True):
            assert np.array_equal(frames.pictures_played_at([time], None)[0], shown[number][1]), (
                path.name,
                time,
                number,
            )
        together = frames.pictures_played_at(sorted(times), None)
    for time, number, picture in zip(sorted(times), sorted(numbers), together, strict=True):
        assert np.array_equal(picture, shown[number][1]), (path.name, time, number)


# Real files: rotated, variable rate, late start, ten and twelve bits, odd sizes, no duration, a hidden first key frame.


def decoder_cases() -> list[str]:
    folder = Path(__file__).resolve().parents[4] / "shared" / "data" / "video" / "decoder_cases"
    return sorted(path.name for path in folder.glob("*") if path.suffix in {".mp4", ".mkv", ".webm"})


@pytest.mark.shared_data
@pytest.mark.parametrize("name", decoder_cases())
def test_real_files_show_the_frame_of_the_pass(shared_data: Path, name: str) -> None:
    check_random_access(shared_data / "video" / "decoder_cases" / name, asked=5)


# Made files: what encoders and containers do with frame order and clocks.


@dataclass(frozen=True, kw_only=True)
class Made:
    """How a file is made; ``times`` are the seconds at which its frames begin."""

    name: str
    codec: str = "libx264"
    options: dict[str, str] = field(default_factory=dict)
    container: dict[str, str] = field(default_factory=dict)
    clock: int = 1000
    key_frames: int = 25
    times: Sequence[float] = tuple(number / 10 for number in range(120))

    def encode(self, folder: Path) -> Path:
        path = folder / self.name
        with av.open(str(path), "w", options=self.container) as container:
            stream: Any = container.add_stream(self.codec, rate=10, options=self.options)
            stream.width, stream.height, stream.pix_fmt, stream.gop_size = 160, 96, "yuv420p", self.key_frames
            stream.codec_context.thread_count = 1
            stream.time_base = stream.codec_context.time_base = Fraction(1, self.clock)
            for number, time in enumerate(self.times):
                frame = av.VideoFrame.from_ndarray(moving(number), format="bgr24")
                frame.pts, frame.time_base = round(time * self.clock), Fraction(1, self.clock)
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return path


def moving(number: int) -> Image:
    """Blocks that move, other ones every seven frames, under a bar of ten bits that says the number."""
    blocks = np.random.default_rng(number // 7).integers(0, 255, (6, 10, 3)).repeat(16, axis=0).repeat(16, axis=1)
    picture = np.roll(blocks, 3 * number, axis=1)
    for bit in range(10):
        picture[:12, bit * 16 : bit * 16 + 16] = 230 if number >> bit & 1 else 20
    return picture.astype(np.uint8)


UNEVEN = [0.0, *accumulate(random.Random(3).choice([0.02, 0.04, 0.1, 0.3, 1.0]) for _ in range(119))]
LATE = [number / 10 + 5.0 for number in range(120)]
OPEN = {"x264-params": "open-gop=1:b-pyramid=normal:bframes=5"}
MADE = [
    Made(name="b_frames.mp4", options={"bf": "3"}),
    Made(name="open_groups.mp4", options=OPEN),
    Made(name="open_groups.ts", options=OPEN, clock=90000),
    Made(name="one_key_frame.mp4", options={"bf": "3"}, key_frames=1000),
    Made(name="no_key_frames.ts", options={"x264-params": "intra-refresh=1:bframes=0"}, clock=90000),
    Made(name="uneven.mp4", options={"bf": "3"}, times=UNEVEN, clock=90000),
    Made(name="uneven.mkv", options={"bf": "3"}, times=UNEVEN),
    Made(name="uneven_and_late.ts", options={"bf": "3"}, times=[time + 1234.5 for time in UNEVEN], clock=90000),
    Made(name="late.mp4", options={"bf": "3"}, times=LATE),
    Made(name="late.mkv", options={"bf": "3"}, times=LATE),
    Made(name="fragments.mp4", options={"bf": "3"}, container={"movflags": "frag_keyframe+empty_moov"}),
    Made(name="out_of_order.avi", options={"bf": "3", "x264-params": "b-pyramid=normal:bframes=4"}, clock=10),
    Made(name="old.avi", codec="mpeg4", options={"bf": "2"}, clock=10),
    Made(name="hidden_frames.webm", codec="libvpx-vp9", options={"auto-alt-ref": "1", "lag-in-frames": "16"}),
    Made(name="without_times.264", options={"bf": "3"}),
]


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.name)
def test_made_files_show_the_frame_of_the_pass(made: Made, tmp_path: Path) -> None:
    check_random_access(made.encode(tmp_path), asked=12)


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.name)
def test_the_pass_itself_misses_no_frame_of_a_made_file(made: Made, tmp_path: Path) -> None:
    shown = [number_in(frame.picture()) for frame in DecodePass(source=probe(made.encode(tmp_path)))]
    assert shown == list(range(len(made.times)))


def number_in(picture: Image) -> int:
    return sum(1 << bit for bit in range(10) if picture[2:10, bit * 16 + 4 : bit * 16 + 12].mean() > 128)


# Thirty minutes with the number of each frame burned in.

RATE = 30000 / 1001
#: Where the number stands in the picture (pixels), and how far apart its six digits are.
TOP, BOTTOM, LEFT, PITCH, PLACES = 64, 82, 16.5, 9.5, 6
FINER = 4
Glyph = NDArray[np.float32]


def glyphs(picture: Image) -> list[Glyph]:
    gray = picture[TOP:BOTTOM].mean(axis=2).astype(np.float32)
    wide = cv2.resize(gray, None, fx=FINER, fy=1, interpolation=cv2.INTER_CUBIC)
    edges = [round((LEFT + PITCH * place) * FINER) for place in range(PLACES + 1)]
    return [np.asarray(wide[:, edges[p] : edges[p + 1]], np.float32) for p in range(PLACES)]


class DigitReader:
    """Knows the digits from the first 1,200 frames, which it counts; the last three places each have shapes of their own."""

    OWN = 3

    def __init__(self, video: Path) -> None:
        examples: dict[tuple[int, int], list[Glyph]] = {}
        for number, frame in enumerate(DecodePass(source=probe(video))):
            if number == 1200:
                break
            for place, (digit, glyph) in enumerate(zip(f"{number:06d}", glyphs(frame.picture()), strict=True)):
                examples.setdefault((place, int(digit)), []).append(glyph)
        self._known = {key: np.mean(seen, axis=0) for key, seen in examples.items()}

    def read(self, picture: Image) -> int:
        number = 0
        for place, glyph in enumerate(glyphs(picture)):
            shapes = [self._known[max(place, self.OWN), digit] for digit in range(10)]
            number = 10 * number + int(np.argmax([np.corrcoef(glyph.ravel(), s.ravel())[0, 1] for s in shapes]))
        return number


def times_inside_frames(count: int, until: float) -> list[float]:
    """Random times by the rule of the file, well inside a frame.

    The file's own stamps differ from the rule by up to two milliseconds, so the edges of frames tell nothing. The last
    frame before a carry is left out, too: there the codec blends in the next number, and the eye cannot read it either.
    """
    draw, times = random.Random(1800), list[float]()
    while len(times) < count:
        time = draw.uniform(0.0, until)
        inside, number = math.modf(time * RATE)
        if 0.1 < inside < 0.9 and number % 10 != 9:
            times.append(time)
    return times


@pytest.fixture(scope="module")
def reader(shared_data: Path) -> Callable[[Image], int]:
    return DigitReader(shared_data / "video" / "timecode_1800s.mp4").read


@pytest.mark.shared_data
def test_at_twenty_random_times_the_burned_in_number_is_the_rules(
    shared_data: Path, reader: Callable[[Image], int]
) -> None:
    frames = VideoFrames(shared_data / "video" / "timecode_1800s.mp4")
    asked = times_inside_frames(20, until=1800.0)
    assert [reader(frames.pictures_played_at([time], None)[0]) for time in asked] == [
        math.floor(time * RATE) for time in asked
    ]


@pytest.mark.shared_data
def test_the_number_changes_where_the_next_frame_begins(shared_data: Path, reader: Callable[[Image], int]) -> None:
    frames = VideoFrames(shared_data / "video" / "timecode_1800s.mp4")
    begins = 36998 * 1001 / 30000
    assert reader(frames.pictures_played_at([begins - 0.01], None)[0]) == 36997
    assert reader(frames.pictures_played_at([begins + 0.01], None)[0]) == 36998
