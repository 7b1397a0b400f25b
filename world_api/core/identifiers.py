"""Identifiers, and text of unknown origin made safe to print.

A name on disk is bytes and need not be UTF-8; a model's text may hold characters that move a terminal's cursor.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b

from world_api.core.faults import StoreFault
from world_api.core.spans import TimeSpan

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def is_name(text: str) -> bool:
    """Whether ``text`` may name a video, a session or a library (and so a folder)."""
    return _NAME.fullmatch(text) is not None and ".." not in text


def check_video_id(video_id: str) -> str:
    """Return the id, or refuse one that could not safely name a folder.

    Raises StoreFault: ``bad_video_id``.
    """
    return _check(video_id, code="bad_video_id", what="video id")


def check_session_name(name: str) -> str:
    """Return the session's name, or refuse it.

    Raises StoreFault: ``bad_session_name``.
    """
    return _check(name, code="bad_session_name", what="session name")


def _check(text: str, *, code: str, what: str) -> str:
    if not is_name(text):
        shown = text if len(text) <= 64 else text[:61] + "..."
        raise StoreFault(
            code,
            f"{shown!r} is not a {what}",
            hint="use 1 to 64 of the characters a-z 0-9 . _ - and begin with a letter or a digit",
        )
    return text


def video_id_from_file_name(stem: str) -> str:
    """The default id of a video: its file name's stem, folded to legal characters.

    A name with letters that ids lack gets a short hash of the whole name, so that two such names stay apart.
    """
    folded = re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).strip("-._")
    folded = re.sub(r"\.{2,}", ".", folded)[:64].strip("-._")
    if stem.isascii():
        return folded or "video"
    mark = blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{folded[:55].strip('-._') or 'video'}-{mark}"


def scene_id(ordinal: int) -> str:
    """``scene_0007`` for the eighth scene (ordinals begin at 0)."""
    return f"scene_{ordinal:04d}"


def chapter_id(ordinal: int) -> str:
    """``chapter_0012`` for the group of scenes that begins with ``scene_0012``."""
    return f"chapter_{ordinal:04d}"


def segment_id(span: TimeSpan) -> str:
    """``seg_0001230_0001310`` for 123.0 to 131.0 s: the span in tenths of a second."""
    return f"seg_{round(span.start * 10):07d}_{round(span.end * 10):07d}"


#: Characters that represent bytes other than UTF-8 in Python's strings; no encoding can write them.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Unicode categories of control characters, characters of direction or without width, line separators, surrogates.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_PICTURES = 0x2400  #: where Unicode's pictures of the first 32 control characters begin
_PICTURE_OF_DELETE = "\N{SYMBOL FOR DELETE}"
#: Controls (tabs and line ends aside), and embeddings, overrides and isolates of bidirectional text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Replace each character that UTF-8 cannot write by U+FFFD."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def visible(text: str) -> str:
    r"""Spell out each control character and each character that changes the direction of writing, as ``\u001b``.

    A text that is JSON stays the same JSON.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))


def pictured(text: str) -> str:
    """Replace each character that would steer a terminal or cannot be seen by a sign of one column.

    Tabs and the number of characters stay.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_seen, text))


def columns(text: str) -> int:
    """The number of columns that a ``pictured`` text takes on a terminal; a tab counts as one."""
    if text.isascii():
        return len(text)
    seen = (letter for letter in text if unicodedata.category(letter) not in ("Mn", "Me"))
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in seen)


def plural(number: int, noun: str) -> str:
    """Return a number of things, such as ``1,200 frames``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def clock_text(seconds: float) -> str:
    """``m:ss.s`` (or ``h:mm:ss.s``) for people."""
    minutes, rest = divmod(round(seconds, 1), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:04.1f}" if hours else f"{minutes}:{rest:04.1f}"


def _seen(letter: str) -> str:
    if letter == "\t" or unicodedata.category(letter) not in _STEERING:
        return letter
    code = ord(letter)
    if code < 0x20:
        return chr(_PICTURES + code)
    return _PICTURE_OF_DELETE if code == 0x7F else "\N{REPLACEMENT CHARACTER}"
