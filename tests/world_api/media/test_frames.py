"""The decode pass and random access."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from world_api.core import Image, MediaFault
from world_api.media.container import probe
from world_api.media.decode_pass import DecodePass, losses
from world_api.media.decoder import VideoFrames
from world_api.media.frames import Frame

pytestmark = pytest.mark.media


def numbered(number: int) -> Image:
    """A picture that says its number in grey blocks: eight bits across."""
    picture = np.full((64, 128, 3), 128, np.uint8)
    for bit in range(8):
        picture[:, bit * 16 : bit * 16 + 16] = 230 if number >> bit & 1 else 25
    return picture


def number_in(picture: Image) -> int:
    return sum(1 << bit for bit in range(8) if picture[:, bit * 16 + 4 : bit * 16 + 12].mean() > 128)


@pytest.fixture
def counting(make_video: Callable[..., Path]) -> Path:
    return make_video("counting.mp4", [numbered(number) for number in range(120)])


def test_every_frame_comes_once_in_order(counting: Path) -> None:
    decode = DecodePass(source=probe(counting))
    assert [number_in(frame.picture()) for frame in decode] == list(range(120))
    assert decode.state.duration == pytest.approx(12.0, abs=0.02)
    assert losses(decode.source, decode.state) == []


def test_time_zero_is_the_first_presented_frame(make_video: Callable[..., Path]) -> None:
    path = make_video("late.mkv", [numbered(number) for number in range(20)], start=3.0)
    assert [frame.time for frame in DecodePass(source=probe(path))][:3] == pytest.approx([0.0, 0.1, 0.2], abs=0.002)


def test_times_are_those_of_the_file_where_the_rate_varies(make_video: Callable[..., Path]) -> None:
    times = [0.0, 0.1, 0.15, 0.9, 2.0, 2.05, 3.5]
    path = make_video("varying.mkv", [numbered(number) for number in range(7)], times=times)
    assert [frame.time for frame in DecodePass(source=probe(path))] == pytest.approx(times, abs=0.002)


def test_a_picture_is_converted_only_when_asked_for_and_kept(counting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int | None, str]] = []
    convert = Frame._convert

    def spy(self: Frame, max_side: int | None, pixel_format: str) -> Image:
        asked.append((max_side, pixel_format))
        return convert(self, max_side, pixel_format)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(Frame, "_convert", spy)
    frames = iter(DecodePass(source=probe(counting)))
    next(frames)
    second = next(frames)
    assert second.picture(64) is second.picture(64)
    assert second.picture(64, "gray").shape == (32, 64)
    assert second.picture(5000) is second.picture()
    assert asked == [(64, "bgr"), (64, "gray"), (None, "bgr")]


def test_a_truncated_file_gives_what_decodes_and_says_what_is_lost(make_video: Callable[..., Path]) -> None:
    noise = np.random.default_rng(0)
    path = make_video("whole.mkv", [noise.integers(0, 255, (64, 128, 3), dtype=np.uint8) for _ in range(100)])
    cut = path.with_name("cut.mkv")
    cut.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    decode = DecodePass(source=probe(cut))
    assert 20 < sum(1 for _ in decode) < 80
    (loss,) = [loss for loss in losses(decode.source, decode.state) if loss.code == "ends_early"]
    assert loss.start_time == pytest.approx(decode.state.duration, abs=0.01)
    assert loss.end_time == pytest.approx(10.0, abs=0.1)


def test_damage_in_the_middle_costs_frames_and_not_the_video(make_video: Callable[..., Path]) -> None:
    noise = np.random.default_rng(1)
    path = make_video("whole.mkv", [noise.integers(0, 255, (64, 128, 3), dtype=np.uint8) for _ in range(100)])
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 6000] = bytes(6000)
    path.write_bytes(bytes(data))
    decode = DecodePass(source=probe(path))
    times = [frame.time for frame in decode]
    assert times[-1] > 8.0
    assert all(later > earlier for earlier, later in pairwise(times))
    assert any(loss.code == "damaged_frames" for loss in losses(decode.source, decode.state)) or len(times) < 100


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.1, 2.449, 2.5, 2.55, 7.31, 11.9, 500.0, -1.0])
def test_the_frame_played_at_a_time_is_the_last_one_begun(counting: Path, seconds: float) -> None:
    expected = min(119, max(0, int(seconds * 10 + 1e-6)))
    assert number_in(VideoFrames(counting).pictures_played_at([seconds], None)[0]) == expected


def test_a_video_that_has_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(MediaFault) as caught:
        VideoFrames(tmp_path / "gone.mp4").pictures_played_at([1.0], None)[0]
    assert caught.value.code == "source_missing"


def cases(shared_data: Path) -> list[Path]:
    folder = shared_data / "video" / "decoder_cases"
    return sorted(path for path in folder.iterdir() if path.suffix in {".mp4", ".mkv", ".webm"})


@pytest.mark.shared_data
def test_every_decoder_case_decodes_to_its_size(shared_data: Path) -> None:
    for path in cases(shared_data):
        source = probe(path)
        decode = DecodePass(source=source)
        shapes = {frame.shape for frame in decode}
        assert shapes == {(source.height, source.width)}, path.name
        assert decode.state.duration > 0, path.name


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "name", ["nasa_13013_rotated.mp4", "test_non_zero_start.mp4", "testsrc2_h265.mp4", "no_duration.webm"]
)
def test_random_access_gives_the_frames_of_the_decode_pass(shared_data: Path, name: str) -> None:
    path = shared_data / "video" / "decoder_cases" / name
    random_access = VideoFrames(path)
    for number, frame in enumerate(DecodePass(source=probe(path))):
        if number % 5 == 0:
            assert np.array_equal(random_access.pictures_played_at([frame.time], None)[0], frame.picture()), frame.time


def joined(make_video: Callable[..., Path], *starts: float) -> Path:
    """A transport stream of parts of forty frames (four seconds) put end to end, each with a clock of its own."""
    parts = [
        make_video(f"part{place}.ts", [numbered(40 * place + number) for number in range(40)], start=start)
        for place, start in enumerate(starts)
    ]
    whole = parts[0].with_name("joined.ts")
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    return whole


def test_a_clock_that_starts_anew_loses_no_frames_and_is_told(make_video: Callable[..., Path]) -> None:
    decode = DecodePass(source=probe(joined(make_video, 0.0, 0.0, 0.0)))
    frames = [(frame.time, number_in(frame.picture())) for frame in decode]
    assert [number for _, number in frames] == list(range(120))
    assert [time for time, _ in frames] == pytest.approx([number / 10 for number in range(120)], abs=0.05)
    (loss,) = losses(decode.source, decode.state)
    assert loss.code == "times_leap"
    assert loss.start_time == pytest.approx(3.9, abs=0.05)


def test_frames_that_step_back_a_little_are_left_out_and_counted(make_video: Callable[..., Path]) -> None:
    decode = DecodePass(source=probe(joined(make_video, 0.0, 3.6)))
    times = [frame.time for frame in decode]
    assert all(later > earlier for earlier, later in pairwise(times))
    (loss,) = losses(decode.source, decode.state)
    assert loss.code == "times_step_back"
    assert loss.message.endswith(
        f"not after those of earlier frames: {80 - len(times)}, the first at {loss.start_time:.1f} s"
    )


def test_a_time_of_a_thousand_years_ends_no_video(make_video: Callable[..., Path]) -> None:
    times = [number / 10 for number in range(20)] + [1e6 + number / 10 for number in range(20)]
    path = make_video("leap.mkv", [numbered(number) for number in range(40)], times=times)
    decode = DecodePass(source=probe(path))
    assert [frame.time for frame in decode] == pytest.approx([number / 10 for number in range(40)], abs=0.05)
    assert decode.state.duration == pytest.approx(4.0, abs=0.2)
    assert [loss.code for loss in losses(decode.source, decode.state)] == ["times_leap"]


def test_random_access_agrees_with_the_decode_pass_where_the_clock_starts_anew(make_video: Callable[..., Path]) -> None:
    path = joined(make_video, 0.0, 0.0, 0.0)
    random_access = VideoFrames(path)
    for frame in DecodePass(source=probe(path)):
        if number_in(frame.picture()) % 13 == 0:
            assert number_in(random_access.pictures_played_at([frame.time], None)[0]) == number_in(frame.picture())


def test_damaged_pictures_of_a_large_vp8_video_are_a_loss(tmp_path: Path) -> None:
    path, noise = tmp_path / "large.webm", np.random.default_rng(2)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libvpx", rate=10, options={"deadline": "realtime", "cpu-used": "8"})
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        for number in range(20):
            grey = noise.integers(0, 255, (9, 16), dtype=np.uint8).repeat(80, 0).repeat(80, 1)
            picture = av.VideoFrame.from_ndarray(grey, format="gray").reformat(format="yuv420p")
            picture.pts = number
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    whole = DecodePass(source=probe(path))
    assert (len(list(whole)), losses(whole.source, whole.state)) == (20, [])
    data = bytearray(path.read_bytes())
    for place in noise.integers(len(data) // 4, len(data), 60):
        data[place] ^= 255
    path.write_bytes(data)
    damaged = DecodePass(source=probe(path))
    assert list(damaged)
    assert "damaged_frames" in [loss.code for loss in losses(damaged.source, damaged.state)]


@pytest.mark.parametrize(
    ("start", "end", "holes"), [(3.0, 6.0, [(3.0, 6.0)]), (3.0, 3.8, []), (6.0, 8.0, [(6.0, 8.0)])]
)
def test_where_all_frames_are_damaged_for_a_while_is_a_hole(
    tmp_path: Path, start: float, end: float, holes: list[tuple[float, float]]
) -> None:
    """The frames are given, since something may be seen in them, but what is not seen in them was not looked for."""
    noise, path = np.random.default_rng(0), tmp_path / "film.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = 160, 96, "yuv420p", 10
        stream.bit_rate = 400_000
        for number in range(80):
            grey = noise.integers(0, 255, (12, 20), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
            picture = av.VideoFrame.from_ndarray(grey, format="gray").reformat(format="yuv420p")
            picture.pts = number
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        for packet in container.demux(video=0):
            time = -1.0 if packet.pts is None or not packet.time_base else float(packet.pts * packet.time_base)
            if packet.pos is not None and start <= time < end:
                for place in range(packet.pos + packet.size * 2 // 3, packet.pos + packet.size):
                    data[place] ^= 255
    path.write_bytes(data)
    decode = DecodePass(source=probe(path))
    assert len(list(decode)) == 80
    assert decode.state.corrupt.count == round((end - start) * 10)
    assert decode.holes == holes
