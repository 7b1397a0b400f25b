"""Reading videos through a decoding process that may die: single requests, frames and sound by time, and the decode pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from math import prod
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING

import numpy as np

from world_api.core.faults import MediaFault
from world_api.core.ports import Image, Samples
from world_api.core.spans import DECODER_RESTARTED, NOT_DECODED, TimeSpan
from world_api.media.container import DEFAULT_LIMITS, Limits, Probe
from world_api.media.decode_pass import LONGER_THAN_LIMIT, LossNote, PassState, loss
from world_api.media.frames import DecodedFrame, Frame, PixelFormat, Want
from world_api.media.process import DecoderProcess, Message, ProcessGone
from world_api.media.shared_memory import Slots, read_frame

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

#: Seconds that are skipped each time a decoder dies again at the same place; after the last one the rest is left out.
_SKIPS = (0.0, 1.0, 4.0, 16.0, 64.0)
#: Frames are sent, and slots returned, in batches of this share of the slots: each message wakes a process.
_BATCH = 1 / 4
#: What a loss says where another decoder may get further: what killed them, such as a lack of memory, may be gone.
_TRY_AGAIN = "building the world again with the same options and --force tries again"
#: Holes where the file is damaged; more are one hole with the last of them.
_MOST_HOLES = 200


class MediaWorker:
    """A decoding process for requests. It is started by the first request, and again if it has died.

    A request at which it dies is made once more to a new process: what killed it, such as a lack of memory, may not
    come again. Threads may share it; one request is answered at a time. ``process``: one that runs already.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, process: DecoderProcess | None = None) -> None:
        self._limits = limits
        self._process = process
        self._lock = RLock()

    def ask(self, request: Message, path: Path, *, is_repeatable: bool = True) -> tuple[Message, bytes]:
        """Return the answer to a request about a file, and its raw bytes.

        ``is_repeatable``: whether it is made again if the process dies at it.

        Raises:
            MediaFault: the faults of the request, such as those of :func:`world_api.media.container.probe`;
                ``decoder_died``, ``decoder_stalled``.
        """
        with self._lock:
            has_died = False
            while True:
                try:
                    return self._started().ask({**request, "path": str(path)})
                except MediaFault:
                    raise
                except BaseException as error:
                    self.close()  # or its answer would be taken for that to the next request
                    if not isinstance(error, ProcessGone):
                        raise
                    if error.stalled or has_died or not is_repeatable:
                        raise _decoder_fault(error, path.name, is_second=has_died) from error
                    has_died = True

    def start(self) -> None:
        """Start the process now, so that it is ready for the first request."""
        with self._lock:
            self._started()

    def detach(self) -> DecoderProcess | None:
        """Return the process if one runs, else None; the caller must end it, and the next request starts another."""
        with self._lock:
            process, self._process = self._process, None
            return process

    def probe(self, path: Path, *, settled: float | None = None) -> Probe:
        """Describe a file by its header and first frame. Raises as :meth:`ask`.

        With ``settled``, the file may still be growing: if data is missing, wait for more. The file counts as complete
        once it has not grown for ``settled`` seconds.
        """
        message, _ = self.ask({"do": "probe", "settled": settled}, path)
        return Probe.restored(message["probe"])

    def sound(self, source: Probe, span: TimeSpan) -> Samples:
        """Return the sound of a span of project time; empty if the video has none. Raises as :meth:`ask`."""
        request = {"do": "audio", "start": span.start + source.start, "end": span.end + source.start}
        return np.frombuffer(self.ask(request, source.path)[1], dtype=np.float32)

    def kill(self) -> None:
        """End the process at once, also during a request, which then fails unless it is made again."""
        if (process := self._process) is not None:
            process.kill()

    def close(self) -> None:
        """End the process. The next request starts another."""
        if (process := self.detach()) is not None:
            process.end()

    def _started(self) -> DecoderProcess:
        if self._process is None:
            self._process = DecoderProcess(self._limits)
        return self._process


def _decoder_fault(gone: ProcessGone, name: str, *, is_second: bool) -> MediaFault:
    """Return the fault for a decoder that stalled or failed; ``name``: of the video file; ``is_second``: it failed twice in a row."""
    if gone.stalled:
        return MediaFault(
            "decoder_stalled",
            f"decoding {name} came to a halt: {gone.reason}",
            hint="if the machine was busy, try again; else the file may be damaged: try to copy its streams into a new file",
        )
    return MediaFault(
        "decoder_died",
        f"the decoder of {name} failed{' twice' if is_second else ''}: {gone.reason}",
        hint="if memory was short, end other programs and try again; else the file may be damaged: try a smaller copy",
    )


class VideoFrames:
    """Random access to the frames of one video (``FrameSource``), through ``worker`` or a process of its own."""

    def __init__(self, path: Path, worker: MediaWorker | None = None) -> None:
        self._path = path
        self._worker = worker or MediaWorker()

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> list[Image]:
        """Return one BGR picture for each of the rising ``times``, no side longer than ``longest_side`` pixels (None: full size).

        It is of the last frame whose presentation time is not after the time asked for. Times before the first frame give the
        first one, times after the end the last one.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``, ``decoder_died``, ``decoder_stalled``.
        """
        request = {"do": "frames", "times": list(times), "longest_side": longest_side}
        message, payload = self._worker.ask(request, self._path)
        shapes = message["shapes"]
        ends = np.cumsum([prod(shape) for shape in shapes])
        pictures = np.split(np.frombuffer(payload, dtype=np.uint8), ends[:-1])
        return [picture.reshape(shape) for picture, shape in zip(pictures, shapes, strict=False)]

    def close(self) -> None:
        """End the process. The next request starts another."""
        self._worker.close()


class _FreedSlots:
    """Collects slots of shared memory that stages have freed; returns ``size`` at a time to their decoding process."""

    def __init__(self, process: DecoderProcess, size: int) -> None:
        self._process = process
        self._size = size
        self._freed: list[int] = []
        self._lock = Lock()

    def add(self, slot: int) -> None:
        """Give a slot back to the decoding process, now or with later ones; threads may call this at the same time."""
        with self._lock:
            self._freed.append(slot)
            if len(self._freed) < self._size:
                return
            freed, self._freed = self._freed, []
        with suppress(ProcessGone):
            self._process.notify({"free": freed})


class SlotFrame(Frame):
    """A frame whose pixels are in a slot of shared memory; they are copied when a picture is requested."""

    def __init__(self, message: Message, slots: Slots, freed: _FreedSlots) -> None:
        self._slots: Slots | None = slots
        self._freed = freed
        self._slot = int(message["slot"])
        self._whole: Message | None = message["whole"]
        self._made = {(side, made): (at, shape) for side, made, at, shape in message["pictures"]}
        self._taken: VideoFrame | None = None
        self.wanted = message["wanted"]
        height, width = message["shape"]
        stored = self._whole or {"height": height, "width": width, "turn": 0}
        super().__init__(message["t"], height=stored["height"], width=stored["width"], turn=stored["turn"])

    def video_frame(self) -> VideoFrame:
        """Return the stored (not yet rotated) picture; ``RuntimeError`` if it was not sent or the frame is released."""
        if self._whole is None:
            raise RuntimeError("a picture was requested that no stage wanted of this frame")
        if self._taken is None:
            self._taken = read_frame(self._whole, self._bytes())
        return self._taken

    def kept(self) -> Frame:
        """Return the same frame with a copy of its pixels."""
        return DecodedFrame(self.video_frame(), time=self.time, turn=self.turn)

    def _convert(self, max_side: int | None, pixel_format: PixelFormat) -> Image:
        """Return a picture that the decoding process made, or else one made from the stored picture."""
        if (place := self._made.get((max_side, pixel_format))) is None:
            return super()._convert(max_side, pixel_format)
        at, shape = place
        return self._bytes()[at : at + prod(shape)].reshape(shape).copy()

    def _free(self) -> None:
        self._slots, self._taken = None, None
        self._freed.add(self._slot)

    def _bytes(self) -> Image:
        if self._slots is None:
            raise RuntimeError("a picture was requested after the frame had been released")
        return self._slots.slots[self._slot]


@dataclass(kw_only=True)
class VideoPass:
    """Iterates the frames of a probed video once. The receiver must release every frame.

    Attributes:
        resume_from: Continue after the frame of this state of an earlier pass.
        settled: Follow a file that grows, until it has not grown for this many seconds.
        until: Stop after the first frame at or after this time; None decodes to the end.
        process: A decoding process that runs already; the pass ends it.
        noted, died: Called with states during the pass, and with a note of each decoder that died.
        final: Afterwards, the state at the end of the video; None if the pass stopped before.
        lost: Afterwards, what was lost when decoders died or where the file is damaged, and what was left out.
        holes: The parts of the video that were not decoded; each is added before the first frame after it is given.
        read: Afterwards, the SHA-256 of a growing file that was read to its end.
    """

    source: Probe
    limits: Limits
    wants: Sequence[Want]
    resume_from: PassState | None = None
    settled: float | None = None
    until: float | None = None
    process: DecoderProcess | None = None
    read: str | None = None
    died: Callable[[LossNote], None] = lambda loss: None
    noted: Callable[[PassState], None] = lambda state: None
    final: PassState | None = None
    lost: list[LossNote] = field(default_factory=list)
    holes: list[TimeSpan] = field(default_factory=list)
    last_time: float = -1.0
    count: int = 0  #: frames received
    _last_note: PassState | None = None
    _since_note: int = 0
    _last_end: float | None = None  #: if no frame came after what was skipped, when the last packet of the file ends
    _damage: list[TimeSpan] = field(default_factory=list)  #: holes that the pass found itself
    _unsent: float = 0.0  #: seconds of decoded frames that a decoder may not have sent when it died

    def __iter__(self) -> Iterator[Frame]:
        if self.resume_from is not None:
            self.last_time = self.resume_from.last_time
        tries, died_at, why = 0, -math.inf, ""  # nothing is skipped after the first death
        note = loss("", "")  # of the decoder that died last; a loss of more at that place replaces it
        while True:
            try:
                frames = self._decoded(skip=_SKIPS[tries])
                if tries:
                    before, first = self._current_state(), next(frames, None)
                    if first is None:
                        self.lost.remove(note)
                        self._leave_rest(why)
                        return
                    if self._note_hole(before, first.time, why):
                        self.lost.remove(note)
                    yield first
                yield from frames
                return
            except ProcessGone as gone:
                tries = tries + 1 if self.last_time <= died_at else 0
                died_at = self.last_time + self._unsent
                why = f"the decoder {'came to a halt' if gone.stalled else 'died'} ({gone.reason})"
                if tries:
                    self.lost.remove(note)
                if self.last_time < 0 and tries > 0:
                    raise _decoder_fault(gone, self.source.path.name, is_second=True) from gone
                if tries == len(_SKIPS):
                    self._leave_rest(why)
                    return
                note = self._note_loss(
                    DECODER_RESTARTED,
                    f"{why} at {max(0.0, self.last_time):.1f} s and was started again; no frame is missing",
                )
                self.died(note)
            finally:
                self.close()

    def close(self) -> None:
        """End the decoding process, even one that was given and has not been used yet."""
        process, self.process = self.process, None
        if process is not None:
            process.end()

    def _decoded(self, *, skip: float) -> Iterator[Frame]:
        state = self._current_state() if skip else self._last_note or self.resume_from
        process = self.process = self.process or DecoderProcess(self.limits)
        slots = Slots.for_frames(self.source.width, self.source.height, handle=self.process.shared)
        # Frames of a growing file are sent as they come; after a death too, so that the next one is located exactly.
        batch = 1 if self.lost or self.settled is not None else int(slots.count * _BATCH)
        self._unsent = (batch - 1) * self.source.frame_seconds
        freed = _FreedSlots(process, batch)
        request: Message = {
            "do": "decode", "source": asdict(self.source), "wants": [asdict(want) for want in self.wants],
            "state": None if state is None else asdict(state), "skip": skip, "after": self.last_time,
            "settled": self.settled, "until": self.until, "slots": {"count": slots.count, "size": slots.size},
            "batch": batch,
        }  # fmt: skip
        for message, _ in process.stream(request):
            for start, end in message.get("holes", ()):
                self._note_damage(TimeSpan(start=start, end=end))
            for sent in message.get("frames", ()):
                if "too_large" in sent and not any(lost.code == "picture_too_large" for lost in self.lost):
                    size = "{1} x {0}".format(*sent["too_large"])
                    self._note_loss(
                        "picture_too_large",
                        f"pictures of {size} pixels in its format need too much memory; such are left out,"
                        f" the first at {sent['t']:.1f} s",
                    )
                self.last_time = float(sent["t"])
                self._since_note += 1
                self.count += 1
                yield SlotFrame(sent, slots, freed) if "slot" in sent else Frame(self.last_time)
            if "state" in message:
                self._last_note, self._since_note = PassState.restored(message["state"]), 0
                if not self.lost:
                    self.noted(self._last_note)
            elif "end" in message:
                self.read = message.get("read")
                self.final, self._last_end = PassState.restored(message["end"]), message["last_end"]
                if message["cut"]:
                    hours = self.limits.duration / 3600
                    self._note_loss(LONGER_THAN_LIMIT, f"only the first {hours:g} hours were decoded")

    def _current_state(self) -> PassState:
        """Return the state after the last frame that was received, estimated from the last state that was sent."""
        state = deepcopy(self._last_note or self.resume_from) or PassState(start=self.source.start)
        state.frames += self._since_note
        state.last_time = max(0.0, self.last_time)
        state.last_duration = state.last_duration or self.source.frame_seconds
        return state

    def _note_hole(self, before: PassState, end: float, why: str) -> bool:
        """Note a hole from a state up to a time (seconds) if more than half a frame is missing; return whether it was."""
        start = before.duration
        end = end if self.until is None else min(end, self.until)
        if end - start <= before.last_duration / 2:
            return False
        hole = TimeSpan(start=start, end=end)
        for inner in [one for one in self._damage if start <= one.start and one.end <= end]:
            self._damage.remove(inner)
            self.holes.remove(inner)
            self.lost = [one for one in self.lost if one.place != (NOT_DECODED, inner.start, inner.end)]
        self.holes.append(hole)
        message = f"{start:.1f}-{end:.1f} s were not decoded: {why} there again and again; {_TRY_AGAIN}"
        self.lost.append(loss(NOT_DECODED, message, start, end))
        return True

    def _note_damage(self, hole: TimeSpan) -> None:
        """Note a hole where packets could not be decoded, unless it is known from an earlier decoder or pass."""
        if any(known.start <= hole.start and hole.end <= known.end for known in self.holes):
            return
        why = "none of the packets there gave a whole picture"
        if len(self._damage) < _MOST_HOLES:
            self._damage.append(hole)
            self.holes.append(hole)
        else:
            last = self._damage[-1]
            hole = self._damage[-1] = self.holes[self.holes.index(last)] = TimeSpan(start=last.start, end=hole.end)
            self.lost = [one for one in self.lost if one.place != (NOT_DECODED, last.start, last.end)]
            why = "packets in many parts of it gave no whole picture, and what is between these parts counts with them"
        message = f"{hole.start:.1f}-{hole.end:.1f} s were not decoded: {why}"
        self.lost.append(loss(NOT_DECODED, message, hole.start, hole.end))

    def _leave_rest(self, why: str) -> None:
        """End the pass where decoders die; the rest of the video is a hole, up to its last packet or where the header says."""
        state = self.final = self.final or self._current_state()
        known = self.source.declared_duration if self._last_end is None else self._last_end
        # The clock of the file says nothing if it leaps.
        end = None if known is None or state.leaps.count else min(known, self.limits.duration)
        if end is not None and self._note_hole(state, end, why):
            state.last_time = end - state.last_duration
            return
        is_end = end is not None and self._last_end is not None
        rest = "the file has no frame after that" if is_end else f"what comes after is not decoded; {_TRY_AGAIN}"
        self._note_loss("decoder_died", f"{why} again and again at {max(0.0, self.last_time):.1f} s; {rest}")

    def _note_loss(self, code: str, message: str) -> LossNote:
        """Note a loss at the last frame, and return it."""
        self.lost.append(loss(code, message, max(0.0, self.last_time)))
        return self.lost[-1]
