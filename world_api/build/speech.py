"""The stages that write ``speech`` and ``words``: from subtitles, or by speech recognition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.canonical import content_hash
from world_api.core.ports import SAMPLE_RATE, Samples, SpeechRecogniser, SpokenLine, VoiceDetector
from world_api.core.spans import TimeSpan, known_time, merge_spans, round_time
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


#: The sound is divided into blocks at the quietest moment within this distance of each multiple of so many seconds. A block is at
#: most as long as the window of Whisper (30 s), which takes as long for a short piece of sound as for a whole window.
_BLOCK, _NEAR = 25.0, 2.5
LONGEST = _BLOCK + 2 * _NEAR
#: Duration of the quietest moment (seconds), the step between moments, and the sound before a block that a detector gets.
_MOMENT, _STEP, _CONTEXT = 0.3, 0.1, 5.0
#: A pause of at least so many seconds ends an utterance; shorter ones are given to the recogniser with the voice around them.
_PAUSE = 2.0
#: The least share of a line's time in which there is a voice: words that a recogniser invents are in silence or noise.
_VOICED = 0.5
#: Recognisers give the end of a last word too early, before it has faded: by 0.15 to 0.3 s in speech where this was measured.
_FADE = 0.2
_SLACK = 1e-9

Sound = Callable[[TimeSpan], Samples]


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """An interval to transcribe, from one pause to the next. All times in seconds of the video.

    ``voiced``: the spans of voice in it. ``settled``: the time up to which sound is needed to know where it begins and ends.
    """

    span: TimeSpan
    voiced: tuple[TimeSpan, ...]
    settled: float


def block_utterances(number: int, sound: Sound, detector: VoiceDetector) -> Iterator[Utterance]:
    """Yield the utterances of a block in time order. They depend on nothing but the number and the sound around the block."""
    first, last = number * _BLOCK, (number + 1) * _BLOCK
    start = max(0.0, first - _NEAR - _CONTEXT)
    samples = sound(TimeSpan(start=start, end=last + _NEAR + detector.hang_over))
    if not samples.any():
        return
    begin = _quietest(samples, start, first) if number else 0.0
    block = TimeSpan(start=begin, end=_quietest(samples, start, last))
    spans = (TimeSpan(start=start + span.start, end=start + span.end) for span in detector.voiced(samples))
    inside = [
        TimeSpan(start=max(begin, span.start), end=min(block.end, span.end)) for span in spans if span.overlaps(block)
    ]
    for whole in merge_spans(inside, gap=_PAUSE):
        settled = whole.end + max(detector.hang_over, _PAUSE)
        if whole.start < first + _NEAR:  # whether it belongs to the block before is known then
            settled = max(settled, first + _NEAR)
        if whole.end > last - _NEAR:
            settled = max(settled, last + _NEAR + detector.hang_over)
        yield Utterance(span=whole, voiced=tuple(span for span in inside if span.overlaps(whole)), settled=settled)


def blocks_of(span: TimeSpan) -> range:
    """Return the numbers of the blocks in which what is said in a span may begin."""
    return range(max(0, math.floor((span.start - _NEAR) / _BLOCK)), math.floor((span.end + _NEAR) / _BLOCK) + 1)


def _quietest(samples: Samples, start: float, mark: float) -> float:
    """Return the middle of the quietest 0.3 s near a mark; ``samples`` begin at ``start`` (all in seconds)."""
    moments = range(math.ceil((mark - _NEAR) / _STEP), math.floor((mark + _NEAR - _MOMENT) / _STEP) + 1)
    size = round(_MOMENT * SAMPLE_RATE)

    def power(moment: int) -> float:
        at = max(0, round((moment * _STEP - start) * SAMPLE_RATE))
        part = samples[at : at + size]
        return float(np.square(part, dtype=np.float64).sum())

    return min(moments, key=power) * _STEP + _MOMENT / 2


class RecognisedSpeech:
    """The stage ``recognised_speech``: lines and words, which are known once the utterance they belong to is over."""

    def __init__(self, recogniser: SpeechRecogniser, detector: VoiceDetector, *, language: str = "") -> None:
        self._recogniser = recogniser
        self._detector = detector
        self._language = language
        self._recent: dict[int, list[tuple[Utterance, SpokenLine]]] = {}
        self.spec = StageSpec(
            name="recognised_speech",
            version=2,
            tables=("speech", "words"),
            parameters={"recogniser": recogniser.producer, "detector": detector.producer, "language": language},
            whole_file=True,
            modules=("world_api.media.audio", type(recogniser).__module__, type(detector).__module__),
        )

    def make_rows(self, clip: Clip) -> Records:
        """Return the lines that start in the clip's span, and their words."""
        lines: list[Record] = []
        words: list[Record] = []
        for number in blocks_of(clip.span):
            for utterance, line in self._lines(number, clip.audio):
                shift = utterance.span.start
                begin, end = round_time(shift + line.start), round_time(shift + line.end)
                if not clip.span.contains(begin) or end <= begin + _SLACK:
                    continue
                known = {"known_at": known_time(utterance.settled)}
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

    def _lines(self, number: int, sound: Sound) -> list[tuple[Utterance, SpokenLine]]:
        """Return the lines of a block, each with its utterance. The last two blocks are kept: the next clip may need them, too."""
        if number not in self._recent:
            found: list[tuple[Utterance, SpokenLine]] = []
            for utterance in block_utterances(number, sound, self._detector):
                lines = self._recogniser.transcribe(sound(utterance.span), self._language)
                said = [line for line in lines if _is_voiced(line, utterance)]
                limits = [*(line.start for line in said[1:]), utterance.span.duration]
                for line, limit in zip(said, limits, strict=False):  # there may be no line at all
                    found.append((utterance, _faded(line, utterance, limit)))
            self._recent = {kept: lines for kept, lines in self._recent.items() if kept == number - 1} | {number: found}
        return self._recent[number]


def _faded(line: SpokenLine, utterance: Utterance, limit: float) -> SpokenLine:
    """Return a line that ends up to 0.2 s later, while there is a voice, and not after ``limit`` (seconds of the utterance)."""
    ends = [voiced.end - utterance.span.start for voiced in utterance.voiced]
    later = min(limit, line.end + _FADE, next((end for end in ends if end >= line.end), line.end))
    return replace(line, end=max(line.end, later))


def _is_voiced(line: SpokenLine, utterance: Utterance) -> bool:
    """Whether at least half of a line's time is in spans of voice."""
    shift = utterance.span.start
    span = TimeSpan(start=shift + line.start, end=shift + max(line.end, line.start + _SLACK))
    return sum(span.overlap(voiced) for voiced in utterance.voiced) >= _VOICED * span.duration - _SLACK
