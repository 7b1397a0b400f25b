"""Identifiers, hints for misspelt ones, and functions that make text of unknown origin safe to print.

A file's name is bytes and need not be UTF-8; a model's text may contain characters that move a terminal's cursor.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

from world_api.core.faults import StoreFault
from world_api.core.spans import TimeSpan

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def is_name(text: str) -> bool:
    """Whether ``text`` can be the name of a video, a session or a library, and so of a folder."""
    return _NAME.fullmatch(text) is not None and ".." not in text


def check_video_id(video_id: str) -> str:
    """Return the id unchanged.

    Raises StoreFault: ``bad_video_id`` if it is not a name (``is_name``).
    """
    return _check(video_id, code="bad_video_id", what="video id")


def check_session_name(name: str) -> str:
    """Return the session's name unchanged.

    Raises StoreFault: ``bad_session_name`` if it is not a name (``is_name``).
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
    """Return the default id of a video: its file name's stem in lower case, illegal characters replaced by ``-``.

    For a name that is not ASCII a short hash is appended, so that two such names have different ids.
    """
    folded = re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).strip("-._")
    folded = re.sub(r"\.{2,}", ".", folded)[:64].strip("-._")
    if stem.isascii():
        return folded or "video"
    mark = blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{folded[:55].strip('-._') or 'video'}-{mark}"


def scene_id(ordinal: int) -> str:
    """Return the id of a scene: ``scene_0007`` for the eighth one (ordinals begin at 0)."""
    return f"scene_{ordinal:04d}"


def chapter_id(ordinal: int) -> str:
    """Return the id of a group of scenes: ``chapter_0012`` for the one that begins with ``scene_0012``."""
    return f"chapter_{ordinal:04d}"


def segment_id(span: TimeSpan) -> str:
    """Return the id of a segment, its span in tenths of a second: ``seg_0001230_0001310`` for 123.0 to 131.0 s."""
    return f"seg_{round(span.start * 10):07d}_{round(span.end * 10):07d}"


#: Characters that represent bytes other than UTF-8 in Python's strings; no encoding can write them.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Unicode categories: control characters, characters of direction or without width, surrogates, line separators.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_PICTURES = 0x2400  #: where Unicode's pictures of the first 32 control characters begin
_PICTURE_OF_DELETE = "\N{SYMBOL FOR DELETE}"
#: Control characters (except tab and newline), and the characters that change the direction of writing.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Replace each character that UTF-8 cannot encode (lone surrogates) by U+FFFD."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def visible(text: str) -> str:
    r"""Replace control characters and characters that change the direction of writing by escapes such as ``\u001b``.

    Tabs and newlines are kept. A text that is JSON keeps its meaning.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))


def pictured(text: str) -> str:
    """Replace each invisible or control character by a visible one of one column, such as U+241B for escape.

    Tabs are kept, and the number of characters does not change.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_seen, text))


def columns(text: str) -> int:
    """Return the number of terminal columns of a text from ``pictured``; a tab counts as one."""
    if text.isascii():
        return len(text)
    seen = (letter for letter in text if unicodedata.category(letter) not in ("Mn", "Me"))
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in seen)


def plural(number: int, noun: str) -> str:
    """Return a number and a noun, such as ``1,200 frames`` or ``1 frame``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def clock_text(seconds: float) -> str:
    """Return a time as text: ``m:ss.s``, or ``h:mm:ss.s`` from one hour on."""
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


# --- names that were misspelt -----------------------------------------------------------------------------------------

_SURE = 0.75  #: similarity of two names from which on they may begin with different letters


def closest(word: str, words: Iterable[str]) -> str | None:
    """Return the known word most similar to ``word``, or None if none is similar enough."""
    options = sorted(set(words))
    if same := [option for option in options if option.casefold() == word.casefold()]:
        return same[0]
    found = difflib.get_close_matches(word[:100], options, n=1, cutoff=0.6)
    # A slip of the pen seldom changes how a word begins; 'alone' is no misspelt 'longest'.
    if found and (found[0][:1] == word[:1] or difflib.SequenceMatcher(None, word[:100], found[0]).ratio() > _SURE):
        return found[0]
    contained = [option for option in options if len(word) > 2 and (word in option or option in word)]
    return contained[0] if len(contained) == 1 else None


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return ``did you mean 'x'?``, or an empty text if no known word is similar."""
    match = closest(word, words)
    return f"did you mean {match!r}?" if match else ""


def suggestion(word: str, words: Iterable[str], otherwise: str = "one of: ") -> str:
    """Return the hint for an unknown name: ``did you mean 'x'?``, else ``otherwise`` and the list of all known names."""
    known = list(words)
    return did_you_mean(word, known) or otherwise + (", ".join(known) or "none")
