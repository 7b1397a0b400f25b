"""The scripted dialogues hold the facts that decide them, and the counts of the benchmark are those of their requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.context import ARMS, Facts, dialogues, play, results_of
from world_api.api import open_session

NAMES = [dialogue.name for dialogue in dialogues()]
#: Dialogues that call an operation which an exposure does not open, since the tools before it found something.
CLOSED = {("title_card", "hier tools_first")}


@pytest.mark.parametrize("arm", ["flat", "hier all", "hier tools_first"])
@pytest.mark.parametrize("name", NAMES)
def test_the_fact_that_decides_a_dialogue_is_read_in_its_round(name: str, arm: str, real_store: Path) -> None:
    [dialogue] = [one for one in dialogues() if one.name == name]
    model = play(dialogue, arm, open_session(real_store, "composite_337s", name=None))
    stays_closed = (name, arm) in CLOSED
    assert bool(model.left_out) is stays_closed
    if stays_closed:
        return
    facts = dialogue.facts[ARMS[arm][0]]
    assert facts.missing(results_of(model)[facts.round - 1]) == []


def test_there_are_twelve_and_each_fact_can_be_missing() -> None:
    assert len(set(NAMES)) == 12
    for dialogue in dialogues():
        for system, facts in dialogue.facts.items():
            assert facts.missing([]) == facts.found != []
            assert 1 <= facts.round <= len(getattr(dialogue, system))


def test_a_fact_is_found_in_one_text_each() -> None:
    assert Facts(round=1, found=["red", r"(?<!\d)5\.0"]).missing(["a red coat", "15.0"]) == [r"(?<!\d)5\.0"]
