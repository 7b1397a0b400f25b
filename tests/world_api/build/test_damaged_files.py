"""Damaged files, by seed: each builds what it holds, or ends in one named error; nothing else."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support.building import Silent, StandingClock
from videoworld import main
from world_api.api import build_world, open_session
from world_api.core import VideoWorldError
from world_api.media import Limits
from world_api.options import BuildOptions, Listening
from world_api.world import check_world, open_world

pytestmark = pytest.mark.media

NAMED = {"empty_file", "not_a_video", "no_video_stream", "too_many_pixels", "too_many_streams", "decoder_died",
         "decoder_stalled", "no_such_subtitles"}  # fmt: skip
#: What the repository draws itself stands in where the real cases are not.
CASES = Path(__file__).resolve().parents[4] / "shared" / "data" / "video" / "decoder_cases"


def damaged(data: bytes, seed: int) -> bytes:
    """A variant of a file: truncated, with bits flipped, with a stretch zeroed, lost, repeated, or moved, or empty."""
    dice = random.Random(seed)
    spoilt = bytearray(data)
    first = dice.randrange(len(spoilt))
    last = min(len(spoilt), first + dice.choice([1, 16, 400, 20_000]))
    kind = seed % 7
    if kind == 0:
        del spoilt[first:]
    elif kind == 1:
        for _ in range(dice.choice([1, 10, 300])):
            spoilt[dice.randrange(len(spoilt))] ^= 1 << dice.randrange(8)
    elif kind == 2:
        spoilt[first:last] = bytes(last - first)
    elif kind == 3:
        del spoilt[first:last]
    elif kind == 4:
        spoilt[first:first] = spoilt[first:last]
    elif kind == 5:  # the header, where sizes and counts stand
        for _ in range(dice.choice([1, 4, 30])):
            spoilt[dice.randrange(min(2000, len(spoilt)))] = dice.randrange(256)
    elif seed % 5 == 0:
        spoilt.clear()
    else:
        spoilt[:] = spoilt[first:] + spoilt[:first]
    return bytes(spoilt)


def files_to_damage(drawn: Path) -> list[Path]:
    """The real cases and a drawn film; big ones take long and show nothing more."""
    real = sorted(path for path in CASES.glob("*.*") if path.stat().st_size < 2_000_000) if CASES.is_dir() else []
    return [drawn, *(path for path in real if path.suffix in {".mp4", ".mkv", ".webm", ".mp3", ".wav"})]


def check_one(seed: int, drawn: Path, folder: Path) -> str:
    """Build a damaged variant; what came of it."""
    candidates = files_to_damage(drawn)
    whole = candidates[seed % len(candidates)]
    path = folder / f"damaged{whole.suffix}"
    path.write_bytes(damaged(whole.read_bytes(), seed))
    options = BuildOptions(
        without=("screen_texts",), listening=Listening(speech="off"), limits=Limits(timeout=30.0, duration=900.0)
    )
    try:
        report = build_world(
            path, folder / "store", progress=Silent(), clock=StandingClock(), video_id="damaged", options=options
        )
    except VideoWorldError as fault:
        assert fault.code in NAMED, (seed, whole.name, fault)
        assert fault.hint
        return fault.code
    world = open_world(folder / "store", "damaged")
    assert check_world(world) == []
    assert report.duration >= 0
    open_session(folder / "store", "damaged", name=None)
    return "built"


@pytest.fixture
def drawn(make_video: Callable[..., Path]) -> Path:
    noise = np.random.default_rng(5)
    return make_video("drawn.mkv", [noise.integers(0, 255, (48, 64, 3), dtype=np.uint8) for _ in range(80)])


@pytest.mark.parametrize(
    ("suffix", "box", "place", "value", "loss"),
    [
        (".avi", b"strh", 28, struct.pack("<II", 1_000_000, 1), "times_leap"),  # each frame lasts eleven days
        (".mp4", b"mdhd", 16, struct.pack(">I", 0xFFFFFFFF), "ends_early"),  # ticks of no length, or of a second
        (".mp4", b"mdhd", 16, struct.pack(">I", 1), "ends_early"),
    ],
)
def test_frames_that_last_longer_than_any_make_no_long_world(
    suffix: str, box: bytes, place: int, value: bytes, loss: str, make_video: Callable[..., Path], tmp_path: Path
) -> None:
    noise = np.random.default_rng(5)
    path = make_video(f"slow{suffix}", [noise.integers(0, 255, (48, 64, 3), dtype=np.uint8) for _ in range(80)])
    data = bytearray(path.read_bytes())
    start = data.index(box) + place
    data[start : start + len(value)] = value
    path.write_bytes(data)
    options = BuildOptions(without=("screen_texts",), listening=Listening(speech="off"))
    report = build_world(
        path, tmp_path / "store", progress=Silent(), clock=StandingClock(), video_id="slow", options=options
    )
    world = open_world(tmp_path / "store", "slow")
    assert check_world(world) == []
    assert loss in [lost.code for lost in report.losses]
    assert 0 < report.duration <= max(1, world.manifest.video.frames)


def test_a_frame_rate_that_is_not_known_is_called_so(
    make_video: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(5)
    path = make_video("slow.mp4", [noise.integers(0, 255, (48, 64, 3), dtype=np.uint8) for _ in range(80)])
    data = bytearray(path.read_bytes())
    start = data.index(b"stts") + 16
    data[start : start + 4] = struct.pack(">I", 0x7FFFFFFF)
    path.write_bytes(data)
    options = BuildOptions(without=("screen_texts",), listening=Listening(speech="off"))
    build_world(path, tmp_path, progress=Silent(), clock=StandingClock(), video_id="slow", options=options)
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "slow", "--store", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "frame rate unknown" in shown
    assert "0 frames/s" not in shown


def written_again(source: Path, path: Path, *, late_from: int | None = None) -> Path:
    """Write the packets of a video into another file, those from a number on a day late."""
    with av.open(str(source)) as read, av.open(str(path), "w") as target:
        stream = target.add_stream_from_template(read.streams.video[0])
        for number, packet in enumerate(read.demux(video=0)):
            if packet.pts is not None:
                late = 0 if late_from is None or number < late_from else int(90_000 / packet.time_base)
                packet.pts, packet.stream = packet.pts + late, stream
                packet.dts = None if packet.dts is None else packet.dts + late
                target.mux(packet)
    return path


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_frames_a_day_late_change_neither_frame_rate_nor_duration_nor_cuts(
    suffix: str, make_video: Callable[..., Path], tmp_path: Path
) -> None:
    noise = np.random.default_rng(5)
    rooms = [noise.integers(0, 255, (6, 8, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1) for _ in range(4)]
    quick = make_video("quick.mkv", [rooms[number // 20] for number in range(80)])
    options = BuildOptions(without=("screen_texts",), listening=Listening(speech="off"))
    facts = []
    for name, late_from in (("whole", None), ("late", 78)):
        path = written_again(quick, tmp_path / f"{name}{suffix}", late_from=late_from)
        build_world(path, tmp_path, progress=Silent(), clock=StandingClock(), video_id=name, options=options)
        world = open_world(tmp_path, name)
        assert check_world(world) == []
        video = world.manifest.video
        facts.append((video.frames, video.frame_rate, video.duration, world.rows("cuts").column("time").to_pylist()))
    assert facts[1] == facts[0]
    assert facts[0][:3] == (80, 10.0, 8.0)
    assert len(facts[0][3]) == 3


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_file_builds_or_ends_in_a_named_error(seed: int, drawn: Path, tmp_path: Path) -> None:
    check_one(seed, drawn, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("batch", range(31))
def test_many_damaged_files_build_or_end_in_a_named_error(batch: int, drawn: Path, tmp_path: Path) -> None:
    for seed in range(20 + batch * 10, 30 + batch * 10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check_one(seed, drawn, folder)
