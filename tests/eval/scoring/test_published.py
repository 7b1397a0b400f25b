"""Our scorers against published definitions, computed a second time here, over shared annotation files.

The oracles follow, step by step: SQuAD's evaluation script 1.1 (token F1, exact match); MMMU's reading of multiple choice,
which lmms-eval takes for NExT-QA; NExT-QA's accuracy by type of question; temporal IoU and recall@1 of moment
localisation (Gao et al. 2017); LoCoMo's F1 by category.
"""

from __future__ import annotations

import csv
import json
import random
import re
import string
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from controller.answers import Question
from eval.datasets import Item
from eval.scoring import score_value
from eval.scoring.kinds import overlap, squad_tokens
from eval.scoring.published import category_f1, first_letter, last_named, tokens_of

LETTERS = "ABCDE"
STEMS = """
adoption:adopt agencies:agenc psychology:psycholog realized:realiz running:run happily:happili skies:sky dying:die died:die
dies:die flies:fli fly:fli flying:fli tried:tri spied:spi news:news innings:inning succeed:succeed proceeds:proce as:as is:is
used:use ages:age ate:ate eyes:eye enjoyed:enjoy birthday:birthday ones:one incredibly:incred emotionally:emot hopefully:hope
ecology:ecolog relational:relat hesitanci:hesit digitizer:digit radicalli:radic vileli:vile vietnamization:vietnam
predication:predic operator:oper decisiveness:decis callousness:callous sensitiviti:sensit sensibiliti:sensibl triplicate:triplic
formalize:formal electrical:electr goodness:good revival:reviv inference:infer gyroscopic:gyroscop defensible:defens
replacement:replac adjustment:adjust homologou:homolog activate:activ effective:effect probate:probat rate:rate cease:ceas
controll:control roll:roll caresses:caress ponies:poni ties:tie caress:caress feed:feed agreed:agre plastered:plaster bled:bled
motoring:motor sing:sing conflated:conflat troubled:troubl sized:size hopping:hop falling:fall hissing:hiss fizzed:fizz
failing:fail filing:file jerseys:jersey awe:awe shy:shi yoga:yoga yyy:yyy
"""


@pytest.fixture(scope="module")
def nextqa(shared_data: Path) -> list[dict[str, str]]:
    with (shared_data / "annotations" / "nextqa_val.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def m3bench(shared_data: Path) -> list[dict[str, Any]]:
    whole = json.loads((shared_data / "annotations" / "m3bench_robot.json").read_text(encoding="utf-8"))
    return [entry for video in whole.values() for entry in video["qa_list"]]


@pytest.fixture(scope="module")
def locomo(shared_data: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(shared_data / "annotations" / "locomo10.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".json"))
        return [entry for name in names for entry in json.loads(archive.read(name))["qa"]]


# --- token F1 as SQuAD defines it ---------------------------------------------------------------------------------


def squad_oracle(prediction: str, truth: str) -> tuple[bool, float]:
    """Lower case; drop ASCII punctuation; articles out; split; F1 over tokens counted with repetition."""

    def normal(text: str) -> list[str]:
        kept = [letter for letter in text.lower() if letter not in set(string.punctuation)]
        return [word for word in re.split(r"\s+", re.sub(r"\b(a|an|the)\b", " ", "".join(kept))) if word]

    one, other = normal(prediction), normal(truth)
    left, same = list(other), 0
    for word in one:
        if word in left:
            left.remove(word)
            same += 1
    if same == 0:
        return one == other, 0.0
    precision, recall = same / len(one), same / len(other)
    return one == other, 2 * precision * recall / (precision + recall)


def agrees(prediction: str, truth: str) -> bool:
    ours = overlap(squad_tokens(prediction), squad_tokens(truth))
    exact, f1 = squad_oracle(prediction, truth)
    return ours.exact == exact and ours.f1 == pytest.approx(f1)


@pytest.mark.shared_data
def test_token_f1_of_answers_of_m3bench_is_squads(m3bench: list[dict[str, Any]]) -> None:
    answers = [str(entry["answer"]) for entry in m3bench]
    assert len(answers) == 1_276
    shuffled = random.Random(1).sample(answers, len(answers))
    assert all(agrees(one, one) and agrees(one, other) for one, other in zip(answers, shuffled, strict=True))
    assert all(agrees(entry["question"], str(entry["answer"])) for entry in m3bench)


@given(st.text(alphabet="aetnhr .,-'A\tüé中", max_size=30), st.text(alphabet="aetnhr .,-'A\tüé中", max_size=30))
def test_token_f1_of_any_text_is_squads(prediction: str, truth: str) -> None:
    assert agrees(prediction, truth)


# --- multiple choice ----------------------------------------------------------------------------------------------


def mmmu_oracle(reply: str, words: dict[str, str]) -> str | None:
    """Brackets, then a letter and a space, then a letter and a stop, then words of an option; the last of several."""
    for mark in [",", ".", "!", "?", ";", ":", "'"]:
        reply = reply.strip(mark)
    reply = f" {reply} "
    bracketed = [(reply.rfind(f"({letter})"), letter) for letter in words if f"({letter})" in reply]
    if bracketed:
        return max(bracketed)[1]
    spaced = [letter for letter in words if letter + " " in reply] or [
        letter for letter in words if letter + "." in reply
    ]
    if spaced:
        places = [reply.rfind(f" {letter} ") for letter in spaced]
        return spaced[places.index(max(places))]
    if len(reply.split()) > 5:
        told = [
            (reply.lower().rfind(said.lower()), letter)
            for letter, said in words.items()
            if said.lower() in reply.lower()
        ]
        if told:
            latest = max(place for place, _ in told)
            return next(letter for place, letter in told if place == latest)
    return None


def replies(words: dict[str, str], draw: random.Random) -> list[str]:
    """How models answer: letters alone, in brackets, in sentences, several of them, words only, and nothing."""
    one, other = draw.sample(sorted(words), 2)
    return [
        one, f"{one}.", f"({one})", f"({one}) {words[one]}", f"{one}. {words[one]}", f"The answer is {one}.",
        f"I think that ({other}) is wrong and ({one}) is right.", f"Option {one} fits, while {other} does not fit.",
        f"It seems that they {words[one]} in the video", f"Not {words[other]}, but rather {words[one]} happens here",
        words[one], "I cannot tell from the video what happens.", f"{one.lower()})", f"Answer: {one}", f"{other} or {one}?",
    ]  # fmt: skip


@pytest.mark.shared_data
def test_free_replies_to_nextqa_are_read_as_published(nextqa: list[dict[str, str]]) -> None:
    assert len(nextqa) == 4_996
    draw = random.Random(7)
    read = 0
    for row in nextqa:
        words = {letter: row[f"a{place}"].strip() for place, letter in enumerate(LETTERS)}
        for reply in replies(words, draw):
            found = last_named(reply, words)
            assert found == mmmu_oracle(reply, words), (reply, words)
            read += found is not None
    assert read > 10 * len(nextqa)


@pytest.mark.shared_data
def test_accuracy_on_nextqa_by_type_is_that_of_its_own_script(nextqa: list[dict[str, str]]) -> None:
    draw = random.Random(3)
    ours: dict[str, list[bool]] = defaultdict(list)
    right, number = defaultdict(int), defaultdict(int)
    for row in nextqa:
        guess = draw.randrange(5)
        kind = "TN" if row["type"] == "TP" else row["type"]
        for group in (kind, kind[0]):
            number[group] += 1
            right[group] += int(row["answer"]) == guess
        question = Question(text=row["question"], kind="choice", options=tuple(_apart(row)))
        item = Item(id="q", video_id=row["video"], question=question, answer=LETTERS[int(row["answer"])])
        score = score_value(item, LETTERS[guess], None)
        for group in (kind, kind[0]):
            ours[group].append(score.correct)
    assert {group: sum(found) / len(found) for group, found in ours.items()} == {
        group: right[group] / number[group] for group in number
    }
    assert set(number) == {"CW", "CH", "TN", "TC", "DC", "DL", "DO", "C", "T", "D"}


def _apart(row: dict[str, str]) -> list[str]:
    """The options; a few rows hold one twice, which no question of ours may."""
    options: list[str] = []
    for place in range(5):
        words = row[f"a{place}"].strip()
        options.append(words if words not in options else f"{words} ({place})")
    return options


def test_a_free_reply_is_scored_by_the_rule_the_protocol_names() -> None:
    question = Question(text="What?", kind="choice", options=("roll the handle", "tap their feet", "hit with sticks"))
    item = Item(id="i", video_id="v", question=question, answer="B")

    def scored(reply: str, reader: str) -> Any:
        protocol = {"scoring": {"choice": {"scorer": "choice_reply/1", "reader": reader}}}
        return score_value(item, None, reply, protocol=protocol)

    assert scored("Not (A) but (B).", "last_named").correct
    assert not scored("Not (A) but (B).", "first_letter").correct
    assert scored("The answer is B", "first_letter").correct
    assert scored("who knows", "last_named").details["reason"] == "no_letter"


def test_the_first_letter_counts_wherever_it_stands_and_two_leads_are_read_as_they_were_published() -> None:
    words = dict.fromkeys("ABCD", "")
    assert first_letter("The best answer is C.", words) == "C"
    assert first_letter("Clearly D", words) == "C"
    assert first_letter("Best option: A", words) == "B"
    assert first_letter("none of these", words) is None


# --- intervals ----------------------------------------------------------------------------------------------------


@pytest.mark.shared_data
def test_iou_and_recall_over_visits_of_a_real_video_are_the_published_ones(shared_data: Path) -> None:
    truth = json.loads((shared_data / "video" / "composite_337s.truth.json").read_text(encoding="utf-8"))
    visits = [tuple(map(float, visit)) for person in truth["people"] for visit in person["visits"]]
    draw = random.Random(2)
    hits = {threshold: [0, 0] for threshold in (0.3, 0.5, 0.7)}
    for start, end in visits * 40:
        first, last = start + draw.uniform(-12, 12), end + draw.uniform(-12, 12)
        first = round(max(0.0, min(first, last)), 3)
        last = round(max(first, last), 3)
        # Shared time over the time from the first start to the last end; nothing shared is nothing.
        shared = min(end, last) - max(start, first)
        iou = max(0.0, shared) / (max(end, last) - min(start, first))
        item = Item(
            id="i",
            video_id="v",
            question=Question(text="When?", kind="interval"),
            answer={"start_time": start, "end_time": end},
        )
        score = score_value(item, {"start_time": first, "end_time": last}, "")
        assert score.score == pytest.approx(iou, abs=1e-9)
        for threshold, count in hits.items():
            count[0] += iou >= threshold
            count[1] += score.details[f"recall_1_at_{threshold:g}"]
    assert all(one == other for one, other in hits.values())
    assert hits[0.3][0] > hits[0.7][0] > 0


# --- LoCoMo -------------------------------------------------------------------------------------------------------


def locomo_oracle(prediction: str, truth: str, category: int) -> float:
    """Commas, case, punctuation, articles and "and" out; stems; F1; category 1 part by part, 3 before a semicolon."""

    def bag(text: str) -> list[str]:
        text = "".join(letter for letter in text.replace(",", "").lower() if letter not in string.punctuation)
        return [tokens_of(word)[0] for word in text.split() if word not in {"a", "an", "the", "and"}]

    def f1(one: list[str], other: list[str]) -> float:
        same = sum(min(one.count(word), other.count(word)) for word in set(one))
        return 2 * same / (len(one) + len(other)) if same else 0.0

    if category == 3:
        truth = truth.split(";", maxsplit=1)[0].strip()
    if category != 1:
        return f1(bag(prediction), bag(truth))
    wanted = [bag(part) for part in truth.split(",")]
    return sum(max(f1(bag(part), one) for part in prediction.split(",")) for one in wanted) / len(wanted)


@pytest.mark.shared_data
def test_f1_on_locomo_is_that_of_its_evaluation_by_category(locomo: list[dict[str, Any]]) -> None:
    entries = [entry for entry in locomo if entry["category"] != 5]
    draw = random.Random(5)
    seen = defaultdict(int)
    for entry in entries:
        truth = str(entry["answer"])
        words = truth.split()
        cut = " ".join(draw.sample(words, max(1, len(words) // 2)))
        for prediction in (truth, cut, f"{cut}, and the {draw.choice(words)}", entry["question"]):
            assert category_f1(prediction, truth, entry["category"]) == pytest.approx(
                locomo_oracle(prediction, truth, entry["category"])
            )
        seen[entry["category"]] += 1
    assert seen == {1: 282, 2: 321, 3: 96, 4: 841}


@pytest.mark.parametrize(
    ("answer", "right"),
    [("That is not mentioned.", True), ("No information available", True), ("adoption agencies", False), (None, False)],
)
def test_an_adversarial_question_of_locomo_is_right_where_nothing_is_claimed(answer: str | None, right: bool) -> None:
    item = Item(id="i", video_id="v", question=Question(text="?"), answer="self-care", labels={"category": 5})
    assert score_value(item, answer, answer, protocol={"scoring": {"open": "locomo/1"}}).correct is right


def test_an_item_without_a_category_is_none_of_locomos() -> None:
    item = Item(id="i", video_id="v", question=Question(text="?"), answer="self-care")
    with pytest.raises(Exception, match="no category"):
        score_value(item, "x", "x", protocol={"scoring": {"open": "locomo/1"}})


def test_stems_are_those_of_nltks_porter_stemmer() -> None:
    """Taken from NLTK 3.10, which LoCoMo's evaluation stems with."""
    expected = dict(pair.split(":") for pair in STEMS.split())
    assert {word: tokens_of(word)[0] for word in expected} == expected
