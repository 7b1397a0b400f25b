"""Small videos drawn in the test: exact content, real encoding."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support.building import Silent
from world_api.build.checkpoint import RowStore
from world_api.build.scheduler import Scheduler
from world_api.build.stage import Stage
from world_api.core import Image
from world_api.media.container import DEFAULT_LIMITS, probe
from world_api.media.decoder import VideoPass
from world_api.media.frames import DecodedFrame, Frame

Draw = Callable[[float], Image]


def encode(
    path: Path, pictures: Iterable[Image], *, rate: int = 10, times: Sequence[float] | None = None, start: float = 0.0
) -> Path:
    """Encode BGR pictures as H.264 with B-frames; ``times`` (seconds) makes the frame rate vary, ``start`` shifts all."""
    base = 1000
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate, options={"preset": "veryfast", "crf": "18", "bf": "2"})
        stream.pix_fmt, stream.gop_size, stream.thread_count = "yuv420p", 25, 1
        stream.time_base = stream.codec_context.time_base = Fraction(1, base)
        for number, picture in enumerate(pictures):
            if number == 0:
                stream.height, stream.width = picture.shape[:2]
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
            time = times[number] if times is not None else number / rate
            frame.pts, frame.time_base = round((time + start) * base), Fraction(1, base)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def run(video: Path, stages: Sequence[Stage], rows: RowStore) -> float:
    """Run stages over a video as a build does; its duration in seconds."""
    source = probe(video)
    scheduler = Scheduler(stages=stages, rows=rows, progress=Silent(), expected=0.0)
    decode = VideoPass(source=source, limits=DEFAULT_LIMITS, wants=scheduler.wants(None))
    scheduler.run_pass(decode)
    assert decode.final is not None
    duration = decode.final.duration
    scheduler.finish(duration)
    scheduler.stop()
    return duration


@pytest.fixture(scope="session")
def run_stages() -> Callable[[Path, Sequence[Stage], RowStore], float]:
    """Run stages over a video into a row store."""
    return run


def room(seed: int = 0) -> Image:
    """A still room, 320 x 180: a textured wall and floor."""
    noise = np.random.default_rng(seed)
    picture = np.zeros((180, 320, 3), np.uint8)
    picture[:110] = (200, 190, 180)
    picture[110:] = (60, 100, 150)
    for _ in range(60):
        x, y = noise.integers(0, 300), noise.integers(0, 170)
        picture[y : y + 8, x : x + 14] = noise.integers(40, 230, 3)
    return picture


def with_block(
    picture: Image,
    x: float,
    y: float = 50,
    *,
    size: tuple[int, int] = (30, 80),
    colour: tuple[int, int, int] = (20, 20, 20),
) -> Image:
    """A picture with a block (width, height) of one colour in front."""
    width, height = size
    drawn = picture.copy()
    left, top = round(x), round(y)
    drawn[max(0, top) : max(0, top + height), max(0, left) : max(0, left + width)] = colour
    return drawn


def sampled(draw: Draw, *, start: float, end: float, rate: float = 5.0) -> list[Frame]:
    """Frames as a stage is fed them, without encoding."""
    frames = []
    for number in range(round(start * rate), round(end * rate)):
        raw = av.VideoFrame.from_ndarray(np.ascontiguousarray(draw(number / rate)), format="bgr24")
        frames.append(DecodedFrame(raw, time=number / rate))
    return frames


@pytest.fixture
def make_video(tmp_path: Path) -> Callable[..., Path]:
    """Encodes pictures into a file of that name."""

    def make(name: str, pictures: Iterable[Image], **options: object) -> Path:
        return encode(tmp_path / name, pictures, **options)  # type: ignore[arg-type]  # options are encode's own

    return make


@pytest.fixture
def empty_room() -> Image:
    """A still room."""
    return room()


@pytest.fixture
def draw_block() -> Callable[..., Image]:
    """Draws a block in front of a picture."""
    return with_block


@pytest.fixture
def make_frames() -> Callable[..., list[Frame]]:
    """Makes frames as a stage is fed them."""
    return sampled


@pytest.fixture(scope="session")
def encoded_shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that ``two_shots`` copies."""
    first, second = room(1), 255 - room(2)

    def picture(time: float) -> Image:
        if time >= 40:
            return second
        return with_block(first, -30 + 60 * (time - 8)) if 8 <= time < 14 else first

    path = tmp_path_factory.mktemp("encoded") / "two_shots.mp4"
    return encode(path, (picture(number / 5) for number in range(350)), rate=5)


@pytest.fixture
def two_shots(encoded_shots: Path, tmp_path: Path) -> Path:
    """Seventy seconds, 5 frames a second: a room that a dark block crosses at 8 to 14 s, and from 40 s another room."""
    return Path(shutil.copy2(encoded_shots, tmp_path))
