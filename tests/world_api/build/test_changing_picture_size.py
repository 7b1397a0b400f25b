"""Videos whose picture size changes on the way: transport streams joined of two encodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.building import Silent, StandingClock
from tests.support.command_line import Cli
from world_api.api import build_world, open_session
from world_api.media import DecodePass, VideoFrames, probe
from world_api.operations import run
from world_api.options import BuildOptions, Listening
from world_api.world import open_world

pytestmark = pytest.mark.media

RATE, SECONDS = 10, 6
Picture = NDArray[np.uint8]
Part = Callable[..., bytes]


def drawn(width: int, height: int, seed: int, share: float) -> Picture:
    """A room of coloured tiles with a red block as high as half the picture; ``share`` of the way to the right."""
    tiles = np.random.default_rng(seed).integers(70, 180, (height // 40, width // 40, 3), dtype=np.uint8)
    picture = np.repeat(np.repeat(tiles, 40, axis=0), 40, axis=1)
    left = round(20 + share * (width - 100))
    picture[height // 4 : 3 * height // 4, left : left + 60] = (30, 30, 210)
    return np.ascontiguousarray(picture)


@pytest.fixture
def part(tmp_path: Path) -> Part:
    """Encodes some seconds of a size as a transport stream of its own that begins at a time (seconds)."""

    def encode(width: int, height: int, *, seed: int, begins: float = 0.0, b_frames: int = 0) -> bytes:
        path = tmp_path / f"{width}x{height}-{seed}-{begins}.ts"
        with av.open(str(path), "w", format="mpegts") as container:
            options = {"preset": "ultrafast", "crf": "16", "bf": str(b_frames)}
            stream = container.add_stream("libx264", rate=RATE, options=options)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.gop_size, stream.thread_count = 20, 1
            for number in range(RATE * SECONDS):
                picture = drawn(width, height, seed, number / (RATE * SECONDS))
                frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
                frame.pts = round(begins * RATE) + number
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return path.read_bytes()

    return encode


def joined(folder: Path, *parts: bytes) -> Path:
    path = folder / "recording.ts"
    path.write_bytes(b"".join(parts))
    return path


def build(video: Path, store: Path) -> None:
    options = BuildOptions(listening=Listening(speech="off"))
    build_world(video, store, progress=Silent(), clock=StandingClock(), options=options)


@pytest.mark.parametrize("clock_begins_anew", [False, True], ids=["one clock", "each its own clock"])
@pytest.mark.parametrize("sizes", [((640, 480), (640, 360)), ((640, 360), (640, 480))], ids=["lower", "higher"])
def test_a_video_whose_picture_size_changes_becomes_a_world_that_says_so(
    sizes: tuple[tuple[int, int], tuple[int, int]], clock_begins_anew: bool, part: Part, tmp_path: Path, cli: Cli
) -> None:
    begins = 0.0 if clock_begins_anew else float(SECONDS)
    video = joined(tmp_path, part(*sizes[0], seed=1), part(*sizes[1], seed=2, begins=begins))
    build(video, tmp_path / "store")
    world = open_world(tmp_path / "store", "recording")
    assert (world.manifest.video.width, world.manifest.video.height) == sizes[0]
    assert world.manifest.video.duration == pytest.approx(2 * SECONDS, abs=0.3)
    (loss,) = (loss for loss in world.manifest.losses if loss.code == "picture_size_changes")
    assert loss.start_time == pytest.approx(SECONDS, abs=0.2)
    named = [f"{width}x{height}" for width, height in sizes]
    assert all(name in loss.message for name in named)
    shown = cli("inspect", "recording", store=tmp_path / "store").out
    assert all(name in shown for name in named)


def test_boxes_after_the_change_are_pixels_of_the_displayed_frame(part: Part, tmp_path: Path) -> None:
    video = joined(tmp_path, part(640, 480, seed=1), part(640, 360, seed=2, begins=SECONDS))
    build(video, tmp_path / "store")
    sightings = open_world(tmp_path / "store", "recording").rows("sightings").to_pylist()
    late = [row for row in sightings if row["time"] > SECONDS + 1.5]
    assert late
    # The picture of 640 x 360 stands in the middle of 480 rows: 60 rows of black above and below it.
    for row in late:
        centre = 60 + 360 / 2
        assert (row["y1"] + row["y2"]) / 2 == pytest.approx(centre, abs=15)
        assert row["y2"] - row["y1"] == pytest.approx(180, abs=40)
    session = open_session(tmp_path / "store", "recording", name=None)
    asked = {"video_id": "recording", "timestamp": 9.87, "category": late[0]["category"].replace("_", " ")}
    found = run(session, "detect_objects", asked)
    assert found["detections"]
    assert all(item["bbox"][1] >= 60 - 15 and item["bbox"][3] <= 420 + 15 for item in found["detections"])


def pictures(video: Path) -> Iterator[tuple[float, Picture]]:
    for frame in DecodePass(source=probe(video)):
        yield frame.time, frame.picture()


def test_a_frame_looked_up_is_the_frame_that_stages_saw(part: Part, tmp_path: Path) -> None:
    video = joined(tmp_path, part(640, 480, seed=1), part(640, 360, seed=2, begins=SECONDS, b_frames=2))
    played = dict(pictures(video))
    times = [time for number, time in enumerate(played) if number % 17 == 3]
    with closing(VideoFrames(video)) as frames:
        for time, small in zip(times, frames.pictures_played_at(times, 160), strict=True):
            assert np.abs(played[time].astype(int) - frames.pictures_played_at([time], None)[0]).mean() < 2
            assert played[time].shape == (480, 640, 3) and small.shape == (120, 160, 3)
