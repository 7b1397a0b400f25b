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

from tests.support.building import LoudnessDetector as Detector, Pitches, made_clip, made_source, talk
from world_api.build import Clip, RecognisedSpeech, Records, Stage, SubtitleLines
from world_api.build.speech import LONGEST, block_utterances
from world_api.build.voices import Judgement, Turn, VoiceRegister, Voices
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


# --- who speaks ---------------------------------------------------------------------------------------------------------


def who_speaks(heard: Samples, *, resumed: bool = False) -> dict[str, list[dict[str, Any]]]:
    """The rows of all clips; ``resumed``: each clip is made by a new process from what the earlier ones stored."""
    stored: dict[str, list[dict[str, Any]]] = {table: [] for table in ("voice_turns", "voice_names", "voice_links")}
    stage = Voices(Pitches(), Detector())
    for number in range(len(heard) // (30 * SAMPLE_RATE) + 1):
        stage = Voices(Pitches(), Detector()) if resumed else stage
        at = replace(made_clip(number, stored, source=made_source(has_audio=True)), audio=clip(number, heard).audio)
        for table, rows in stage.make_rows(at).items():
            stored[table] += [row | {"producer": stage.spec.producer} for row in rows]
    return stored


def named(rows: dict[str, list[dict[str, Any]]]) -> dict[float, str]:
    voice_of = {row["turn"]: row["voice"] for row in rows["voice_names"]}
    return {row["start"]: voice_of.get(row["start"], "") for row in rows["voice_turns"]}


def test_voices_are_told_apart_and_known_again() -> None:
    rows = who_speaks(talk(70, (1, 5, 0), (6.5, 10, 1), (12, 16, 0), (40, 44, 2), (50, 54, 1)))
    assert named(rows) == {1: "voice_01", 6.5: "voice_02", 12: "voice_01", 40: "voice_03", 50: "voice_02"}
    assert all(row["known_at"] >= row["end"] for row in rows["voice_turns"])


def test_a_change_of_voice_without_a_pause_ends_a_turn() -> None:
    rows = who_speaks(talk(20, (1, 6, 0), (6, 11, 1)))
    assert list(named(rows).values()) == ["voice_01", "voice_02"]
    assert rows["voice_turns"][1]["start"] == pytest.approx(6.0, abs=0.5)


@pytest.mark.parametrize(("turns", "expected"), [
    (((1, 1.8, 1), (1.8, 6, 0)), {1: "", 2: "voice_01"}),
    (((1, 5.2, 0), (5.2, 6, 1)), {1: "voice_01", 5: ""}),
    (((1, 3.2, 0),), {1: "voice_01"}),
])  # fmt: skip
def test_a_word_of_another_before_or_after_a_turn_is_not_given_its_voice(
    turns: tuple[tuple[float, float, int], ...], expected: dict[float, str]
) -> None:
    assert named(who_speaks(talk(20, *turns))) == expected


def test_who_says_little_or_a_mixture_is_not_guessed() -> None:
    heard = talk(30, (1, 5, 0), (7, 8, 0), (10, 11.2, 1))
    heard += talk(30, (14, 18, 0)) + talk(30, (14, 18, 2))
    assert named(who_speaks(heard)) == {1: "voice_01", 7: "", 10: "", 14: ""}


def test_voices_are_the_same_if_every_clip_is_made_by_another_process() -> None:
    turns = [(8.0 * n + 1, 8.0 * n + 4 + n % 3, n * n % 4) for n in range(16)]
    heard = talk(135, *turns)
    assert who_speaks(heard, resumed=True) == who_speaks(heard)


@pytest.mark.parametrize("end", [4.0, 9.0, 14.5, 18.2, 27.4, 31.0, 45.1, 58.0, 66.6])
def test_no_voice_knows_the_future(end: float) -> None:
    turns = [(1, 5, 0), (6.5, 10, 1), (12, 16, 0), (16, 20, 3), (23.5, 33, 1), (40, 44, 2), (50, 54, 1), (60, 64, 2)]
    heard = talk(70, *turns)
    whole, part = who_speaks(heard), who_speaks(heard[: round(end * SAMPLE_RATE)])
    for table, rows in whole.items():
        assert [row for row in part[table] if row["known_at"] <= end] == [row for row in rows if row["known_at"] <= end]


def turn(start: float, *vector: float, seconds: float = 3.0) -> Turn:
    whole = np.array(vector, np.float32)
    return Turn(start=start, end=start + seconds, vector=whole / np.linalg.norm(whole), known=start + seconds)


def test_a_doubtful_turn_waits_until_another_one_like_it_is_heard() -> None:
    register = VoiceRegister(sure=0.9, doubtful=0.5)
    assert register.judge(turn(0, 1, 0)) == [Judgement(turn=0, voice="voice_01", score=1.0)]
    assert register.judge(turn(5, 0.7, 0.7)) == []  # neither sure nor another voice
    assert [(one.turn, one.voice) for one in register.judge(turn(9, 0.68, 0.72))] == [(5, "voice_02"), (9, "voice_02")]


def test_a_turn_between_two_voices_and_a_short_one_begin_nothing() -> None:
    register = VoiceRegister(sure=0.8, doubtful=0.75)
    assert len(register.judge(turn(0, 1, 0))) == len(register.judge(turn(5, 0.7, 0.71))) == 1
    assert register.judge(turn(10, 1, 0.42)) == []  # as like the one as the other
    assert register.judge(turn(15, 0, 1, seconds=1.6)) == []
    assert [one.voice for one in register.judge(turn(20, 1, 0.1, seconds=1.6))] == ["voice_01"]
