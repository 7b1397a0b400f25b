"""The sound of an interval of a file: mono samples at a fixed rate, so that the index of a sample gives its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet

from world_api.core.ports import SAMPLE_RATE, Samples
from world_api.media.container import DEFAULT_LIMITS, Limits, decoded, open_video

#: Decoding begins this long (seconds) before the interval: decoders of compressed sound need some packets to settle.
_RUN_IN = 1.0
#: A frame follows the last one if it begins less than this (seconds) from where that ended; otherwise there is a gap.
_GAP = 0.02


def read_audio(path: Path, start: float, end: float, *, limits: Limits = DEFAULT_LIMITS) -> Samples:
    """Return the sound of ``[start, end)``, in seconds on the file's own clock (project time plus ``Probe.start``).

    Returns float32 samples in -1..1, mono, :data:`SAMPLE_RATE` a second; sample k is at ``start + k / SAMPLE_RATE``.
    Samples are zero in gaps, at damage, before the start and after the end; a file without a sound stream gives an empty
    array. All channels are mixed. Raises as :func:`world_api.media.container.open_video`.
    """
    with open_video(path, limits=limits) as container:
        best = container.streams.best("audio")
        streams = [stream for stream in container.streams.audio if stream.codec_context is not None]
        stream = next((stream for stream in streams if best is not None and stream.index == best.index), None)
        if stream is None:
            return np.zeros(0, np.float32)
        track = _Track(start=start, samples=np.zeros(max(0, round((end - start) * SAMPLE_RATE)), np.float32))
        for frame in _frames(container, stream, start - _RUN_IN):
            time = _time_of(frame)
            if time is not None and time >= end:
                break
            track.add(frame)
        track.close()
        return track.samples


class _Track:
    """Writes decoded frames into ``samples`` at their times; frames that follow each other go through one resampler."""

    def __init__(self, *, start: float, samples: Samples) -> None:
        self.samples = samples
        self._start = start
        self._resampler: AudioResampler | None = None
        self._kind: tuple[int, str, str] | None = None
        self._next = 0.0  #: when the next frame is due, seconds
        self._place = 0  #: index of the resampler's next sample

    def add(self, frame: AudioFrame) -> None:
        """Write the samples of the next frame at its time; a frame without a time follows the one before."""
        if not frame.sample_rate or not frame.samples:
            return
        known = _time_of(frame)
        time = self._next if known is None else known
        kind = (frame.sample_rate, frame.layout.name, frame.format.name)
        if self._resampler is None or kind != self._kind or abs(time - self._next) > _GAP:
            self._begin(time, kind)
        self._next = (self._next if abs(time - self._next) <= _GAP else time) + frame.samples / frame.sample_rate
        frame.pts = None  # the resampler would fill gaps by its own rules
        self._put(frame)

    def close(self) -> None:
        """Add the samples that the resampler still holds."""
        if self._resampler is not None:
            self._put(None)
            self._resampler = None

    def _begin(self, time: float, kind: tuple[int, str, str]) -> None:
        self.close()
        self._resampler = AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
        self._kind, self._next = kind, time
        self._place = round((time - self._start) * SAMPLE_RATE)

    def _put(self, frame: AudioFrame | None) -> None:
        if self._resampler is None:
            return
        try:
            made = self._resampler.resample(frame)
        except (av.FFmpegError, ValueError):
            return  # a layout that cannot be mixed stays silent
        for part in made:
            values = np.asarray(part.to_ndarray(), dtype=np.float32).reshape(-1)
            first, last = max(0, self._place), min(len(self.samples), self._place + len(values))
            if last > first:
                piece = values[first - self._place : last - self._place]
                self.samples[first:last] = np.clip(np.nan_to_num(piece), -1.0, 1.0)
            self._place += len(values)


def _time_of(frame: AudioFrame) -> float | None:
    return float(frame.pts * frame.time_base) if frame.pts is not None and frame.time_base is not None else None


def _frames(container: InputContainer, stream: AudioStream, begin: float) -> Iterator[AudioFrame]:
    """Return the decoded frames from about ``begin`` (seconds) on; packets that cannot be decoded are left out."""
    with suppress(av.FFmpegError):  # a file that cannot be searched is read from its start
        if begin > 0 and stream.time_base:
            container.seek(int(begin / stream.time_base), stream=stream, backward=True)

    def decode(packet: Packet[Any]) -> list[AudioFrame]:
        found: list[Any] = packet.decode()
        return [frame for frame in found if isinstance(frame, av.AudioFrame)]

    return decoded(container, stream, decode)
