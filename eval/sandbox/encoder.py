"""A film as files: H.264 and AAC in MP4 with an embedded subtitle track, and the subtitles beside it as SRT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.subtitles.stream import SubtitleStream
from av.subtitles.subtitle import SubtitleSet

from eval.sandbox.sound import SAMPLE_RATE, Samples
from world_api.core.ports import Image

_MILLISECONDS = Fraction(1, 1000)
_VIDEO = {"crf": "20", "preset": "veryfast", "tune": "animation"}
_SUBTITLE_HEADER = (
    "[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\n"
    "Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, "
    "Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, "
    "MarginV, Encoding\n"
    "Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,0\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
)


@dataclass(frozen=True, kw_only=True)
class Subtitle:
    """A line on screen from ``start`` to ``end`` seconds."""

    start: float
    end: float
    text: str


def write_mp4(
    path: Path | str,
    images: Iterable[Image],
    sound: Samples | Iterable[Samples],
    subtitles: Sequence[Subtitle],
    *,
    frame_rate: int,
    title: str,
    keyframe_every: int = 2,
) -> None:
    """Encode a film. The same input gives the same bytes: one thread, no clock, no version string.

    Pictures and sound are taken as they are needed; the sound may come in pieces of any length. A picture that can be read
    without others comes after ``keyframe_every`` seconds at the latest.
    """
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart", "fflags": "+bitexact"}) as container:
        container.metadata["title"] = title
        feed = iter(images)
        first = next(feed)
        video = container.add_stream("libx264", rate=frame_rate, options=_VIDEO)
        video.height, video.width = first.shape[:2]
        video.pix_fmt = "yuv420p"
        video.gop_size = keyframe_every * frame_rate
        video.thread_count = 1
        audio = container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
        audio.bit_rate = 64_000
        text = container.add_stream("mov_text")
        text.metadata["language"] = "eng"
        text.time_base = _MILLISECONDS
        text.codec_context.time_base = _MILLISECONDS
        text.codec_context.subtitle_header = _SUBTITLE_HEADER.encode()
        lines = _subtitle_packets(text, subtitles)
        blocks = _audio_frames(sound)
        for number, image in enumerate(chain([first], feed)):
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, frame_rate)
            container.mux(video.encode(frame))
            _mux_until((number + 1) / frame_rate, container, audio, blocks)
        container.mux(video.encode())
        _mux_until(float("inf"), container, audio, blocks)
        container.mux(audio.encode())
        for packet in lines:
            container.mux(packet)


def write_srt(path: Path | str, subtitles: Sequence[Subtitle]) -> None:
    """Write the subtitles as SubRip text (UTF-8)."""
    blocks = [
        f"{number}\n{_stamp(line.start)} --> {_stamp(line.end)}\n{line.text}\n"
        for number, line in enumerate(subtitles, start=1)
    ]
    Path(path).write_text("\n".join(blocks), encoding="utf-8", newline="\n")


def _stamp(seconds: float) -> str:
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    minutes, second = divmod(whole, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d},{milliseconds:03d}"


def _audio_frames(sound: Samples | Iterable[Samples]) -> Iterator[av.AudioFrame]:
    start = 0
    for samples in _blocks([sound] if isinstance(sound, np.ndarray) else sound):
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples[None]), format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = SAMPLE_RATE, start, Fraction(1, SAMPLE_RATE)
        start += len(samples)
        yield frame


def _blocks(pieces: Iterable[Samples]) -> Iterator[Samples]:
    """The sound in blocks of what AAC takes at once; the last may be shorter."""
    block, rest = 1024, np.zeros(0, np.float32)
    for piece in pieces:
        rest = np.concatenate([rest, piece])
        whole = len(rest) // block * block
        yield from (rest[start : start + block] for start in range(0, whole, block))
        rest = rest[whole:]
    if len(rest):
        yield rest


def _mux_until(seconds: float, container: OutputContainer, audio: AudioStream, blocks: Iterator[av.AudioFrame]) -> None:
    for frame in blocks:
        container.mux(audio.encode(frame))
        if frame.time is not None and frame.time >= seconds:
            return


def _subtitle_packets(stream: SubtitleStream, subtitles: Sequence[Subtitle]) -> list[av.Packet[SubtitleStream]]:
    packets = []
    for number, line in enumerate(subtitles):
        event = f"{number},0,Default,,0,0,0,,{line.text}".encode()
        start, end = round(line.start * 1000), round(line.end * 1000)
        packet = stream.codec_context.encode_subtitle(SubtitleSet.create(event, 0, end - start, pts=start))
        packet.stream, packet.time_base = stream, _MILLISECONDS
        packet.pts = packet.dts = start
        packet.duration = end - start
        packets.append(packet)
    return packets
