"""Open answers of a run: judged, said who judged, drawn for people to label without saying whose they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from eval.datasets import Item
from eval.runs import read_run
from eval.scoring import AnswerToScore
from eval.scoring.labels import (
    ArmAnswer,
    LabelledPair,
    arms_beside,
    draw_to_label,
    merged,
    read_pairs,
    write_to_label,
)
from eval.tables import study_of
from tests.support.chat_server import KEY, ChatServer
from tests.support.command_line import Cli
from tests.support.runs import made_run
from tests.support.sample_rows import table_of
from world_api.chat import completion
from world_api.core import EvalFault


def answers(arm: str, number: int, *, said: str = "a hat") -> list[ArmAnswer]:
    items = (
        Item(id=f"i{n}", video_id="v", question=Question(text=f"What is in box {n}?"), answer="a hat")
        for n in range(number)
    )
    return [(arm, AnswerToScore(item=item, value=f"{said} {n}", answer=None)) for n, item in enumerate(items)]


def test_answers_are_drawn_of_each_arm_and_do_not_say_whose_they_are(tmp_path: Path) -> None:
    given = [*answers("flat", 30), *answers("hier", 6, said="a cap")]
    labels, arms = draw_to_label(given, per_arm=10, seed=3)
    assert sorted(arms.values()) == [["flat"]] * 10 + [["hier"]] * 6
    assert "flat" not in json.dumps(labels) and "hier" not in json.dumps(labels)
    order = [arms[pair["id"]] for pair in labels["pairs"]]
    assert order != sorted(order)
    assert draw_to_label(given, per_arm=10, seed=3) == (labels, arms)
    assert draw_to_label(given, per_arm=10, seed=4) != (labels, arms)


def test_what_is_not_labelled_yet_is_named_and_labels_meet_their_arms_again(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    labels, arms = draw_to_label([*answers("flat", 3), *answers("hier", 3, said="x")], per_arm=5, seed=0)
    write_to_label(file, labels, arms)
    with pytest.raises(EvalFault, match="not labelled"):
        read_pairs(file)
    file.write_text(file.read_text().replace("null", "true"))
    assert {pair.id: list(pair.arms) for pair in read_pairs(file)} == arms
    arms_beside(file).write_text("[1]")
    with pytest.raises(EvalFault, match="whose answers"):
        read_pairs(file)


def test_an_arm_is_drawn_from_all_its_answers_whatever_the_others_said() -> None:
    """Nine of ten answers of `hier` are those of `flat`: they must be in what is drawn of it."""
    right, wrong = answers("flat", 90), answers("hier", 10, said="a shoe")
    given = [*right, *(("hier", one) for _, one in right), *wrong]
    labels, arms = draw_to_label(given, per_arm=20, seed=0)
    said = {pair["id"]: pair["answer"] for pair in labels["pairs"]}
    of_hier = [said[key] for key, names in arms.items() if "hier" in names]
    assert len(of_hier) == 20 and sum("a hat" in one for one in of_hier) >= 14
    assert len([key for key, names in arms.items() if "flat" in names]) == 20
    everything, both = draw_to_label(given, per_arm=1000, seed=0)
    assert len(everything["pairs"]) == 100
    assert sorted(both.values()) == [["flat", "hier"]] * 90 + [["hier"]] * 10


def test_answers_to_the_same_words_about_another_video_are_others() -> None:
    [(arm, here)] = answers("flat", 1)
    there = replace(here, item=replace(here.item, video_id="w"))
    later = replace(here, item=replace(here.item, question=replace(here.item.question, as_of=5.0)))
    labels, _ = draw_to_label([(arm, one) for one in (here, there, later)], per_arm=9, seed=0)
    assert sorted(pair["video"] for pair in labels["pairs"]) == ["v", "v", "w"]


def test_a_new_label_counts_and_keeps_the_arms_of_the_old_one() -> None:
    old, other = (
        LabelledPair(id=key, question="?", accepted=("x",), answer="x", right=True, arms=("flat",), by="a")
        for key in ("1", "2")
    )
    new = old.model_copy(update={"right": False, "arms": ("hier",)})
    assert merged([old, other], [new], by="b") == [new.model_copy(update={"arms": ("flat", "hier"), "by": "b"}), other]


def test_typed_answers_and_silence_are_not_drawn() -> None:
    choice = Item(id="c", video_id="v", question=Question(text="?", kind="choice", options=("a", "b")), answer="A")
    silent = Item(id="s", video_id="v", question=Question(text="?"), answer="a hat")
    given = [
        ("flat", AnswerToScore(item=choice, value="A", answer="A. a")),
        ("flat", AnswerToScore(item=silent, value=None, answer=None)),
    ]
    assert draw_to_label(given, per_arm=5, seed=0) == ({"schema_version": 1, "pairs": []}, {})


def test_a_run_is_judged_labelled_and_its_judge_measured_by_arm(
    cli: Cli, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = str(made_run(tmp_path / "run"))
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chat_server.play(completion(model="j", content='{"verdict": "no"}'))
    scored = cli("eval", "score", run, "--judge-model", "rule-based-judge", "--json", store=None)
    assert scored.status == 0, scored.err
    assert scored.json["scorers"]["judge/1"] > 0
    assert scored.json["judging"]["asked"] > 0
    assert "of its own family" in scored.err
    sent = json.dumps([received.body for received in chat_server.received])
    assert not any(word in sent for word in ("hand_A", "hier", "flat", "blind", "placebo"))
    number = len(chat_server.received)
    again = cli("eval", "score", run, store=None)
    assert "judged: 0 by new requests" in again.out and len(chat_server.received) == number

    labels = tmp_path / "labels.json"
    drawn = cli("eval", "label", run, "--out", str(labels), "--per-arm", "5", store=None)
    assert drawn.status == 0, drawn.err
    whole: dict[str, Any] = json.loads(labels.read_text())
    assert whole["pairs"] and all(pair["right"] is None for pair in whole["pairs"])
    labels.write_text(labels.read_text().replace('"right":null', '"right":false'))
    measured = cli("eval", "judge", "--judge-model", "m", "--pairs", str(labels), "--json", store=None)
    assert measured.status == 0, measured.err
    assert measured.json["accuracy"]["estimate"] == 1.0
    assert measured.json["arms"]

    before = tree(Path(run))
    for command in (["--out", f"{run}/labels.json"], ["--take", str(foreign(tmp_path))], []):
        assert cli("eval", "label", run, *command, store=None).status != 0
    assert tree(Path(run)) == before
    taken = cli("eval", "label", run, "--take", str(labels), "--by", "somebody", "--json", store=None)
    assert taken.status == 0, taken.err
    assert (taken.json["taken"], taken.json["right"]) == (len(whole["pairs"]), 0)
    first = (Path(run) / "labels.json").read_text()
    again = cli("eval", "label", run, "--take", str(labels), "--by", "somebody", store=None)
    assert again.status == 0 and (Path(run) / "labels.json").read_text() == first
    assert "somebody" in first and all(pair.video for pair in read_pairs(Path(run) / "labels.json"))
    table = table_of(study_of(read_run(Path(run))), "scorers")
    agreed = [row for row in range(len(table.rows)) if table.cell(row, "labelled").value]
    assert agreed and all(table.cell(row, "agreement").value == 1.0 for row in agreed)


def test_labels_of_one_video_and_arm_stay_with_them_through_the_commands(cli: Cli, tmp_path: Path) -> None:
    """Every answer about `made` is called right and every one about `other` wrong, in words that are the same."""
    run = str(made_run(tmp_path / "run"))
    labels = tmp_path / "drawn.json"
    assert cli("eval", "label", run, "--out", str(labels), store=None).status == 0
    whole = json.loads(labels.read_text())
    for pair in whole["pairs"]:
        pair["right"] = pair["video"] == "made"
    labels.write_text(json.dumps(whole))
    arms = json.loads(arms_beside(labels).read_text())
    assert any(len(names) > 1 for names in arms.values())
    arms_beside(labels).write_text(
        json.dumps({key: [name for name in of if name != "flat"] for key, of in arms.items()})
    )
    assert cli("eval", "label", run, "--take", str(labels), store=None).status == 0
    study = study_of(read_run(Path(run)))
    known = {row.sample: row for row in study.rows if row.sample in study.labels.right}
    assert {(row.video, study.labels.right[key]) for key, row in known.items()} == {("made", True), ("other", False)}
    assert "flat_again" in {row.arm for row in known.values()} and "flat" not in {row.arm for row in known.values()}


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def foreign(folder: Path) -> Path:
    """Labelled pairs of another run."""
    pair = {"id": "p", "question": "q", "accepted": ["x"], "answer": "x", "right": True}
    (folder / "foreign.json").write_text(json.dumps({"schema_version": 1, "pairs": [pair]}))
    return folder / "foreign.json"
