"""Subtitle files and videos with text streams, made for tests."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np

from world_api.media import Cue, read_subtitles

SRT = "1\n00:00:01,500 --> 00:00:02,750\nHello <i>there</i>,\n  you.\n\n2\n00:01:00,0 --> 00:01:01,000\n{\\an8}Bye &amp; thanks\n"
ASS = (
    "[Script Info]\nTitle: made\n\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    "Comment: 0,0:00:00.00,0:00:09.00,Default,,0,0,0,,not shown\n"
    "Dialogue: 0,0:00:01.00,0:00:02.50,Default,Ann,0,0,0,,{\\an8\\b1}Good day,\\Nyou {\\i1}all{\\i0}\n"
    "Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,{\\p1}m 0 0 l 100 0 100 100{\\p0}\n"
    "Dialogue: broken\nDialogue: 0,x,0:00:04.00,Default,,0,0,0,,no time\n"
    "Dialogue: 0,120:00:05.00,120:00:06.00,Default,,0,0,0,,late{\\p1}m 1 1{\\p0} words\n"
)


#: Encoders of text streams ask for one.
HEADER = (
    b"[Script Info]\nScriptType: v4.00+\n[V4+ Styles]\nFormat: Name, Fontname, Fontsize\nStyle: Default,Arial,16\n"
    b"[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
)


def cues_of(text: str) -> list[Cue]:
    """The cues of a subtitle file with this text, in the order of time."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "film.srt"
        path.write_text(text, encoding="utf-8", newline="")
        return list(read_subtitles(path).cues)


def srt(*lines: str) -> bytes:
    return "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{line}\n\n" for n, line in enumerate(lines, 1)).encode()


def video_with(
    path: Path, tracks: Sequence[tuple[str, str, bytes]] = (), *, sound: str = "", container: str = "matroska"
) -> Path:
    """A second of picture, with text streams (codec, language, the words of one event) and the language of the sound."""
    with av.open(str(path), "w", format=container) as made:
        picture = made.add_stream("libx264", rate=5)
        picture.width, picture.height, picture.pix_fmt = 64, 48, "yuv420p"
        if sound:
            audio = made.add_stream("aac", rate=16000)
            audio.metadata["language"] = sound
        texts = []
        for codec, language, _ in tracks:
            stream = made.add_stream(codec)
            stream.codec_context.subtitle_header = HEADER
            if language:
                stream.metadata["language"] = language
            texts.append(stream)
        made.start_encoding()
        for number in range(5):
            frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, 5)
            made.mux(picture.encode(frame))
        made.mux(picture.encode())
        for stream, (_, _, words) in zip(texts, tracks, strict=True):
            packet = av.Packet(words)
            packet.stream, packet.time_base = stream, Fraction(1, 1000)
            packet.pts = packet.dts = 200
            packet.duration = 500
            made.mux(packet)
    return path
