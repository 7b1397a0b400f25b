"""The stage that writes ``speech`` from subtitles: a file beside the video, else a text stream inside it."""

from __future__ import annotations

from pathlib import Path

from world_api.build.media.frames import Frame
from world_api.build.media.subtitles import Cue, find_sidecar, language_of, read_embedded, read_sidecar
from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.spans import known_time, round_time
from world_api.world.disk.hashing import hash_file


class Subtitles:
    """Spoken lines as subtitles give them. A line is known once it has been said to its end."""

    def __init__(self, video: Path) -> None:
        self._sidecar = find_sidecar(video)
        sidecar_hash = hash_file(self._sidecar) if self._sidecar is not None else ""
        self.spec = StageSpec(name="subtitles", version=1, tables=("speech",), parameters={"sidecar": sidecar_hash})
        self._video = video
        self._lines: tuple[list[Cue], str] | None = None

    def open(self, clip: Clip) -> SubtitlesWorker:
        """A fresh worker. The cues are read once and never changed."""
        if self._lines is None:
            self._lines = self._read()
        cues, language = self._lines
        source = "sidecar" if self._sidecar is not None else "embedded"
        return SubtitlesWorker(clip, cues, language=language, source=source, producer=self.spec.producer)

    def _read(self) -> tuple[list[Cue], str]:
        if self._sidecar is not None:
            return read_sidecar(self._sidecar), language_of(self._sidecar)
        return read_embedded(self._video)


class SubtitlesWorker:
    """Gives the lines that begin in one clip."""

    def __init__(self, clip: Clip, cues: list[Cue], *, language: str, source: str, producer: str) -> None:
        self._clip = clip
        self._cues = cues
        self._facts = {"language": language, "source": source, "confidence": 1.0, "producer": producer}

    def see(self, frame: Frame) -> None:
        """No frames are needed."""

    def finish(self) -> Records:
        """The lines of the clip's span, shifted with the picture: time 0 is the first presented frame."""
        shift = self._clip.source.start
        rows: dict[tuple[float, float, str], Record] = {}
        for cue in self._cues:
            start, end = round_time(max(0.0, cue.start - shift)), round_time(cue.end - shift)
            if end > 0 and end > start and self._clip.span.contains(start):
                rows[start, end, cue.text] = {
                    "start": start, "end": end, "text": cue.text, "speaker": cue.speaker,
                    "known_at": known_time(cue.end - shift), **self._facts,
                }  # fmt: skip
        return {"speech": list(rows.values())}
