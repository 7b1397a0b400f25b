"""Answers of a run, drawn for people to label: whose they are stands in a file of its own, so that labels are blind as well."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.datasets.items import Item
from eval.scoring.judging.pairs import SCHEMA_VERSION, arms_beside
from eval.scoring.kinds.expected import accepted_texts
from eval.scoring.kinds.texts import given_text
from world_api.core.canonical import canonical, content_hash, json_line
from world_api.world.disk.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class GivenAnswer:
    """What an arm answered to an open question."""

    arm: str
    item: Item
    value: Any
    answer: str | None


def draw_to_label(answers: Iterable[GivenAnswer], *, per_arm: int, seed: int) -> tuple[dict[str, Any], dict[str, str]]:
    """At most so many answers of each arm to open questions, each once, in an order of the seed's; and whose they are.

    ``right`` is null in each, to be made true or false by a person. What two arms answered alike is labelled once, and stands
    for the first of them.
    """
    found: dict[str, tuple[GivenAnswer, str]] = {}
    for one in answers:
        said = given_text(one.value, one.answer)
        if one.item.question.kind == "open" and said is not None:
            found.setdefault(content_hash([one.item.question.text, said])[:12], (one, said))
    drawn = random.Random(seed)  # noqa: S311 - a sample, no secret
    kept: list[str] = []
    for arm in sorted({one.arm for one, _ in found.values()}):
        of_arm = sorted(key for key, (one, _) in found.items() if one.arm == arm)
        kept += drawn.sample(of_arm, min(per_arm, len(of_arm)))
    drawn.shuffle(kept)
    pairs = [_record(key, *found[key]) for key in kept]
    return {"schema_version": SCHEMA_VERSION, "pairs": pairs}, {key: found[key][0].arm for key in sorted(kept)}


def write_to_label(file: Path, labels: dict[str, Any], arms: dict[str, str]) -> None:
    """Write both files, one answer a line.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    lines = ",\n".join("  " + json_line(pair) for pair in labels["pairs"])
    text = f'{{"schema_version": {SCHEMA_VERSION}, "pairs": [\n{lines}\n]}}\n'
    write_atomically(arms_beside(file), (canonical(arms) + "\n").encode())
    write_atomically(file, text.encode())


def _record(key: str, one: GivenAnswer, said: str) -> dict[str, Any]:
    accepted = list(accepted_texts(one.item))
    return {"id": key, "question": one.item.question.text, "accepted": accepted, "answer": said, "right": None}
