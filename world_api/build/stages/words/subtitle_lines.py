"""The stage that writes ``speech`` from subtitles."""

from __future__ import annotations

from collections.abc import Sequence

from world_api.build.media.frames import Frame
from world_api.build.media.losses import LossNote
from world_api.build.media.subtitles.choice import Subtitles
from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.spans import known_time, round_time


class SubtitleLines:
    """Spoken lines as subtitles give them. A line is known once it has been said to its end.

    ``losses`` says what was left out; words have no times here.
    """

    def __init__(self, subtitles: Subtitles, *, losses: Sequence[LossNote] = ()) -> None:
        taken = subtitles.source
        self.losses = (*subtitles.losses, *losses)
        self.spec = StageSpec(
            name="subtitles",
            version=3,
            tables=("speech", "words"),
            parameters={
                "taken": taken.name if taken is not None else "",
                "language": subtitles.language,
                "why": subtitles.why,
                "cues": subtitles.content_hash(),
            },
            libraries=("av",),
            whole_file=taken is None or taken.kind == "embedded",
            modules=(
                "world_api.build.stages.words.subtitle_lines",
                "world_api.build.media.subtitles",
                "world_api.build.media.opening",
            ),
        )
        self._subtitles = subtitles

    def losses_at_end(self, *, start: float, duration: float) -> list[LossNote]:
        """Cues that are on screen only before the first picture or after the last."""
        left_out = sum(
            cue.end <= start or round_time(max(0.0, cue.start - start)) >= duration for cue in self._subtitles.cues
        )
        if self._subtitles.source is None or not left_out:
            return []
        what = "1 cue was" if left_out == 1 else f"{left_out} cues were"
        message = f"{what} left out of {self._subtitles.source.name}: before or after the {duration:.1f} s of the video"
        return [LossNote(code="subtitles_outside", message=message)]

    def open(self, clip: Clip) -> SubtitlesWorker:
        """A fresh worker."""
        return SubtitlesWorker(clip, self._subtitles, producer=self.spec.producer)


class SubtitlesWorker:
    """Gives the lines that begin in one clip."""

    def __init__(self, clip: Clip, subtitles: Subtitles, *, producer: str) -> None:
        self._clip = clip
        self._cues = subtitles.cues
        self._is_beside = subtitles.source is not None and subtitles.source.kind == "sidecar"
        kind = subtitles.source.kind if subtitles.source is not None else ""
        self._facts = {"language": subtitles.language, "source": kind, "confidence": 1.0, "producer": producer}

    def see(self, frame: Frame) -> None:
        """No frames are needed."""

    def finish(self) -> Records:
        """The lines of the clip's span; time 0 is the first presented frame.

        A stream inside the video is on the file's clock, which may begin anywhere; a file beside it counts from the start.
        """
        shift = 0.0 if self._is_beside else self._clip.source.start
        rows: dict[tuple[float, float, str], Record] = {}
        for cue in self._cues:
            start, end = round_time(max(0.0, cue.start - shift)), round_time(cue.end - shift)
            if end > start and self._clip.span.contains(start):
                rows[start, end, cue.text] = {
                    "start": start, "end": end, "text": cue.text, "speaker": cue.speaker,
                    "known_at": known_time(cue.end - shift), **self._facts,
                }  # fmt: skip
        return {"speech": list(rows.values()), "words": []}
