"""Stages that run in a process of their own.

Python runs one thread at a time, and a stage that makes many small calls blocks the others. The build holds a ``RemoteStage`` in
place of such a stage and sends it pictures. The build makes the pictures, as for the other stages, so the rows are the same
whether or not a stage runs in another process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from world_api.build.stage import Clip, FrameStage, Records, RowStage, Stage, StageSpec, Worker, clip_span
from world_api.core.faults import BackendFault
from world_api.media.container import Limits, Probe
from world_api.media.decoder import MediaWorker
from world_api.media.frames import Frame, PixelFormat, Pixels, Scaler
from world_api.media.process import ChildProcess, Message, ProcessGone, Wire

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

    from world_api.core.ports import Image

PictureKey = tuple[int | None, PixelFormat]  #: longest side (None: as it is) and pixel format


class StageProcess:
    """One process with one stage, for one thread at a time. ``maker`` (``module:function``) makes the stage there."""

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._usual: list[PictureKey] = []  #: pictures that were requested of the last frame
        self._process = ChildProcess("world_api.build.stage_process:serve", maker)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def open(self, clip: Clip) -> None:
        """Open a clip.

        Raises:
            VideoWorldError: raised by the stage; ``stage_died``.
        """
        self._ask({"open": clip.number, "source": clip.source.record()})

    def see(self, clips: list[int], frame: Frame) -> None:
        """Feed a frame to open clips, with the pictures that were requested of the last frame; raises as :meth:`open`."""
        pictures = [frame.picture(*key) for key in self._usual]
        sent = [[key, picture.shape] for key, picture in zip(self._usual, pictures, strict=True)]
        answer = self._ask(
            {"see": clips, "t": frame.time, "shape": frame.shape, "pictures": sent},
            b"".join(picture.tobytes() for picture in pictures),
        )
        while "picture" in answer:
            side, made = answer["picture"]
            self._usual.append((side, made))
            picture = frame.picture(side, made)
            answer = self._ask({"shape": picture.shape}, picture.tobytes())
        self._usual = [key for key in self._usual if list(key) in answer["used"]]

    def finish(self, clip: int) -> Records:
        """Close a clip and return its rows; raises as :meth:`open`."""
        rows: Records = self._ask({"finish": clip})["rows"]
        return rows

    def close(self) -> None:
        """End the process, in any state; may be called again."""
        self._process.end()

    def _ask(self, request: Message, payload: bytes = b"") -> Message:
        try:
            self._process.notify(request, payload)
            return self._process.receive()[0]
        except ProcessGone as gone:
            raise BackendFault(
                "stage_died",
                f"the process of {self._maker} ended during its work",
                hint="run the build again, it goes on where it stopped; where memory is short, end other programs first",
            ) from gone


class RemoteStage:
    """The substitute for a stage in another process; ``stage`` is the same stage in this one, which only describes it."""

    def __init__(self, stage: FrameStage, process: StageProcess) -> None:
        self._stage = stage
        self._process = process

    @property
    def spec(self) -> StageSpec:
        """Its description."""
        return self._stage.spec

    def open(self, clip: Clip) -> Worker:
        """A fresh worker for one clip."""
        self._process.open(clip)
        return RemoteWorker(clip.number, self._process)

    def see(self, workers: Sequence[Worker], frame: Frame) -> None:
        """Feed a frame to workers of this stage."""
        self._process.see([worker.number for worker in workers if isinstance(worker, RemoteWorker)], frame)


class RemoteWorker:
    """A worker of a stage in another process."""

    def __init__(self, number: int, process: StageProcess) -> None:
        self.number = number
        self._process = process

    def see(self, frame: Frame) -> None:
        """Process one sampled frame of the clip's window."""
        self._process.see([self.number], frame)

    def finish(self) -> Records:
        """The rows of the clip's own span, by table."""
        return self._process.finish(self.number)


class BuildProcesses:
    """The child processes of a build: one reads the video, and one runs each stage of ``makers`` (``module:function`` by name).

    On a machine with one processor no stage gets a process, since stages would only wait for one another.
    """

    def __init__(self, limits: Limits, makers: Mapping[str, str]) -> None:
        self.media = MediaWorker(limits)
        self._makers = makers
        self._stages: dict[str, StageProcess] = {}

    def start(self) -> None:
        """Start all now, so that they get ready meanwhile."""
        self.media.start()
        if _processors() > 1 and not self._stages:
            self._stages = {name: StageProcess(maker) for name, maker in self._makers.items()}

    def place(self, stages: Sequence[Stage]) -> list[Stage]:
        """Return the stages, with a ``RemoteStage`` for each that has a process."""
        placed: list[Stage] = []
        for stage in stages:
            process = self._stages.get(stage.spec.name)
            placed.append(stage if process is None or isinstance(stage, RowStage) else RemoteStage(stage, process))
        return placed

    def close(self) -> None:
        """End the processes."""
        while self._stages:
            self._stages.popitem()[1].close()
        self.media.close()


def _processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _SentPixels:
    """Pixels of a frame that the build holds; pictures that were not sent with it are requested."""

    turn = 0

    def __init__(self, request: Message, payload: bytes, wire: Wire) -> None:
        self.height, self.width = request["shape"]
        self._wire = wire
        self._pictures: dict[PictureKey, Image] = {}
        self.used: list[PictureKey] = []
        at = 0
        for (side, made), shape in request["pictures"]:
            self._pictures[side, made] = _picture(payload[at : at + prod(shape)], shape)
            at += prod(shape)

    def video_frame(self) -> VideoFrame:
        """Not available."""
        raise RuntimeError("a stage in a process of its own can request only pictures")

    def ready(self, max_side: int | None, pixel_format: PixelFormat) -> Image:
        """The displayed picture."""
        key = (max_side, pixel_format)
        if key not in self._pictures:
            self._wire.send({"picture": key})
            message, payload = self._wire.receive()
            self._pictures[key] = _picture(payload, message["shape"])
        self.used.append(key)
        return self._pictures[key].copy()

    def kept(self) -> Pixels:
        """Not available."""
        raise RuntimeError("a stage in a process of its own can request only pictures")


def _picture(data: bytes, shape: Sequence[int]) -> Image:
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


class StageServer:
    """Runs one stage for another process."""

    def __init__(self, wire: Wire, stage: FrameStage) -> None:
        self._wire = wire
        self._stage = stage
        self._open: dict[int, Worker] = {}
        self._scaler = Scaler()

    def answer(self, request: Message, payload: bytes) -> tuple[Message, bytes]:
        """Answer one request.

        Raises:
            Closed: the other side is gone.
        """
        if "see" in request:
            pixels = _SentPixels(request, payload, self._wire)
            frame = Frame(pixels, time=request["t"], scaler=self._scaler)
            for number in request["see"]:
                self._open[number].see(frame)
            return {"used": pixels.used}, b""
        if "open" in request:
            number = request["open"]
            source = Probe.restored(request["source"])
            clip = Clip(
                number=number, span=clip_span(number), source=source, rows=_not_available, keep_image=_not_available
            )
            self._open[number] = self._stage.open(clip)
            return {}, b""
        rows = self._open.pop(request["finish"]).finish()
        return {"rows": {table: [_plain(row) for row in found] for table, found in rows.items()}}, b""


def serve(wire: Wire, maker: str) -> StageServer:
    """Make the server, with the stage that ``maker`` makes, in a process of its own."""
    import cv2

    cv2.setNumThreads(1)  # its pictures are small
    module, _, function = maker.partition(":")
    return StageServer(wire, getattr(import_module(module), function)())


def _not_available(*_: object) -> Any:
    raise RuntimeError("a stage in a process of its own reads no rows and keeps no images")


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The JSON form of a row; numbers of NumPy keep their exact value."""
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}
