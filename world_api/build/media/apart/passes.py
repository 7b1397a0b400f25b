"""One decode pass over a video, with the decoding done in a process of its own that may die on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from world_api.build.media.apart.process import DecoderGone, DecoderProcess
from world_api.build.media.child.slots import take
from world_api.build.media.child.wire import Message
from world_api.build.media.decoding import DecodePass, PassState
from world_api.build.media.frames import DecodedPixels, Frame, PixelFormat, Pixels, Scaler
from world_api.build.media.limits import Limits
from world_api.build.media.losses import LossNote, milliseconds
from world_api.build.media.probe import Probe
from world_api.build.media.wants import Want
from world_api.core.ports import Image

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

#: Where a decoder dies again at the same place, so many seconds are left out, one after another; then the pass ends.
_LEAPS = (0.0, 1.0, 4.0, 16.0, 64.0)
#: Frames are told of several at a time: this share of the slots.
_AT_ONCE = 4


class _Run:
    """One decoding process at work, and the slots it lays frames into."""

    def __init__(self, source: Probe, process: DecoderProcess) -> None:
        self.process = process
        self.slots = process.slots_for(source.width, source.height)
        self._buffers: dict[int, VideoFrame] = {}

    def take(self, facts: Message, slot: int) -> VideoFrame:
        """The pixels of a slot."""
        return take(facts, self.slots.slot(slot), None)

    def show(self, facts: Message, slot: int) -> VideoFrame:
        """The pixels of a slot; the frame of an earlier use of the slot is used again."""
        frame = take(facts, self.slots.slot(slot), self._buffers.get(slot))
        self._buffers[slot] = frame
        return frame

    def copy(self, slot: int, at: int, shape: tuple[int, ...]) -> Image:
        """A picture that lies in a slot."""
        return self.slots.slot(slot)[at : at + prod(shape)].reshape(shape).copy()

    def end(self) -> None:
        """End the process; slots that are still looked at stay."""
        self.process.end()


class SharedPixels:
    """What of a frame lies in a slot; taken out when a picture is asked for."""

    def __init__(self, run: _Run, message: Message) -> None:
        self.height, self.width = message["shape"]
        self.turn = 0  # of the whole, which is told with it
        self._run: _Run | None = run
        self._slot = int(message["slot"])
        self._facts: Message | None = message["facts"]
        self._pictures = {(side, made): (at, shape) for side, made, at, shape in message["pictures"]}
        self._taken: VideoFrame | None = None
        if self._facts is not None:
            self.height, self.width, self.turn = self._facts["height"], self._facts["width"], self._facts["turn"]

    def video_frame(self) -> VideoFrame:
        """The stored picture."""
        if self._facts is None:
            raise RuntimeError("a picture was asked for that nobody wanted of this frame")
        if self._taken is None:
            self._taken = self._shown().show(self._facts, self._slot)
        return self._taken

    def ready(self, max_side: int | None, pixel_format: PixelFormat) -> Image | None:
        """A picture that the decoding process made."""
        if (place := self._pictures.get((max_side, pixel_format))) is None:
            return None
        at, shape = place
        return self._shown().copy(self._slot, at, tuple(shape))

    def kept(self) -> Pixels:
        """The whole frame taken out."""
        if self._facts is None:
            raise RuntimeError("a frame was to be kept of which only a picture is there")
        raw = self._shown().take(self._facts, self._slot)
        return DecodedPixels(raw=raw, width=self.width, height=self.height, turn=self.turn)

    def let_go(self) -> None:
        """Nobody looks at it any more; the slot is used again."""
        if self._run is not None:
            run, self._run, self._taken = self._run, None, None
            run.process.give_back(self._slot)

    def _shown(self) -> _Run:
        if self._run is None:
            raise RuntimeError("a picture was asked for after the frame had been let go")
        return self._run


class NoPixels:
    """Of a frame that nobody wanted only the time is known."""

    width = height = turn = 0

    def video_frame(self) -> VideoFrame:
        """There is none."""
        raise RuntimeError("a picture was asked for of a frame that nobody wanted")

    def ready(self, max_side: int | None, pixel_format: PixelFormat) -> Image | None:
        """There is none."""
        return None

    def kept(self) -> Pixels:
        """There are none."""
        return self


@dataclass(kw_only=True)
class VideoPass:
    """Iterates the frames of a probed video once. Whoever is shown a frame lets it go with :func:`let_go`.

    ``go_on_from`` takes it up where an earlier pass stood; ``settled`` follows a file that grows, until it has not for so
    many seconds; with ``stops`` it ends once nobody wants a frame any more. ``process`` is one that runs already, for the
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
    told: int = 0  #: how many frames have come
    _last_note: PassState | None = None
    _since_note: int = 0
    _unheard: float = 0.0  #: seconds of frames that a process may have kept back when it died
    _run: _Run | None = None
    _scaler: Scaler = field(default_factory=Scaler)

    def __iter__(self) -> Iterator[Frame]:
        if self.go_on_from is not None:
            self.last_time = self.go_on_from.last_time
        tries, died_at = 0, -math.inf  # wherever the first one dies, nothing is left out for it
        while True:
            try:
                yield from self._told(leap=_LEAPS[tries])
                return
            except DecoderGone as gone:
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
        run, self._run = self._run, None
        if process is not None:
            process.end()
        if run is not None:
            run.end()

    def _told(self, *, leap: float) -> Iterator[Frame]:
        state = self._state_here() if leap else self._last_note or self.go_on_from
        run = self._run = _Run(self.source, self.process or DecoderProcess(self.limits))
        self.process = None
        request: Message = {
            "do": "decode", "source": self.source.record(), "wants": [want.record() for want in self.wants],
            "state": None if state is None else dict(vars(state)), "leap": leap, "after": self.last_time,
            "settled": self.settled, "stops": self.stops, "slots": run.slots.record(),
            # Frames of a growing file as they come; after a death so that it is known where the next one happens.
            "at_once": 1 if self.lost or self.settled is not None else run.slots.count // _AT_ONCE,
        }  # fmt: skip
        self._unheard = (request["at_once"] - 1) / max(self.source.frame_rate, 1.0)
        for message, _ in run.process.ask(request):
            if "too_large" in message:
                self._note_too_large(message)
            if "t" in message:
                self.last_time = float(message["t"])
                self._since_note += 1
                self.told += 1
                yield self._frame(run, message)
            elif "state" in message:
                self._note(PassState(**message["state"]))
            elif "end" in message:
                self.read = message.get("read")
                self._finish(PassState(**message["end"]), is_cut=message["cut"])

    def _note(self, state: PassState) -> None:
        self._last_note, self._since_note = state, 0
        if not self.lost:
            self.noted(state)

    def _frame(self, run: _Run, message: Message) -> Frame:
        if "slot" not in message:
            return Frame(NoPixels(), time=self.last_time, scaler=self._scaler)
        return Frame(SharedPixels(run, message), time=self.last_time, scaler=self._scaler)

    def _finish(self, state: PassState, *, is_cut: bool) -> None:
        self.final = state
        if is_cut:
            self._lose("longer_than_limit", f"only the first {self.limits.duration / 3600:g} hours were decoded")

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

    def _note_death(self, gone: DecoderGone) -> None:
        verb = "came to a halt" if gone.stalled else "died"
        self._lose("decoder_died", f"the decoder {verb} ({gone.reason}) and was started again")
        self.died(self.lost[-1])

    def _give_up(self, gone: DecoderGone) -> None:
        if self.last_time < 0:
            raise gone.as_fault(self.source.path.name) from gone
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


def let_go(frame: Frame) -> None:
    """Nobody looks at a frame any more."""
    if isinstance(frame.pixels, SharedPixels):
        frame.pixels.let_go()
