"""A film whose every frame says its number in a bar of bits, so that whoever is sent a frame can tell which one it was."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

RATE, SECONDS = 10, 60
WIDTH, HEIGHT = 320, 192
_BITS, _BAR = 10, 24
#: What fills the picture, another colour every ten seconds (BGR).
FILLS = ((40, 40, 190), (50, 150, 50), (180, 80, 40), (60, 200, 220), (235, 235, 235), (25, 25, 25))


def drawn(number: int) -> NDArray[np.uint8]:
    """Frame of that number."""
    picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    picture[:] = FILLS[number // (10 * RATE) % len(FILLS)]
    for bit in range(_BITS):
        picture[:_BAR, bit * WIDTH // _BITS : (bit + 1) * WIDTH // _BITS] = 230 if number >> bit & 1 else 20
    return picture


def number_in(picture: NDArray[np.uint8]) -> int:
    """The number a frame says, at any size it was scaled to."""
    height, width = picture.shape[:2]
    bar = picture[: max(1, round(_BAR * height / HEIGHT * 0.7))]
    cells = [bar[:, round((bit + 0.25) * width / _BITS) : round((bit + 0.75) * width / _BITS)] for bit in range(_BITS)]
    return sum(1 << bit for bit, cell in enumerate(cells) if cell.mean() > 128)


def encode(path: Path) -> Path:
    """Write the film."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"preset": "ultrafast", "crf": "20"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.gop_size, stream.codec_context.thread_count = 40, 1
        for number in range(RATE * SECONDS):
            frame = av.VideoFrame.from_ndarray(drawn(number), format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.fixture(scope="session")
def built_film(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The film, and a store with its world; not to be written into."""
    from tests.support.building import Silent, StandingClock
    from world_api.api import build_world
    from world_api.options import BuildOptions

    folder = tmp_path_factory.mktemp("numbered")
    film, store = encode(folder / "film.mp4"), folder / "worlds"
    build_world(film, store, progress=Silent(), clock=StandingClock(), options=BuildOptions(without=("screen_texts",)))
    return film, store


@pytest.fixture
def film_store(built_film: tuple[Path, Path], tmp_path: Path) -> Path:
    """A store of its own with the film's world, under the id ``film``."""
    return Path(shutil.copytree(built_film[1], tmp_path / "film_worlds"))
