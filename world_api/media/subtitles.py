"""Subtitles beside and inside videos: finding them, and reading their cues whatever their state."""

from __future__ import annotations

import codecs
import html
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from world_api.core.identifiers import printable
from world_api.media.container import DEFAULT_LIMITS, Limits, open_video
from world_api.media.subtitle_encoding import decode

if TYPE_CHECKING:
    from av.subtitles.stream import SubtitleStream

_TIME = r"(-?)(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_ASS_TIME = re.compile(r"\s*(-?)(\d{1,4}):(\d{1,2}):(\d{1,2})[.,:](\d{1,3})\s*")
_ARROW = "-->"
_TAG = re.compile(r"</?[A-Za-z0-9][^<>\n]*>|\{\\[^{}]*\}")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*+)?\s([^<>]*+)>", re.IGNORECASE)
_OVERRIDES = re.compile(r"\{([^{}]*)\}")
_DRAWING = re.compile(r"\\p(\d{1,9})")
#: A character named by a number that no character has; Python refuses to read very long ones.
_NO_CHARACTER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}+;?")
#: What the fields of an event are called where no line says so.
_ASS_FIELDS = ("layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text")
#: A line on screen for longer than this (seconds) is a watermark or a slip, not something said.
_LONGEST = 600.0
#: A cue keeps so many characters; subtitles have a hundred. So many are looked at, with markup; a name has so many.
_MOST_TEXT, _MOST_RAW, _MOST_NAME = 2000, 16_000, 200
#: So many lines are read, and a line of an ASS file has so many fields.
MOST_LINES, _MOST_FIELDS = 1_000_000, 64


@dataclass(frozen=True, kw_only=True)
class Cue:
    """A line of subtitles on the file's own clock (seconds). ``speaker`` is empty where nobody is named."""

    start: float
    end: float
    text: str
    speaker: str = ""


def parse_cues(text: str) -> Iterator[Cue | None]:
    """The cues of an SRT, WebVTT, ASS or SSA text in the order of the file; None for each that makes no sense.

    Of a text with more lines than ``MOST_LINES`` the first are read.
    """
    lines = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n").split("\n", MOST_LINES)[:MOST_LINES]
    is_ass = any(line.strip().lower() == "[events]" for line in lines)
    return _ass_cues(lines) if is_ass else _timed_cues(lines)


def make_cue(start: float, end: float, raw: str, *, speaker: str = "") -> Cue | None:
    """A cue without markup, or None where nothing is said or the times make no sense."""
    raw = raw[:_MOST_RAW]
    voice = _VOICE.search(raw)
    try:
        text = html.unescape(_NO_CHARACTER.sub("\ufffd", _TAG.sub("", raw)))
    except ValueError:
        return None
    text = " ".join(text.replace("\x00", "").split())[:_MOST_TEXT]
    if not text or end <= max(0.0, start) or end - start > _LONGEST:
        return None
    name = (voice[1].strip() if voice else "") or speaker
    return Cue(start=start, end=end, text=text, speaker=" ".join(name[:_MOST_NAME].split()))


def plain_ass(raw: str) -> str:
    """The words of an ASS event: without overrides, and without drawings, which are commands and no words."""
    raw = raw[:_MOST_RAW]
    words, place, draws = [], 0, False
    for override in _OVERRIDES.finditer(raw):
        words.append("" if draws else raw[place : override.start()])
        for number in _DRAWING.findall(override[1]):
            draws = int(number) > 0
        place = override.end()
    words.append("" if draws else raw[place:])
    return "".join(words).replace(r"\N", "\n").replace(r"\n", "\n").replace(r"\h", " ")


def _timed_cues(lines: list[str]) -> Iterator[Cue | None]:
    """SRT and WebVTT put the timing on a line of its own, and the words below it."""
    at = 0
    while at < len(lines):
        timing = _TIMING.match(lines[at])
        at += 1
        if timing is None:
            if _ARROW in lines[at - 1]:
                yield None
            continue
        words = []
        while at < len(lines) and lines[at].strip() and _ARROW not in lines[at]:
            words.append(lines[at])
            at += 1
        if at < len(lines) and words and _ARROW in lines[at] and words[-1].strip().isdigit():
            words.pop()  # the number of the next cue, where the blank line is missing
        yield make_cue(_seconds(*timing.groups()[:5]), _seconds(*timing.groups()[5:]), "\n".join(words))


def _ass_cues(lines: list[str]) -> Iterator[Cue | None]:
    fields: tuple[str, ...] = _ASS_FIELDS
    is_in_events = False
    for line in lines:
        kind, _, rest = line.strip().partition(":")
        kind = kind.lower()
        if kind.startswith("["):
            is_in_events = kind == "[events]"
        elif is_in_events and kind == "format":
            named = tuple(name.strip().lower() for name in rest.split(",", _MOST_FIELDS))
            fields = named if {"start", "end"} < set(named) and named[-1] == "text" else _ASS_FIELDS
        elif is_in_events and kind == "dialogue":
            yield _ass_cue(dict(zip(fields, rest.split(",", len(fields) - 1), strict=False)))


def _ass_cue(event: dict[str, str]) -> Cue | None:
    start, end = (_ASS_TIME.fullmatch(event.get(name, "")) for name in ("start", "end"))
    if start is None or end is None or "text" not in event:
        return None
    speaker = event.get("name", event.get("actor", ""))
    return make_cue(_seconds(*start.groups()), _seconds(*end.groups()), plain_ass(event["text"]), speaker=speaker)


def _seconds(sign: str, hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    value = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction}")
    return -value if sign else value


SUFFIXES = (".srt", ".vtt", ".ass", ".ssa")
_NAME = re.compile(r"\.([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8}){0,2}(\.(?:forced|sdh|cc|hi))?", re.IGNORECASE)
_TEXT_CODECS = frozenset({"mov_text", "subrip", "srt", "ass", "ssa", "webvtt", "text"})
#: So much of a file is read (bytes), and so many cues: a film has two thousand, a day of talk thirty thousand.
_LARGEST_FILE, _MOST_CUES = 20_000_000, 50_000
#: After so many cues that make no sense the rest is taken to make none either.
_MOST_SENSELESS = 20_000
#: Packets of a file between two signs of life.
_PACKETS = 1000
#: An event of a stream without an end is taken to last so long (seconds).
_OPEN_END = 3.0
#: Codes of languages as names and streams write them -> ISO 639-1.
_CODES = {
    "eng": "en", "chi": "zh", "zho": "zh", "chs": "zh", "cht": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko", "fre": "fr",
    "fra": "fr", "ger": "de", "deu": "de", "spa": "es", "por": "pt", "ita": "it", "rus": "ru", "dut": "nl", "nld": "nl",
    "pol": "pl", "tur": "tr", "ara": "ar", "hin": "hi", "vie": "vi", "tha": "th", "swe": "sv", "dan": "da", "nor": "no",
    "fin": "fi", "cze": "cs", "ces": "cs", "gre": "el", "ell": "el", "hun": "hu", "heb": "he", "ukr": "uk", "und": "",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SubtitleSource:
    """Subtitles that a video has: a file beside it (``path``) or a stream inside it (``stream``, an index of the file).

    ``language`` is an ISO 639-1 code where one is known, else as written, or empty. ``is_partial``: only what the picture
    needs (signs, foreign lines), not all that is said.
    """

    kind: Literal["sidecar", "embedded"]
    name: str
    language: str
    path: Path
    stream: int = -1
    is_partial: bool = False


@dataclass(frozen=True, kw_only=True)
class Inside:
    """What a video holds beside its picture: text streams, the default one first; whether there is sound, and in which language.

    ``language`` is the code of the sound's language, empty where unknown.
    """

    texts: tuple[SubtitleSource, ...]
    has_sound: bool
    language: str


@dataclass(frozen=True, kw_only=True)
class CueList:
    """What was read: cues in time order, how many were left out as nonsense, and whether the rest was too long."""

    cues: tuple[Cue, ...]
    left_out: int = 0
    is_cut: bool = False

    def first(self, most: int) -> CueList:
        """The first so many of them."""
        return self if len(self.cues) <= most else replace(self, cues=self.cues[:most], is_cut=True)


def language_code(code: str | None) -> str:
    """One spelling of a language's code: ``eng`` and ``EN`` are ``en``; unknown codes stay as they are."""
    plain = re.split(r"[-_]", (code or "").strip().lower())[0]
    return _CODES.get(plain, plain)


def find_sidecars(video: Path) -> tuple[list[SubtitleSource], list[Path]]:
    """Subtitle files with the video's name, alone or with a language (``film.srt``, ``film.en.srt``, ``film.zh-CN.ass``).

    The second list names links to other folders, which are not followed: what lies beside a video may come from anywhere.
    """
    try:
        beside = sorted(path for path in video.parent.iterdir() if path.suffix.lower() in SUFFIXES)
    except OSError:
        return [], []
    homes = {video.parent.resolve(), video.resolve().parent}
    found, strangers = [], []
    for path in beside:
        source = _sidecar(path, video)
        if source is None or not _is_regular(path):
            continue
        if path.resolve().parent in homes:
            found.append(source)
        else:
            strangers.append(path)
    return sorted(
        found, key=lambda source: (source.language != "", SUFFIXES.index(source.path.suffix.lower()))
    ), strangers


def look_inside(video: Path, *, limits: Limits = DEFAULT_LIMITS) -> Inside:
    """The text streams inside a video, and what is known of its sound.

    Raises:
        MediaFault: as :func:`world_api.media.container.open_video`.
    """
    from av.stream import Disposition

    with open_video(video, limits=limits) as container:
        texts = [stream for stream in container.streams.subtitles if _is_text(stream)]
        texts.sort(key=lambda stream: not stream.disposition & Disposition.default)
        audio = container.streams.best("audio")
        sources = [
            SubtitleSource(
                kind="embedded",
                name=f"stream {stream.index}",
                language=language_code(stream.language),
                path=video,
                stream=stream.index,
                is_partial=bool(stream.disposition & Disposition.forced),
            )
            for stream in texts
        ]
        return Inside(
            texts=tuple(sources),
            has_sound=bool(container.streams.audio),
            language=language_code(audio.language if audio is not None else ""),
        )


def read_bytes(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, at most so many, and whether there are more. Nothing for what is no regular file."""
    if not _is_regular(path):
        return b"", False
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError:
        return b"", False
    return data[:_LARGEST_FILE], len(data) > _LARGEST_FILE


def read_file(path: Path) -> CueList:
    """The cues of a subtitle file, in whatever encoding."""
    data, is_cut = read_bytes(path)
    text = decode(data)
    lines = text.count("\n") + text.count("\r") - text.count("\r\n")
    return _listed(parse_cues(text), is_cut=is_cut or lines >= MOST_LINES)


def read_stream(
    video: Path, index: int, each: Callable[[], None] | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> CueList:
    """The cues of a text stream inside a video; depends on nothing but the file.

    All of the file is gone through, which may take minutes: ``each`` is called every so many packets of any stream.

    Raises:
        MediaFault: as :func:`world_api.media.container.open_video`.
    """
    import av

    made: list[Cue | None] = []
    with open_video(video, limits=limits) as container:
        stream = next((s for s in container.streams.subtitles if s.index == index and _is_text(s)), None)
        if stream is None:
            return CueList(cues=())
        try:
            for number, packet in enumerate(container.demux(), start=1):
                if each is not None and number % _PACKETS == 0:
                    each()
                if packet.stream_index != index or packet.pts is None or packet.time_base is None or packet.size == 0:
                    continue
                start = float(packet.pts * packet.time_base)
                length = float(packet.duration * packet.time_base) if packet.duration else _OPEN_END
                text, speaker = _packet_text(bytes(packet), stream.codec_context.name)
                if text:
                    made.append(make_cue(start, start + length, text, speaker=speaker))
                if len(made) > _MOST_CUES:
                    break
        except av.FFmpegError:
            made.append(None)  # a damaged stream gives the cues before the damage
    return _listed(made, is_cut=False)


def _listed(made: Iterable[Cue | None], *, is_cut: bool) -> CueList:
    cues: set[Cue] = set()
    left_out = 0
    for cue in made:
        if cue is None:
            left_out += 1
            if left_out >= _MOST_SENSELESS:
                is_cut = True
                break
        elif len(cues) >= _MOST_CUES:
            is_cut = True
            break
        else:
            cues.add(cue)
    ordered = sorted(cues, key=lambda cue: (cue.start, cue.end, cue.text, cue.speaker))
    return CueList(cues=tuple(ordered), left_out=left_out, is_cut=is_cut)


def _sidecar(path: Path, video: Path) -> SubtitleSource | None:
    if path.stem == video.stem:
        return SubtitleSource(kind="sidecar", name=printable(path.name), language="", path=path)
    rest = _NAME.fullmatch(path.stem[len(video.stem) :]) if path.stem.startswith(video.stem) else None
    if rest is None:
        return None
    is_partial = (rest[2] or "").lower() == ".forced"
    return SubtitleSource(
        kind="sidecar", name=printable(path.name), language=language_code(rest[1]), path=path, is_partial=is_partial
    )


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode) and os.access(path, os.R_OK)
    except OSError:
        return False


def _is_text(stream: SubtitleStream) -> bool:
    return stream.codec_context is not None and stream.codec_context.name in _TEXT_CODECS


def _packet_text(data: bytes, codec: str) -> tuple[str, str]:
    """The words of a packet and who says them."""
    if codec == "mov_text":
        length = int.from_bytes(data[:2], "big")
        return _sample_text(data[2 : 2 + length]), ""
    text = data.decode("utf-8", errors="replace")
    if codec in {"ass", "ssa"}:
        # ReadOrder, Layer, Style, Name, MarginL, MarginR, MarginV, Effect, Text
        fields = text.split(",", 8)
        return (plain_ass(fields[8]), fields[3]) if len(fields) == 9 else ("", "")
    return text, ""


def _sample_text(sample: bytes) -> str:
    """The text of a 3GPP timed text sample: UTF-16 where a byte order mark says so, else UTF-8."""
    is_wide = sample.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE))
    return sample.decode("utf-16" if is_wide else "utf-8-sig", errors="replace")
