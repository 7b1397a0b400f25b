"""Decoding processes as the system sees them, for tests that kill them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from world_api.media.decoder import DecoderProcess, VideoPass
from world_api.media.process import ChildProcess, Message


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
