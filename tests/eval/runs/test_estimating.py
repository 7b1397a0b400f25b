"""Dry runs: what is in the figures, and what is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from controller.systems import USUAL_TOKENS
from eval.runs import RunEstimate, estimate_run, open_experiment
from tests.support.runs import QUESTIONS, prepare
from world_api import SystemClock
from world_api.chat import IMAGE_TOKENS

CONFIGURATION = """\
schema_version: 1
datasets: [films]
model: small
arms:
  - blind
  - {name: heard, system: blind, settings: {variant: transcript}}
  - {name: few, system: direct, settings: {frames: 4, transcript: false}}
  - {name: many, system: direct, settings: {frames: 64, transcript: false}}
  - socratic
  - flat
"""


@pytest.fixture
def estimated(tmp_path: Path, chat_server: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key-or-other")
    config = prepare(tmp_path, configuration=CONFIGURATION, videos=["made"])

    def told(*overrides: str) -> RunEstimate:
        what = open_experiment(config, overrides=overrides)
        found = estimate_run(what, pilot=None, effect=0.1, clock=SystemClock(), environment=dict(os.environ))
        assert not chat_server.received
        return found

    return told


def test_pictures_speech_and_captions_are_in_the_estimate(estimated: Any) -> None:
    tokens = {arm.label: arm.tokens / len(QUESTIONS) for arm in estimated().arms}
    assert tokens["many"] - tokens["few"] == 60 * IMAGE_TOKENS
    assert tokens["blind"] < tokens["heard"] < tokens["blind"] + USUAL_TOKENS
    assert tokens["blind"] < tokens["socratic"]
    bases = {arm.label: arm.basis for arm in estimated().arms}
    assert bases["many"] == f"assumed: 1 request, 64 pictures of {IMAGE_TOKENS} tokens"
    assert bases["heard"] == "assumed: 1 request, speech as in 1 worlds"


def test_speech_of_worlds_that_are_not_built_is_taken_at_its_most(estimated: Any, tmp_path: Path) -> None:
    (tmp_path / "films" / "made.mp4").write_bytes(b"to be built")
    arms = estimated("store=elsewhere").arms
    assert (arms[1].tokens - arms[0].tokens) / len(QUESTIONS) == USUAL_TOKENS
    assert "no world is built" in arms[1].basis


def test_what_costs_as_well_is_told(estimated: Any, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("small: {prompt: 1, completion: 1}\n")
    whole = estimated("prices=prices.yaml", "judge=other")
    assert whole.record()["not_estimated"] == ["the judge of open answers"]
    assert "not in these figures: the judge of open answers" in whole.text()
    assert whole.money == pytest.approx(whole.tokens / 1e6)
    assert estimated().record()["not_priced"] == ["blind", "heard", "few", "many", "socratic", "flat"]


EXPOSURES = """\
schema_version: 1
datasets: [films]
model: small
libraries: [hand_A]
arms:
  - blind
  - flat
  - {name: all, system: hier}
  - {name: tools-first, system: hier, exposure: tools-first}
  - {name: on-demand, system: hier, exposure: on-demand}
"""


def test_the_first_request_of_each_exposure_stands_in_the_estimate(estimated: Any, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(EXPOSURES)
    found = estimated()
    first = {arm.label: arm.first for arm in found.arms}
    assert first["blind"] is None
    declared = {label: one.declared for label, one in first.items() if one is not None}
    assert declared["tools-first@hand_A"] < declared["on-demand@hand_A"] < declared["all@hand_A"]
    assert all(one.tokens > one.declared + 800 for one in first.values() if one is not None)  # the digest is in it
    text = f"first request about {first['flat'].tokens:,} tokens, {declared['flat']:,} of them declarations"
    assert text in found.text()
    assert found.record()["arms"][1]["first"] == {"tokens": first["flat"].tokens, "declared": declared["flat"]}
