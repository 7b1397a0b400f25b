"""A small picture to be looked at: two colours side by side."""

from __future__ import annotations

import base64
import struct
import zlib

LEFT_COLOUR, RIGHT_COLOUR = "yellow", "blue"
_LEFT, _RIGHT = bytes((255, 220, 0)), bytes((0, 40, 220))
_SIDE = 64  #: pixels; some models take nothing under 28


def two_colours() -> str:
    """The picture as a data URL of a PNG (RFC 2083)."""
    row = b"\0" + _LEFT * (_SIDE // 2) + _RIGHT * (_SIDE // 2)
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(row * _SIDE)), _chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
