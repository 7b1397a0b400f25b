"""Open answers of a run: judged, said who judged, drawn for people to label without saying whose they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.questions import Question
from eval.datasets.items import Item
from eval.scoring.judging.labelling import GivenAnswer, draw_to_label, write_to_label
from eval.scoring.judging.pairs import arms_beside, read_pairs
from tests.support.chat_server import KEY, ChatServer
from tests.support.command_line import Cli
from tests.support.runs import made_run
from world_api.backends.chat.completions import completion
from world_api.core.faults import EvalFault


def answers(arm: str, number: int, *, said: str = "a hat") -> list[GivenAnswer]:
    return [
        GivenAnswer(
            arm=arm,
            item=Item(id=f"i{n}", video_id="v", question=Question(text=f"What is in box {n}?"), answer="a hat"),
            value=f"{said} {n}",
            answer=None,
        )
        for n in range(number)
    ]


def test_answers_are_drawn_of_each_arm_and_do_not_say_whose_they_are(tmp_path: Path) -> None:
    given = [*answers("flat", 30), *answers("hier", 6, said="a cap")]
    labels, arms = draw_to_label(given, per_arm=10, seed=3)
    assert sorted(arms.values()) == ["flat"] * 10 + ["hier"] * 6
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
    assert {pair.id: pair.arm for pair in read_pairs(file)} == arms
    arms_beside(file).write_text("[1]")
    with pytest.raises(EvalFault, match="whose answers"):
        read_pairs(file)


def test_typed_answers_and_silence_are_not_drawn() -> None:
    choice = Item(id="c", video_id="v", question=Question(text="?", kind="choice", options=("a", "b")), answer="A")
    silent = Item(id="s", video_id="v", question=Question(text="?"), answer="a hat")
    given = [
        GivenAnswer(arm="flat", item=choice, value="A", answer="A. a"),
        GivenAnswer(arm="flat", item=silent, value=None, answer=None),
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
