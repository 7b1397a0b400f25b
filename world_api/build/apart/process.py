"""The process of a stage as the build sees it: started, asked, and ended."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from world_api.build.apart.pictures import PictureKey, PictureMemory
from world_api.build.media.child.slots import anonymous_file
from world_api.build.media.child.wire import Closed, Message, Wire
from world_api.build.running.loading import process_environment
from world_api.build.stage import Clip, Records
from world_api.core.faults import BackendFault, VideoWorldError

if TYPE_CHECKING:
    from world_api.build.media.frames import Frame

_MODULE = "world_api.build.apart"
#: Frames that lie ready at once: one that is looked at, and the next.
_FRAMES = 2


@dataclass(kw_only=True)
class _Shown:
    """A frame that is being looked at, and where its pictures lie."""

    frame: Frame
    pictures: PictureMemory
    asked: list[PictureKey] = field(default_factory=list)


class StageProcess:
    """One process with one stage, for one thread at a time. ``maker`` is ``module:function``, which makes the stage there.

    A frame is shown while the one before is still looked at, so that the process never waits for the next. It is ended
    with this object at the latest.
    """

    def __init__(self, maker: str) -> None:
        self.maker = maker
        self._shared = [anonymous_file() for _ in range(_FRAMES)]
        self._memories = [PictureMemory(handle) for handle in self._shared]
        self._sent = 0
        self._shown: _Shown | None = None
        self._usual: list[PictureKey] = []  #: what was asked for of the last frame
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, maker, *map(str, self._shared)],
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=subprocess.DEVNULL,
            pass_fds=self._shared,
            env=process_environment(os.environ),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._finish = weakref.finalize(self, _finish, self._process, [ours_in, ours_out, *self._shared])
        self._wire = Wire(read_from=ours_in, write_to=ours_out)

    @property
    def pid(self) -> int:
        """Its number in the system."""
        return self._process.pid

    def open(self, clip: Clip) -> None:
        """Begin a clip.

        Raises:
            VideoWorldError: what the stage names; ``stage_died``.
        """
        self._ask({"open": clip.number, "source": clip.source.record()})

    def see(self, clips: list[int], frame: Frame) -> None:
        """Show a frame to clips that are open. It must stay until the next one has been shown, or :meth:`settle` returns.

        Raises:
            VideoWorldError: what the stage names, also of the frame before; ``stage_died``.
        """
        number = self._sent % _FRAMES
        self._sent += 1
        pictures = self._memories[number]
        pictures.clear()
        laid = [[key, pictures.lay(frame.picture(*key))] for key in self._usual]
        self._send({"see": clips, "t": frame.time, "shape": frame.shape, "pictures": laid, "memory": number})
        before, self._shown = self._shown, _Shown(frame=frame, pictures=pictures)
        if before is not None:
            self._await(before)

    def settle(self) -> None:
        """Wait until nobody looks at a frame any more.

        Raises:
            VideoWorldError: what the stage names; ``stage_died``.
        """
        shown, self._shown = self._shown, None
        if shown is not None:
            self._await(shown)

    def finish(self, clip: int) -> Records:
        """End a clip: its rows.

        Raises:
            VideoWorldError: what the stage names; ``stage_died``.
        """
        rows: Records = self._ask({"finish": clip})["rows"]
        return rows

    def close(self) -> None:
        """End it, in any state; one that was ended stays so."""
        self._finish()

    def _await(self, shown: _Shown) -> None:
        """Wait until a frame is done with; lay what is asked for of it."""
        while "picture" in (answer := self._receive()):
            side, made = answer["picture"]
            shown.asked.append((side, made))
            self._send({"place": shown.pictures.lay(shown.frame.picture(side, made))})
        self._usual = [key for key in self._usual if list(key) in answer["used"]]
        self._usual += [key for key in shown.asked if key not in self._usual]

    def _ask(self, request: Message) -> Message:
        self.settle()
        self._send(request)
        return self._receive()

    def _send(self, message: Message) -> None:
        try:
            self._wire.send(message)
        except (Closed, OSError) as error:
            raise self._died() from error

    def _receive(self) -> Message:
        try:
            answer, _ = self._wire.receive()
        except (Closed, ValueError, OSError) as error:
            raise self._died() from error
        if "fault" in answer:
            raise VideoWorldError(answer["code"], answer["message"], hint=answer["hint"])
        return answer

    def _died(self) -> BackendFault:
        return BackendFault(
            "stage_died",
            f"the process of {self.maker} ended while it worked",
            hint="run the build again, it goes on where it stopped; where memory is short, end other programs first",
        )


def _finish(process: subprocess.Popen[bytes], files: list[int]) -> None:
    process.kill()  # it holds nothing that anybody needs
    while files:
        os.close(files.pop())
    process.wait()
