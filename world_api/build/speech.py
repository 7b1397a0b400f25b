"""The stages that write ``speech`` and ``words``: from subtitles, or by speech recognition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.canonical import content_hash
from world_api.core.ports import SAMPLE_RATE, Samples, SpeechRecogniser, VoiceDetector
from world_api.core.spans import TimeSpan, known_time, round_time
from world_api.media.decode_pass import LossNote
from world_api.media.subtitles import Subtitles


class SubtitleLines:
    """The stage ``subtitles``: spoken lines from subtitles. A line is known at its end; words are not stored.

    ``losses``: losses to report in addition to those of ``subtitles``.
    """

    def __init__(self, subtitles: Subtitles, *, losses: Sequence[LossNote] = ()) -> None:
        taken = subtitles.source
        self._losses = (*subtitles.losses, *losses)
        self.spec = StageSpec(
            name="subtitles",
            version=3,
            tables=("speech", "words"),
            parameters={
                "taken": taken.name if taken is not None else "",
                "language": subtitles.language,
                "why": subtitles.why,
                "cues": content_hash([[cue.start, cue.end, cue.text, cue.speaker] for cue in subtitles.cues]),
            },
            whole_file=taken is None or taken.kind == "embedded",
        )
        self._subtitles = subtitles

    def losses(self, *, start: float, duration: float) -> list[LossNote]:
        """Return what could not be read, and one note with the number of cues that are entirely before or after the video."""
        left_out = sum(
            cue.end <= start or round_time(max(0.0, cue.start - start)) >= duration for cue in self._subtitles.cues
        )
        if self._subtitles.source is None or not left_out:
            return list(self._losses)
        what = "1 cue was" if left_out == 1 else f"{left_out} cues were"
        message = f"{what} left out of {self._subtitles.source.name}: before or after the {duration:.1f} s of the video"
        return [*self._losses, LossNote(code="subtitles_outside", message=message)]

    def make_rows(self, clip: Clip) -> Records:
        """Return the lines that begin in the clip's span, in seconds from the first presented frame.

        Times of a stream inside the video are on the file's clock, whose first frame may have any time; those of a file
        beside the video begin at 0.
        """
        subtitles = self._subtitles
        kind = subtitles.source.kind if subtitles.source is not None else ""
        shift = 0.0 if kind == "sidecar" else clip.source.start
        facts = {"language": subtitles.language, "source": kind, "confidence": 1.0}
        rows: dict[tuple[float, float, str], Record] = {}
        for cue in subtitles.cues:
            start, end = round_time(max(0.0, cue.start - shift)), round_time(cue.end - shift)
            if end > start and clip.span.contains(start):
                rows[start, end, cue.text] = {
                    "start": start, "end": end, "text": cue.text, "speaker": cue.speaker,
                    "known_at": known_time(cue.end - shift), **facts,
                }  # fmt: skip
        return {"speech": list(rows.values()), "words": []}


#: Long speech is cut at the quietest moment near marks this many seconds apart, within this distance of a mark, if the speech
#: began this long before it. So no piece is longer than LONGEST.
_MARK, _NEAR, _BEGUN = 10.0, 2.0, 7.0
LONGEST = 2 * _MARK + _NEAR
#: Duration of the quietest moment (seconds).
_MOMENT = 0.1


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """An interval to transcribe. ``settled``: the time (seconds) up to which sound is needed to know its end."""

    span: TimeSpan
    settled: float


def cut_utterances(voiced: Sequence[TimeSpan], samples: Samples, start: float) -> Iterator[Utterance]:
    """Yield voiced intervals (seconds of video) in time order, cut into pieces of at most ``LONGEST`` seconds.

    ``samples`` is the sound from ``start`` (seconds) on.
    """
    for span in voiced:
        cuts = [(span.start, span.start), *_cuts(span, samples, start), (span.end, span.end)]
        for (first, _), (last, settled) in pairwise(cuts):
            yield Utterance(span=TimeSpan(start=first, end=last), settled=settled)


def _cuts(span: TimeSpan, samples: Samples, start: float) -> Iterator[tuple[float, float]]:
    """Yield each time at which an interval is cut, and the time up to which sound is needed to determine it."""
    mark = math.ceil((span.start + _BEGUN) / _MARK) * _MARK
    while mark + _NEAR < span.end:
        yield _quietest(samples, start, mark - _NEAR, mark + _NEAR), mark + _NEAR
        mark += _MARK


def _quietest(samples: Samples, start: float, first: float, last: float) -> float:
    """Return the middle of the quietest 0.1 s from ``first`` to ``last``; ``samples`` begin at ``start`` (all in seconds)."""
    moments = range(math.ceil(first / _MOMENT), math.floor(last / _MOMENT))
    size = round(_MOMENT * SAMPLE_RATE)

    def power(moment: int) -> float:
        at = max(0, round((moment * _MOMENT - start) * SAMPLE_RATE))
        part = samples[at : at + size]
        return float(np.square(part, dtype=np.float64).sum())

    return (min(moments, key=power) + 0.5) * _MOMENT


#: The sound that is used around a clip (seconds): an utterance that overlaps it, and before that the context of a detector.
_BEFORE, _AFTER = LONGEST + 10.0, LONGEST + 3.0
_SLACK = 1e-9


class RecognisedSpeech:
    """The stage ``recognised_speech``: lines and words, which are known at the end of the utterance they belong to."""

    def __init__(self, recogniser: SpeechRecogniser, detector: VoiceDetector, *, language: str = "") -> None:
        self._recogniser = recogniser
        self._detector = detector
        self._language = language
        self.spec = StageSpec(
            name="recognised_speech",
            version=1,
            tables=("speech", "words"),
            parameters={"recogniser": recogniser.producer, "detector": detector.producer, "language": language},
            whole_file=True,
            modules=("world_api.media.audio", type(recogniser).__module__, type(detector).__module__),
        )

    def make_rows(self, clip: Clip) -> Records:
        """Return the lines that start in the clip's span, and their words."""
        lines: list[Record] = []
        words: list[Record] = []
        start = max(0.0, clip.span.start - _BEFORE)
        samples = clip.audio(TimeSpan(start=start, end=clip.span.end + _AFTER))
        if not samples.any():
            return {"speech": lines, "words": words}
        voiced = [TimeSpan(start=start + part.start, end=start + part.end) for part in self._detector.voiced(samples)]
        for utterance in cut_utterances(voiced, samples, start):
            if not utterance.span.overlaps(clip.span):
                continue
            shift = utterance.span.start
            first, last = (round((time - start) * SAMPLE_RATE) for time in (shift, utterance.span.end))
            known = {"known_at": known_time(max(utterance.settled, utterance.span.end) + self._detector.hang_over)}
            for line in self._recogniser.transcribe(samples[first:last], self._language):
                begin, end = round_time(shift + line.start), round_time(shift + line.end)
                if not clip.span.contains(begin) or end <= begin + _SLACK:
                    continue
                lines.append(
                    {"start": begin, "end": end, "text": line.text, "speaker": "", "language": line.language,
                     "source": "recognised", "confidence": line.confidence, **known}
                )  # fmt: skip
                words.extend(
                    {"line_start": begin, "start": round_time(shift + word.start), "end": round_time(shift + word.end),
                     "word": word.text, "confidence": word.confidence, **known}
                    for word in line.words
                )  # fmt: skip
        return {"speech": lines, "words": words}
