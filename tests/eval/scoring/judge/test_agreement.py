"""A judge is measured against labels: right and wrong, by category and arm, and whether it likes long answers."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eval.scoring import (
    AnswerVerdict,
    LabelledPair,
    WordsJudge,
    measure_agreement,
    read_pairs,
    same_family,
    shipped_pairs,
)
from tests.support.chat_server import KEY, ChatServer, Received
from tests.support.command_line import Cli
from world_api.chat import completion
from world_api.core import EvalFault

PAIRS = shipped_pairs()


class Knowing:
    """Judges as the labels do, but for what it is told to get wrong."""

    name = "knowing"

    def __init__(self, *wrong: str) -> None:
        self.wrong = wrong
        self.seen: list[str] = []
        self.labels = {(pair.question, pair.answer): pair for pair in PAIRS}

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> AnswerVerdict:
        pair = self.labels[question, given]
        self.seen.append(pair.id)
        return AnswerVerdict(yes=pair.right != (pair.category in self.wrong), judge=self.name)


class Scripted:
    """Gives each answer its verdict."""

    name = "j"

    def __init__(self, verdicts: dict[str, AnswerVerdict]) -> None:
        self.verdicts = verdicts

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> AnswerVerdict:
        return self.verdicts[given]


def bias_of(yes: list[bool], labels: list[bool], lengths: list[int]) -> Any:
    """The length bias of verdicts on answers of these lengths."""
    answers = [f"{place} ".ljust(length + 6, "x") for place, length in enumerate(lengths)]
    pairs, verdicts = made(*zip(labels, yes, answers, strict=True))
    return measure_agreement(Scripted(verdicts), pairs, seed=1).length_bias


def made(*labels: tuple[bool, bool, str], arm: str = "") -> tuple[list[LabelledPair], dict[str, AnswerVerdict]]:
    """Pairs from (label, verdict, answer), and the verdicts by answer."""
    pairs = [
        LabelledPair(id=arm + str(n), question=f"q{n}", accepted=("x",), answer=answer, right=right, arms=(arm,))
        for n, (right, _, answer) in enumerate(labels)
    ]
    return pairs, {answer: AnswerVerdict(yes=yes, judge="j") for _, yes, answer in labels}


def test_the_shipped_pairs_are_many_of_every_kind_and_each_once() -> None:
    assert len(PAIRS) >= 120
    assert len({pair.id for pair in PAIRS}) == len(PAIRS)
    assert len({(pair.question, pair.answer) for pair in PAIRS}) == len(PAIRS)
    kinds = Counter(pair.category for pair in PAIRS)
    assert all(
        kinds[kind] >= 5
        for kind in ("right", "wrong", "paraphrase", "partial", "contradictory", "verbose", "injection")
    )
    assert {pair.right for pair in PAIRS if pair.category == "verbose"} == {True, False}
    assert not any(pair.right for pair in PAIRS if pair.category == "injection")
    languages = Counter(pair.language for pair in PAIRS)
    assert languages["zh"] >= 30 and languages["en"] >= 80
    assert 0.35 <= sum(pair.right for pair in PAIRS) / len(PAIRS) <= 0.65


def test_a_judge_that_knows_agrees_wholly() -> None:
    found = measure_agreement(Knowing(), PAIRS)
    assert (found.accuracy.estimate, found.accuracy.low, found.kappa.kappa) == (1.0, 1.0, 1.0)
    assert found.total.agreed == len(PAIRS)


def test_what_a_judge_gets_wrong_stands_under_its_category() -> None:
    found = measure_agreement(Knowing("injection", "paraphrase"), PAIRS)
    injected = Counter(pair.category for pair in PAIRS)["injection"]
    assert (found.categories["injection"].agreed, found.categories["injection"].false_yes) == (0, injected)
    assert found.categories["paraphrase"].false_no == found.categories["paraphrase"].pairs
    assert found.categories["wrong"].agreed == found.categories["wrong"].pairs
    assert found.total.false_yes == injected
    assert "category injection: 0 of 8 (false yes 8, false no 0)" in found.text


def test_pairs_are_put_to_the_judge_in_an_order_of_the_seeds() -> None:
    first, again, other = Knowing(), Knowing(), Knowing()
    for judge, seed in ((first, 1), (again, 1), (other, 2)):
        measure_agreement(judge, PAIRS, seed=seed)
    assert first.seen == again.seen != other.seen
    assert sorted(first.seen) == sorted(pair.id for pair in PAIRS)
    assert first.seen != [pair.id for pair in PAIRS]


def test_agreement_is_told_by_arm() -> None:
    flat, hier = (
        made((True, True, "a"), (False, False, "b"), arm="flat"),
        made((True, False, "c"), (False, True, "d"), arm="hier"),
    )
    found = measure_agreement(Scripted(flat[1] | hier[1]), flat[0] + hier[0])
    assert {arm: share.agreed for arm, share in found.arms.items()} == {"flat": 2, "hier": 0}
    assert (found.arm_kappas["flat"].kappa, found.arm_kappas["hier"].kappa) == (1.0, -1.0)
    assert "arm hier: 0 of 2, kappa -1.00" in found.text


def test_replies_that_could_not_be_read_are_counted() -> None:
    pairs, _ = made((True, True, "a"), (False, False, "b"))
    unreadable = {pair.answer: AnswerVerdict(yes=False, judge="j", fault="judge_unreadable") for pair in pairs}
    found = measure_agreement(Scripted(unreadable), pairs)
    assert (found.total.unreadable, found.total.false_no) == (2, 1)


def test_a_judge_that_likes_length_is_found_out_and_one_that_does_not_is_not() -> None:
    draw = random.Random(4)
    labels = [draw.random() < 0.5 for _ in range(300)]
    lengths = [draw.randint(3, 400) for _ in labels]
    liking = [length > 80 if draw.random() < 0.5 else label for label, length in zip(labels, lengths, strict=True)]
    fair = [label if draw.random() < 0.85 else not label for label in labels]
    biased, unbiased = (bias_of(yes, labels, lengths) for yes in (liking, fair))
    assert biased.low is not None and biased.low > 0.1
    assert unbiased.low is not None and unbiased.high is not None and unbiased.low < 0 < unbiased.high


def test_that_right_answers_are_longer_is_no_bias() -> None:
    labels = [True] * 50 + [False] * 50
    lengths = [200 + n for n in range(50)] + [20 + n for n in range(50)]
    assert bias_of(labels, labels, lengths).correlation is None


def test_words_alone_are_a_poor_judge() -> None:
    found = measure_agreement(WordsJudge(), PAIRS)
    assert found.kappa.kappa is not None and found.kappa.kappa < 0.4
    assert found.categories["right"].agreed > 0.9 * found.categories["right"].pairs
    assert found.categories["contradictory"].false_yes > 0


@pytest.mark.parametrize(
    "content",
    [
        "nonsense", "[]", '{"schema_version": 2, "pairs": []}', '{"schema_version": 1, "pairs": []}',
        '{"schema_version": 1, "pairs": [3]}', '{"schema_version": 1, "pairs": [{"id": "a"}]}',
        '{"schema_version": 1, "pairs": [{"id": "a", "question": "q", "accepted": [], "answer": "x", "right": true}]}',
        '{"schema_version": 1, "pairs": [{"id": "a", "question": "q", "accepted": ["x"], "answer": "x", "right": 1}]}',
        '{"schema_version": 1, "pairs": [' + ", ".join(
            ['{"id": "a", "question": "q", "accepted": ["x"], "answer": "x", "right": true}'] * 2) + "]}",
    ],
)  # fmt: skip
def test_a_file_without_pairs_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "pairs.json"
    file.write_text(content, encoding="utf-8")
    for path in (file, tmp_path / "absent.json"):
        with pytest.raises(EvalFault) as caught:
            read_pairs(path)
        assert caught.value.code == "bad_pairs"


@pytest.mark.parametrize(
    ("judge", "judged", "shared"),
    [
        ("gpt-4o-2024-11-20", "gpt-5.2", True), ("openai/gpt-oss-120b", "o3-mini", True), ("gpt-4o", "claude-opus-4", False),
        ("Qwen/Qwen3-32B-AWQ", "qwen2.5-vl-7b-instruct", True), ("Qwen/Qwen3-8B", "meta-llama/Llama-3.3-70B-Instruct", False),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "Qwen/Qwen3-8B", True), ("my-judge", "my-answerer", True),
        ("google/gemma-3-27b-it", "gemini-2.5-pro", True), ("internvl3", "glm-4.6v", False), ("mystery-1", "qwen3", False),
        ("models/local/Qwen3-4B.gguf", "qwen3:8b", True),
    ],
)  # fmt: skip
def test_a_judge_of_the_family_it_judges_is_told_of(judge: str, judged: str, shared: bool) -> None:
    warning = same_family(judge, [judged])
    assert (warning is not None) is shared
    if warning is not None:
        assert judge in warning and judged in warning


def test_the_command_measures_a_model_on_an_endpoint(
    cli: Cli, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    labels = {(pair.question, pair.answer): pair.right for pair in PAIRS}

    def respond(received: Received) -> Any:
        material = json.loads(received.body["messages"][1]["content"])
        right = labels[material["question"], material["answer"]]
        return completion(model="j", content=json.dumps({"verdict": "yes" if right else "no"}))

    chat_server.respond(respond)
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    file = str(tmp_path / "verdicts.jsonl")
    asked = cli("eval", "judge", "--judge-model", "some-model", "--record", file, "--json", store=None)
    assert asked.status == 0, asked.err
    assert asked.json["kappa"]["kappa"] == 1.0
    number = len(chat_server.received)
    assert number == len(PAIRS)
    again = cli("eval", "judge", "--record", file, store=None)
    assert (again.status, len(chat_server.received)) == (0, number)
    assert f"agrees with people on {len(PAIRS)} of {len(PAIRS)} pairs" in again.out


def test_the_command_without_a_model_measures_words(cli: Cli) -> None:
    told = cli("eval", "judge", store=None)
    assert told.status == 0, told.err
    assert told.out.startswith("judge words: agrees with people on 83 of 134 pairs")
