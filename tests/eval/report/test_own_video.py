"""``videoworld compare``: flat against hier on one's own video, scored where the answer is known."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.report import own_questions
from tests.support.browser import Browser
from tests.support.command_line import Outcome
from tests.support.reports import give_video, index_of
from videoworld import main
from world_api import open_session, run
from world_api.core import EvalFault, hash_file
from world_api.session import commit_session, list_sessions
from world_api.world import check_world, open_world, read_manifest, write_manifest

LINES: tuple[dict[str, Any], ...] = (
    {"question": "How many people are there?", "kind": "count", "answer": 2},
    {"question": "What happens in the garden?"},
    {"question": "Where does somebody walk?", "options": ["in a room", "on a roof"]},
)

Compare = Callable[..., Outcome]


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


@pytest.fixture
def compare(tmp_path: Path, make_world: Any, film: Path, capsys: pytest.CaptureFixture[str]) -> Compare:
    """Runs the command on a film whose world is there already."""
    video = Path(shutil.copy(film, tmp_path / "Mine.mp4"))
    store = make_world.store
    make_world.store = store / "classical"
    world = make_world(video_id="mine")
    give_video(world.folder, video)

    def run(*more: str, lines: tuple[object, ...] = LINES) -> Outcome:
        questions = write(tmp_path / "questions.jsonl", *lines)
        status = 0
        try:
            main(["compare", str(video), str(questions), "--out", str(tmp_path / "out"), "--store", str(store), *more])
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 1
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Outcome(status, out, err)

    return run


def test_both_arms_answer_and_only_known_answers_are_scored(compare: Compare, tmp_path: Path) -> None:
    done = compare("--json")
    assert done.status == 0
    assert done.json["report"]["episodes"] == 6
    index = index_of(tmp_path / "out" / "report.html")
    assert index["first"] == "questions"
    assert index["dimensions"][0]["values"] == ["flat", "hier@hand_A"]
    marks = dict(
        zip(map(tuple, zip(index["item"], index["dimensions"][0]["codes"], strict=True)), index["mark"], strict=True)
    )
    assert all(marks[item, arm] == 2 for item in (1, 2) for arm in (0, 1))
    assert all(marks[0, arm] in (0, 1) for arm in (0, 1))
    assert [item["reference"] for item in index["items"]] == ["2", None, None]
    with (tmp_path / "out" / "tables" / "main.csv").open(newline="") as file:
        counted = [row["n"] for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    assert counted == ["1", "1"]  # one question has a reference


@pytest.mark.nightly
def test_a_second_time_nothing_is_asked_again(compare: Compare, tmp_path: Path) -> None:
    assert compare().status == 0
    page = (tmp_path / "out" / "report.html").read_bytes()
    again = compare("--json")
    assert again.json["asked"] == 0
    assert (tmp_path / "out" / "report.html").read_bytes() == page


def succeed(*arguments: str) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert not leaving.value.code


@pytest.fixture
def store_with_a_world(make_world: Any, film: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A video, and a store in which ``videoworld build`` left its world, with a session that noted something."""
    video = Path(shutil.copy(film, tmp_path / "Mine.mp4"))
    world = make_world(video_id="mine")
    give_video(world.folder, video)
    manifest = read_manifest(world.folder)
    source = manifest.source.model_copy(update={"sha256": hash_file(video)})
    write_manifest(world.folder, manifest.model_copy(update={"source": source}))
    memory = {"level": "event", "time_range": {"start_time": 0.0, "end_time": 5.0}, "content": "noted"}
    run(open_session(make_world.store, "mine"), "write_memory", {"video_id": "mine", **memory})
    return video, make_world.store


def test_a_world_that_the_store_has_is_not_built_again(
    store_with_a_world: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video, store = store_with_a_world
    command = ["compare", str(video), str(write(tmp_path / "q.jsonl", *LINES)), "--store", str(store), "--json"]
    succeed(*command, "--out", str(tmp_path / "out"))
    told = capsys.readouterr()
    assert json.loads(told.out)["report"]["episodes"] == 6
    assert "taking the world mine" in told.err
    manifests = [read_manifest(place / "mine") for place in (store, store / "classical")]
    assert manifests[0] == manifests[1]
    assert list_sessions(store, "mine") == [("default", 1)]
    assert list_sessions(store / "classical", "mine") == []
    # What is committed to the stored world later does not change what the comparison was begun with.
    commit_session(store, "mine", "default")
    succeed(*command, "--out", str(tmp_path / "out"))
    assert json.loads(capsys.readouterr().out)["asked"] == 0


@pytest.mark.nightly
def test_a_world_of_another_file_is_not_taken_for_the_videos(
    store_with_a_world: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video, store = store_with_a_world
    with video.open("ab") as file:
        file.write(b"\0" * 64)
    questions = str(write(tmp_path / "q.jsonl", *LINES))
    succeed("compare", str(video), questions, "--store", str(store), "--out", str(tmp_path / "out"), "--json")
    assert "taking the world" not in capsys.readouterr().err
    assert read_manifest(store / "classical" / "mine").source.sha256 == hash_file(video)


def test_answers_stand_side_by_side_in_a_browser(compare: Compare, tmp_path: Path, browser: Browser) -> None:
    compare()
    tab = browser.open(tmp_path / "out" / "report.html")
    assert tab.run("document.body.dataset.view") == "questions"
    assert tab.count("#question-table tbody tr") == 3
    assert tab.count("#question-table tbody tr:nth-child(2) .sign.open") == 2
    assert tab.complaints() == []
    tab.close()


def test_faults_of_the_questions_are_told_by_line(compare: Compare) -> None:
    bad = {"question": "How many?", "kind": "count", "answer": "two"}
    wrong = compare(lines=({"question": ""}, "no json", {"kind": "count"}, bad))
    assert wrong.status == 1
    assert all(f"line {number}:" in wrong.err for number in (1, 2, 3, 4))
    assert "[bad_dataset]" in wrong.err


def test_a_video_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path / "none.mp4"), str(write(tmp_path / "q.jsonl", *LINES))])
    assert "no_such_video" in capsys.readouterr().err


def test_a_file_that_is_no_video_is_named_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = write(tmp_path / "q.jsonl", *LINES)
    with pytest.raises(SystemExit):
        main(["compare", str(questions), str(questions), "--out", str(tmp_path / "out")])
    assert "not_a_video" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_video_whose_name_has_another_ending_is_told_which_it_needs(
    film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video = shutil.copy(film, tmp_path / "mine.dat")
    with pytest.raises(SystemExit):
        main(["compare", str(video), str(write(tmp_path / "q.jsonl", *LINES)), "--out", str(tmp_path / "out")])
    told = capsys.readouterr().err
    assert "no_such_video" in told
    assert ".mp4" in told


def test_a_library_that_is_not_there_is_named(compare: Compare) -> None:
    done = compare("--tools", "no_such_library")
    assert done.status == 1
    assert "no_such_library" in done.err


def test_questions_about_other_videos_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", {"question": "What?", "video": "other"}, {"question": "When?", "video": "mine"})
    assert [item.question.text for item in own_questions(path, "mine")] == ["When?"]
    with pytest.raises(EvalFault) as caught:
        own_questions(path, "third")
    assert caught.value.code == "bad_dataset"


def test_what_was_committed_before_reaches_no_arm(
    store_with_a_world: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video, store = store_with_a_world
    before = read_manifest(store / "mine").world_hash
    commit_session(store, "mine", "default")
    questions = str(write(tmp_path / "q.jsonl", *LINES))
    succeed("compare", str(video), questions, "--store", str(store), "--out", str(tmp_path / "out"), "--json")
    assert "without what sessions committed" in capsys.readouterr().err
    taken = store / "classical"
    assert read_manifest(taken / "mine").world_hash == before
    read = {"video_id": "mine", "level": "event", "query": "noted", "top_k": 5}
    assert run(open_session(taken, "mine", name=None), "read_memory", read)["memories"] == []
    assert check_world(open_world(taken, "mine")) == []
    assert len(run(open_session(store, "mine", name=None), "read_memory", read)["memories"]) == 1
