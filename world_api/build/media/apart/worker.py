"""Asking single things of a video in a decoding process of its own: what it is, and a frame at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from threading import Lock

import numpy as np

from world_api.build.media.apart.process import DecoderGone, DecoderProcess
from world_api.build.media.child.wire import Message
from world_api.build.media.limits import DEFAULT_LIMITS, Limits
from world_api.build.media.probe import Probe
from world_api.build.media.stamp import Stamp
from world_api.core.faults import MediaFault
from world_api.core.ports import Image, Samples
from world_api.core.spans import TimeSpan


class MediaWorker:
    """A decoding process for requests, started when the first one comes, and again after it died of one.

    Threads may share it; one request is answered at a time.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._process: DecoderProcess | None = None
        self._ahead: tuple[Path, Stamp] | None = None  #: what is probed before anybody asks for it
        self._lock = Lock()

    def ask(self, request: Message, path: Path) -> tuple[Message, bytes]:
        """The one answer to a request about a file.

        Raises:
            MediaFault: what the process names; ``decoder_died``, ``decoder_stalled``.
        """
        with self._lock:
            self._forget_ahead()
            try:
                return self._answer(lambda: self._started().ask({**request, "path": str(path)}), path)
            except DecoderGone as gone:
                raise gone.as_fault(path.name) from gone

    def start(self, video: Path | None = None) -> None:
        """Start the process now, so that it gets ready, and probes a file, while this one does something else."""
        # One that cannot start is told of by the first request.
        with self._lock, suppress(DecoderGone):
            process = self._started()
            if video is not None and self._ahead is None and (stamp := _stamp_of(video)) is not None:
                process.begin(_probing(video))
                self._ahead = video, stamp

    def hand_over(self) -> DecoderProcess | None:
        """The process, if one runs, for somebody else to use and end; the next request starts another."""
        with self._lock:
            self._forget_ahead()
            process, self._process = self._process, None
            return process

    def probe(self, path: Path, *, settled: float | None = None) -> Probe:
        """What a file is. ``settled`` waits for a file that is being written.

        Raises:
            MediaFault: as :func:`world_api.build.media.probe.probe`; ``decoder_died``, ``decoder_stalled``.
        """
        ahead = self._probed_ahead(path) if settled is None else None
        message, _ = ahead or self.ask(_probing(path, settled), path)
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

    def _probed_ahead(self, path: Path) -> tuple[Message, bytes] | None:
        """The answer to what was begun about a file; None where nothing was, or the file is another one by now."""
        with self._lock:
            if self._ahead is None or self._process is None or self._ahead != (path, _stamp_of(path)):
                return None
            self._ahead = None
            try:
                return self._answer(self._process.answers, path)
            except DecoderGone:
                return None  # it may have died of something else than the file: another one is asked

    def _forget_ahead(self) -> None:
        """Let nobody take an answer that is still to come for one to the next request."""
        if self._ahead is not None and self._process is not None:
            try:
                deque(self._process.answers(), maxlen=0)
            except MediaFault:
                pass  # whoever asks about that file is told
            except DecoderGone:
                self._end()
        self._ahead = None

    def _answer(self, answers: Callable[[], Iterator[tuple[Message, bytes]]], path: Path) -> tuple[Message, bytes]:
        try:
            told = list(answers())
        except (DecoderGone, KeyboardInterrupt):
            self._end()  # or its answer would be taken for that to the next request
            raise
        if len(told) != 1:
            raise MediaFault("decoder_died", f"the decoder gave no answer about {path.name}", hint="try it again")
        return told[0]

    def _started(self) -> DecoderProcess:
        if self._process is None:
            self._process = DecoderProcess(self._limits)
        return self._process

    def _end(self) -> None:
        self._ahead = None
        process, self._process = self._process, None
        if process is not None:
            process.end()


def _stamp_of(path: Path) -> Stamp | None:
    """The state of a file; None where it cannot be told."""
    try:
        return Stamp.at(path)
    except OSError:
        return None


def _probing(path: Path, settled: float | None = None) -> Message:
    return {"do": "probe", "settled": settled, "path": str(path)}


class VideoSound:
    """The sound of one video by stretches of project time, read in a process of its own."""

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
    """Random access to the frames of one video (``FrameSource``, ``PictureSource``), in a process of its own."""

    def __init__(self, path: Path, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._path = path
        self._worker = MediaWorker(limits)

    def frame_played_at(self, seconds: float) -> Image:
        """The frame on screen at that time: the last one whose presentation time is not after it.

        Times before the first frame give the first one, times after the end the last one.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``, ``decoder_died``, ``decoder_stalled``.
        """
        message, payload = self._worker.ask({"do": "frame", "seconds": seconds}, self._path)
        return np.frombuffer(payload, dtype=np.uint8).reshape(message["shape"])

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
