"""Cues from the text of subtitle files. Damaged cues are left out and counted; the rest survives."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

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
