"""The sound of a stretch: a sample's index is its time, whatever the file."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from world_api.core import SAMPLE_RATE, MediaFault, Samples
from world_api.media import MediaWorker, look_into, read_audio

pytestmark = pytest.mark.media


def beeps(at: list[float], *, rate: int, seconds: float) -> Samples:
    """A tone of a tenth of a second at each time."""
    t = np.arange(round(rate * seconds)) / rate
    tone = 0.5 * np.sin(2 * np.pi * 600 * t)
    return np.where(np.logical_or.reduce([(t >= a) & (t < a + 0.1) for a in at]), tone, 0).astype(np.float32)


def recorded(
    path: Path, sound: Samples, *, codec: str = "pcm_s16le", rate: int = 16000, start: float = 0.0,
    gap: tuple[float, float] | None = None, channels: int = 1,
) -> Path:  # fmt: skip
    """Encode a mono sound (into equal channels); frames whose time lies in ``gap`` are left out, ``start`` shifts all."""
    layout = {1: "mono", 2: "stereo", 6: "5.1"}[channels]
    with av.open(str(path), "w", format="matroska") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.codec_context.layout = layout
        resampler = av.AudioResampler(format=stream.codec_context.format, layout=layout, rate=rate)
        size = 1024
        for first in range(0, len(sound) - size + 1, size):
            time = first / rate
            frame = av.AudioFrame.from_ndarray(
                np.tile(sound[None, first : first + size], (channels, 1)), "fltp", layout
            )
            frame.sample_rate, frame.time_base = rate, Fraction(1, rate)
            for made in resampler.resample(frame):
                made.pts, made.time_base = round((time + start) * rate), Fraction(1, rate)
                packets = stream.encode(made)
                if gap is None or not gap[0] <= time < gap[1]:
                    container.mux(packets)
        container.mux(stream.encode())
    return path


def onsets(samples: Samples) -> list[float]:
    """When it becomes loud after a twentieth of a second of silence."""
    loud = np.flatnonzero(np.abs(samples) > 0.1) / SAMPLE_RATE
    return [float(loud[0]), *(float(b) for a, b in pairwise(loud) if b - a > 0.05)] if len(loud) else []


@pytest.mark.parametrize(
    ("codec", "rate", "channels"),
    [
        ("pcm_s16le", 16000, 1),
        ("pcm_s16le", 44100, 2),
        ("aac", 48000, 2),
        ("mp3", 44100, 1),
        ("aac", 22050, 1),
        ("ac3", 48000, 6),
    ],
)
def test_tones_lie_where_they_were_played(tmp_path: Path, codec: str, rate: int, channels: int) -> None:
    times = [0.5, 3.25, 7.0]
    path = recorded(tmp_path / "a.mka", beeps(times, rate=rate, seconds=10), codec=codec, rate=rate, channels=channels)
    whole = read_audio(path, 0.0, 10.0)
    assert (whole.dtype, whole.shape) == (np.float32, (160_000,))
    assert onsets(whole) == pytest.approx(times, abs=0.06)
    assert 0.25 < float(np.abs(whole).max()) <= 1.0


@pytest.mark.parametrize("codec", ["pcm_s16le", "aac", "flac"])
def test_a_stretch_is_what_the_whole_holds_there(tmp_path: Path, codec: str) -> None:
    path = recorded(tmp_path / "a.mka", beeps([0.5, 3.25, 7.0], rate=16000, seconds=10), codec=codec)
    part = read_audio(path, 3.0, 5.0)
    assert part == pytest.approx(read_audio(path, 0.0, 10.0)[48_000:80_000], abs=1e-3)
    assert onsets(part) == pytest.approx([0.25], abs=0.03)


def test_a_file_that_starts_late_keeps_its_own_clock(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mka", beeps([0.5], rate=16000, seconds=2), start=5.0)
    assert onsets(read_audio(path, 0.0, 8.0)) == pytest.approx([5.5], abs=0.01)
    assert not read_audio(path, 0.0, 4.9).any()


def test_a_gap_is_silence_and_shifts_nothing(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mka", beeps([1.0, 3.0, 5.0], rate=16000, seconds=7), gap=(2.5, 4.0))
    found = read_audio(path, 0.0, 7.0)
    assert onsets(found) == pytest.approx([1.0, 5.0], abs=0.01)
    assert not found[round(2.7 * SAMPLE_RATE) : round(3.9 * SAMPLE_RATE)].any()


def test_what_lies_outside_the_file_is_silence(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mka", beeps([0.5], rate=16000, seconds=2))
    assert onsets(read_audio(path, -1.0, 20.0)) == pytest.approx([1.5], abs=0.01)
    assert len(read_audio(path, -1.0, 20.0)) == 21 * SAMPLE_RATE
    assert not read_audio(path, 30.0, 31.0).any()


def test_a_file_without_sound_gives_no_samples(two_shots: Path) -> None:
    assert read_audio(two_shots, 0.0, 5.0).shape == (0,)
    with closing(MediaWorker()) as worker:
        assert not look_into(two_shots, worker).has_sound


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"no video" * 100)
    with pytest.raises(MediaFault):
        read_audio(tmp_path / "a.mp4", 0.0, 1.0)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "name", ["video_with_failing_audio.mp4", "nasa_13013.mp4", "no_duration.webm", "sine_16ch_s16.wav"]
)
def test_real_files_are_read_however_odd(shared_data: Path, name: str) -> None:
    path = shared_data / "video" / "decoder_cases" / name
    whole = read_audio(path, 0.0, 3.0)
    assert len(whole) == 3 * SAMPLE_RATE
    assert np.isfinite(whole).all()
    assert read_audio(path, 1.0, 2.0) == pytest.approx(whole[SAMPLE_RATE : 2 * SAMPLE_RATE], abs=1e-3)


@pytest.mark.shared_data
def test_speech_in_a_real_video_begins_when_its_truth_says(shared_data: Path) -> None:
    found = read_audio(shared_data / "video" / "composite_337s.mp4", 100.0, 110.0)
    assert not (np.abs(found[: 4 * SAMPLE_RATE]) > 0.01).any()
    assert (np.abs(found[4 * SAMPLE_RATE : 5 * SAMPLE_RATE]) > 0.3).any()
