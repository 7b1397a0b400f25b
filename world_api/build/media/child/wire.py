"""Messages between the two processes: JSON lines, some followed by raw bytes."""

from __future__ import annotations

import json
import os
import select
from time import monotonic
from typing import Any

Message = dict[str, Any]

_CHUNK = 1 << 16
#: No message line is longer (bytes).
_LONGEST = 1 << 22
#: What is sent holds no circles, and to look for them takes a fifth of the time.
_encode = json.JSONEncoder(check_circular=False).encode


class Closed(Exception):
    """The other side is gone."""


class Silent(Exception):
    """The other side said nothing in time."""


class Wire:
    """One end of a pair of pipes, by their file descriptors."""

    def __init__(self, *, read_from: int, write_to: int) -> None:
        self._in, self._out = read_from, write_to
        self._buffer = bytearray()
        self._held: list[bytes] = []
        self.sent_at = monotonic()

    def send(self, message: Message, payload: bytes = b"") -> None:
        """Send a message, with raw bytes after it, and what is held.

        Raises:
            Closed: nobody reads.
        """
        whole = {**message, "bytes": len(payload)} if payload else message
        self._held.append(_encoded(whole) + payload)
        self.flush()

    def hold(self, message: Message) -> None:
        """Send a message together with others, by :meth:`flush` or with the next that is sent.

        To wake the other side costs more than to tell it of a frame.
        """
        self._held.append(_encoded(message))

    def flush(self) -> None:
        """Send what is held; where nothing is, nothing was sent.

        Raises:
            Closed: nobody reads.
        """
        if not self._held:
            return
        data = memoryview(b"".join(self._held))
        self._held.clear()
        self.sent_at = monotonic()
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except (BrokenPipeError, OSError) as error:
            raise Closed from error

    def has_message(self) -> bool:
        """Whether a message, or the end, can be read at once."""
        return b"\n" in self._buffer or bool(select.select([self._in], [], [], 0)[0])

    def receive(self, *, patience: float | None = None) -> tuple[Message, bytes]:
        """The next message and its raw bytes. ``patience`` is how long (seconds) to wait for more.

        Raises:
            Closed: the other side has ended.
            Silent: nothing came in time.
            ValueError: what came is no message.
        """
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _LONGEST:
                raise ValueError("a message without an end")
            self._fill(patience)
        message = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        if not isinstance(message, dict):
            raise ValueError("a message that is no object")
        size = int(message.pop("bytes", 0))
        while len(self._buffer) < size:
            self._fill(patience)
        payload = bytes(self._buffer[:size])
        del self._buffer[:size]
        return message, payload

    def _fill(self, patience: float | None) -> None:
        deadline = None if patience is None else monotonic() + patience
        while True:
            left = None if deadline is None else max(0.0, deadline - monotonic())
            if select.select([self._in], [], [], left)[0]:
                break
            raise Silent
        data = os.read(self._in, _CHUNK)
        if not data:
            raise Closed
        self._buffer += data


def _encoded(message: Message) -> bytes:
    return _encode(message).encode() + b"\n"
