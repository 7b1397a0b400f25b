"""The stage that writes ``speech`` and ``words`` by recognising them. Silence and noise are never transcribed.

A clip hears some seconds before and after itself, finds the voice in them, cuts it into utterances, and transcribes those
that touch the clip. A line belongs to the clip in which it starts, so an utterance over a join is heard by both clips, and
each keeps its own lines.
"""

from __future__ import annotations

from collections.abc import Callable

from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.build.stages.words.utterances import LONGEST, Utterance, cut_utterances
from world_api.core.ports import SAMPLE_RATE, Samples, SpeechRecogniser, SpokenLine, VoiceDetector
from world_api.core.spans import TimeSpan, known_time, round_time

#: What is heard around a clip (seconds): an utterance that reaches into it, and before that what a detector looks back on.
_BEFORE, _AFTER = LONGEST + 10.0, LONGEST + 3.0
_SLACK = 1e-9


class RecognisedSpeech:
    """Spoken lines and words as a recogniser hears them. A line is known once its whole utterance has been heard."""

    def __init__(
        self, recogniser: Callable[[], SpeechRecogniser], detector: Callable[[], VoiceDetector], *, language: str = ""
    ) -> None:
        self._recogniser = recogniser
        self._detector = detector
        self._language = language
        self.spec = StageSpec(
            name="recognised_speech",
            version=1,
            tables=("speech", "words"),
            parameters={
                "recogniser": recogniser().producer,
                "detector": detector().producer,
                "language": language,
                "before": _BEFORE,
                "after": _AFTER,
            },
            libraries=("av", "numpy"),
            whole_file=True,
            modules=(
                "world_api.build.stages.words.recognised_speech",
                "world_api.build.stages.words.utterances",
                "world_api.build.media.audio",
                type(recogniser()).__module__,
                type(detector()).__module__,
            ),
        )

    def open(self, clip: Clip) -> RecognisedSpeechWorker:
        """A fresh worker."""
        return RecognisedSpeechWorker(clip, self._recogniser, self._detector, self._language, self.spec.producer)


class RecognisedSpeechWorker:
    """Hears one clip."""

    def __init__(
        self,
        clip: Clip,
        recogniser: Callable[[], SpeechRecogniser],
        detector: Callable[[], VoiceDetector],
        language: str,
        producer: str,
    ) -> None:
        self._clip = clip
        self._recogniser = recogniser
        self._detector = detector
        self._language = language
        self._producer = producer
        self._lines: list[Record] = []
        self._words: list[Record] = []

    def see(self, frame: Frame) -> None:
        """No frames are needed."""

    def finish(self) -> Records:
        """The lines that start in the clip's span, and their words."""
        span = self._clip.span
        start = max(0.0, span.start - _BEFORE)
        samples = self._clip.audio(TimeSpan(start=start, end=span.end + _AFTER))
        if samples.any():
            heard = self._detector().voiced(samples)
            voiced = [TimeSpan(start=start + part.start, end=start + part.end) for part in heard]
            for utterance in cut_utterances(voiced, samples, start):
                if utterance.span.overlaps(span):
                    self._transcribe(utterance, samples, start)
        return {"speech": self._lines, "words": self._words}

    def _transcribe(self, utterance: Utterance, samples: Samples, start: float) -> None:
        first, last = (round((time - start) * SAMPLE_RATE) for time in (utterance.span.start, utterance.span.end))
        known_at = known_time(max(utterance.settled, utterance.span.end) + self._detector().hang_over)
        for line in self._recogniser().transcribe(samples[first:last], self._language):
            self._keep(line, utterance.span.start, known_at)

    def _keep(self, line: SpokenLine, shift: float, known_at: float) -> None:
        start, end = round_time(shift + line.start), round_time(shift + line.end)
        if not self._clip.span.contains(start) or end <= start + _SLACK:
            return
        made = {"known_at": known_at, "producer": self._producer}
        self._lines.append(
            {"start": start, "end": end, "text": line.text, "speaker": "", "language": line.language, "source": "recognised",
             "confidence": line.confidence, **made}
        )  # fmt: skip
        for word in line.words:
            times = {"start": round_time(shift + word.start), "end": round_time(shift + word.end)}
            self._words.append({"line_start": start, **times, "word": word.text, "confidence": word.confidence, **made})
