"""The decoding process as its parent sees it: started, asked, watched, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock

from world_api.build.media.child.slots import Slots, anonymous_file
from world_api.build.media.child.wire import Closed, Message, Silent, Wire
from world_api.build.media.limits import Limits
from world_api.build.running.loading import process_environment
from world_api.core.faults import MediaFault

_MODULE = "world_api.build.media.child"
#: Slots are given back several at a time: a share of all. The process waits only when it has none, so these come in time.
_AT_ONCE = 4
#: How long (seconds) a process that closed its pipes may take to end.
_FAREWELL = 2.0


class DecoderGone(Exception):
    """The process died or fell silent; ``stalled`` tells the second."""

    def __init__(self, reason: str, *, stalled: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.stalled = stalled

    def as_fault(self, name: str) -> MediaFault:
        """The named fault where nothing can go on without an answer; ``name`` is the file's."""
        if self.stalled:
            return MediaFault(
                "decoder_stalled",
                f"decoding {name} came to a halt: {self.reason}",
                hint="the file is damaged or made to stall a decoder; try to copy its streams into a new file",
            )
        return MediaFault(
            "decoder_died",
            f"the decoder died of {name}: {self.reason}",
            hint="the file is damaged or needs more memory than --max-megapixels allows for; try a smaller copy",
        )


class DecoderProcess:
    """One decoding process, for one thread at a time; ``give_back``, ``kill`` and ``end`` may come from any.

    It belongs to whoever holds this, and is ended with it at the latest: passed on, it is the next one's to end.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._shared = anonymous_file()
        self._unsaid: list[int] = []  #: slots that are free, which the process has not been told
        self._slots = 1
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=subprocess.DEVNULL,
            pass_fds=(self._shared,),
            env=process_environment(os.environ, network=limits.network),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._files = [ours_in, ours_out, self._shared]
        self._writing = Lock()
        self._finish = weakref.finalize(self, _finish, self._process, self._files, self._writing)
        self._wire = Wire(read_from=ours_in, write_to=ours_out)
        self._send({"limits": limits.record(), "shared": self._shared})

    def ask(self, request: Message) -> Iterator[tuple[Message, bytes]]:
        """Ask for something and yield what is told, up to its end.

        Raises:
            MediaFault: what the process names.
            DecoderGone: it died, or said nothing for as long as the limits allow.
        """
        self.begin(request)
        yield from self.answers()

    def begin(self, request: Message) -> None:
        """Ask for something whose answers are read later, before anything else is asked.

        Raises:
            DecoderGone: it died.
        """
        self._send(request)

    def answers(self) -> Iterator[tuple[Message, bytes]]:
        """What is told about what was begun, up to its end.

        Raises:
            MediaFault: what the process names.
            DecoderGone: it died, or said nothing for as long as the limits allow.
        """
        while True:
            message, payload = self._receive()
            if "done" in message:
                return
            if "fault" in message:
                raise MediaFault(message["code"], message["message"], hint=message["hint"])
            if "waiting" not in message:
                yield message, payload

    def slots_for(self, width: int, height: int) -> Slots:
        """Slots for frames of about that size, shared with the process; they outlive it."""
        slots = Slots.for_frames(width, height, handle=self._shared)
        self._slots = slots.count
        return slots

    def give_back(self, slot: int) -> None:
        """A slot may be used again. A process that is gone needs none."""
        with self._writing:
            self._unsaid.append(slot)
            if len(self._unsaid) < self._slots // _AT_ONCE:
                return
            free, self._unsaid = self._unsaid, []
        with suppress(DecoderGone):
            self._send({"free": free})

    def end(self) -> None:
        """End it at once, in any state; one that was ended stays so."""
        self._finish()

    def kill(self) -> None:
        """Let whoever waits for an answer see it die, and end it."""
        self._process.kill()

    def _send(self, message: Message) -> None:
        with self._writing:
            if not self._files:
                raise DecoderGone("it was ended", stalled=False)
            try:
                self._wire.send(message)
            except Closed:
                raise DecoderGone(self._last_words(), stalled=False) from None

    def _receive(self) -> tuple[Message, bytes]:
        try:
            return self._wire.receive(patience=self._limits.patience)
        except Closed:
            raise DecoderGone(self._last_words(), stalled=False) from None
        except Silent:
            raise DecoderGone(f"no sign of life for {self._limits.patience:g} s", stalled=True) from None
        except ValueError:
            raise DecoderGone("it sent what is no message", stalled=False) from None

    def _last_words(self) -> str:
        try:
            code = self._process.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            return "it closed its pipes"
        if code < 0:
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with status {code}"


def _finish(process: subprocess.Popen[bytes], files: list[int], writing: Lock) -> None:
    process.kill()
    with writing:
        while files:
            os.close(files.pop())
    process.wait()
