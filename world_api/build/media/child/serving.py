"""What the decoding process does when it is asked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import IO, Any, cast

from world_api.build.media.audio import read_audio
from world_api.build.media.child.capturing import capture
from world_api.build.media.child.growing import GrowingFile
from world_api.build.media.child.slots import Slots, lay
from world_api.build.media.child.wire import Message, Silent, Wire
from world_api.build.media.decoding import DecodePass, PassState
from world_api.build.media.frames import Frame
from world_api.build.media.limits import Limits
from world_api.build.media.opening import check_file
from world_api.build.media.probe import Probe, probe
from world_api.build.media.seek import FrameFinder
from world_api.build.media.subtitles.sources import look_inside, read_stream
from world_api.build.media.wants import Want, last_end

#: Seconds of video between two notes of where a pass stands.
_NOTE_EVERY = 10.0
#: Seconds between two signs of life.
_BREATH = 1.0
#: Where several frames are told of at once, no more are decoded once the last sending is so long ago (seconds).
_HELD = 0.02


class Server:
    """Answers requests over a wire, one after another."""

    def __init__(self, wire: Wire, *, limits: Limits, shared: int) -> None:
        self._wire = wire
        self._limits = limits
        self._shared = shared
        self._slots: Slots | None = None
        self._free: list[int] = []
        self._finders: dict[Path, FrameFinder] = {}
        self._tasks: dict[str, Callable[[Message], None]] = {
            "probe": self._probe,
            "decode": self._decode,
            "frame": self._frame,
            "frames": self._frames,
            "audio": self._audio,
            "texts": self._texts,
            "cues": self._cues,
            "capture": self._capture,
        }

    def answer(self, request: Message) -> None:
        """Do what is asked.

        Raises:
            MediaFault: as the task names it.
            Closed: the other side is gone.
        """
        self._tasks[request["do"]](request)

    def _probe(self, request: Message) -> None:
        path = Path(request["path"])
        if (settled := request.get("settled")) is None:
            found = probe(path, limits=self._limits)
        else:
            with closing(self._growing(path, settled)) as file:
                found = probe(path, limits=self._limits, file=cast("IO[bytes]", file))
        self._wire.send({"probe": found.record()})

    def _frame(self, request: Message) -> None:
        picture = self._finder(Path(request["path"])).frame_played_at(request["seconds"])
        self._wire.send({"shape": picture.shape}, picture.tobytes())

    def _frames(self, request: Message) -> None:
        finder = self._finder(Path(request["path"]))
        pictures = finder.pictures_played_at(request["times"], request["longest_side"])
        payload = b"".join(picture.tobytes() for picture in pictures)
        self._wire.send({"shapes": [picture.shape for picture in pictures]}, payload)

    def _finder(self, path: Path) -> FrameFinder:
        if path not in self._finders:
            self._finders = {path: FrameFinder(path, limits=self._limits, alive=self._breathe)}
        return self._finders[path]

    def _audio(self, request: Message) -> None:
        samples = read_audio(Path(request["path"]), request["start"], request["end"], limits=self._limits)
        self._wire.send({"samples": len(samples)}, samples.tobytes())

    def _texts(self, request: Message) -> None:
        inside = look_inside(Path(request["path"]), limits=self._limits)
        texts = [{**asdict(source), "path": str(source.path)} for source in inside.texts]
        self._wire.send({**asdict(inside), "texts": texts})

    def _cues(self, request: Message) -> None:
        read = read_stream(Path(request["path"]), request["stream"], self._breathe, limits=self._limits)
        cues = json.dumps([asdict(cue) for cue in read.cues]).encode()
        self._wire.send({"left_out": read.left_out, "is_cut": read.is_cut}, cues)

    def _capture(self, request: Message) -> None:
        seconds = capture(request["address"], Path(request["path"]), limits=self._limits, alive=self._alive)
        self._wire.send({"seconds": seconds})

    def _decode(self, request: Message) -> None:
        slots = self._slots = Slots(handle=self._shared, **request["slots"])
        self._free = list(range(slots.count))
        source, settled = Probe.restored(request["source"]), request.get("settled")
        state = request["state"]
        file = self._growing(source.path, settled) if settled is not None else None
        decode = DecodePass(
            source=source,
            limits=self._limits,
            go_on_from=PassState(**state) if state is not None else None,
            leap=request["leap"],
            file=cast("IO[bytes] | None", file),
        )
        wants = [Want.restored(record) for record in request["wants"]]
        try:
            enough = last_end(wants) if request["stops"] else math.inf
            self._tell_frames(
                decode, wants, after=request["after"], enough=enough, at_once=request["at_once"], read=file
            )
        finally:
            if file is not None:
                file.close()

    def _tell_frames(
        self,
        decode: DecodePass,
        wants: list[Want],
        *,
        after: float,
        enough: float,
        at_once: int,
        read: GrowingFile | None,
    ) -> None:
        """Tell of every frame later than ``after`` up to ``enough``, several at once; lay the wanted ones into slots."""
        previous = decode.last_time if decode.frames else None
        noted = decode.last_time
        last = min(enough, self._limits.duration)
        for frames in self._together(decode, most=at_once, last=last):
            for frame in frames:
                if frame.time > after:
                    self._wire.hold(self._told(frame, [want for want in wants if want.takes(frame.time, previous)]))
                previous = frame.time
            self._wire.flush()
            if decode.last_time // _NOTE_EVERY > noted // _NOTE_EVERY:
                noted = decode.last_time
                self._wire.send({"state": _plain(decode.state())})
            if decode.last_time >= enough:
                self._wire.send({"stopped": _plain(decode.state())})
                return
            if decode.last_time > self._limits.duration:
                self._wire.send({"end": _plain(decode.state()), "cut": True})
                return
        digest = None if read is None else read.digest()
        self._wire.send({"end": _plain(decode.state()), "cut": False, "read": digest})

    def _together(self, decode: DecodePass, *, most: int, last: float) -> Iterator[list[Frame]]:
        """The frames, several at once; with one at ``last`` (seconds) or later a group ends.

        Decoding empties the processor's caches: what is done after each frame takes several times as long as the same
        done for several in a row.
        """
        frames: list[Frame] = []
        for frame in decode:
            self._breathe()
            frames.append(frame)
            if len(frames) >= most or frame.time >= last or monotonic() - self._wire.sent_at >= _HELD:
                yield frames
                frames = []
        if frames:
            yield frames

    def _told(self, frame: Frame, wants: list[Want]) -> Message:
        """What the other side is told of a frame; what it wants of it is laid into a slot."""
        if not wants or self._slots is None:
            return {"t": frame.time}
        number = self._free_slot()
        laid = lay(frame, self._slots.slot(number), wants)
        if laid is None:
            self._free.append(number)
            return {"t": frame.time, "too_large": frame.shape}
        return {"t": frame.time, "slot": number, **laid}

    def _free_slot(self) -> int:
        """A slot that nobody looks at any more."""
        while not self._free:
            if not self._wire.has_message():
                self._wire.flush()
            try:
                message, _ = self._wire.receive(patience=_BREATH)
            except Silent:
                self._alive()  # a stage takes its time
                continue
            self._free.extend(message["free"])
        return self._free.pop()

    def _growing(self, path: Path, settled: float) -> GrowingFile:
        check_file(path)
        return GrowingFile(path, settled=settled, waiting=self._alive)

    def _breathe(self) -> None:
        """Show life where nothing was told for a while."""
        if monotonic() - self._wire.sent_at > _BREATH:
            self._alive()

    def _alive(self) -> None:
        self._wire.send({"waiting": True})


def _plain(state: PassState) -> dict[str, Any]:
    return dict(vars(state))
