"""The decoding process: it reads files of unknown making within limits, and answers what it is asked about them."""

from __future__ import annotations

import json
import math
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, cast

from world_api.core.faults import MediaFault
from world_api.core.ports import Image
from world_api.media.audio import read_audio
from world_api.media.container import (
    DEFAULT_LIMITS,
    Limits,
    Probe,
    check_file,
    decode_pictures,
    frame_time,
    open_video,
    probe,
    video_stream,
)
from world_api.media.decode_pass import DecodePass, PassState, Timeline
from world_api.media.frames import Fitter, Frame, Scaler, Want, decoded_frame, last_end
from world_api.media.growing_file import GrowingFile, capture
from world_api.media.process import Message, Silent, Wire
from world_api.media.shared_memory import Slots, write_frame
from world_api.media.subtitles import look_inside, read_stream

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream


#: Seconds of video between two notes of where a pass stands.
_NOTE_EVERY = 10.0
#: Seconds between two signs of life.
_SIGN_EVERY = 1.0
#: Where several frames are sent at once, no more are decoded once the last sending is so long ago (seconds).
_HELD = 0.02

Answer = tuple[Message, bytes]


class DecoderServer:
    """Answers requests about files over a wire, one after another.

    ``limits`` are the JSON form of :class:`Limits`; ``shared`` is the descriptor of the file for frames.
    """

    def __init__(self, wire: Wire, limits: str, shared: str) -> None:
        self._wire = wire
        self._limits = Limits(**json.loads(limits))
        self._shared = int(shared)
        self._slots: Slots | None = None
        self._free: list[int] = []
        self._finder: tuple[Path, FrameFinder] | None = None
        self._tasks: dict[str, Callable[[Message], Answer]] = {
            "probe": self._probe,
            "decode": self._decode,
            "frames": self._frames,
            "audio": self._audio,
            "texts": self._texts,
            "cues": self._cues,
            "capture": self._capture,
        }

    def answer(self, request: Message) -> Answer | None:
        """Do what is asked.

        Raises:
            MediaFault: as the task names it; ``decoder_out_of_memory``.
            Closed: the other side is gone.
        """
        if "free" in request:
            return None  # slots of a pass that is over
        try:
            return self._tasks[request["do"]](request)
        except MemoryError:
            raise MediaFault(
                "decoder_out_of_memory", "decoding it takes too much memory", hint="scale the video down"
            ) from None

    def _probe(self, request: Message) -> Answer:
        path = Path(request["path"])
        if (settled := request.get("settled")) is None:
            found = probe(path, limits=self._limits)
        else:
            with closing(self._growing(path, settled)) as file:
                found = probe(path, limits=self._limits, file=cast("IO[bytes]", file))
        return {"probe": found.record()}, b""

    def _frames(self, request: Message) -> Answer:
        path = Path(request["path"])
        if self._finder is None or self._finder[0] != path:
            self._finder = path, FrameFinder(path, limits=self._limits, alive=self._show_life)
        pictures = self._finder[1].pictures_played_at(request["times"], request["longest_side"])
        return {"shapes": [picture.shape for picture in pictures]}, b"".join(picture.tobytes() for picture in pictures)

    def _audio(self, request: Message) -> Answer:
        samples = read_audio(Path(request["path"]), request["start"], request["end"], limits=self._limits)
        return {}, samples.tobytes()

    def _texts(self, request: Message) -> Answer:
        inside = look_inside(Path(request["path"]), limits=self._limits)
        texts = [{**asdict(source), "path": str(source.path)} for source in inside.texts]
        return {"texts": texts, "has_sound": inside.has_sound, "language": inside.language}, b""

    def _cues(self, request: Message) -> Answer:
        read = read_stream(Path(request["path"]), request["stream"], self._show_life, limits=self._limits)
        return {"left_out": read.left_out, "is_cut": read.is_cut}, json.dumps([asdict(c) for c in read.cues]).encode()

    def _capture(self, request: Message) -> Answer:
        seconds = capture(request["address"], Path(request["path"]), limits=self._limits, alive=self._send_life)
        return {"seconds": seconds}, b""

    def _decode(self, request: Message) -> Answer:
        """Send every frame later than ``after``, several at once, with what is wanted of it in a slot."""
        slots = self._slots = Slots(handle=self._shared, **request["slots"])
        self._free = list(range(slots.count))
        source, settled, state = Probe.restored(request["source"]), request["settled"], request["state"]
        file = self._growing(source.path, settled) if settled is not None else None
        decode = DecodePass(
            source=source,
            limits=self._limits,
            go_on_from=PassState(**state) if state is not None else None,
            leap=request["leap"],
            file=cast("IO[bytes] | None", file),
        )
        wants = [Want.restored(record) for record in request["wants"]]
        enough = last_end(wants) if request["stops"] else math.inf
        try:
            return self._send_frames(
                decode, wants, after=request["after"], enough=enough, at_once=request["at_once"], file=file
            ), b""
        finally:
            if file is not None:
                file.close()

    def _send_frames(
        self,
        decode: DecodePass,
        wants: list[Want],
        *,
        after: float,
        enough: float,
        at_once: int,
        file: GrowingFile | None,
    ) -> Message:
        """Send the frames up to ``enough`` (seconds), and the state of the pass now and then; returns how it ended."""
        previous = decode.last_time if decode.frames else None
        noted = decode.last_time
        last = min(enough, self._limits.duration)
        for frames in self._batches(decode, most=at_once, last=last):
            for frame in frames:
                if frame.time > after:
                    self._wire.hold(self._sent(frame, [want for want in wants if want.takes(frame.time, previous)]))
                previous = frame.time
            self._wire.flush()
            if decode.last_time // _NOTE_EVERY > noted // _NOTE_EVERY:
                noted = decode.last_time
                self._wire.send({"state": vars(decode.state())})
            if decode.last_time >= enough:
                return {"stopped": vars(decode.state())}
            if decode.last_time > self._limits.duration:
                return {"end": vars(decode.state()), "cut": True}
        return {"end": vars(decode.state()), "cut": False, "read": None if file is None else file.digest()}

    def _batches(self, decode: DecodePass, *, most: int, last: float) -> Iterator[list[Frame]]:
        """The frames, several at once; a batch ends with one at ``last`` (seconds) or later.

        Decoding empties the processor's caches: what is done after each frame takes several times as long as the same
        done for several in a row.
        """
        frames: list[Frame] = []
        for frame in decode:
            self._show_life()
            frames.append(frame)
            if len(frames) >= most or frame.time >= last or monotonic() - self._wire.sent_at >= _HELD:
                yield frames
                frames = []
        if frames:
            yield frames

    def _sent(self, frame: Frame, wants: list[Want]) -> Message:
        """The message about a frame; what is wanted of it is written into a slot."""
        if not wants or self._slots is None:
            return {"t": frame.time}
        number = self._free_slot()
        written = write_frame(frame, self._slots.slot(number), wants)
        if written is None:
            self._free.append(number)
            return {"t": frame.time, "too_large": frame.shape}
        return {"t": frame.time, "slot": number, **written}

    def _free_slot(self) -> int:
        """A slot that no stage looks at any more."""
        while not self._free:
            if not self._wire.has_message():
                self._wire.flush()
            try:
                message, _ = self._wire.receive(patience=_SIGN_EVERY)
            except Silent:
                self._send_life()  # a stage takes its time
                continue
            self._free.extend(message["free"])
        return self._free.pop()

    def _growing(self, path: Path, settled: float) -> GrowingFile:
        check_file(path)
        return GrowingFile(path, settled=settled, waiting=self._send_life)

    def _show_life(self) -> None:
        """Send a sign of life if nothing was sent for a while."""
        if monotonic() - self._wire.sent_at > _SIGN_EVERY:
            self._send_life()

    def _send_life(self) -> None:
        self._wire.send({"waiting": True})


def serve(wire: Wire, limits: str, shared: str) -> DecoderServer:
    """A server in a process of its own, which is bound to what it may take; not every system holds it to its memory."""
    server = DecoderServer(wire, limits, shared)
    bounds = ((resource.RLIMIT_AS, int(json.loads(limits)["memory"])), (resource.RLIMIT_CORE, 0))
    for what, most in bounds:
        _, hard = resource.getrlimit(what)
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    return server


#: How far before the wanted time (seconds) to look again when a seek landed behind it.
_BACK_OFF = (0.0, 2.0, 12.0)
_HALF_MILLISECOND = 5e-4
#: Seconds to the next wanted frame from which on seeking it costs less than decoding what lies between.
_WORTH_SEEKING = 5.0


class FrameFinder:
    """Frames of one video file by time. Opens the file at each call, so it holds nothing between calls."""

    def __init__(
        self, path: Path, *, limits: Limits = DEFAULT_LIMITS, alive: Callable[[], None] = lambda: None
    ) -> None:
        self._path = path
        self._limits = limits
        self._alive = alive
        self._probe: Probe | None = None
        self._clock_leaps = False
        self._scaler = Scaler()
        self._fitter: Fitter | None = None

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> list[Image]:
        """The frames on screen at several times in rising order, none larger than ``longest_side`` pixels; decoded in one go.

        The frame on screen is the last one whose presentation time is not after the time asked for; times before the first
        frame give the first one, times after the end the last one. A frame counts as begun half a millisecond early, since
        times leave the API rounded to milliseconds.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        source = self._probed()
        found: dict[float, Image] = {}  #: by the time asked for
        for back_off in () if self._clock_leaps else _BACK_OFF:
            if missing := [seconds for seconds in times if seconds not in found]:
                found |= self._run_through(missing, source.start, back_off, longest_side)
        return [
            found[seconds] if seconds in found else self._reached(seconds).picture(longest_side) for seconds in times
        ]

    def _probed(self) -> Probe:
        if not self._path.is_file():
            raise MediaFault(
                "source_missing",
                f"the video file {self._path.name} is no longer where it was when the world was built",
                hint="put the file back, or build the world again",
            )
        if self._probe is None:
            self._probe = probe(self._path, limits=self._limits)
            self._fitter = Fitter(self._probe.width, self._probe.height)
            self._clock_leaps = self._has_leaps()
        return self._probe

    def _run_through(
        self, times: Sequence[float], start: float, back_off: float, longest_side: int | None
    ) -> dict[float, Image]:
        """The pictures that are found by seeking the first and decoding on; those that a seek lands behind are left out."""
        import av

        wanted = [max(0.0, seconds) + start + _HALF_MILLISECOND for seconds in times]
        found: dict[int, Image] = {}
        at = 0
        with open_video(self._path, limits=self._limits) as container:
            stream = video_stream(container, self._path, limits=self._limits)
            while at < len(wanted) and stream.time_base:
                try:
                    place = int(max(0.0, wanted[at] - back_off) / stream.time_base)
                    container.seek(place, stream=stream, backward=True)
                    reached = self._collect(container, stream, wanted, at, found, longest_side)
                except av.FFmpegError:
                    break
                at = max(at + 1, reached)
        return {times[number]: picture for number, picture in found.items()}

    def _collect(
        self,
        container: InputContainer,
        stream: VideoStream,
        wanted: Sequence[float],
        at: int,
        found: dict[int, Image],
        longest_side: int | None,
    ) -> int:
        """Decode on from here, keep the wanted pictures from ``at`` on; which one is to be sought next."""
        import av

        last: Frame | None = None
        for packet in container.demux(stream):
            self._alive()
            try:
                frames = decode_pictures(packet)
            except av.FFmpegError:
                continue
            for frame in frames:
                if frame.pts is None:
                    return len(wanted)  # without times of its own, a frame is found by going through the video
                time = frame_time(frame)
                while at < len(wanted) and time > wanted[at]:
                    if last is None:
                        return at  # the seek landed behind it
                    found[at] = last.picture(longest_side)
                    at += 1
                if at == len(wanted) or wanted[at] - time > _WORTH_SEEKING:
                    return at
                last = decoded_frame(frame, time=time, scaler=self._scaler, fitter=self._fitter)
        while last is not None and at < len(wanted):
            found[at] = last.picture(longest_side)
            at += 1
        return at

    def _reached(self, seconds: float) -> Frame:
        """The frame at a project time by going through the video as the build did; slow, and right whatever the clock."""
        found = None
        for frame in DecodePass(source=self._probed(), limits=self._limits):
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
        """Whether the file's clock starts anew inside it, in formats made to be joined (transport streams and the like)."""
        import av
        from av.format import Flags

        with open_video(self._path, limits=self._limits) as container:
            if Flags.ts_discont not in Flags(container.format.flags):
                return False
            stream = video_stream(container, self._path, limits=self._limits)
            timeline = Timeline(start=0.0)
            try:
                for packet in container.demux(stream):
                    self._alive()
                    if packet.dts is not None and packet.time_base is not None:
                        timeline.place(float(packet.dts * packet.time_base), step=0.0)
            except av.FFmpegError:
                pass  # a damaged end: the clock up to there is known
            return timeline.leaps > 0
