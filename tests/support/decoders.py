"""Decoding processes as the system sees them, for tests that kill them."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import pytest

from world_api.media.decoder import VideoPass
from world_api.media.frames import Frame
from world_api.media.process import ChildProcess, DecoderProcess, Message, ProcessGone


def number_of(process: ChildProcess) -> int:
    """Its number in the system."""
    return process._process.pid


def decoder_of(decode: VideoPass) -> int | None:
    """The number of the process that decodes a pass, while there is one."""
    return number_of(decode.process) if decode.process is not None else None


def is_alive(number: int) -> bool:
    """Whether there is a process of that number; one that ended and was not waited for counts."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def children() -> set[int]:
    """The processes that this one started by its main thread and that are still there; empty where the system does not tell."""
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return {int(number) for number in listed.read_text().split()} if listed.exists() else set()


def killing(monkeypatch: pytest.MonkeyPatch, what: str, *, times: int) -> list[int]:
    """Kill the process that is asked for ``what`` so many times, as a lack of memory does; the list tells of each death."""
    deaths: list[int] = []
    ask = DecoderProcess.ask

    def asked(self: DecoderProcess, request: Message) -> tuple[Message, bytes]:
        if request["do"] == what and len(deaths) < times:
            deaths.append(number_of(self))
            os.kill(deaths[-1], signal.SIGKILL)
        return ask(self, request)

    monkeypatch.setattr(DecoderProcess, "ask", asked)
    return deaths


Decoding = Callable[..., Iterator[Frame]]


def decoding_that_dies_at(start: float, end: float) -> Decoding:
    """``VideoPass._decoded`` with a decoder that dies whenever it is about to send a frame of an interval (seconds)."""
    decoded = VideoPass._decoded

    def dying(self: VideoPass, *, skip: float) -> Iterator[Frame]:
        before = self.last_time
        for frame in decoded(self, skip=skip):
            if start <= frame.time < end:
                frame.release()
                self.last_time = before
                raise ProcessGone("it was ended by SIGKILL")
            before = frame.time
            yield frame

    return dying


def with_damage(source: Path, path: Path, *parts: tuple[float, float]) -> Path:
    """Copy a video; the data of the packets presented in the parts (start and end, seconds) are zeros."""
    data = bytearray(source.read_bytes())
    with av.open(str(source)) as container:
        for packet in container.demux(video=0):
            time = math.inf if packet.pts is None or not packet.time_base else float(packet.pts * packet.time_base)
            if packet.pos is not None and any(start - 1e-6 <= time < end - 1e-6 for start, end in parts):
                data[packet.pos : packet.pos + packet.size] = bytes(packet.size)
    path.write_bytes(data)
    return path
