"""The text streams inside a video, read in a process of its own: a container may come from anywhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from world_api.build.media.apart.worker import MediaWorker
from world_api.build.media.limits import DEFAULT_LIMITS, Limits
from world_api.build.media.subtitles.cues import Cue
from world_api.build.media.subtitles.sources import CueList, Inside, SubtitleSource, read_file
from world_api.core.faults import MediaFault

#: More cues than so many are taken only where there are at most so many a second: those of songs show each syllable.
_PLENTY, _MOST_A_SECOND = 2000, 20


class SubtitleReader:
    """Finds and reads the subtitles inside videos: by a ``worker``, or within limits by a process that :meth:`close` ends."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, worker: MediaWorker | None = None) -> None:
        self._worker = worker or MediaWorker(limits)
        self._is_own = worker is None

    def look_into(self, video: Path) -> Inside:
        """What a video holds.

        Raises:
            MediaFault: as probing names it; ``decoder_died``, ``decoder_stalled``.
        """
        message, _ = self._worker.ask({"do": "texts"}, video)
        texts = tuple(SubtitleSource(**{**record, "path": video}) for record in message["texts"])
        return Inside(texts=texts, has_sound=message["has_sound"], language=message["language"])

    def read(self, source: SubtitleSource, video: Path) -> CueList:
        """Read one source: its first cues, at most as many as the video has time for. What cannot be read is left out.

        Raises:
            MediaFault: ``decoder_died``, ``decoder_stalled``.
        """
        found = read_file(source.path) if source.kind == "sidecar" else self._read_stream(source)
        return found if len(found.cues) <= _PLENTY else found.first(self._most_cues(video))

    def _most_cues(self, video: Path) -> int:
        """How many cues a video as long as its header says has time for."""
        try:
            seconds = self._worker.probe(video).declared_duration
        except MediaFault:
            seconds = None
        return sys.maxsize if seconds is None else max(_PLENTY, round(seconds * _MOST_A_SECOND))

    def _read_stream(self, source: SubtitleSource) -> CueList:
        message, payload = self._worker.ask({"do": "cues", "stream": source.stream}, source.path)
        return CueList(cues=tuple(Cue(**record) for record in json.loads(payload)), **message)

    def close(self) -> None:
        """End the process, if it is its own."""
        if self._is_own:
            self._worker.close()
