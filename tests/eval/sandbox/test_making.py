"""Films as files: whole, readable by their readers, at one with their facts, and not made twice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from typer.testing import CliRunner

from controller.answers import ABSTENTIONS
from eval.commands.datasets import sandbox_app as app
from eval.datasets import load_dataset
from eval.questions import add_questions
from eval.sandbox import (
    SAMPLE_RATE,
    FilmFacts,
    FilmFiles,
    films as filming,
    make_film,
    read_facts,
    tell,
    write_facts,
    write_mp4,
)
from world_api.build import Truth, read_truth
from world_api.core import EvalFault

pytestmark = [pytest.mark.media]

SEED = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films") / "made" / "here"
    result = CliRunner().invoke(
        app,
        ["make", "--seed", str(SEED), "--minutes", "1", "--split", "test", "--out", str(folder), "--tones", "--json"],
    )
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def files(folder: Path) -> FilmFiles:
    return FilmFiles.of(folder, "sandbox-test-0008")


@pytest.fixture(scope="module")
def facts(files: FilmFiles) -> FilmFacts:
    return read_facts(files.facts)


@pytest.fixture(scope="module")
def truth(files: FilmFiles) -> Truth:
    return read_truth(files.truth)


def test_the_film_is_h264_with_aac_and_subtitles_of_the_length_of_its_facts(files: FilmFiles, facts: FilmFacts) -> None:
    with av.open(str(files.video)) as container:
        assert {stream.codec_context.name for stream in container.streams} == {"h264", "aac", "mov_text"}
        video, audio = container.streams.video[0], container.streams.audio[0]
        assert video.frames == round(facts.duration * 10)
        assert audio.duration is not None
        assert audio.time_base is not None
        assert float(audio.duration * audio.time_base) == pytest.approx(facts.duration, abs=0.1)


def test_what_is_said_is_in_the_subtitles_at_its_time(files: FilmFiles, facts: FilmFacts) -> None:
    blocks = files.subtitles.read_text(encoding="utf-8").strip().split("\n\n")
    said = [event for event in facts.events if event.kind == "says"]
    assert [block.split("\n")[2] for block in blocks] == [event.words for event in said]
    assert [block.split("\n")[1][:8] for block in blocks] == [f"00:00:{int(event.start):02d}" for event in said]


def _seen(truth: Truth, facts: FilmFacts) -> dict[str, list[float]]:
    """When somebody or something is sighted, by the ids of the facts."""
    ids = {track: subject for subject, track in facts.extras["tracks"].items()}
    return {ids[track.track]: [seen.time for seen in track.sightings] for track in truth.tracks}


def test_the_truth_tells_no_name_but_in_what_is_said_and_no_id_tells_looks(
    files: FilmFiles, truth: Truth, facts: FilmFacts
) -> None:
    record = json.loads(files.truth.read_text(encoding="utf-8"))
    said = {item.pop("text") for item in record["speech"]}
    for item in (*record["scenes"], *record["captions"]):
        item["caption" if "caption" in item else "text"] = re.sub(r'"[^"]*"', "", item.get("caption", item.get("text")))
    words = set(re.findall(r"[a-z]+", json.dumps(record).lower()))
    assert said
    assert not words & {person.name.lower() for person in facts.people}
    assert all(re.fullmatch(r"s\d{4}", track.track) for track in truth.tracks)
    assert {line.speaker for line in truth.speech} <= {track.label for track in truth.tracks}


def test_people_are_sighted_when_the_facts_say_that_they_are_on_screen(truth: Truth, facts: FilmFacts) -> None:
    tracks = _seen(truth, facts)
    assert {person.id for person in facts.people} & tracks.keys()
    for person in facts.people:
        times = np.asarray(tracks.get(person.id, []))
        for visit in (visit for visit in facts.visits if visit.subject == person.id):
            inside = times[(times >= visit.start - 0.3) & (times < visit.end + 0.3)]
            assert abs(inside[0] - visit.start) <= 0.4
            assert abs(inside[-1] - visit.end) <= 0.4
            assert np.diff(inside).max(initial=0.0) <= 0.41
            times = times[(times < visit.start - 0.3) | (times >= visit.end + 0.3)]
        assert list(times) == []


def test_things_are_sighted_while_the_facts_say_that_they_are_on_screen(truth: Truth, facts: FilmFacts) -> None:
    tracks = _seen(truth, facts)
    shown = {thing.id for thing in facts.things} & {visit.subject for visit in facts.visits}
    assert shown
    for thing in shown:
        times = np.asarray(tracks[thing])
        for visit in (visit for visit in facts.visits if visit.subject == thing):
            times = times[(times < visit.start - 0.4) | (times >= visit.end + 0.4)]
        assert list(times) == [], thing


def test_what_can_be_read_is_in_truth_and_facts_alike(truth: Truth, facts: FilmFacts) -> None:
    scenes = {scene.start for scene in facts.scenes}
    read = sorted((item.start, item.text) for item in truth.screen_text if item.start in scenes)
    assert read == sorted((item.start, item.text) for item in facts.written)


def test_every_event_has_its_sentence_in_the_truth(truth: Truth, facts: FilmFacts) -> None:
    told = {caption.text for caption in truth.captions}
    for event in facts.events:
        assert event.clause[0].upper() + event.clause[1:] + "." in told
    assert list(truth.cuts) == [scene.start for scene in truth.scenes][1:]
    assert all(action.start >= 0 and action.label for action in truth.actions)


def test_the_folder_is_a_dataset_of_its_films(folder: Path, files: FilmFiles) -> None:
    dataset = load_dataset(folder)
    assert dataset.videos["sandbox-test-0008"].path == files.video
    assert dataset.items
    assert {item.domain for item in dataset.items} >= {"A_locate_count", "B_order_cause"}
    assert all(item.split == "test" for item in dataset.items)


def test_a_film_that_is_there_is_not_made_again(folder: Path, files: FilmFiles) -> None:
    before = {path: path.stat().st_mtime_ns for path in files.all()}
    questions = (folder / "questions.jsonl").read_bytes()
    arguments = [
        "make",
        "--seed",
        str(SEED),
        "--minutes",
        "1",
        "--split",
        "test",
        "--out",
        str(folder),
        "--tones",
        "--json",
    ]
    result = CliRunner().invoke(app, arguments)
    [film] = json.loads(result.stdout)["films"]
    assert film["made"] is False
    assert sum(film["by_domain"].values()) == sum(film["by_type"].values()) == film["questions"] > 0
    assert "C_summary_multihop" in film["by_domain"]
    assert {path: path.stat().st_mtime_ns for path in files.all()} == before
    assert (folder / "questions.jsonl").read_bytes() == questions


def test_a_dataset_of_older_questions_takes_no_newer_ones_and_says_what_to_do(tmp_path: Path, folder: Path) -> None:
    items = load_dataset(folder).items
    old = [replace(item, question=replace(item.question, may_abstain=False), video_id="old") for item in items]
    old = [replace(item, id=f"old.{place}") for place, item in enumerate(old) if item.answer not in ABSTENTIONS]
    add_questions(tmp_path, "old.mp4", "old", old, work=tmp_path)
    described = json.loads((tmp_path / "dataset.json").read_text())
    described["protocol"] = {"questions": {"version": 2}}
    (tmp_path / "dataset.json").write_text(json.dumps(described))
    before = (tmp_path / "questions.jsonl").read_bytes()
    with pytest.raises(EvalFault, match="questions of another version") as raised:
        add_questions(tmp_path, "new.mp4", items[0].video_id, items, work=tmp_path)
    assert "new folder" in raised.value.hint
    assert (tmp_path / "questions.jsonl").read_bytes() == before
    assert not any(item.question.may_abstain for item in load_dataset(tmp_path).items)
    # Of a film that stands alone all questions are made anew, and with them the protocol.
    add_questions(tmp_path, "old.mp4", "old", [replace(item, video_id="old") for item in items], work=tmp_path)
    assert load_dataset(tmp_path).protocol["may_abstain"] is True


def test_questions_that_may_abstain_need_a_protocol_that_says_so(tmp_path: Path, folder: Path) -> None:
    described = json.loads((folder / "dataset.json").read_text())
    del described["protocol"]["may_abstain"]
    described["videos"] = {}
    (tmp_path / "dataset.json").write_text(json.dumps(described))
    (tmp_path / "questions.jsonl").write_bytes((folder / "questions.jsonl").read_bytes())
    with pytest.raises(EvalFault, match="may abstain, and the protocol does not say so"):
        load_dataset(tmp_path)


def test_a_film_of_another_length_is_refused_by_name(folder: Path, files: FilmFiles) -> None:
    with pytest.raises(EvalFault, match=r"sandbox-test-0008\.mp4 is there already: of 1\.0 minutes") as raised:
        make_film(folder, seed=SEED, minutes=2.0, split="test")
    assert raised.value.code == "another_film"


def test_a_film_that_was_begun_and_not_ended_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_short(path: Path, *_: object, **__: object) -> None:
        path.write_bytes(b"half a film")
        raise KeyboardInterrupt

    def quick(path: Path, *_: object, **__: object) -> None:
        path.write_bytes(b"a whole film")

    files = FilmFiles.of(tmp_path, "sandbox-test-0003")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(filming, "write_mp4", cut_short)
        make_film(tmp_path, seed=3, minutes=1, split="test")
    assert not any(path.exists() for path in files.all())
    monkeypatch.setattr(filming, "write_mp4", quick)
    monkeypatch.setattr(filming.TruthWriter, "write", lambda self, path: path.write_text("{}"))
    assert make_film(tmp_path, seed=3, minutes=1, split="test")[1] is True
    assert files.video.read_bytes() == b"a whole film"
    assert make_film(tmp_path, seed=3, minutes=1, split="test")[1] is False


def test_facts_come_back_as_they_were_written(tmp_path: Path) -> None:
    facts = tell(77, 5, split="development").facts
    write_facts(tmp_path / "a.facts.json", facts)
    assert read_facts(tmp_path / "a.facts.json") == facts


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ({"schema_version": 2}, "other_schema_version", "version 2"),
        ({"duration": "long"}, "bad_facts", "duration"),
        ({"events": [{"id": "e0001"}]}, "bad_facts", "events.0"),
        ({"visits": [{"subject": "nobody", "place": "nowhere", "start": 0, "end": 1}]}, "bad_facts", "no person or thing"),
        ({"causes": [{"cause": "e9999", "effect": "e0001", "reason": ""}]}, "bad_facts", "no event 'e9999'"),
        ({"scenes": [{"subject": "", "place": "x", "start": 5, "end": 1}]}, "bad_facts", "from 5"),
    ],
)  # fmt: skip
def test_damaged_facts_are_refused_by_name(tmp_path: Path, change: dict[str, object], code: str, told: str) -> None:
    path = tmp_path / "a.facts.json"
    write_facts(path, tell(77, 1, split="development").facts)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(EvalFault, match=told) as raised:
        read_facts(path)
    assert raised.value.code == code


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_facts_that_are_no_json_are_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.facts.json"
    path.write_bytes(content)
    with pytest.raises(EvalFault):
        read_facts(path)


def test_missing_facts_are_named(tmp_path: Path) -> None:
    with pytest.raises(EvalFault, match=r"there is no a\.facts\.json"):
        read_facts(tmp_path / "a.facts.json")


def test_sound_in_pieces_is_the_same_as_sound_in_one(tmp_path: Path) -> None:
    pictures = [np.full((32, 32, 3), shade, np.uint8) for shade in range(0, 200, 10)]
    sound = np.sin(np.arange(2 * SAMPLE_RATE) / 9).astype(np.float32)
    pieces = (part for part in np.split(sound, [100, 5000, 5001, 30_000]))
    for name, given in (("whole", sound), ("pieces", pieces)):
        write_mp4(tmp_path / f"{name}.mp4", iter(pictures), given, [], frame_rate=10, title="x")
    assert (tmp_path / "whole.mp4").read_bytes() == (tmp_path / "pieces.mp4").read_bytes()


@pytest.mark.parametrize(
    "arguments", [["--minutes", "0.5"], ["--minutes", "700"], ["--split", "exam"], ["--seed", "-1"], ["--count", "0"]]
)
def test_wrong_usage_is_told(tmp_path: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["make", "--out", str(tmp_path / "films"), *arguments])
    assert result.exit_code == 2
    assert not (tmp_path / "films").exists()


@pytest.mark.nightly
def test_the_same_seed_gives_the_same_bytes(folder: Path, files: FilmFiles, tmp_path: Path) -> None:
    make_film(tmp_path, seed=SEED, minutes=1, split="test")
    again = FilmFiles.of(tmp_path, files.video.stem)
    assert [path.read_bytes() for path in again.all()] == [path.read_bytes() for path in files.all()]


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_film(tmp_path: Path) -> None:
    peaks = []
    for minutes in (2, 12):
        program = (
            "import resource, sys; from pathlib import Path; from eval.sandbox import make_film\n"
            "make_film(Path(sys.argv[1]), seed=int(sys.argv[2]), minutes=float(sys.argv[2]), split='test')\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        command = [sys.executable, "-c", program, str(tmp_path), str(minutes)]
        made = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True)
        peaks.append(int(made.stdout) / 1024)
    assert peaks[1] < peaks[0] + 40, peaks
