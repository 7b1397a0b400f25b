"""The decoding process: reads untrusted files within limits and answers requests about them."""

from __future__ import annotations

import json
import math
import resource
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import IO, Any, cast

import av
from av.container import InputContainer
from av.format import Flags
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from world_api.core.faults import MediaFault
from world_api.core.ports import Image
from world_api.media.audio import read_audio
from world_api.media.container import (
    Limits,
    Probe,
    check_file,
    decode_pictures,
    decoded,
    frame_time,
    open_video,
    probe,
    video_stream,
)
from world_api.media.decode_pass import DecodePass, PassState
from world_api.media.frames import DecodedFrame, Fitter, Frame, Want
from world_api.media.growing_file import GrowingFile, capture
from world_api.media.process import Message, Silent, Wire
from world_api.media.shared_memory import Slots, write_frame
from world_api.media.subtitles import look_inside, read_stream

#: Seconds of video between two states that a pass sends.
_STATE_EVERY = 10.0
#: Seconds between two signs of life.
_SIGN_EVERY = 1.0
#: How far before the requested time (seconds) to seek, in turn, if a seek ended after it.
_BACK_OFF = (0.0, 2.0, 12.0)
_HALF_MILLISECOND = 5e-4
#: From this distance (seconds) on, seeking the next requested frame costs less than decoding up to it.
_WORTH_SEEKING = 5.0

Answer = tuple[Message, bytes]


class DecoderServer:
    """Answers requests about files over a wire, one after another.

    ``limits`` is the JSON form of :class:`Limits`; ``shared`` is the file descriptor of the memory for frames.
    """

    def __init__(self, wire: Wire, limits: str, shared: str) -> None:
        self._wire = wire
        self._limits = Limits(**json.loads(limits))
        self._shared = int(shared)
        self._free: list[int] = []  #: slots that no stage uses
        self._finder: tuple[Path, FrameFinder] | None = None

    def answer(self, request: Message, payload: bytes = b"") -> Answer | None:
        """Return the answer to one request; None if the message needs none.

        Raises:
            MediaFault: the faults of the request; ``decoder_out_of_memory``.
            Closed: the other side has ended.
        """
        try:
            return self._answer(request)
        except MemoryError:
            raise MediaFault(
                "decoder_out_of_memory", "decoding it takes too much memory", hint="scale the video down"
            ) from None

    def _answer(self, request: Message) -> Answer | None:
        path, limits = Path(request.get("path", "")), self._limits
        match request.get("do"):
            case "probe":
                with self._growing(path, request.get("settled")) as file:
                    return {"probe": asdict(probe(path, limits=limits, file=cast("IO[bytes] | None", file)))}, b""
            case "decode":
                return self._decode(request)
            case "frames":
                return self._frames(path, request)
            case "audio":
                return {}, read_audio(path, request["start"], request["end"], limits=limits).tobytes()
            case "texts":
                return asdict(look_inside(path, limits=limits)), b""
            case "cues":
                read = read_stream(path, request["stream"], self._show_life, limits=limits)
                return {}, json.dumps(asdict(read)).encode()
            case "capture":
                capture(request["address"], path, limits=limits, alive=self._send_life)
                return {}, b""
            case None:
                return None  # slots of a pass that is over
            case other:
                raise ValueError(f"unknown request: {other!r}")

    def _frames(self, path: Path, request: Message) -> Answer:
        if self._finder is None or self._finder[0] != path:
            self._finder = path, FrameFinder(path, limits=self._limits, alive=self._show_life)
        pictures = self._finder[1].pictures_played_at(request["times"], request["longest_side"])
        return {"shapes": [picture.shape for picture in pictures]}, b"".join(picture.tobytes() for picture in pictures)

    def _decode(self, request: Message) -> Answer:
        """Send all frames after the time ``request["after"]``, with the wanted pictures in a slot; return the last message."""
        slots = Slots(handle=self._shared, **request["slots"])
        self._free = list(range(slots.count))
        source, state = Probe.restored(request["source"]), request["state"]
        with self._growing(source.path, request["settled"]) as file:
            decode = DecodePass(
                source=source,
                limits=self._limits,
                resume_from=PassState.restored(state) if state is not None else None,
                skip=request["skip"],
                file=cast("IO[bytes] | None", file),
                most=self._limits.duration,
            )
            ended = self._send_frames(decode, slots, request)
            if file is not None and "end" in ended:
                ended["read"] = None if ended["cut"] else file.digest()
            return ended, b""

    def _send_frames(self, decode: DecodePass, slots: Slots, request: Message) -> Message:
        """Send all frames with their wanted pictures, and sometimes the state of the pass; return the message of its end."""
        wants = [Want.restored(record) for record in request["wants"]]
        previous = decode.state.last_time if decode.state.frames else None
        until = math.inf if request["until"] is None else request["until"]
        sent, shown = decode.state.last_time, 0
        for batch in self._batches(decode, request["batch"], until):
            messages: list[Message] = []
            for frame in batch:
                if frame.time > request["after"]:
                    wanted = [place for place, want in enumerate(wants) if want.takes(frame.time, previous)]
                    messages.append(self._sent(frame, slots, wants, wanted))
                previous = frame.time
            self._wire.send({"frames": messages, "holes": decode.holes[shown:]})
            shown = len(decode.holes)
            now = decode.state.last_time
            if now // _STATE_EVERY > sent // _STATE_EVERY:
                sent = now
                self._wire.send({"state": asdict(decode.state)})
            if now >= until:
                return {"stopped": True}
        return {
            "end": asdict(decode.state), "cut": decode.is_cut, "last_end": decode.last_end, "holes": decode.holes[shown:],
        }  # fmt: skip

    def _batches(self, decode: DecodePass, size: int, until: float) -> Iterator[list[Frame]]:
        """Yield the frames in lists of ``size``; a list ends with the first frame at or after ``until`` (seconds).

        Decoding empties the processor's caches, so that work on a frame takes several times as long after each frame as
        for several frames in a row; each message wakes the other process.
        """
        batch: list[Frame] = []
        for frame in decode:
            self._show_life()
            batch.append(frame)
            if len(batch) >= size or frame.time >= until:
                yield batch
                batch = []
        if batch:
            yield batch

    def _sent(self, frame: Frame, slots: Slots, wants: list[Want], wanted: list[int]) -> Message:
        """Write the pictures that the wants at the places ``wanted`` need into a slot; return the message about the frame."""
        if not wanted:
            return {"t": frame.time}
        number = self._free_slot()
        written = write_frame(frame, slots.slots[number], [wants[place] for place in wanted])
        if written is None:
            self._free.append(number)
            return {"t": frame.time, "too_large": frame.shape}
        return {"t": frame.time, "slot": number, "wanted": wanted, **written}

    def _free_slot(self) -> int:
        """Return a slot that no stage uses, waiting for one if necessary."""
        while not self._free:
            try:
                message, _ = self._wire.receive(timeout=_SIGN_EVERY)
            except Silent:
                self._send_life()  # a stage is slow
                continue
            self._free.extend(message["free"])
        return self._free.pop()

    def _growing(self, path: Path, settled: float | None) -> AbstractContextManager[GrowingFile | None]:
        """Open a file that is being written, as a :class:`GrowingFile`; None if ``settled`` is None."""
        if settled is None:
            return nullcontext()
        check_file(path)
        return closing(GrowingFile(path, settled=settled, waiting=self._send_life))

    def _show_life(self) -> None:
        """Send a sign of life if nothing was sent for a while."""
        if monotonic() - self._wire.sent_at > _SIGN_EVERY:
            self._send_life()

    def _send_life(self) -> None:
        self._wire.send({"waiting": True})


def serve(wire: Wire, limits: str, shared: str) -> DecoderServer:
    """Return the server for a child process, after limiting its memory if the system supports that."""
    server = DecoderServer(wire, limits, shared)
    for kind, most in ((resource.RLIMIT_AS, int(json.loads(limits)["memory"])), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    return server


class FrameFinder:
    """Finds the frames of one video file that are on screen at given times. The file is opened at each call."""

    def __init__(self, path: Path, *, limits: Limits, alive: Callable[[], None]) -> None:
        self._path = path
        self._limits = limits
        self._alive = alive
        self._check_present()
        self._source = probe(path, limits=limits)
        self._fitter = Fitter(self._source.width, self._source.height)
        self._clock_leaps = self._has_leaps()

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> list[Image]:
        """Return the BGR pictures on screen at the rising ``times``, no side longer than ``longest_side`` pixels (None: full size).

        The frame on screen is the last one whose presentation time is not after the requested time; times before the
        first frame give the first one, times after the end the last one. A frame counts as begun half a millisecond
        early, since the API rounds times to milliseconds.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``. Faults of probing are raised when the finder is created.
        """
        self._check_present()
        found: dict[float, Image] = {}  #: by requested time
        for back_off in () if self._clock_leaps else _BACK_OFF:
            if missing := [seconds for seconds in times if seconds not in found]:
                self._seek(missing, back_off, longest_side, found)
        for seconds in times:
            if seconds not in found:
                found[seconds] = self._decode_up_to(seconds).picture(longest_side)
        return [found[seconds] for seconds in times]

    def _check_present(self) -> None:
        if not self._path.is_file():
            raise MediaFault(
                "source_missing",
                f"the video file {self._path.name} is no longer where it was when the world was built",
                hint="put the file back, or build the world again",
            )

    def _seek(
        self, times: Sequence[float], back_off: float, longest_side: int | None, found: dict[float, Image]
    ) -> None:
        """Add pictures to ``found`` (by time): seek ``back_off`` seconds before the first of ``times``, and decode from there.

        It seeks again for times much later. Times before the frame at which a seek ends get no picture.
        """
        wanted = deque((max(0.0, seconds) + self._source.start + _HALF_MILLISECOND, seconds) for seconds in times)
        with open_video(self._path, limits=self._limits) as container, suppress(av.FFmpegError):
            stream = video_stream(container, self._path, limits=self._limits)
            while wanted and stream.time_base:
                missing = len(wanted)
                place = int(max(0.0, wanted[0][0] - back_off) / stream.time_base)
                container.seek(place, stream=stream, backward=True)
                last: Frame | None = None
                for frame in self._frames_from_here(container, stream):
                    if frame is None:
                        return  # without times of its own, a frame is found by decoding up to it
                    while last is not None and wanted and frame.time > wanted[0][0]:
                        found[wanted.popleft()[1]] = last.picture(longest_side)
                    if not wanted or frame.time > wanted[0][0]:
                        break
                    # Not before the first one is found: key frames may be further apart.
                    if len(wanted) < missing and wanted[0][0] - frame.time > _WORTH_SEEKING:
                        break
                    last = frame
                else:
                    while last is not None and wanted:
                        found[wanted.popleft()[1]] = last.picture(longest_side)
                if len(wanted) == missing:
                    wanted.popleft()  # the seek ended after it

    def _frames_from_here(self, container: InputContainer, stream: VideoStream) -> Iterator[Frame | None]:
        """Yield frames with their times on the file's clock; None for a frame without a time."""

        def decode(packet: Packet[Any]) -> list[VideoFrame]:
            self._alive()
            return decode_pictures(packet)

        for raw in decoded(container, stream, decode):
            frame = DecodedFrame(raw, time=frame_time(raw), fitter=self._fitter)
            yield frame if raw.pts is not None else None

    def _decode_up_to(self, seconds: float) -> Frame:
        """Return the frame at a project time by decoding from the start like a build: slow, but right for any clock."""
        found = None
        for frame in DecodePass(source=self._source, limits=self._limits):
            self._alive()
            if found is not None and frame.time > max(0.0, seconds) + _HALF_MILLISECOND:
                break
            found = frame
        if found is None:
            raise MediaFault(
                "undecodable",
                f"no frame of {self._path.name} can be decoded at {seconds:.3f} s",
                hint="try another time",
            )
        return found

    def _has_leaps(self) -> bool:
        """Whether the file's clock restarts inside it; always False for formats other than MPEG-TS and the like."""
        with open_video(self._path, limits=self._limits) as container:
            if Flags.ts_discont not in Flags(container.format.flags):
                return False
            stream = video_stream(container, self._path, limits=self._limits)
            clock = PassState(start=0.0)
            with suppress(av.FFmpegError):  # of a damaged end; the clock up to there is known
                for packet in container.demux(stream):
                    self._alive()
                    if packet.dts is not None and packet.time_base is not None:
                        clock.place(float(packet.dts * packet.time_base), step=0.0)
            return clock.leaps.count > 0
