"""What the process of a stage does when it is asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from world_api.build.apart.pictures import PictureKey, PictureMemory
from world_api.build.media.child.wire import Message, Wire
from world_api.build.media.frames import Frame, PixelFormat, Pixels, Scaler
from world_api.build.media.probe import Probe
from world_api.build.stage import Clip, Stage, Worker, clip_span
from world_api.core.spans import TimeSpan

if TYPE_CHECKING:
    import pyarrow as pa
    from av.video.frame import VideoFrame

    from world_api.core.ports import Image


class AskedPixels:
    """Pixels of a frame that the build holds; pictures that did not come with it are asked for."""

    turn = 0

    def __init__(self, request: Message, memory: PictureMemory, ask: Callable[[PictureKey], Message]) -> None:
        self.height, self.width = request["shape"]
        self._places = {(side, made): place for (side, made), place in request["pictures"]}
        self._memory = memory
        self._ask = ask
        self.used: list[PictureKey] = []

    def video_frame(self) -> VideoFrame:
        """Not here."""
        raise RuntimeError("a stage in a process of its own looks at pictures alone")

    def ready(self, max_side: int | None, pixel_format: PixelFormat) -> Image:
        """The displayed picture."""
        key = (max_side, pixel_format)
        place = self._places.get(key) or self._ask(key)
        self.used.append(key)
        return self._memory.take(place)

    def kept(self) -> Pixels:
        """Not here."""
        raise RuntimeError("a stage in a process of its own looks at pictures alone")


class StageServer:
    """One stage at work for another process."""

    def __init__(self, stage: Stage, wire: Wire, memories: Sequence[PictureMemory]) -> None:
        self._stage = stage
        self._wire = wire
        self._memories = memories
        self._early: deque[Message] = deque()  #: requests that came before a picture that was asked for
        self._open: dict[int, Worker] = {}
        self._scaler = Scaler()

    def next_request(self) -> Message:
        """What is asked next, waited for.

        Raises:
            Closed: the other side is gone.
        """
        return self._early.popleft() if self._early else self._wire.receive()[0]

    def answer(self, request: Message) -> Message:
        """Do what is asked.

        Raises:
            Closed: the other side is gone.
        """
        if "see" in request:
            return self._see(request)
        if "open" in request:
            number = request["open"]
            self._open[number] = self._stage.open(_clip(number, Probe.restored(request["source"])))
            return {}
        rows = self._open.pop(request["finish"]).finish()
        return {"rows": {table: [_plain(row) for row in found] for table, found in rows.items()}}

    def _see(self, request: Message) -> Message:
        pixels = AskedPixels(request, self._memories[request["memory"]], self._ask_for)
        frame = Frame(pixels, time=request["t"], scaler=self._scaler)
        for number in request["see"]:
            self._open[number].see(frame)
        return {"used": pixels.used}

    def _ask_for(self, key: PictureKey) -> Message:
        self._wire.send({"picture": key})
        # The next frame may have been shown by now.
        while "place" not in (answer := self._wire.receive()[0]):
            self._early.append(answer)
        place: Message = answer["place"]
        return place


def _clip(number: int, source: Probe) -> Clip:
    return Clip(number=number, span=clip_span(number), source=source, rows=_no_rows, keep_image=_no_images)


def _no_rows(_table: str, _span: TimeSpan) -> pa.Table:
    raise RuntimeError("a stage in a process of its own reads no rows")


def _no_images(_jpeg: bytes) -> str:
    raise RuntimeError("a stage in a process of its own keeps no images")


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON can hold it; numbers of NumPy read back as the very same."""
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}
