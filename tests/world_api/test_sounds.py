"""Sounds: which are tagged, when they are known, how they are searched, and what is not judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.building import made_clip, made_source
from world_api import open_session, run
from world_api.build import Clip, Sounds
from world_api.core import SAMPLE_RATE, Samples, TaggedSound, TimeSpan, hash_file
from world_api.perception import (
    ModelFolder,
    SoundModel,
    SoundOptions,
    YamnetTagger,
    log_mel_spectrum,
    patches_of,
)
from world_api.session import Session
from world_api.world import StageFacts

MADE = {"producer": "sounds/1"}


class Loud:
    """A tagger that hears ``Loud`` in windows whose mean level is above 0.1."""

    def __init__(self) -> None:
        self.hop, self.window = 0.48, 0.975
        self.parameters = {"tagger": "loud/1", "missed": {"Loud": [1, 9]}}

    def tag(self, samples: Samples) -> Sequence[TaggedSound]:
        size, found = round(self.window * SAMPLE_RATE), []
        for number in range(len(samples)):
            first = round(number * self.hop * SAMPLE_RATE)
            if first >= len(samples):
                break
            level = float(np.abs(samples[first : first + size]).mean())
            if level > 0.1:
                found.append(TaggedSound(start=number * self.hop, label="Loud", score=min(1.0, level)))
        return found


def clip(number: int, sound: Samples) -> Clip:
    def audio(span: TimeSpan) -> Samples:
        made = np.zeros(round(span.duration * SAMPLE_RATE), np.float32)
        part = sound[round(span.start * SAMPLE_RATE) : round(span.end * SAMPLE_RATE)]
        made[: len(part)] = part
        return made

    return replace(made_clip(number, source=made_source(has_audio=True)), audio=audio)


def rows_of(sound: Samples, clips: int) -> list[dict[str, Any]]:
    stage = Sounds(Loud())
    return [row for number in range(clips) for row in stage.make_rows(clip(number, sound))["sounds"]]


@pytest.fixture(scope="module")
def sound() -> Samples:
    """Seventy seconds of noise whose level changes at random moments, also at the ends of clips."""
    rng = np.random.default_rng(3)
    levels = np.repeat(rng.choice([0.0, 0.05, 0.3, 0.6], 35), 2 * SAMPLE_RATE)
    return (levels * rng.choice([-1, 1], len(levels))).astype(np.float32)


def test_every_window_is_heard_once_wherever_clips_end(sound: Samples) -> None:
    rows = rows_of(sound, 3)
    starts = [row["start"] for row in rows]
    assert starts == sorted(set(starts))
    whole = Loud().tag(sound)
    assert starts == pytest.approx([one.start for one in whole])
    assert [row["score"] for row in rows] == pytest.approx([one.score for one in whole])


def test_what_a_shorter_sound_gives_is_what_was_known_at_its_end(sound: Samples) -> None:
    rows = rows_of(sound, 3)
    for end in (4.0, 29.9, 30.0, 31.3, 61.0):
        shorter = rows_of(sound[: round(end * SAMPLE_RATE)], 3)
        assert [row for row in shorter if row["known_at"] <= end] == [row for row in rows if row["known_at"] <= end]
    assert all(row["known_at"] >= row["end"] > row["start"] for row in rows)


def test_the_spectrum_of_a_tone_is_in_its_band_and_silence_is_the_least_value() -> None:
    times = np.arange(2 * SAMPLE_RATE) / SAMPLE_RATE
    edges = 700 * np.expm1(np.linspace(*(1127 * np.log1p(f / 700) for f in (125.0, 7500.0)), 66) / 1127)
    for hertz in (250.0, 1000.0, 5000.0):
        spectrum = log_mel_spectrum((0.5 * np.sin(2 * np.pi * hertz * times)).astype(np.float32))
        loudest = int(spectrum[:190].mean(axis=0).argmax())
        assert edges[loudest] <= hertz <= edges[loudest + 2]
    assert np.allclose(log_mel_spectrum(np.zeros(SAMPLE_RATE, np.float32)), np.log(0.001))


def test_patches_follow_each_other_by_half_their_length() -> None:
    spectrum = log_mel_spectrum(np.random.default_rng(0).normal(0, 0.1, 3 * SAMPLE_RATE).astype(np.float32))
    patches = patches_of(spectrum)
    assert patches.shape[1:] == (96, 64)
    assert len(patches) * 48 + 48 == len(spectrum)
    for number, patch in enumerate(patches):
        assert np.array_equal(patch, spectrum[48 * number : 48 * number + 96])


def test_without_the_names_of_its_classes_a_tagger_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    folder = ModelFolder(tmp_path)
    model = folder.find("yamnet")
    (tmp_path / model.files[0].name).write_bytes(bytes(model.size))
    said: list[str] = []
    assert folder.sound_tagger(say=said.append) is None
    assert said and "audioset-names" in said[0]


def test_nothing_is_said_where_no_tagger_is(tmp_path: Path) -> None:
    said: list[str] = []
    assert ModelFolder(tmp_path / "none").sound_tagger(say=said.append) is None
    assert ModelFolder(tmp_path).sound_tagger(say=said.append) is None
    assert said == []


@pytest.fixture
def tagger(shared_data: Path, tmp_path: Path) -> Any:
    """YAMNet, with names made of numbers: the table of the real ones is in no folder that a test may read."""
    pytest.importorskip("ai_edge_litert")
    numbered = (f"{number},,{'Silence' if number == 494 else f'c{number}'}" for number in range(521))
    names = "\n".join(["index,mid,display_name", *numbered])
    (tmp_path / "names.csv").write_text(names)
    path = shared_data / "models/yamnet_spectra_in.tflite"
    return YamnetTagger(
        SoundModel(
            name="yamnet", path=path, sha256=hash_file(path), names_path=tmp_path / "names.csv",
            names_sha256=hash_file(tmp_path / "names.csv"), options=SoundOptions(names="n", ignored=("Silence",), sure=0.4),
        )
    )  # fmt: skip


def test_nothing_is_heard_in_silence_and_faint_noise(tagger: Any) -> None:
    rng = np.random.default_rng(1)
    assert tagger.tag(np.zeros(20 * SAMPLE_RATE, np.float32)) == []
    for level in (1e-5, 1e-4, 1e-3):
        assert tagger.tag(rng.normal(0, level, 20 * SAMPLE_RATE).astype(np.float32)) == []


def test_a_long_sound_is_tagged_as_its_parts(tagger: Any) -> None:
    rng = np.random.default_rng(2)
    sound = rng.normal(0, 0.1, 45 * SAMPLE_RATE).astype(np.float32)
    whole = tagger.tag(sound)
    later = 20 * round(tagger.hop * SAMPLE_RATE)
    assert whole and [one for one in whole if one.start >= 20 * tagger.hop - 1e-9] == [
        replace(one, start=pytest.approx(one.start + 20 * tagger.hop)) for one in tagger.tag(sound[later:])
    ]


# --- searches -------------------------------------------------------------------------------------------------------


def heard(label: str, start: float, end: float) -> list[dict[str, Any]]:
    """The rows of windows of a class from ``start`` to ``end``, as the stage makes them."""
    starts = np.arange(start, end - 0.9, 0.48).round(3).tolist()
    return [
        {
            "start": at,
            "end": round(at + 0.975, 3),
            "label": label,
            "score": 0.5,
            "known_at": round(at + 0.975, 3),
            **MADE,
        }
        for at in starts
    ]


@pytest.fixture
def opened(make_world: Any, minute_rows: Any) -> Callable[..., Session]:
    """Opens the made minute with sounds; ``missed`` is what the model is known to miss, None without a model."""

    def made(missed: dict[str, list[int]] | None = None, *, as_of: float | None = None, tagged: bool = True) -> Session:
        if tagged:
            minute_rows["sounds"] = [*heard("Bark", 5, 9), *heard("Dog", 5, 9), *heard("Music", 20, 50)]
        facts = {"name": "sounds", "version": "1", "key": "made", "tables": ["sounds"]}
        stages = [] if missed is None else [StageFacts(**facts, parameters={"missed": missed, "window": 0.975})]
        make_world(rows=minute_rows, stages=stages)
        return open_session(make_world.store, "made", as_of=as_of, name=None)

    return made


def search(session: Session, query: str) -> dict[str, Any]:
    return run(session, "search_segments_by_text", {"video_id": "made", "query": query, "top_k": 3})


def test_a_sound_is_found_with_its_times_and_who_makes_it_need_not_be_seen(opened: Callable[..., Session]) -> None:
    found = search(opened({}), "a dog barking")
    hit = found["candidates"][0]
    assert not hit["lacks"] and hit["snippet"].startswith("sound: ")
    assert hit["start_time"] < 9 and hit["end_time"] > 5
    assert set(found["matched"]) == {"dog", "barking"}
    [music] = search(opened({}), "music")["moments"]
    assert (music["start_time"], music["text"]) == (20.0, "sound: Music")
    assert 48 < music["end_time"] <= 50


@pytest.mark.parametrize(
    "query",
    [
        "a music stand",
        "a person hears a loud noise",
        "微笑的女人",
        "没有音乐",
        "not music",
        "no music",
        "a person with music",
        "the sound of music and a person",
        "a gold ring",
        "sound engineer",
    ],
)
def test_what_is_seen_is_not_answered_by_a_sound(opened: Callable[..., Session], query: str) -> None:
    found = search(opened({}), query)
    assert all(hit["lacks"] for hit in found["candidates"])
    assert found["unmatched"] or found["not_judged"]


@pytest.mark.parametrize(
    "query", ["a person speaking", "people talking", "说话声", "有人在说话", "听到说话的声音", "人声"]
)
def test_speaking_is_the_class_speech(opened: Callable[..., Session], query: str) -> None:
    found = search(opened({"Speech": [0, 35]}), query)
    assert found["not_judged"] == ["Speech that was not recognised"]
    # How often speech is missed was measured where nothing else is heard.
    absent = [(one["start_time"], one["end_time"]) for one in found["not_found"]]
    assert [round(time) for pair in absent for time in pair] == [0, 5, 9, 20, 50, 60]


@pytest.mark.parametrize("query", ["a woman talking", "people laughing", "说话", "clapping"])
def test_what_people_do_is_seen_too_and_without_sound_nothing_is_heard(
    make_world: Any, minute_rows: Any, query: str
) -> None:
    made = {"confidence": 0.8, "producer": "a model", "language": "en"}
    text = "a woman talking to people who are laughing and clapping, 说话"
    minute_rows["captions"] = [{"start": 21.0, "end": 27.0, "text": text, "known_at": 27.0, **made}]
    facts = {"name": "sounds", "version": "1", "key": "made", "tables": ["sounds"]}
    stages = [StageFacts(**facts, parameters={"missed": {"Speech": [0, 35]}, "window": 0.975})]
    make_world(rows=minute_rows, stages=stages, video_id="described")
    found = run(
        open_session(make_world.store, "described", name=None),
        "search_segments_by_text",
        {"video_id": "described", "query": query, "top_k": 3},
    )
    assert found["not_found"] == []
    assert any(one["source"] == "caption" and one["start_time"] == 21.0 for one in found["moments"])


def test_without_sound_what_is_done_is_not_known_to_be_absent_but_its_sound_is(
    make_world: Any, minute_rows: Any
) -> None:
    rows = minute_rows | {"speech": [], "words": []}
    make_world(rows=rows, video_id="mute", has_audio=False)

    def asked(query: str) -> dict[str, Any]:
        session = open_session(make_world.store, "mute", name=None)
        return run(session, "search_segments_by_text", {"video_id": "mute", "query": query, "top_k": 3})

    for query in ("people laughing", "a dog barking", "鼓掌"):
        assert asked(query)["not_found"] == [], query
        assert asked(query)["not_judged"] or asked(query)["unmatched"], query
    absent = asked("the sound of laughter")
    assert [(one["start_time"], one["end_time"]) for one in absent["not_found"]] == [(0.0, 60.0)]
    assert "the video has no sound" in absent["hint"]


def test_words_of_one_sound_do_not_find_another(opened: Callable[..., Session]) -> None:
    found = search(opened({}), "the sound of applause heard")
    assert found["candidates"] == [] and found["not_judged"] == ["applause"]


def test_sounds_at_different_times_are_not_one(opened: Callable[..., Session]) -> None:
    found = search(opened({}), "dog music")
    assert all(one["lacks"] for one in (*found["candidates"], *found["moments"]))


def test_a_quoted_word_is_no_sound(opened: Callable[..., Session]) -> None:
    assert not [one for one in search(opened({}), '"Music"')["moments"] if not one["lacks"]]


def test_a_sound_of_two_classes_is_found_where_both_are_heard(opened: Callable[..., Session]) -> None:
    moments = search(opened({}), "a dog barking")["moments"]
    assert {one["text"] for one in moments if not one["lacks"]} == {"sound: Dog", "sound: Bark"}


def test_what_is_heard_is_not_seen(opened: Callable[..., Session]) -> None:
    found = search(opened({}), "a dog")
    assert all(hit["lacks"] == ["dog"] for hit in found["candidates"])
    assert found["not_found"] == [] and found["not_judged"] == ["dog"]


@pytest.mark.parametrize("query", ["applause", "the sound of zorbing", "a person snoring"])
def test_a_sound_of_which_no_misses_were_measured_is_not_judged(opened: Callable[..., Session], query: str) -> None:
    found = search(opened({"Speech": [0, 35]}), query)
    assert found["not_found"] == [] and found["not_judged"]


def test_a_measured_sound_is_not_found_with_its_misses(opened: Callable[..., Session]) -> None:
    found = search(opened({"Siren": [3, 40]}), "a siren")
    absent = [(one["start_time"], one["end_time"]) for one in found["not_found"]]
    assert [round(time) for pair in absent for time in pair] == [0, 5, 9, 20, 50, 60]
    assert found["not_judged"] == ["Siren that was not recognised"]
    assert "missed in 3 of 40 samples" in found["hint"]
    assert search(opened({"Music": [3, 40]}), "music")["not_found"] == []


def test_without_a_model_no_sound_is_judged(opened: Callable[..., Session]) -> None:
    found = search(opened(None, tagged=False), "a siren")
    assert found["not_found"] == [] and found["not_judged"] == ["siren"]
    assert "sounds were not tagged" in found["hint"]


def test_a_cut_shows_what_was_heard_of_a_sound_so_far(opened: Callable[..., Session]) -> None:
    [music] = search(opened({"Music": [3, 40]}, as_of=30.0), "music")["moments"]
    assert music["start_time"] == 20.0 and 29 < music["end_time"] <= 30
    [*_, absent] = search(opened({"Music": [3, 40]}, as_of=10.0), "music")["not_found"]
    assert absent["end_time"] == pytest.approx(10.0 - 0.975)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("音乐", 20.0),
        ("音乐声", 20.0),
        ("有音乐吗", 20.0),
        ("背景音乐", 20.0),
        ("狗叫", 5.0),
        ("狗在叫", 5.0),
        ("听到狗叫声", 5.0),
    ],
)
@pytest.mark.parametrize("operation", ["search_segments_by_text", "search_segments_by_semantics"])
def test_sounds_are_found_in_chinese(opened: Callable[..., Session], operation: str, query: str, start: float) -> None:
    found = run(opened({}), operation, {"video_id": "made", "query": query, "top_k": 3})
    assert found["moments"][0]["start_time"] == start and not found["moments"][0]["lacks"]
    assert not found["candidates"][0]["lacks"]


def test_a_description_says_what_is_heard(opened: Callable[..., Session]) -> None:
    asked = {"video_id": "made", "start_time": 4.0, "end_time": 10.0}
    assert "Heard: 5-8.9 Bark; 5-8.9 Dog" in run(opened({}), "describe_segment", asked)["caption"]
