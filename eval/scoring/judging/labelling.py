"""Answers of a run, drawn for people to label: whose they are stands in a file of its own, so that labels are blind as well."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.datasets.items import Item
from eval.scoring.judging.pairs import SCHEMA_VERSION, LabelledPair, arms_beside, pairs_text
from eval.scoring.kinds.expected import accepted_texts
from eval.scoring.kinds.texts import given_text
from world_api.core.canonical import canonical, content_hash
from world_api.world.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class GivenAnswer:
    """What an arm answered to an open question, as a sample of a run."""

    sample: str
    arm: str
    item: Item
    value: Any
    answer: str | None


def draw_to_label(
    answers: Iterable[GivenAnswer], *, per_arm: int, seed: int
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """At most so many answers of each arm to open questions, in an order of the seed's; and the arms each was drawn of.

    Each arm is drawn from all its answers, each different one once and with the same chance, whatever the others answered:
    what several arms were drawn with stands there once, with all of them. ``right`` is null in each, to be made true or
    false by a person.
    """
    found: dict[str, tuple[GivenAnswer, str]] = {}
    of_arm: dict[str, set[str]] = {}
    for one in answers:
        said = _said(one)
        if said is not None:
            key = answer_key(one.item, said)
            found.setdefault(key, (one, said))
            of_arm.setdefault(one.arm, set()).add(key)
    drawn = random.Random(seed)  # noqa: S311 - a sample, no secret
    arms: dict[str, list[str]] = {}
    for arm, own in sorted(of_arm.items()):
        for key in drawn.sample(sorted(own), min(per_arm, len(own))):
            arms.setdefault(key, []).append(arm)
    order = sorted(arms)
    drawn.shuffle(order)
    pairs = [_record(key, *found[key]) for key in order]
    return {"schema_version": SCHEMA_VERSION, "pairs": pairs}, arms


def write_to_label(file: Path, labels: dict[str, Any], arms: Mapping[str, list[str]]) -> None:
    """Write both files, one answer a line.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    write_atomically(arms_beside(file), (canonical(dict(arms)) + "\n").encode())
    write_atomically(file, pairs_text(labels["pairs"]).encode())


def of_these(answers: Iterable[GivenAnswer], pairs: Iterable[LabelledPair]) -> list[LabelledPair]:
    """The pairs that are answers of a run, by their ids."""
    known = {answer_key(one.item, said) for one in answers if (said := _said(one)) is not None}
    return [pair for pair in pairs if pair.id in known]


def merged(before: Iterable[LabelledPair], taken: Iterable[LabelledPair], *, by: str) -> list[LabelledPair]:
    """Labels that were there with new ones: the new one counts, and stands for the arms of both."""
    found = {pair.id: pair for pair in before}
    for pair in taken:
        arms = {*pair.arms, *(found[pair.id].arms if pair.id in found else ())}
        found[pair.id] = replace(pair, by=by or pair.by, arms=tuple(sorted(arms)))
    return [found[key] for key in sorted(found)]


def answer_key(item: Item, said: str) -> str:
    """Names an answer to a question about a video, whoever gave it: the same words to the same question have one label."""
    question = item.question
    return content_hash([item.video_id, question.text, question.as_of, list(accepted_texts(item)), said])[:16]


def _said(one: GivenAnswer) -> str | None:
    """The words of an answer to an open question that has a right one to hold it against."""
    is_open = one.item.question.kind == "open" and one.item.answer is not None
    return given_text(one.value, one.answer) if is_open else None


def _record(key: str, one: GivenAnswer, said: str) -> dict[str, Any]:
    return {
        "id": key,
        "video": one.item.video_id,
        "question": one.item.question.text,
        "accepted": list(accepted_texts(one.item)),
        "answer": said,
        "right": None,
    }
