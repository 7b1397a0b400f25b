"""The decoding process: it reads files of unknown making within limits, and answers what it is asked about them."""

from __future__ import annotations

import json
import math
import resource
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import IO, cast

from world_api.core.faults import MediaFault
from world_api.media.audio import read_audio
from world_api.media.container import Limits, Probe, check_file, probe
from world_api.media.decode_pass import DecodePass, PassState
from world_api.media.frame_finder import FrameFinder
from world_api.media.frames import Frame, Want, last_end
from world_api.media.growing_file import GrowingFile, capture
from world_api.media.process import Message, Silent, Wire
from world_api.media.shared_memory import Slots, write_frame
from world_api.media.subtitles import look_inside, read_stream

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
