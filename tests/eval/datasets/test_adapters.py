"""Adapters: each reads its authors' format, here from small made-up files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from eval.datasets import (
    ADAPTERS,
    Dataset,
    Raw,
    SkippedEntry,
    assemble,
    load_dataset,
    load_protocol,
    packaged_protocols,
    subtitles_to_build_with,
)
from eval.scoring import check_protocol
from tests.support import published_files
from tool_induction.domains import packaged_domains
from world_api.core import EvalFault, TimeSpan


def load(name: str, folder: Path) -> Dataset:
    """The dataset of a made-up file."""
    return load_dataset(name, annotations=published_files.FILES[name](folder), videos=folder)


def film(path: Path) -> Path:
    """A file that stands for a video."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def test_every_adapter_has_a_protocol_and_a_file_to_be_tested_with() -> None:
    assert sorted(ADAPTERS) == packaged_protocols() == sorted(published_files.FILES)


@pytest.mark.parametrize("name", packaged_protocols())
def test_a_protocol_names_domains_scorers_and_figures_that_can_be_traced(name: str) -> None:
    protocol = load_protocol(name)
    assert protocol.name == name
    check_protocol(protocol.model_dump())
    used = {rule.domain for rule in protocol.domains.rules} | {protocol.domains.otherwise}
    assert used - {None} <= set(packaged_domains())
    assert all(figure.source and figure.budget and figure.model for figure in protocol.published)
    assert protocol.blind


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_a_benchmark_loads_twice_the_same_and_in_full(tmp_path: Path, name: str) -> None:
    data = load(name, tmp_path)
    assert data == load(name, tmp_path)
    assert data.items
    assert data.protocol["name"] == name
    assert len(data.hash) == 64
    assert {item.video_id for item in data.items} == set(data.videos)


def test_m3bench_robot_is_asked_in_the_middle_of_the_video(tmp_path: Path) -> None:
    there = film(tmp_path / "data" / "videos" / "robot" / "kitchen_99.mp4")
    data = load("m3bench-robot", tmp_path)
    assert [(item.id, item.question.as_of) for item in data.items] == [
        ("kitchen_99_Q01", 60.0),
        ("kitchen_99_Q02", 0.0),
        ("kitchen_99_Q03", None),
    ]
    assert data.videos["kitchen_99"].path == there
    first = data.items[0]
    assert (first.question.kind, first.answer) == ("open", "On the shelf.")
    assert first.labels == {"type": ["Cross-Modal Reasoning"], "timestamp": 65.0, "before_clip": 1}
    assert [item.domain for item in data.items] == ["A_locate_count", "A_locate_count", "B_order_cause"]


def test_m3bench_web_has_no_moment_and_keeps_youtubes_name(tmp_path: Path) -> None:
    there = film(tmp_path / "AbC-_1.webm")
    data = load("m3bench-web", tmp_path)
    assert [(item.video_id, item.question.as_of) for item in data.items] == [("abc-_1", None)]
    assert data.videos["abc-_1"].path == there
    assert data.videos["abc-_1"].name == "AbC-_1"


def test_nextqa_counts_options_from_nought_and_tells_the_same_words_apart(tmp_path: Path) -> None:
    there = film(tmp_path / "NExTVideo" / "1164" / "77.mp4")
    film(tmp_path / "other" / "77.mp4")
    data = load("nextqa", tmp_path)
    first, second = data.items
    assert (first.id, first.answer, first.question.options[2]) == ("77-0", "C", "to greet")
    assert second.question.text == "what, then"
    assert second.question.options == ("a", "b", "a (2)", "c", "d")
    assert (second.answer, second.also) == ("A", ("C",))
    assert data.videos["77"].path == there  # where the map says, and not another file of the name
    assert [item.domain for item in data.items] == ["B_order_cause"] * 2


def test_lvbench_takes_options_out_of_the_question_and_keeps_the_evidence(tmp_path: Path) -> None:
    item = load("lvbench", tmp_path).items[0]
    assert item.question.text == "What year is it?"
    assert item.question.options == ("1636", "1366", "1363", "1633")
    assert (item.answer, item.content, item.video_id) == ("D", "cartoon", "cm73ma6ibcs")
    assert item.spans == (TimeSpan(start=15, end=79),)


def test_longvideobench_leaves_out_what_has_no_answer(tmp_path: Path) -> None:
    data = load("longvideobench", tmp_path)
    assert [(item.id, item.answer) for item in data.items] == [("86CxyhFV9MI_0", "B")]
    assert data.left_out == (SkippedEntry(where="lvb_val.json, entry 1", reason="its answer is not published"),)


def test_longvideobench_subtitles_are_made_ready_for_a_build(tmp_path: Path) -> None:
    published_files.longvideobench(tmp_path)
    described = tmp_path / "lvb.yaml"
    described.write_text(
        "schema_version: 1\nadapter: longvideobench\nannotations: lvb_val.json\nsubtitles: subtitles\n"
    )
    video = load_dataset(described).videos["86cxyhfv9mi"]
    path = subtitles_to_build_with(video, tmp_path / "made")
    assert path is not None
    assert path.read_text() == (
        "1\n00:00:02,000 --> 00:00:04,500\nhello\n\n2\n00:00:10,000 --> 00:00:15,000\nbye\n"
    )  # the line that ends before the video begins is not in it


def test_subtitles_are_taken_from_their_folder_only(tmp_path: Path) -> None:
    secret = tmp_path / "secret.srt"
    secret.write_text("1\n00:00:00,000 --> 00:00:02,000\nof somebody else\n")
    folder = tmp_path / "subtitles"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "own.srt").write_text("")
    (folder / "linked.srt").symlink_to(secret)
    (folder / "round.srt").symlink_to("round.srt")

    def taken(name: str) -> Path | None:
        entry = Raw(where="1", id="q", video="v", question="?", kind="count", answer=1, subtitles=name)
        return assemble([entry], load_protocol("longvideobench"), "lvb", subtitles=folder).videos["v"].subtitles

    assert taken("deep/own.srt") == folder / "deep" / "own.srt"
    for name in (str(secret), "../secret.srt", "deep/../../secret.srt", "linked.srt", "round.srt", "x" * 5000, "a\0b"):
        assert taken(name) is None, name


def test_many_entries_of_one_id_get_one_each_in_time_that_grows_with_them() -> None:
    """Counting up from the first for each would take minutes for these."""
    names = ["q", "q-3", "q", "q", "q-3", "Q 3", *["q"] * 60_000]
    entries = [Raw(where="1", id=name, video="v", question="?", kind="count", answer=1) for name in names]
    asked = assemble(entries, load_protocol("longvideobench"), "x").items
    ids = [item.id for item in asked]
    assert ids[:6] == ["q", "q-3", "q-2", "q-4", "q-3-2", "Q-3"]
    assert len(set(ids)) == len(names)


def test_egoschema_asks_what_has_a_published_answer(tmp_path: Path) -> None:
    data = load("egoschema", tmp_path)
    assert [(item.id, item.answer, len(item.question.options)) for item in data.items] == [("001934bb-81bd", "D", 5)]
    assert [item.reason for item in data.left_out] == ["its answer is not published"]
    (tmp_path / "subset_answers.json").unlink()
    with pytest.raises(EvalFault) as caught:
        load_dataset("egoschema", annotations=tmp_path / "questions.json")
    assert caught.value.code == "no_answers"


def test_mlvu_reads_a_folder_of_tasks_and_one_task(tmp_path: Path) -> None:
    there = film(tmp_path / "video" / "9_summary" / "217.mp4")
    data = load("mlvu", tmp_path)
    assert [(item.question.kind, item.answer, item.domain) for item in data.items] == [
        ("choice", "B", "C_summary_multihop"),
        ("open", "A trip.", "C_summary_multihop"),
    ]
    assert [item.reason for item in data.left_out] == ["the answer 'Green' is none of the candidates"]
    assert data.videos["217"].path == there
    assert len(load_dataset(f"mlvu:{tmp_path / 'json' / '9_summary.json'}").items) == 1


def test_videomme_reads_the_table_and_the_authors_json_alike(tmp_path: Path) -> None:
    film(tmp_path / "data" / "fFjv93ACGo8.mp4")
    table = load("videomme", tmp_path)
    other = load_dataset("videomme", annotations=published_files.videomme_json(tmp_path), videos=tmp_path)
    assert table.items == other.items
    item = table.items[0]
    assert (item.question.options, item.answer) == (("4.", "9.", "5.", "13."), "B")
    assert (item.domain, item.content, item.labels["duration"]) == ("A_locate_count", "Knowledge", "short")
    assert table.missing == other.missing == ()


def test_options_lose_their_letters_only_where_all_have_them(tmp_path: Path) -> None:
    lists = [["A. 4.", "B.", "(C) 5"], ["A. 4.", "9"], ["B. x", "A. y"]]
    questions = [{"question_id": str(n), "question": "q", "options": own, "answer": "A"} for n, own in enumerate(lists)]
    path = tmp_path / "Video-MME.json"
    path.write_text(json.dumps([{"videoID": "v", "questions": questions}]))
    found = [item.question.options for item in load_dataset("videomme", annotations=path).items]
    assert found == [("4.", "(blank)", "5"), ("A. 4.", "9"), ("B. x", "A. y")]


def test_videomme_subtitles_are_those_of_the_video(tmp_path: Path) -> None:
    published_files.videomme(tmp_path)
    there = film(tmp_path / "subtitle" / "fFjv93ACGo8.srt")
    described = tmp_path / "v.yaml"
    described.write_text(
        "schema_version: 1\nadapter: videomme\nannotations: test-00000-of-00001.parquet\nsubtitles: subtitle\n"
    )
    video = load_dataset(described).videos["ffjv93acgo8"]
    assert subtitles_to_build_with(video, tmp_path / "made") == there


def test_videomme_videos_may_be_called_by_their_number(tmp_path: Path) -> None:
    there = film(tmp_path / "videos" / "001.mkv")
    assert load("videomme", tmp_path).videos["ffjv93acgo8"].path == there


def test_locomo_reads_the_list_the_archive_and_a_folder_alike(tmp_path: Path) -> None:
    one = load("locomo", tmp_path)
    sample = published_files.dialogue()
    flat = {**sample["conversation"], "qa": sample["qa"]}
    with zipfile.ZipFile(tmp_path / "locomo10.zip", "w") as archive:
        archive.writestr("data/7.json", json.dumps(flat))
    (tmp_path / "each").mkdir()
    (tmp_path / "each" / "7.json").write_text(json.dumps(flat))
    assert load_dataset(f"locomo:{tmp_path / 'locomo10.zip'}").items == one.items
    assert load_dataset(f"locomo:{tmp_path / 'each'}").items == one.items


def test_locomo_asks_an_adversarial_question_as_a_choice(tmp_path: Path) -> None:
    data = load("locomo", tmp_path)
    assert [(item.id, item.question.kind, item.labels["category"]) for item in data.items] == [
        ("locomo-7-q000", "open", 4),
        ("locomo-7-q001", "open", 2),
        ("locomo-7-q002", "open", 1),
        ("locomo-7-q003", "choice", 5),
    ]
    asked = data.items[3]
    assert set(asked.question.options) == {"a lighthouse", "The conversation does not say"}
    assert asked.question.options[asked.question.letters.index(asked.answer)] == "The conversation does not say"
    assert [item.reason for item in data.left_out] == ["there is no category 6"]
    assert data.items[2].answer == "1"
    assert data.missing == ()


def test_locomo_evidence_becomes_the_stretches_of_its_turns(tmp_path: Path) -> None:
    data = load("locomo", tmp_path)
    text = data.videos["locomo-7"].text
    assert text is not None
    turns = {turn.id: TimeSpan(start=turn.start, end=turn.end) for session in text.sessions for turn in session.turns}
    assert [item.spans for item in data.items[:3]] == [
        (turns["D1:1"],),
        (turns["D1:2"], turns["D2:1"]),
        (turns["D2:1"],),
    ]
    assert data.items[2].labels["unknown_evidence"] == ["D9:9"]


def test_two_names_that_would_be_one_id_stay_apart(tmp_path: Path) -> None:
    asked = {"question": "Who?", "answer": "Ann"}
    record = {name: {"video_path": "", "qa_list": [asked]} for name in ("AbC", "aBc", "abc")}
    (tmp_path / "web.json").write_text(json.dumps(record))
    data = load_dataset("m3bench-web", annotations=tmp_path)
    assert len(data.videos) == 3
    assert len({item.id for item in data.items}) == 3
    assert [video.name for video in data.videos.values()] == ["AbC", "aBc", "abc"]


def test_a_published_id_that_is_no_name_is_kept_as_a_label(tmp_path: Path) -> None:
    asked = [{"question": "Who?", "answer": "Ann", "question_id": own} for own in ("片 1", "片 1", "../../x")]
    (tmp_path / "web.json").write_text(json.dumps({"v": {"qa_list": asked}}))
    data = load_dataset("m3bench-web", annotations=tmp_path)
    assert [item.id for item in data.items] == ["1", "1-2", "x"]
    assert data.items[2].labels["published_id"] == "../../x"
