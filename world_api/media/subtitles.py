"""Subtitles beside and inside videos: finding them, decoding and parsing them, and choosing which to use.

The caller may name a file or a language, or request none. Otherwise the file that has exactly the video's name is used;
then subtitles in the language of the sound; then the first, files before streams. Partial (forced) ones come last, and
subtitles without a cue are skipped.
"""

from __future__ import annotations

import codecs
import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from world_api.core.faults import MediaFault
from world_api.core.files import hint_of_path, open_regular
from world_api.core.identifiers import printable
from world_api.media.container import DEFAULT_LIMITS, Limits, open_video
from world_api.media.decode_pass import LossNote, loss
from world_api.media.decoder import MediaWorker

if TYPE_CHECKING:
    from av.subtitles.stream import SubtitleStream

_ARROW = "-->"
_TIME = r"(-?)(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*{_ARROW}\s*{_TIME}")
_ASS_TIME = re.compile(r"\s*(-?)(\d{1,4}):(\d{1,2}):(\d{1,2})[.,:](\d{1,3})\s*")
_TAG = re.compile(r"</?[A-Za-z0-9][^<>\n]*>|\{\\[^{}]*\}")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*+)?\s([^<>]*+)>", re.IGNORECASE)
_OVERRIDES = re.compile(r"\{([^{}]*)\}")
_DRAWING = re.compile(r"\\p(\d{1,9})")
#: A character reference that is too long for any character; Python refuses to parse very long ones.
_NO_CHARACTER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}+;?")
#: The fields of an event if no line names them.
_ASS_FIELDS = ("layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text")
#: A line on screen for longer than this (seconds) is a watermark or an error, not speech.
_LONGEST = 600.0
#: The most characters that a cue keeps (usual are a hundred), that are parsed with markup, and that a name keeps.
_MOST_TEXT, _MOST_RAW, _MOST_NAME = 2000, 16_000, 200
#: The most lines that are read, and the most fields of a line of an ASS file.
MOST_LINES, _MOST_FIELDS = 1_000_000, 64


@dataclass(frozen=True, kw_only=True)
class Cue:
    """A line of subtitles on the file's own clock (seconds). ``speaker`` is empty if none is named."""

    start: float
    end: float
    text: str
    speaker: str = ""


def srt_text(lines: Iterable[tuple[float, float, str]]) -> str:
    """Return lines, each (start, end, text) in seconds, as SubRip text."""
    return "\n".join(
        f"{number}\n{_stamp(start)} --> {_stamp(end)}\n{text}\n"
        for number, (start, end, text) in enumerate(lines, start=1)
    )


def _stamp(seconds: float) -> str:
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    minutes, second = divmod(whole, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d},{milliseconds:03d}"


def parse_cues(text: str) -> Iterator[Cue | None]:
    """Yield the cues of an SRT, WebVTT, ASS or SSA text in the order of the file; None for each invalid one.

    Only the first ``MOST_LINES`` lines are read.
    """
    lines = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n").split("\n", MOST_LINES)[:MOST_LINES]
    is_ass = any(line.strip().lower() == "[events]" for line in lines)
    return _ass_cues(lines) if is_ass else _timed_cues(lines)


def make_cue(start: float, end: float, raw: str, *, speaker: str = "") -> Cue | None:
    """Return a cue without markup; None without text, or if times are wrong or over 10 min apart. ``speaker``: if ``raw`` has none."""
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
    """Return the text of an ASS event, without overrides and drawing commands."""
    raw = raw[:_MOST_RAW]
    words, draws = "", False
    for number, part in enumerate(_OVERRIDES.split(raw)):
        if number % 2:  # an override
            for level in _DRAWING.findall(part):
                draws = int(level) > 0
        elif not draws:
            words += part
    return words.replace(r"\N", "\n").replace(r"\n", "\n").replace(r"\h", " ")


def _timed_cues(lines: list[str]) -> Iterator[Cue | None]:
    """Yield the cues of SRT and WebVTT, None for invalid ones. A timing line is followed by the lines of text."""
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
            words.pop()  # the number of the next cue, if the blank line is missing
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
            event = dict(zip(fields, rest.split(",", len(fields) - 1), strict=False))
            start, end = (_ASS_TIME.fullmatch(event.get(name, "")) for name in ("start", "end"))
            if start is None or end is None or "text" not in event:
                yield None
                continue
            times = _seconds(*start.groups()), _seconds(*end.groups())
            yield make_cue(*times, plain_ass(event["text"]), speaker=event.get("name", event.get("actor", "")))


def _seconds(sign: str, hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    value = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction}")
    return -value if sign else value


SUFFIXES = (".srt", ".vtt", ".ass", ".ssa")
_NAME = re.compile(r"\.([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8}){0,2}(\.(?:forced|sdh|cc|hi))?", re.IGNORECASE)
_TEXT_CODECS = frozenset({"mov_text", "subrip", "srt", "ass", "ssa", "webvtt", "text"})
#: The most bytes and cues that are read of a file: a film has two thousand cues, a day of talk thirty thousand.
_LARGEST_FILE, _MOST_CUES = 20_000_000, 50_000
#: After this many invalid cues the rest is not read.
_MOST_SENSELESS = 20_000
#: Packets between two calls of ``each`` in :func:`read_stream`.
_PACKETS = 1000
#: The duration of an event without an end (seconds).
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

    ``language`` is an ISO 639-1 code if one is known, else as written, or empty. ``is_partial``: it contains only signs
    and lines in foreign languages, not all speech.
    """

    kind: Literal["sidecar", "embedded"]
    name: str
    language: str
    path: Path
    stream: int = -1
    is_partial: bool = False


@dataclass(frozen=True, kw_only=True)
class Inside:
    """The text subtitle streams in a video, default ones first; whether it has sound; the sound's language ("": unknown)."""

    texts: tuple[SubtitleSource, ...]
    has_sound: bool
    language: str


@dataclass(frozen=True, kw_only=True)
class CueList:
    """Cues in time order; ``left_out``: number of invalid ones; ``is_cut``: the end was not read, since there was too much."""

    cues: tuple[Cue, ...]
    left_out: int = 0
    is_cut: bool = False


def language_code(code: str | None) -> str:
    """Return a language's code in lower case and without region: ``eng``, ``EN`` and ``en-US`` become ``en``.

    Three-letter codes that are not known keep their letters. None and ``und`` give an empty text.
    """
    plain = re.split(r"[-_]", (code or "").strip().lower())[0]
    return _CODES.get(plain, plain)


def find_sidecars(video: Path) -> tuple[list[SubtitleSource], list[Path]]:
    """Return subtitle files with the video's name, alone or with a language (``film.zh-CN.ass``); those without one first.

    The second list has the links of such names to other folders, which are not followed: files beside a video are untrusted.
    """
    beside: list[Path] = []
    with suppress(OSError):
        beside = sorted(path for path in video.parent.iterdir() if path.suffix.lower() in SUFFIXES)
    homes = {video.parent.resolve(), video.resolve().parent}
    readable = (path for path in beside if os.access(path, os.R_OK) and path.is_file())
    sources = [source for path in readable if (source := _sidecar(path, video)) is not None]
    found = [source for source in sources if source.path.resolve().parent in homes]
    found.sort(key=lambda source: (source.language != "", SUFFIXES.index(source.path.suffix.lower())))
    return found, [source.path for source in sources if source.path.resolve().parent not in homes]


def look_inside(video: Path, *, limits: Limits = DEFAULT_LIMITS) -> Inside:
    """Return the text streams inside a video and facts about its sound; raises as :func:`open_video`."""
    from av.stream import Disposition

    with open_video(video, limits=limits) as container:
        texts = [stream for stream in container.streams.subtitles if _is_text(stream)]
        texts.sort(key=lambda stream: not stream.disposition & Disposition.default)
        audio = container.streams.best("audio")
        sources = tuple(
            SubtitleSource(
                kind="embedded", name=f"stream {stream.index}", language=language_code(stream.language), path=video,
                stream=stream.index, is_partial=bool(stream.disposition & Disposition.forced),
            )
            for stream in texts
        )  # fmt: skip
        language = language_code(audio.language if audio is not None else "")
        return Inside(texts=sources, has_sound=bool(container.streams.audio), language=language)


def read_subtitles(path: Path) -> CueList:
    """Read the cues of a subtitle file in any encoding; no cues if it is not a regular file."""
    data = b""
    with suppress(OSError), open_regular(path) as file:
        data = file.read(_LARGEST_FILE + 1)
    text = decode(data[:_LARGEST_FILE])
    lines = text.count("\n") + text.count("\r") - text.count("\r\n")
    return _listed(parse_cues(text), is_cut=len(data) > _LARGEST_FILE or lines >= MOST_LINES)


def read_stream(
    video: Path, index: int, each: Callable[[], None] | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> CueList:
    """Read the cues of a text stream inside a video; no cues if there is no such stream.

    The whole file is read, which may take minutes: ``each`` is called every 1000 packets. Raises as :func:`open_video`.
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
        if left_out >= _MOST_SENSELESS or (cue is not None and len(cues) >= _MOST_CUES):
            is_cut = True
            break
        if cue is None:
            left_out += 1
        else:
            cues.add(cue)
    ordered = sorted(cues, key=lambda cue: (cue.start, cue.end, cue.text, cue.speaker))
    return CueList(cues=tuple(ordered), left_out=left_out, is_cut=is_cut)


def _sidecar(path: Path, video: Path) -> SubtitleSource | None:
    """Return a subtitle file as source; None unless its stem is the video's, maybe with ``.en`` or ``.en.forced``."""
    rest = path.stem[len(video.stem) :]
    found = _NAME.fullmatch(rest)
    if not path.stem.startswith(video.stem) or (rest and found is None):
        return None
    language, part = (found[1], found[2]) if found is not None else ("", "")
    return SubtitleSource(
        kind="sidecar", name=printable(path.name), language=language_code(language), path=path,
        is_partial=(part or "").lower() == ".forced",
    )  # fmt: skip


def _is_text(stream: SubtitleStream) -> bool:
    return stream.codec_context is not None and stream.codec_context.name in _TEXT_CODECS


def _packet_text(data: bytes, codec: str) -> tuple[str, str]:
    """Return the text of a packet and its speaker, each empty if there is none."""
    if codec == "mov_text":
        sample = data[2 : 2 + int.from_bytes(data[:2], "big")]
        # 3GPP timed text is UTF-16 with a byte order mark, else UTF-8.
        is_wide = sample.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE))
        return sample.decode("utf-16" if is_wide else "utf-8-sig", errors="replace"), ""
    text = data.decode("utf-8", errors="replace")
    if codec in {"ass", "ssa"}:
        # ReadOrder, Layer, Style, Name, MarginL, MarginR, MarginV, Effect, Text
        fields = text.split(",", 8)
        return (plain_ass(fields[8]), fields[3]) if len(fields) == 9 else ("", "")
    return text, ""


#: Byte order marks and their encodings; the longer first, since one begins with the other.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Characters by which Japanese and Korean text is recognised.
_KANA, _HANGUL = re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\uac00-\ud7a3]")
_SCRIPT_SHARE = 0.3
#: The share of Chinese characters and punctuation among non-ASCII ones, and their median run, from which on text is Chinese.
#: Accents of another language, misread as GB 18030, give single characters between Latin letters.
_CHINESE_SHARE, _CHINESE_ROW = 0.8, 2
_CHINESE_SIGN = re.compile(r"[\u2000-\u206f\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_CHINESE_ROWS = re.compile(r"[\u4e00-\u9fff]+")
#: The most frequent Chinese characters, simplified and traditional: text decoded in the wrong encoding has few of them.
_COMMON = frozenset(
    "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么"
    "心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长"
    "這來國個說們為時會過學對裡後麼沒於還發當開經頭見動兩長什很吗嗎呢吧啊请請谢謝今明点點问問知"
)
#: Bytes of a file by which its encoding is detected.
_SAMPLE = 200_000
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
#: The replacement for bytes that are no character.
DAMAGED = "\ufffd"
#: The largest share of damaged characters among non-ASCII ones. Bytes are hardly ever valid UTF-8 by chance, so more is allowed.
_UTF8_DAMAGE, _EAST_ASIAN_DAMAGE = 0.34, 0.1
_CHINESE_ENCODINGS = ("gb18030", "big5hkscs")


def decode(data: bytes) -> str:
    """Return the text of a file, whose encoding is detected; no file is refused.

    Invalid bytes become U+FFFD (one may replace several); an incomplete character at the end may be left out.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if (wide := _wide(data[:_SAMPLE])) is not None:
        return data.decode(wide, errors="replace")
    if (beyond := _BEYOND_ASCII.search(data)) is None:
        return data.decode("ascii")
    line = data.rfind(b"\n", 0, beyond.start()) + 1
    sample = data[line : line + _SAMPLE]
    is_utf8 = _damage(_whole_characters("utf-8", sample)) <= _UTF8_DAMAGE  # a few damaged bytes do not change it
    return _whole_characters("utf-8" if is_utf8 else _east_asian(sample) or "cp1252", data)


def _wide(sample: bytes) -> str | None:
    """Return ``utf-16-le`` or ``utf-16-be`` if the bytes seem to be UTF-16 without a byte order mark; else None.

    In UTF-16 every other byte of Western text, line ends and digits is zero.
    """
    if len(sample) < 8:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    few, many = sorted((even, odd))
    if many < len(sample) // 8 or few > many // 10:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _whole_characters(encoding: str, data: bytes) -> str:
    """Return the decoded text, with U+FFFD for invalid bytes; an incomplete character at the end is left out."""
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(data, final=False)


def _damage(text: str) -> float:
    """Return the share of U+FFFD among the non-ASCII characters of a text, 0 to 1; 0 if there are none."""
    beyond = sum(1 for sign in text if not sign.isascii())
    return text.count(DAMAGED) / beyond if beyond else 0.0


def _east_asian(sample: bytes) -> str | None:
    """Return the name of the encoding if the bytes seem to be Japanese, Korean or Chinese text; else None."""
    decoded = {name: _whole_characters(name, sample) for name in (*_CHINESE_ENCODINGS, "cp932", "cp949")}
    texts = {name: text for name, text in decoded.items() if _damage(text) <= _EAST_ASIAN_DAMAGE}
    chinese = {name: _commonness(texts[name]) for name in _CHINESE_ENCODINGS if name in texts}
    if max(chinese.values(), default=0.0) < _SCRIPT_SHARE:
        for name, script, share in (("cp932", _KANA, _SCRIPT_SHARE), ("cp949", _HANGUL, _CHINESE_SHARE)):
            if name in texts and _share(texts[name], script) >= share:
                return name
    likely = [name for name in chinese if _is_chinese(texts[name])]
    return max(likely, key=lambda name: chinese[name] - _damage(texts[name]), default=None)


def _share(text: str, signs: re.Pattern[str]) -> float:
    beyond = [sign for sign in text if not sign.isascii()]
    return sum(1 for sign in beyond if signs.match(sign)) / len(beyond) if beyond else 0.0


def _commonness(text: str) -> float:
    chinese = [sign for row in _CHINESE_ROWS.findall(text) for sign in row]
    return sum(1 for sign in chinese if sign in _COMMON) / len(chinese) if chinese else 0.0


def _is_chinese(text: str) -> bool:
    """Whether the non-ASCII characters are Chinese text, not misread accents of another script."""
    rows = sorted(len(row) for row in _CHINESE_ROWS.findall(text))
    if not rows:
        return False
    return _share(text, _CHINESE_SIGN) >= _CHINESE_SHARE and rows[len(rows) // 2] >= _CHINESE_ROW


AUTO, NONE = "auto", "none"
#: Faults of a stream that kills its decoder: the video is built without the stream.
_BEYOND_READING = frozenset({"decoder_died", "decoder_stalled"})


@dataclass(frozen=True, kw_only=True)
class Subtitles:
    """The subtitles that are used, why these (in words), and what was lost. ``source`` is None if there are none."""

    source: SubtitleSource | None
    cues: tuple[Cue, ...]
    why: str
    losses: tuple[LossNote, ...] = ()

    @property
    def language(self) -> str:
        """The language's code, empty if unknown."""
        return self.source.language if self.source is not None else ""


def look_into(video: Path, worker: MediaWorker) -> Inside:
    """Return what a decoding process finds inside a video; raises as :meth:`MediaWorker.ask`."""
    message, _ = worker.ask({"do": "texts"}, video)
    texts = tuple(SubtitleSource(**record | {"path": video}) for record in message["texts"])
    return Inside(texts=texts, has_sound=message["has_sound"], language=message["language"])


def read_source(source: SubtitleSource, worker: MediaWorker) -> CueList:
    """Read the cues of one source; raises as :meth:`MediaWorker.ask`."""
    if source.kind == "sidecar":
        return read_subtitles(source.path)
    record = json.loads(worker.ask({"do": "cues", "stream": source.stream}, source.path)[1])
    return CueList(**record | {"cues": tuple(Cue(**cue) for cue in record["cues"])})


def choose_subtitles(video: Path, wanted: str = AUTO, worker: MediaWorker | None = None) -> Subtitles:
    """Find, choose and read a video's subtitles. ``wanted``: ``auto``, ``none``, a language's code, or a file's path.

    ``worker`` reads streams inside the video; without one a process is started for this call. If no subtitles are used,
    ``source`` of the result is None.

    Raises:
        MediaFault: ``no_such_subtitles``, if the named file or language does not exist; the faults of probing.
    """
    if wanted == NONE:
        return Subtitles(source=None, cues=(), why="none were wanted")
    if worker is None:
        with closing(MediaWorker()) as own:
            return choose_subtitles(video, wanted, own)
    if Path(wanted).suffix.lower() in SUFFIXES or "/" in wanted or "\\" in wanted:
        return _named_file(Path(wanted).expanduser(), video, worker)
    sidecars, strangers = find_sidecars(video)
    inside = look_into(video, worker)
    elsewhere = "is a link to another folder and was not followed; name it to have it read"
    losses = [loss("subtitles_elsewhere", f"{path.name} {elsewhere}") for path in strangers]
    found = sorted([*sidecars, *inside.texts], key=lambda source: source.is_partial)
    if wanted == AUTO:
        return _first_with_cues(_in_order(found, inside.language), losses, worker)
    language = language_code(wanted)
    fitting = [(source, "its language was wanted") for source in found if source.language == language]
    if not fitting:
        there = ", ".join(f"{source.name} ({source.language or 'language unknown'})" for source in found) or "none"
        raise MediaFault(
            "no_such_subtitles",
            f"{video.name} has no subtitles in {wanted!r}; it has: {there}",
            hint="name a language it has, a subtitle file, or 'none'",
        )
    return _first_with_cues(fitting, losses, worker)


def _named_file(path: Path, video: Path, worker: MediaWorker) -> Subtitles:
    if not path.is_file():
        raise MediaFault("no_such_subtitles", f"there is no subtitle file {path}", hint=hint_of_path(path))
    language = next((found.language for found in find_sidecars(video)[0] if found.path.resolve() == path.resolve()), "")
    source = SubtitleSource(kind="sidecar", name=printable(path.name), language=language, path=path)
    return _first_with_cues([(source, "it was named")], [], worker)


def _in_order(found: Sequence[SubtitleSource], sound: str) -> list[tuple[SubtitleSource, str]]:
    """Return the sources in order of preference, each with the reason in words; ``sound``: the sound's language or empty."""

    def rank(source: SubtitleSource) -> tuple[int, str]:
        if source.is_partial:
            return 3, "there is nothing else"
        if source.kind == "sidecar" and not source.language:
            return 0, "it has the video's name"
        return (1, "it is in the language of the sound") if sound == source.language != "" else (2, "it is the first")

    return [(source, rank(source)[1]) for source in sorted(found, key=lambda source: rank(source)[0])]


def _first_with_cues(
    order: Sequence[tuple[SubtitleSource, str]], losses: list[LossNote], worker: MediaWorker
) -> Subtitles:
    for source, why in order:
        try:
            read = read_source(source, worker)
        except MediaFault as fault:
            if fault.code not in _BEYOND_READING:
                raise
            losses.append(loss("subtitles_damaged", f"{source.name} was passed over: {fault.message}"))
            continue
        if read.left_out:
            what = "1 cue was" if read.left_out == 1 else f"{read.left_out} cues were"
            message = f"{what} left out of {source.name}: their times or words make no sense"
            losses.append(loss("subtitles_damaged", message))
        if damaged := sum(cue.text.count(DAMAGED) for cue in read.cues):
            what = "1 character" if damaged == 1 else f"{damaged} characters"
            losses.append(loss("subtitles_damaged", f"{what} of {source.name} could not be read and show as U+FFFD"))
        if read.is_cut:
            losses.append(loss("subtitles_cut", f"{source.name} is too long; only its beginning was read"))
        if read.cues:
            return Subtitles(source=source, cues=read.cues, why=why, losses=tuple(losses))
        losses.append(loss("subtitles_empty", f"{source.name} holds no cue that can be read"))
    return Subtitles(source=None, cues=(), why="there are none", losses=tuple(losses))
