"""Sound out of WAV data as synthesisers write it, also where they stream it and do not know its length."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_PCM, _EXTENSIBLE = 1, 0xFFFE
_RATES = range(4_000, 192_001)


def read_wave(data: bytes) -> tuple[NDArray[np.float32], int]:
    """The first channel of 16-bit PCM, -1 to 1, and its samples a second.

    A ``data`` chunk that claims to be longer than what there is ends where the data ends.

    Raises:
        ValueError: for anything else.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("no WAV data")
    channels = rate = 0
    place = 12
    while place + 8 <= len(data):
        name, size = data[place : place + 4], struct.unpack_from("<I", data, place + 4)[0]
        body = data[place + 8 : place + 8 + size]
        if name == b"fmt ":
            channels, rate = _format(body)
        if name == b"data":
            if not channels:
                raise ValueError("WAV data before its format")
            whole = np.frombuffer(body[: len(body) // (2 * channels) * 2 * channels], "<i2")
            return (whole[::channels] / 32768.0).astype(np.float32), rate
        place += 8 + size + size % 2
    raise ValueError("WAV data without sound")


def _format(body: bytes) -> tuple[int, int]:
    if len(body) < 16:
        raise ValueError("a WAV format that is cut off")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body)
    if kind not in {_PCM, _EXTENSIBLE} or bits != 16 or not channels or rate not in _RATES:
        raise ValueError("WAV data that is not 16-bit PCM")
    return channels, rate


def at_rate(samples: NDArray[np.float32], rate: int, wanted: int) -> NDArray[np.float32]:
    """The same sound with another number of samples a second, by straight lines between them."""
    if rate == wanted or not len(samples):
        return samples
    count = round(len(samples) * wanted / rate)
    times = np.arange(count) * (rate / wanted)
    return np.asarray(np.interp(times, np.arange(len(samples)), samples), np.float32)
