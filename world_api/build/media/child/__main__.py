"""Entry of the decoding process; started by :mod:`world_api.build.media.apart.process`, never by a person."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys

from world_api.build.media.child.serving import Server
from world_api.build.media.child.wire import Closed, Wire
from world_api.build.media.limits import Limits
from world_api.core.faults import VideoWorldError
from world_api.core.last_resort import internal_fault


def main() -> None:
    """Answer requests until nobody asks any more."""
    # Whatever a library prints must not get between the messages.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    wire = Wire(read_from=sys.stdin.fileno(), write_to=answers)
    # Ctrl-C is meant for the parent, which ends this process when it wants to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(Closed):
        _serve(wire)


def _serve(wire: Wire) -> None:
    settings, _ = wire.receive()
    limits = Limits(**settings["limits"])
    _confine(limits)
    server = Server(wire, limits=limits, shared=settings["shared"])
    while True:
        request, _ = wire.receive()
        if "free" in request:
            continue  # of a pass that is over
        try:
            server.answer(request)
            wire.send({"done": True})
        except VideoWorldError as fault:
            wire.send(dict(fault.record()["error"]) | {"fault": True})
        except MemoryError:
            wire.send({"fault": True, "code": "decoder_out_of_memory", "message": "decoding it takes too much memory",
                       "hint": "scale the video down"})  # fmt: skip
        except Closed:
            raise
        # What a decoder met in a file of unknown making must reach the parent as a named fault.
        except Exception as error:  # noqa: BLE001 - see above
            wire.send(dict(internal_fault(error).record()["error"]) | {"fault": True})


def _confine(limits: Limits) -> None:
    """Bound what this process may take; not every system holds a process to its address space."""
    for what, most in ((resource.RLIMIT_AS, limits.memory), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (value, hard))


if __name__ == "__main__":
    main()
