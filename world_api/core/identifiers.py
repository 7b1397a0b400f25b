"""Identifiers: what they look like, and how the ones that name a span are made."""

from __future__ import annotations

import re
from hashlib import blake2b

from world_api.core.faults import StoreFault
from world_api.core.spans import TimeSpan

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def is_name(text: str) -> bool:
    """Whether ``text`` may name a video, a session or a library (and so a folder)."""
    return _NAME.fullmatch(text) is not None and ".." not in text


def check_video_id(video_id: str) -> str:
    """Return the id, or refuse one that could not safely name a folder.

    Raises:
        StoreFault: ``bad_video_id``.
    """
    return _check(video_id, code="bad_video_id", what="video id")


def check_session_name(name: str) -> str:
    """Return the session's name, or refuse it.

    Raises:
        StoreFault: ``bad_session_name``.
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
    """The id a video gets when none is asked for: its file name's stem, folded to legal characters.

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
