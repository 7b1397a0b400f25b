"""Subtitles: files beside the video, and text streams inside it. Damaged cues are left out, the rest survives."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.build.media.probe import open_video

if TYPE_CHECKING:
    from av.subtitles.stream import SubtitleStream

_SUFFIXES = (".srt", ".vtt")
_LANGUAGE = r"\.([A-Za-z]{2,3})(?:-[A-Za-z]+)?"
_ENCODINGS = ("utf-8-sig", "gb18030", "cp1252", "latin-1")
#: In Chinese text so much of what lies beyond ASCII is Chinese or its punctuation, and Chinese signs stand in rows. Accents
#: of another language, misread as GB 18030, give single signs between Latin letters.
_CHINESE_SHARE, _CHINESE_ROW = 0.8, 2
_CHINESE_SIGN = re.compile(r"[\u2000-\u206f\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_CHINESE_ROWS = re.compile(r"[\u4e00-\u9fff]+")
_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_TAG = re.compile(r"<[^>]*>|\{\\[^}]*\}")
_VOICE = re.compile(r"<v(?:\.[^ >]*)?\s+([^>]+)>", re.IGNORECASE)
_LARGEST_FILE = 20_000_000
#: An event of an embedded stream without an end is taken to last so long (seconds).
_OPEN_END = 3.0


@dataclass(frozen=True, kw_only=True)
class Cue:
    """A line of subtitles on the file's own clock (seconds). ``speaker`` is empty where nobody is named."""

    start: float
    end: float
    text: str
    speaker: str = ""


def find_sidecar(video: Path) -> Path | None:
    """The subtitle file beside a video: same stem, or the stem and a language (``film.en.srt``)."""
    beside = [path for path in sorted(video.parent.glob("*")) if path.suffix.lower() in _SUFFIXES and path.is_file()]
    exact = [path for path in beside if path.stem == video.stem]
    if exact:
        return min(exact, key=lambda path: _SUFFIXES.index(path.suffix.lower()))
    tagged = re.compile(re.escape(video.stem) + _LANGUAGE)
    return next((path for path in beside if tagged.fullmatch(path.stem)), None)


def language_of(sidecar: Path, video: Path) -> str:
    """The language that a subtitle file's name gives beyond the video's, or an empty string."""
    found = re.fullmatch(re.escape(video.stem) + _LANGUAGE, sidecar.stem)
    return found[1].lower() if found else ""


def read_sidecar(path: Path) -> list[Cue]:
    """The cues of an SRT or WebVTT file, in whatever encoding; cues that make no sense are left out."""
    data = path.read_bytes()[:_LARGEST_FILE]
    return sorted(parse_cues(_decoded(data)), key=lambda cue: (cue.start, cue.end, cue.text))


def parse_cues(text: str) -> Iterator[Cue]:
    """The cues of SRT or WebVTT text (both put the timing on a line of its own, and the words below it)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = 0
    while at < len(lines):
        timing = _TIMING.match(lines[at])
        at += 1
        if timing is None:
            continue
        words = []
        while at < len(lines) and lines[at].strip() and _TIMING.match(lines[at]) is None:
            words.append(lines[at])
            at += 1
        if at < len(lines) and words and _TIMING.match(lines[at]) and words[-1].strip().isdigit():
            words.pop()  # the number of the next cue, where the blank line is missing
        cue = _cue(_seconds(timing.groups()[:4]), _seconds(timing.groups()[4:]), "\n".join(words))
        if cue is not None:
            yield cue


def read_embedded(video: Path) -> tuple[list[Cue], str]:
    """The cues of the first text stream inside a video, and its language (empty where unknown)."""
    import av

    with open_video(video) as container:
        stream = next((s for s in container.streams.subtitles if _is_text(s)), None)
        if stream is None:
            return [], ""
        language = stream.language if stream.language not in (None, "und") else ""
        cues = []
        try:
            for packet in container.demux(stream):
                if packet.pts is None or packet.time_base is None:
                    continue
                start = float(packet.pts * packet.time_base)
                length = float(packet.duration * packet.time_base) if packet.duration else _OPEN_END
                cue = _cue(start, start + length, _packet_text(bytes(packet), stream))
                if cue is not None:
                    cues.append(cue)
        except av.FFmpegError:
            pass  # a damaged stream gives the cues before the damage
    return cues, language or ""


def _is_text(stream: SubtitleStream) -> bool:
    return stream.codec_context is not None and stream.codec_context.name in {
        "mov_text", "subrip", "srt", "ass", "ssa", "webvtt", "text",
    }  # fmt: skip


def _packet_text(data: bytes, stream: SubtitleStream) -> str:
    name = stream.codec_context.name
    if name == "mov_text":
        length = int.from_bytes(data[:2], "big")
        return data[2 : 2 + length].decode("utf-8", errors="replace")
    text = data.decode("utf-8", errors="replace")
    if name in {"ass", "ssa"}:
        # ReadOrder, Layer, Style, Name, MarginL, MarginR, MarginV, Effect, Text
        fields = text.split(",", 8)
        return fields[8].replace(r"\N", "\n").replace(r"\n", "\n") if len(fields) == 9 else ""
    return text


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    for encoding in _ENCODINGS:
        text = _decoded_as(encoding, data)
        if text is not None and (encoding != "gb18030" or _is_chinese(text)):
            return text
    return data.decode("utf-8", errors="replace")


def _decoded_as(encoding: str, data: bytes) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_chinese(text: str) -> bool:
    """Whether the signs beyond ASCII are what Chinese subtitles hold, not the accents of another script misread."""
    beyond = [sign for sign in text if not sign.isascii()]
    rows = sorted(len(row) for row in _CHINESE_ROWS.findall(text))
    if not rows:
        return False
    share = sum(1 for sign in beyond if _CHINESE_SIGN.match(sign)) / len(beyond)
    return share >= _CHINESE_SHARE and rows[len(rows) // 2] >= _CHINESE_ROW


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction}")


def _cue(start: float, end: float, raw: str) -> Cue | None:
    voice = _VOICE.search(raw)
    text = " ".join(html.unescape(_TAG.sub("", raw)).replace("\x00", "").split())
    if not text or end <= start:
        return None
    return Cue(start=start, end=end, text=text, speaker=voice[1].strip() if voice else "")
