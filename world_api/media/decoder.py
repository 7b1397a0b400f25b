"""Reading videos by a decoding process that may die on the way: single requests, random access, sound, and the decode pass."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from world_api.core.faults import MediaFault
from world_api.core.ports import Image, Samples
from world_api.core.spans import TimeSpan
from world_api.media.container import DEFAULT_LIMITS, Limits, Probe
from world_api.media.decode_pass import DecodePass, LossNote, PassState, milliseconds
from world_api.media.frames import DecodedPixels, Frame, NoPixels, PixelFormat, Pixels, Scaler, Want
from world_api.media.process import ChildProcess, Message, ProcessGone
from world_api.media.shared_memory import Slots, anonymous_file, read_frame

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

#: Where a decoder dies again at the same place, so many seconds are left out, one after another; then the pass ends.
_LEAPS = (0.0, 1.0, 4.0, 16.0, 64.0)
#: Frames are sent, and slots given back, several at a time: this share of the slots.
_BATCH = 4


class DecoderProcess(ChildProcess):
    """One decoding process and the file it shares."""

    def __init__(self, limits: Limits) -> None:
        self.shared = anonymous_file()
        super().__init__(
            "world_api.media.decoder_server:serve",
            json.dumps(limits.record()),
            str(self.shared),
            shared=(self.shared,),
            patience=limits.patience,
            network=limits.network,
            fault=MediaFault,
        )


class MediaWorker:
    """A decoding process for requests, started when the first one comes, and again after it died of one.

    Threads may share it; one request is answered at a time.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._process: DecoderProcess | None = None
        self._lock = Lock()

    def ask(self, request: Message, path: Path) -> tuple[Message, bytes]:
        """The answer to a request about a file, and the raw bytes that come with it.

        Raises:
            MediaFault: what the process names; ``decoder_died``, ``decoder_stalled``.
        """
        with self._lock:
            try:
                return self._started().ask({**request, "path": str(path)})
            except MediaFault:
                raise
            except ProcessGone as gone:
                self._end()
                raise _decoder_fault(gone, path.name) from gone
            except BaseException:
                self._end()  # or its answer would be taken for that to the next request
                raise

    def start(self) -> None:
        """Start the process now, so that it gets ready while this one does something else."""
        with self._lock:
            self._started()

    def hand_over(self) -> DecoderProcess | None:
        """The process, if one runs, for the caller to use and end; the next request starts another."""
        with self._lock:
            process, self._process = self._process, None
            return process

    def probe(self, path: Path, *, settled: float | None = None) -> Probe:
        """What a file is. ``settled`` waits for a file that is being written.

        Raises:
            MediaFault: as :func:`world_api.media.container.probe`; ``decoder_died``, ``decoder_stalled``.
        """
        message, _ = self.ask({"do": "probe", "settled": settled}, path)
        return Probe.restored(message["probe"])

    def kill(self) -> None:
        """End the process at once, also amid a request, which then fails."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process. The next request starts another."""
        with self._lock:
            self._end()

    def _started(self) -> DecoderProcess:
        if self._process is None:
            self._process = DecoderProcess(self._limits)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()


def _decoder_fault(gone: ProcessGone, name: str) -> MediaFault:
    """The named fault where nothing can go on without an answer; ``name`` is the file's."""
    if gone.stalled:
        return MediaFault(
            "decoder_stalled",
            f"decoding {name} came to a halt: {gone.reason}",
            hint="the file is damaged or made to stall a decoder; try to copy its streams into a new file",
        )
    return MediaFault(
        "decoder_died",
        f"the decoder died of {name}: {gone.reason}",
        hint="the file is damaged or needs more memory than --max-megapixels allows for; try a smaller copy",
    )


class VideoSound:
    """The sound of one video by spans of project time."""

    def __init__(self, source: Probe, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._source = source
        self._worker = MediaWorker(limits)

    def __call__(self, span: TimeSpan) -> Samples:
        """The samples of a span; empty where the video has no sound.

        Raises:
            MediaFault: as probing names it; ``decoder_died``, ``decoder_stalled``.
        """
        start = self._source.start
        request = {"do": "audio", "start": span.start + start, "end": span.end + start}
        _, payload = self._worker.ask(request, self._source.path)
        return np.frombuffer(payload, dtype=np.float32)

    def close(self) -> None:
        """End the process."""
        self._worker.close()


class VideoFrames:
    """Random access to the frames of one video (``FrameSource``, ``PictureSource``)."""

    def __init__(self, path: Path, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._path = path
        self._worker = MediaWorker(limits)

    def frame_played_at(self, seconds: float) -> Image:
        """The frame on screen at that time: the last one whose presentation time is not after it.

        Times before the first frame give the first one, times after the end the last one.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``, ``decoder_died``, ``decoder_stalled``.
        """
        return self.pictures_played_at([seconds], None)[0]

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> list[Image]:
        """The frames on screen at several times in rising order, none larger than ``longest_side`` pixels.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``, ``decoder_died``, ``decoder_stalled``.
        """
        request = {"do": "frames", "times": list(times), "longest_side": longest_side}
        message, payload = self._worker.ask(request, self._path)
        pictures, at = [], 0
        for shape in message["shapes"]:
            pictures.append(np.frombuffer(payload, dtype=np.uint8, count=prod(shape), offset=at).reshape(shape))
            at += prod(shape)
        return pictures

    def close(self) -> None:
        """End the process. The next request starts another."""
        self._worker.close()


class _FrameChannel:
    """A decoding process at work on a pass, and the slots it writes frames into; slots in use outlive the process."""

    def __init__(self, source: Probe, process: DecoderProcess) -> None:
        self.process = process
        self.slots = Slots.for_frames(source.width, source.height, handle=process.shared)
        self._unsaid: list[int] = []  #: slots that are free, which the process has not been told
        self._lock = Lock()

    def give_back(self, slot: int) -> None:
        """A slot may be used again. The process waits only when it has none, so several are told at a time."""
        with self._lock:
            self._unsaid.append(slot)
            if len(self._unsaid) < self.slots.count // _BATCH:
                return
            free, self._unsaid = self._unsaid, []
        with suppress(ProcessGone):
            self.process.notify({"free": free})


class SharedPixels:
    """What of a frame lies in a slot; taken out when a picture is asked for."""

    def __init__(self, channel: _FrameChannel, message: Message) -> None:
        self.height, self.width = message["shape"]
        self.turn = 0  # of the whole, which is told with it
        self._channel: _FrameChannel | None = channel
        self._slot = int(message["slot"])
        self._whole: Message | None = message["whole"]
        self._pictures = {(side, made): (at, shape) for side, made, at, shape in message["pictures"]}
        self._taken: VideoFrame | None = None
        if self._whole is not None:
            self.height, self.width, self.turn = self._whole["height"], self._whole["width"], self._whole["turn"]

    def video_frame(self) -> VideoFrame:
        """The stored picture."""
        if self._whole is None:
            raise RuntimeError("a picture was asked for that no stage wanted of this frame")
        if self._taken is None:
            self._taken = read_frame(self._whole, self._bytes())
        return self._taken

    def ready(self, max_side: int | None, pixel_format: PixelFormat) -> Image | None:
        """A picture that the decoding process made."""
        if (place := self._pictures.get((max_side, pixel_format))) is None:
            return None
        at, shape = place
        return self._bytes()[at : at + prod(shape)].reshape(shape).copy()

    def kept(self) -> Pixels:
        """The whole frame taken out."""
        return DecodedPixels(raw=self.video_frame(), width=self.width, height=self.height, turn=self.turn)

    def release(self) -> None:
        """Let the slot be used again."""
        if self._channel is not None:
            channel, self._channel, self._taken = self._channel, None, None
            channel.give_back(self._slot)

    def _bytes(self) -> Image:
        if self._channel is None:
            raise RuntimeError("a picture was asked for after the frame had been released")
        return self._channel.slots.slot(self._slot)


@dataclass(kw_only=True)
class VideoPass:
    """Iterates the frames of a probed video once. The receiver of a frame releases it with :func:`release`.

    ``go_on_from`` takes it up where an earlier pass stood; ``settled`` follows a file that grows, until it has not for so
    many seconds; with ``stops`` it ends once no stage wants a frame any more. ``process`` is one that runs already, for the
    beginning; it is the pass's to end. ``noted`` is told of states on the way, ``died`` of every decoder that died.

    Afterwards ``final`` is the state at the end of the video (None where the pass stopped before), and ``lost`` says what
    was lost with processes that died, or left out.
    """

    source: Probe
    limits: Limits
    wants: Sequence[Want]
    go_on_from: PassState | None = None
    settled: float | None = None
    stops: bool = False
    process: DecoderProcess | None = None
    read: str | None = None  #: SHA-256 of a growing file as it was read, to its end
    died: Callable[[LossNote], None] = lambda loss: None
    noted: Callable[[PassState], None] = lambda state: None
    final: PassState | None = None
    lost: list[LossNote] = field(default_factory=list)
    last_time: float = -1.0
    count: int = 0  #: how many frames have come
    _last_note: PassState | None = None
    _since_note: int = 0
    _unheard: float = 0.0  #: seconds of frames that a process may have kept back when it died
    _scaler: Scaler = field(default_factory=Scaler)

    def __iter__(self) -> Iterator[Frame]:
        if self.go_on_from is not None:
            self.last_time = self.go_on_from.last_time
        tries, died_at = 0, -math.inf  # wherever the first one dies, nothing is left out for it
        while True:
            try:
                yield from self._decoded(leap=_LEAPS[tries])
                return
            except ProcessGone as gone:
                tries = tries + 1 if self.last_time <= died_at else 0
                died_at = self.last_time + self._unheard
                if tries == len(_LEAPS) or (self.last_time < 0 and tries > 0):
                    self._give_up(gone)
                    return
                self._note_death(gone)
            finally:
                self.close()

    def close(self) -> None:
        """End the decoding process, also one that was given and has not begun."""
        process, self.process = self.process, None
        if process is not None:
            process.end()

    def _decoded(self, *, leap: float) -> Iterator[Frame]:
        state = self._state_here() if leap else self._last_note or self.go_on_from
        self.process = self.process or DecoderProcess(self.limits)
        channel = _FrameChannel(self.source, self.process)
        request: Message = {
            "do": "decode", "source": self.source.record(), "wants": [want.record() for want in self.wants],
            "state": None if state is None else dict(vars(state)), "leap": leap, "after": self.last_time,
            "settled": self.settled, "stops": self.stops, "slots": channel.slots.record(),
            # Frames of a growing file as they come; after a death so that it is known where the next one happens.
            "at_once": 1 if self.lost or self.settled is not None else channel.slots.count // _BATCH,
        }  # fmt: skip
        self._unheard = (request["at_once"] - 1) / max(self.source.frame_rate, 1.0)
        for message, _ in self.process.stream(request):
            if "too_large" in message:
                self._note_too_large(message)
            if "t" in message:
                self.last_time = float(message["t"])
                self._since_note += 1
                self.count += 1
                pixels = SharedPixels(channel, message) if "slot" in message else NoPixels()
                yield Frame(pixels, time=self.last_time, scaler=self._scaler)
            elif "state" in message:
                self._note(PassState(**message["state"]))
            elif "end" in message:
                self.read = message.get("read")
                self.final = PassState(**message["end"])
                if message["cut"]:
                    hours = self.limits.duration / 3600
                    self._lose("longer_than_limit", f"only the first {hours:g} hours were decoded")

    def _note(self, state: PassState) -> None:
        self._last_note, self._since_note = state, 0
        if not self.lost:
            self.noted(state)

    def _state_here(self) -> PassState:
        """Where the pass stands by what has been told, for going on without the place itself."""
        step = 1 / max(self.source.frame_rate, 1.0)
        known = self._last_note or self.go_on_from
        if known is None:
            known = DecodePass(source=self.source).state()
        return replace(
            known,
            frames=known.frames + self._since_note,
            last_time=max(0.0, self.last_time),
            last_duration=known.last_duration or step,
            timeline={**known.timeline, "last": max(0.0, self.last_time)},
        )

    def _note_death(self, gone: ProcessGone) -> None:
        verb = "came to a halt" if gone.stalled else "died"
        self._lose("decoder_died", f"the decoder {verb} ({gone.reason}) and was started again")
        self.died(self.lost[-1])

    def _give_up(self, gone: ProcessGone) -> None:
        if self.last_time < 0:
            raise _decoder_fault(gone, self.source.path.name) from gone
        self._lose("decoder_died", f"the decoder died again and again ({gone.reason}); what comes after is not decoded")
        self.final = self._state_here()

    def _note_too_large(self, message: Message) -> None:
        height, width = message["too_large"]
        if not any(loss.code == "picture_too_large" for loss in self.lost):
            self._lose(
                "picture_too_large",
                f"pictures of {width} x {height} pixels in its format need too much memory; such are left out",
            )

    def _lose(self, code: str, message: str) -> None:
        self.lost.append(LossNote(code=code, message=message, start_time=milliseconds(max(0.0, self.last_time))))


def has_pixels(frame: Frame) -> bool:
    """Whether anything of a frame can be looked at."""
    return not isinstance(frame.pixels, NoPixels)


def release(frame: Frame) -> None:
    """Let the memory of a frame be used again; no further picture of it can be made."""
    if isinstance(frame.pixels, SharedPixels):
        frame.pixels.release()
