"""Entry of a child process; started by :class:`world_api.media.process.ChildProcess`, never by a person."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Protocol

from world_api.core.faults import VideoWorldError, internal_fault
from world_api.media.process import Closed, Message, Wire


class Service(Protocol):
    """What a child process does when it is asked."""

    def answer(self, request: Message) -> tuple[Message, bytes] | None:
        """The last message about a request and its raw bytes; None where nobody waits for one."""
        ...


def main(service: str, *arguments: str) -> None:
    """Answer requests until nobody asks any more."""
    # Whatever a library prints must not get between the messages.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    wire = Wire(read_from=sys.stdin.fileno(), write_to=answers)
    # Ctrl-C is meant for the parent, which ends this process when it wants to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, name = service.partition(":")
    server: Service = getattr(import_module(module), name)(wire, *arguments)
    with suppress(Closed):
        while True:
            request, _ = wire.receive()
            _serve(server, request, wire)


def _serve(server: Service, request: Message, wire: Wire) -> None:
    try:
        answer = server.answer(request)
        if answer is not None:
            wire.send({**answer[0], "done": True}, answer[1])
    except Closed:
        raise
    except VideoWorldError as fault:
        wire.send(dict(fault.record()["error"]) | {"fault": True})
    # Whatever it is, the parent must learn of it as a named fault.
    except Exception as error:  # noqa: BLE001 - see above
        wire.send(dict(internal_fault(error).record()["error"]) | {"fault": True})


if __name__ == "__main__":
    main(*sys.argv[1:])
