"""Stages that run in a process of their own.

Python runs one thread at a time, and a stage that makes many small calls blocks the others. The build holds a
``RemoteStage`` in place of such a stage. The build makes the pictures, as for the other stages, so the rows are the same
whether or not a stage runs in another process. With a frame it sends those pictures that the stage used of an earlier
one; the process requests others that it needs. A frame is shown while the process looks at the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from world_api.build.stage import Clip, FrameStage, Records, StageSpec, Worker, clip_span
from world_api.core.faults import BackendFault
from world_api.core.ports import Image
from world_api.media.container import Probe
from world_api.media.frames import Frame, PixelFormat
from world_api.media.process import ChildProcess, Message, ProcessGone, Wire

PictureKey = tuple[int | None, PixelFormat]  #: longest side (None: unscaled) and format


class RemoteStage:
    """A frame stage in a child process, for one thread at a time; ``maker`` (``module:function``) creates it there.

    ``spec``: that of the same stage in this process. ``process``: a child process that runs :func:`serve` with the maker.
    """

    def __init__(self, spec: StageSpec, maker: str, process: ChildProcess) -> None:
        self.spec = spec
        self._maker = maker
        self._process = process
        self._used: list[PictureKey] = []  #: the pictures that the stage used of the last frame that it has seen
        self._shown: Frame | None = None  #: the frame that the process may be looking at

    def open(self, clip: Clip) -> Worker:
        """Return a new worker for one clip. This and the worker raise the faults of the stage, and ``stage_died``."""
        self.ask({"open": clip.number, "part": clip.part, "source": asdict(clip.source)})
        return RemoteWorker(number=clip.number, stage=self)

    def show(self, frame: Frame) -> None:
        """Show a frame to all open workers, once; return when they have seen the frame before it.

        A fault of a frame is raised at the next call, of this method or another.
        """
        if frame is self._shown:  # several clips may want the same frame
            return
        with self._named_death():
            pictures = [np.ascontiguousarray(frame.picture(*key)) for key in self._used]
            request = {"see": frame.time, "shape": frame.shape, "pictures": self._used}
            request |= {"shapes": [picture.shape for picture in pictures]}
            self._process.notify(request, *(picture.data for picture in pictures))
            self._wait()
        frame.hold()
        self._shown = frame

    def ask(self, request: Message) -> Message:
        """Return the answer to a request that shows no frame, once the frame before it was seen; raises as :meth:`open`."""
        with self._named_death():
            self._wait()
            self._process.notify(request)
            return self._process.receive()[0]

    def _wait(self) -> None:
        """Wait until the process has seen the frame that it is looking at; send the pictures that it requests meanwhile."""
        shown, self._shown = self._shown, None
        if shown is None:
            return
        try:
            while "picture" in (answer := self._process.receive()[0]):
                picture = np.ascontiguousarray(shown.picture(*answer["picture"]))
                self._process.notify({"shape": picture.shape}, picture.data)
            self._used = answer["used"]
        finally:
            shown.release()

    @contextmanager
    def _named_death(self) -> Iterator[None]:
        try:
            yield
        except ProcessGone as gone:
            raise BackendFault(
                "stage_died",
                f"the process of {self._maker} ended during its work",
                hint="run the build again, it goes on where it stopped; where memory is short, end other programs first",
            ) from gone

    def close(self) -> None:
        """End the process, in any state, and release its frame; may be called again."""
        self._process.end()
        shown, self._shown = self._shown, None
        if shown is not None:
            shown.release()


@dataclass(frozen=True, kw_only=True)
class RemoteWorker:
    """The worker of one clip in another process."""

    number: int
    stage: RemoteStage

    def see(self, frame: Frame) -> None:
        """Show a frame to the workers of all clips; a fault of it is raised at the next call."""
        self.stage.show(frame)

    def finish(self) -> Records:
        """Return the rows of the clip's own span, by table."""
        rows: Records = self.stage.ask({"finish": self.number})["rows"]
        return rows


class RemoteFrame(Frame):
    """A frame whose pixels are in the build's process; each picture that did not come with it is requested once."""

    def __init__(self, wire: Wire, *, time: float, shape: tuple[int, int], sent: Mapping[PictureKey, Image]) -> None:
        super().__init__(time, height=shape[0], width=shape[1])
        self._wire = wire
        self._sent = sent

    @property
    def used(self) -> list[PictureKey]:
        """The longest side (None: unscaled) and the pixel format of each picture of this frame that the stage has used."""
        return list(self._pictures)

    def _free(self) -> None:
        self._sent = {}

    def _convert(self, max_side: int | None, pixel_format: PixelFormat) -> Image:
        if (picture := self._sent.get((max_side, pixel_format))) is not None:
            return picture
        self._wire.send({"picture": (max_side, pixel_format)})
        received = self._wire.receive()
        if "see" in received[0]:  # the next frame, which the build showed before it could know of this request
            next_frame, received = received, self._wire.receive()
            self._wire.put_back(next_frame)
        message, payload = received
        return np.frombuffer(payload, dtype=np.uint8).reshape(message["shape"])


class StageServer:
    """Runs one stage in a child process and answers the build's requests."""

    def __init__(self, wire: Wire, stage: FrameStage) -> None:
        self._wire = wire
        self._stage = stage
        self._open: dict[int, Worker] = {}

    def answer(self, request: Message, payload: bytes) -> tuple[Message, bytes]:
        """Return the answer to one request, and no bytes (``b""``); raises ``Closed`` if the build's process has ended."""
        if "see" in request:
            sent = zip(map(tuple, request["pictures"]), _split(payload, request["shapes"]), strict=True)
            frame = RemoteFrame(self._wire, time=request["see"], shape=request["shape"], sent=dict(sent))
            for worker in self._open.values():
                worker.see(frame)
            frame.release()
            return {"used": frame.used}, b""
        if "open" in request:
            number, source = request["open"], Probe.restored(request["source"])
            clip = Clip(
                number=number, span=clip_span(number), source=source, rows=_not_available, keep_image=_not_available,
                part=request["part"],
            )  # fmt: skip
            self._open[number] = self._stage.open(clip)
            return {}, b""
        return {"rows": self._open.pop(request["finish"]).finish()}, b""


def _split(payload: bytes, shapes: Sequence[Sequence[int]]) -> list[Image]:
    """Return the pictures of these shapes that follow one another in ``payload``; do not write into them."""
    ends = list(accumulate(prod(shape) for shape in shapes))
    pieces = np.split(np.frombuffer(payload, dtype=np.uint8), ends[:-1]) if ends else []
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def serve(wire: Wire, maker: str) -> StageServer:
    """Return the server for a child process, with the stage that ``maker`` (``module:function``) creates."""
    import cv2

    cv2.setNumThreads(1)  # its pictures are small
    module, _, function = maker.partition(":")
    return StageServer(wire, getattr(import_module(module), function)())


def _not_available(*_: object) -> Any:
    raise RuntimeError("a stage in a process of its own reads no rows and keeps no images")
