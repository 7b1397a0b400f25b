"""Entry of the process of a stage; started by :mod:`world_api.build.apart.process`, never by a person."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from importlib import import_module

from world_api.build.apart.pictures import PictureMemory
from world_api.build.apart.serving import StageServer
from world_api.build.media.child.wire import Closed, Message, Wire
from world_api.build.running.threads import opencv_on_one_thread
from world_api.core.faults import VideoWorldError
from world_api.core.last_resort import internal_fault


def main(maker: str, *shared: str) -> None:
    """Make the stage and answer requests until nobody asks any more."""
    # Whatever a library prints must not get between the messages.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    wire = Wire(read_from=sys.stdin.fileno(), write_to=answers)
    # Ctrl-C is meant for the parent, which ends this process when it wants to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, function = maker.partition(":")
    stage = getattr(import_module(module), function)()
    server = StageServer(stage, wire, [PictureMemory(int(handle)) for handle in shared])
    with contextlib.suppress(Closed), opencv_on_one_thread():
        while True:
            wire.send(_answer(server, server.next_request()))


def _answer(server: StageServer, request: Message) -> Message:
    try:
        return server.answer(request)
    except Closed:
        raise
    except VideoWorldError as fault:
        return dict(fault.record()["error"]) | {"fault": True}
    # Whatever it is, the build must learn of it as a named fault.
    except Exception as error:  # noqa: BLE001 - see above
        return dict(internal_fault(error).record()["error"]) | {"fault": True}


if __name__ == "__main__":
    main(*sys.argv[1:])
