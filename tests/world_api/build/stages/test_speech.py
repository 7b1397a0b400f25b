"""What is said: subtitle lines, and speech that is recognised after voice activity detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import av
import numpy as np
import pytest

from tests.support.building import made_clip, made_source
from world_api.build import Clip, RecognisedSpeech, Records, Stage, SubtitleLines
from world_api.build.speech import LONGEST, block_utterances
from world_api.core import SAMPLE_RATE, Samples, SpokenLine, SpokenWord, TimeSpan
from world_api.media import Subtitles, SubtitleSource, choose_subtitles, probe, read_subtitles
from world_api.perception import EnergyVoiceDetector


def clip(number: int = 0, sound: Samples | None = None, *, start: float = 0.0) -> Clip:
    heard = np.zeros(0, np.float32) if sound is None else sound

    def audio(span: TimeSpan) -> Samples:
        made = np.zeros(round(span.duration * SAMPLE_RATE) if len(heard) else 0, np.float32)
        part = heard[round(span.start * SAMPLE_RATE) : round(span.end * SAMPLE_RATE)]
        made[: len(part)] = part
        return made

    return replace(made_clip(number, source=made_source(start=start, has_audio=sound is not None)), audio=audio)


def run(stage: Stage, at: Clip) -> Records:
    return stage.make_rows(at)


class Detector:
    """Voice is whatever is louder than a tenth."""

    producer = "made/1"
    hang_over = 0.5

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        loud = np.concatenate([[0], (np.abs(samples) > 0.1).astype(np.int8), [0]])
        edges = np.flatnonzero(np.diff(loud)).reshape(-1, 2) / SAMPLE_RATE
        return [TimeSpan(start=float(a), end=float(b)) for a, b in edges]


class Recogniser:
    """Says how loud each second of voice is: a line and a word a second. Remembers what it was given."""

    producer = "made/1"

    def __init__(self) -> None:
        self.given: list[Samples] = []

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        self.given.append(samples)
        lines = []
        for part in Detector().voiced(samples):
            seconds = [TimeSpan(start=at, end=min(at + 1, part.end)) for at in np.arange(part.start, part.end).tolist()]
            words = tuple(
                SpokenWord(start=each.start, end=each.end, text=f"w{self._level(samples, each):.2f}", confidence=0.5)
                for each in seconds
            )
            text = " ".join(word.text for word in words)
            lines.append(
                SpokenLine(
                    start=part.start, end=part.end, text=text, language=language or "en", confidence=0.6, words=words
                )
            )
        return lines

    def _level(self, samples: Samples, span: TimeSpan) -> float:
        return float(samples[round(span.start * SAMPLE_RATE) : round(span.end * SAMPLE_RATE)].max())


def sound(seconds: float, *parts: tuple[float, float]) -> Samples:
    """Silence, with voice (level rising with time) in some stretches."""
    made = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    for start, end in parts:
        first, last = round(start * SAMPLE_RATE), round(end * SAMPLE_RATE)
        made[first:last] = 0.2 + np.arange(first, last, dtype=np.float32) / (SAMPLE_RATE * 1000)
    return made


def recognised(recogniser: Recogniser, heard: Samples, number: int = 0) -> Records:
    return run(RecognisedSpeech(recogniser, Detector()), clip(number, heard))


def starts(records: Records) -> list[float]:
    return [row["start"] for row in records["speech"]]


def test_lines_carry_their_words_and_when_they_were_known() -> None:
    records = recognised(Recogniser(), sound(20, (4.0, 6.5)))
    (line,) = records["speech"]
    assert (line["start"], line["end"], line["source"], line["language"], line["confidence"]) == (
        4,
        6.5,
        "recognised",
        "en",
        0.6,
    )
    assert line["known_at"] == 8.5  # two seconds without voice end an utterance
    words = records["words"]
    assert [(word["start"], word["end"], word["line_start"], word["known_at"]) for word in words] == [
        (4.0, 5.0, 4.0, 8.5), (5.0, 6.0, 4.0, 8.5), (6.0, 6.5, 4.0, 8.5),
    ]  # fmt: skip
    assert " ".join(word["word"] for word in words) == line["text"]


@pytest.mark.parametrize("heard", [np.zeros(0, np.float32), np.zeros(40 * SAMPLE_RATE, np.float32)])
def test_silence_is_never_transcribed(heard: Samples) -> None:
    recogniser = Recogniser()
    assert recognised(recogniser, heard) == {"speech": [], "words": []}
    assert recogniser.given == []


def test_noise_is_never_transcribed() -> None:
    recogniser = Recogniser()
    noise = np.random.default_rng(1).normal(0, 0.1, 40 * SAMPLE_RATE).astype(np.float32)
    run(RecognisedSpeech(recogniser, EnergyVoiceDetector()), clip(0, noise))
    assert recogniser.given == []


def test_only_voice_and_short_pauses_are_given_to_the_recogniser() -> None:
    recogniser = Recogniser()
    recognised(recogniser, sound(30, (4.0, 6.5), (10.0, 11.0), (12.0, 13.0)))
    assert [len(part) / SAMPLE_RATE for part in recogniser.given] == [2.5, 3.0]


def test_a_line_belongs_to_the_clip_in_which_it_starts() -> None:
    heard = sound(90, (28.0, 33.0), (58.5, 59.0), (60.0, 61.0))
    found = [starts(recognised(Recogniser(), heard, number)) for number in range(3)]
    assert found == [[28.0], [58.5], [60.0]]


def test_words_where_there_is_no_voice_are_left_out() -> None:
    class Inventive(Recogniser):
        def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
            pause = SpokenLine(start=1.1, end=1.9, text="Thanks for watching!", language="en", confidence=0.9)
            return [*super().transcribe(samples, language), pause]

    rows = recognised(Inventive(), sound(30, (4.0, 5.0), (6.0, 7.0)))
    assert starts(rows) == [4.0, 6.0]


@pytest.mark.parametrize("said", ["nothing", "only in a pause"])
def test_a_voice_of_which_no_line_is_recognised_gives_none(said: str) -> None:
    """A cough or a shout is a voice without words."""

    class Wordless(Recogniser):
        def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
            pause = SpokenLine(start=1.1, end=1.9, text="Thanks for watching!", language="en", confidence=0.9)
            return [] if said == "nothing" else [pause]

    assert recognised(Wordless(), sound(30, (4.0, 5.0), (6.0, 7.0))) == {"speech": [], "words": []}


def test_long_talk_is_cut_alike_by_all_clips_and_every_word_is_kept_once() -> None:
    heard = sound(340, (5.0, 330.0))
    rows = [row for number in range(12) for row in recognised(Recogniser(), heard, number)["speech"]]
    spans = [(row["start"], row["end"]) for row in rows]
    assert spans[0][0] == 5.0
    assert spans[-1][1] == 330.0
    assert all(a[1] == pytest.approx(b[0], abs=2e-3) for a, b in pairwise(spans))
    assert all(end - start <= LONGEST for start, end in spans)


def test_no_sound_is_transcribed_twice_by_a_build_in_order() -> None:
    recogniser, heard = Recogniser(), sound(340, (5.0, 330.0))
    stage = RecognisedSpeech(recogniser, Detector())
    for number in range(12):
        run(stage, clip(number, heard))
    assert sum(len(part) for part in recogniser.given) / SAMPLE_RATE == pytest.approx(325.0, abs=0.1)


def test_long_talk_is_cut_where_it_is_quietest() -> None:
    heard = sound(60, (0.0, 60.0))
    heard[round(26.0 * SAMPLE_RATE) : round(26.5 * SAMPLE_RATE)] = 0.11
    first, *_ = block_utterances(0, lambda span: clip(0, heard).audio(span), Detector())
    assert 26.0 <= first.span.end <= 26.5
    assert first.settled >= first.span.end


@pytest.mark.parametrize("end", [5.0, 6.6, 8.6, 12.0, 19.9, 27.4, 28.0, 31.0, 33.6, 38.2])
def test_no_line_knows_the_future(end: float) -> None:
    heard = sound(60, (4.0, 6.5), (7.0, 29.0), (29.5, 33.0))
    for number in (0, 1):
        whole = recognised(Recogniser(), heard, number)
        part = recognised(Recogniser(), heard[: round(end * SAMPLE_RATE)], number)
        for table in ("speech", "words"):
            known = [row for row in whole[table] if row["known_at"] <= end]
            assert [row for row in part[table] if row["known_at"] <= end] == known


def test_a_line_depends_on_nothing_but_the_clips_window() -> None:
    heard = sound(200, (3.0, 20.0), (95.0, 100.0), (101.0, 104.0))
    alone = heard.copy()
    alone[: 40 * SAMPLE_RATE] = 0
    assert recognised(Recogniser(), heard, 3) == recognised(Recogniser(), alone, 3)


def voice(seconds: float) -> Samples:
    """Syllables: a pitch with overtones, four times a second."""
    t = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    buzz = sum(np.sin(2 * np.pi * 140 * k * t) / k for k in range(1, 12))
    return (0.2 * buzz * np.maximum(0.0, np.sin(2 * np.pi * 4 * t))).astype(np.float32)


def test_a_voice_in_noise_is_detected_and_nothing_else() -> None:
    noise = np.random.default_rng(2).normal(0, 0.01, 20 * SAMPLE_RATE).astype(np.float32)
    noise[8 * SAMPLE_RATE : 11 * SAMPLE_RATE] += voice(3)
    (found,) = EnergyVoiceDetector().voiced(noise)
    assert found.start == pytest.approx(8.0, abs=0.4)
    assert found.end == pytest.approx(11.0, abs=0.4)


@pytest.mark.parametrize("kind", ["hiss", "hum", "bursts", "tone"])
def test_other_sounds_are_no_voice(kind: str) -> None:
    t = np.arange(20 * SAMPLE_RATE) / SAMPLE_RATE
    hiss = np.random.default_rng(3).normal(0, 0.1, len(t))
    made = {
        "hiss": hiss,
        "hum": 0.2 * np.sin(2 * np.pi * 100 * t) + hiss / 20,
        "bursts": hiss * (t % 2 < 0.5),
        "tone": 0.3 * np.sin(2 * np.pi * 220 * t),
    }[kind]
    assert EnergyVoiceDetector().voiced(made.astype(np.float32)) == []


def test_a_detector_decides_by_what_it_has_heard_so_far() -> None:
    heard = np.concatenate([voice(3), np.zeros(2 * SAMPLE_RATE, np.float32), voice(4)])
    detector = EnergyVoiceDetector()
    whole = detector.voiced(heard)
    for end in (3.5, 4.5, 6.0, 8.0):
        part = detector.voiced(heard[: round(end * SAMPLE_RATE)])
        known = [span for span in whole if span.end + detector.hang_over <= end]
        assert [span for span in part if span.end + detector.hang_over <= end] == known


@pytest.mark.shared_data
def test_real_speech_is_detected_and_little_else(shared_data: Path) -> None:
    from world_api.media import read_audio

    found = EnergyVoiceDetector().voiced(read_audio(shared_data / "video" / "composite_337s.mp4", 100.0, 170.0))
    truth = [(4.0, 15.0), (50.0, 57.1), (58.0, 60.99), (62.0, 67.3)]
    said = sum(end - start for start, end in truth)
    both = sum(span.overlap(TimeSpan(start=a, end=b)) for span in found for a, b in truth)
    assert both / said > 0.9
    assert sum(span.duration for span in found) - both < 3.0


def subtitles(path: Path, language: str = "", kind: Literal["sidecar", "embedded"] = "sidecar") -> Subtitles:
    source = SubtitleSource(kind=kind, name=path.name, language=language, path=path)
    return Subtitles(source=source, cues=read_subtitles(path).cues, why="it was named")


def test_a_streams_lines_shift_with_the_picture_and_are_known_at_their_end(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_text(
        "1\n00:00:06,000 --> 00:00:08,000\nhello\n\n2\n00:00:34,500 --> 00:00:36,000\nover the join\n\n"
        "3\n00:00:01,000 --> 00:00:04,000\nbefore the picture\n"
    )
    stage = SubtitleLines(subtitles(path, "en", "embedded"))
    rows: list[dict[str, Any]] = run(stage, clip(0, start=5.0))["speech"]
    assert [row["text"] for row in rows] == ["hello", "over the join"]
    first = rows[0]
    assert (first["start"], first["end"], first["known_at"], first["source"], first["language"]) == (
        1.0,
        3.0,
        3.0,
        "embedded",
        "en",
    )
    assert run(stage, clip(1, start=5.0)) == {"speech": [], "words": []}


@pytest.mark.media
def test_a_file_beside_a_video_that_starts_at_a_minute_counts_from_its_first_frame(tmp_path: Path) -> None:
    video = tmp_path / "film.ts"
    with av.open(str(video), "w", format="mpegts") as made:
        picture = made.add_stream("libx264", rate=5)
        picture.width, picture.height, picture.pix_fmt = 64, 48, "yuv420p"
        for number in range(40):
            frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="bgr24")
            frame.pts, frame.time_base = 300 + number, Fraction(1, 5)
            made.mux(picture.encode(frame))
        made.mux(picture.encode())
    (tmp_path / "film.srt").write_text("1\n00:00:02,000 --> 00:00:04,000\nhello\n")
    source = probe(video)
    assert source.start > 59
    stage = SubtitleLines(choose_subtitles(video))
    (row,) = run(stage, replace(clip(0), source=source))["speech"]
    assert (row["text"], row["start"], row["end"], row["known_at"]) == ("hello", 2.0, 4.0, 4.0)


def test_cues_outside_the_video_are_counted_once_its_length_is_known(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_text(
        "1\n00:00:06,000 --> 00:00:08,000\nhello\n\n2\n00:00:08,000 --> 00:00:09,000\nafter\n\n"
        "3\n99:00:00,000 --> 99:00:01,000\nfar\n\n4\n00:00:01,000 --> 00:00:04,000\nbefore\n"
    )
    stage = SubtitleLines(subtitles(path, "en"))
    (loss,) = stage.losses(start=5.0, duration=3.0)
    assert loss.code == "subtitles_outside"
    assert "3 cues were left out of film.srt" in loss.message
    (loss,) = stage.losses(start=0.0, duration=60.0)
    assert "1 cue was left out of film.srt" in loss.message
    assert stage.losses(start=0.0, duration=360_000.0) == []


def test_what_was_taken_and_why_is_part_of_the_world(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_text("1\n00:00:06,000 --> 00:00:08,000\nhello\n")
    spec = SubtitleLines(subtitles(path)).spec
    assert (spec.parameters["taken"], spec.parameters["why"]) == ("film.srt", "it was named")
    before = spec.key(source_hash="a", upstream={})
    path.write_text("1\n00:00:06,000 --> 00:00:08,000\nhallo\n")
    assert SubtitleLines(subtitles(path)).spec.key(source_hash="a", upstream={}) != before
