"""Child processes that answer requests over pipes: one decodes untrusted files, others run one stage each.

A child may crash or stall without harm to this process::

    parent --stdin--> one JSON request a line
    child --stdout--> JSON messages, one a line, some followed by raw bytes; the last one for a request holds "done"

Frames are in shared memory (:mod:`world_api.media.shared_memory`). In the child :func:`serve` runs.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from world_api.core.execution import restricted_environment
from world_api.core.faults import MediaFault, VideoWorldError, internal_fault

if TYPE_CHECKING:
    from world_api.media.container import Limits

Message = dict[str, Any]

#: Bytes that are read at once, at least and at most; a pipe holds as many as the latter if the system allows it.
_CHUNK, _PIPE = 1 << 16, 1 << 20
#: So many buffers are written at once; systems take at least 1024.
_PARTS = 64
#: No message line is longer (bytes).
_LONGEST = 1 << 22
#: How long (seconds) a process that closed its pipes may take to end.
_END_WAIT = 2.0


class Closed(Exception):
    """The other side of a wire has ended."""


class Silent(Exception):
    """The other side of a wire sent nothing in time."""


class ProcessGone(Exception):
    """A child process died, was ended, or sent nothing in time (then ``stalled`` is True)."""

    def __init__(self, reason: str, *, stalled: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.stalled = stalled


class Wire:
    """One end of a pair of pipes, by their file descriptors."""

    def __init__(self, *, read_from: int, write_to: int) -> None:
        self._in, self._out = read_from, write_to
        self._buffer = bytearray()
        self._put_back: tuple[Message, bytes] | None = None
        self.sent_at = monotonic()

    def send(self, message: Message, *payload: bytes | memoryview) -> None:
        """Send a message and after it the raw bytes of all of ``payload``, not copied; views must be C-contiguous.

        Raises:
            Closed: the other side has ended.
        """
        parts = [memoryview(data).cast("B") for data in payload if memoryview(data).nbytes]
        if parts:
            message = {**message, "bytes": sum(map(len, parts))}
        parts.insert(0, memoryview(json.dumps(message, default=_plain).encode() + b"\n"))
        self.sent_at = monotonic()
        try:
            while parts:
                sent = os.writev(self._out, parts[:_PARTS])
                while parts and sent >= len(parts[0]):
                    sent -= len(parts.pop(0))
                parts[:1] = [part[sent:] for part in parts[:1]]
        except OSError as error:
            raise Closed from error

    def receive(self, *, timeout: float | None = None) -> tuple[Message, bytes]:
        """Return the next message and its raw bytes. ``timeout``: most seconds without any byte; None waits forever.

        Raises:
            Closed: the other side has ended.
            Silent: nothing came in time.
            ValueError: the bytes that came are no message.
        """
        if (received := self._put_back) is not None:
            self._put_back = None
            return received
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _LONGEST:
                raise ValueError("a message without an end")
            self._buffer += self._read(timeout, _CHUNK)
        message = json.loads(self._take(end + 1))
        if not isinstance(message, dict):
            raise ValueError("a message that is no object")
        size = int(message.pop("bytes", 0))
        parts = [self._take(size)]
        missing = size - len(parts[0])
        while missing > 0:
            parts.append(self._read(timeout, min(missing, _PIPE)))  # never as much as the other side claims to send
            missing -= len(parts[-1])
        return message, b"".join(parts)

    def put_back(self, received: tuple[Message, bytes]) -> None:
        """Let the next :meth:`receive` return a message again; only one message can be put back."""
        self._put_back = received

    def _take(self, size: int) -> bytes:
        taken = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return taken

    def _read(self, timeout: float | None, most: int) -> bytes:
        if timeout is not None and not select.select([self._in], [], [], timeout)[0]:
            raise Silent
        if not (data := os.read(self._in, most)):
            raise Closed
        return data


def _plain(value: Any) -> Any:
    """Return the JSON form of a path, or of a NumPy number or array with its exact values."""
    return value.tolist() if hasattr(value, "tolist") else os.fspath(value)


def process_environment(environment: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
    """Return the environment for a child process, made from ``environment``, that of this process.

    It contains only variables that ``restricted_environment`` allows (with ``network`` also those of a proxy), so no
    API keys. OpenBLAS starts no threads unless a number is set. The child finds modules where this process finds them and
    nowhere else, so no file of the current folder is imported.
    """
    allowed = restricted_environment(environment, network=network)
    return {"OPENBLAS_NUM_THREADS": "1", **allowed, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _pipe() -> tuple[int, int]:
    """Return the read end and the write end of a pipe; it holds a whole picture if the system allows that, to wait less."""
    ends = os.pipe()
    with suppress(AttributeError, OSError):
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, _PIPE)
    return ends


class ChildProcess:
    """A child process and its service, for one thread at a time; any thread may call ``notify``, ``kill`` and ``end``.

    The process is ended at the latest when this object is garbage-collected.

    Args:
        service: ``module:function`` that makes the service in the child from the wire and ``arguments``.
        shared: File descriptors that the child inherits; they are closed with the process.
        timeout: Seconds to wait for a sign of life; None waits forever.
        network: Whether the child's environment may contain a proxy.
        fault: The class of the faults that the service raises.
    """

    def __init__(
        self,
        service: str,
        *arguments: str,
        shared: Sequence[int] = (),
        timeout: float | None = None,
        network: bool = False,
        fault: type[VideoWorldError] = VideoWorldError,
    ) -> None:
        self._timeout = timeout
        self._fault = fault
        ours_in, theirs_out = _pipe()
        theirs_in, ours_out = _pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from world_api.media.process import serve; serve()", service, *arguments],
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=subprocess.DEVNULL,
            pass_fds=tuple(shared),
            env=process_environment(os.environ, network=network),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._files = [ours_in, ours_out, *shared]
        self._writing = Lock()
        self._finish = weakref.finalize(self, _finish, self._process, self._files, self._writing)
        self._wire = Wire(read_from=ours_in, write_to=ours_out)

    def ask(self, request: Message) -> tuple[Message, bytes]:
        """Send a request; return the last message of the answer and the bytes sent with that message, maybe none.

        Raises:
            VideoWorldError: raised by the service.
            ProcessGone: the process died or stalled.
        """
        *_, last = self.stream(request)
        return last

    def stream(self, request: Message) -> Iterator[tuple[Message, bytes]]:
        """Send a request; yield every message of the answer with its raw bytes. Raises as :meth:`ask`."""
        self.notify(request)
        message: Message = {}
        while "done" not in message:
            message, payload = self.receive()
            yield message, payload

    def notify(self, message: Message, *payload: bytes | memoryview) -> None:
        """Send a message and raw bytes without waiting for an answer.

        Raises:
            ProcessGone: the process died, or was ended.
        """
        with self._writing:
            if not self._files:
                raise ProcessGone("it was ended")
            try:
                self._wire.send(message, *payload)
            except Closed:
                raise ProcessGone(self._end_reason()) from None

    def receive(self) -> tuple[Message, bytes]:
        """Return the next message that is not a mere sign of life, and its raw bytes; raises as :meth:`ask`."""
        while True:
            try:
                message, payload = self._wire.receive(timeout=self._timeout)
            except (Closed, OSError):
                raise ProcessGone(self._end_reason()) from None
            except Silent:
                raise ProcessGone(f"no sign of life for {self._timeout:g} s", stalled=True) from None
            except ValueError:
                raise ProcessGone("it sent an invalid message") from None
            if "fault" in message:
                raise self._fault(message["code"], message["message"], hint=message["hint"])
            if "waiting" not in message:
                return message, payload

    def kill(self) -> None:
        """Kill the process, so that a thread that waits for an answer gets ``ProcessGone``."""
        self._process.kill()

    def end(self) -> None:
        """End the process at once, in any state; may be called again."""
        self._finish()

    def _end_reason(self) -> str:
        try:
            code = self._process.wait(_END_WAIT)
        except subprocess.TimeoutExpired:
            return "it closed its pipes"
        return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with status {code}"


class DecoderProcess(ChildProcess):
    """A decoding process; ``shared`` is the descriptor of the memory in which it writes frames."""

    def __init__(self, limits: Limits) -> None:
        self.shared = anonymous_file()
        super().__init__(
            "world_api.media.decoder_server:serve",
            json.dumps(asdict(limits)),
            str(self.shared),
            shared=(self.shared,),
            timeout=limits.timeout,
            network=limits.network,
            fault=MediaFault,
        )


def anonymous_file() -> int:
    """Return the descriptor of a file without a name, in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("video-frames", os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _finish(process: subprocess.Popen[bytes], files: list[int], writing: Lock) -> None:
    process.kill()  # it holds no state that is needed later
    with writing:
        while files:
            os.close(files.pop())
    process.wait()


def serve() -> None:
    """Run a child process: answer requests until the parent closes the pipe.

    ``sys.argv`` contains the service and its arguments. ``service.answer(request, payload)`` returns the last message
    of the answer and its raw bytes, or None if the request gets no answer.
    """
    # Output of libraries must not get between the messages.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    wire = Wire(read_from=sys.stdin.fileno(), write_to=answers)
    # Ctrl-C is meant for the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(50_000)  # imports make many objects and no garbage
    module, _, name = sys.argv[1].partition(":")
    service = getattr(import_module(module), name)(wire, *sys.argv[2:])
    with suppress(Closed):
        while True:
            request, payload = wire.receive()
            try:
                if (answer := service.answer(request, payload)) is not None:
                    wire.send({**answer[0], "done": True}, answer[1])
            except Closed:
                raise
            except Exception as error:  # noqa: BLE001 - any failure must arrive at the parent as a named fault
                fault = error if isinstance(error, VideoWorldError) else internal_fault(error)
                wire.send(dict(fault.record()["error"]) | {"fault": True})
