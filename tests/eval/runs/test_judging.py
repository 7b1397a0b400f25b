"""Who judges open answers, the same for ``eval run`` and ``eval score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval.runs import ScoreLine, read_lines
from tests.support.command_line import Cli
from tests.support.runs import prepare
from world_api.chat import completion
from world_api.core import parse_json

CONFIGURATION = "schema_version: 1\ndatasets: [films]\narms: [flat]\nparallel: 1\n"


@pytest.fixture
def config(tmp_path: Path, chat_server: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration without a judge, and a server that may be one and says yes to everything."""
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key-or-other")
    chat_server.play(completion(model="small", content='{"verdict": "yes"}', calls=[], usage=(10, 1)))
    return prepare(tmp_path, configuration=CONFIGURATION, videos=["made"])


def scorers(config: Path) -> set[str]:
    """Who scored the open answers."""
    lines = read_lines(config.parent / "runs" / "config" / "scores.jsonl", ScoreLine)
    return {line.scorer for line in lines if line.sample in _open(config)}


def _open(config: Path) -> set[str]:
    run = config.parent / "runs" / "config"
    lines = [parse_json(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    return {line["sample"] for line in lines if line["item"].endswith("q5")}


def test_verdicts_of_several_judges_on_file_do_not_keep_a_run_from_being_scored(cli: Cli, config: Path) -> None:
    run = config.parent / "runs" / "config"
    assert cli("eval", "run", str(config), store=None).status == 0
    for judge in ("small", "other"):
        assert cli("eval", "score", str(run), "--judge-model", judge, store=None).status == 0
    told = cli("eval", "score", str(run), store=None)
    assert (told.status, "several_judges" in told.err) == (1, True)
    again = cli("eval", "run", str(config), "--set", "seeds=[1,2]", "--json", store=None)
    assert again.status == 0
    assert again.json["scored"]["samples"] == 10
    assert "verdicts.jsonl is kept" in again.err
    assert not any("judge" in name for name in scorers(config))


def test_the_judge_of_the_configuration_scores_at_the_end_and_again(cli: Cli, config: Path, chat_server: Any) -> None:
    run = config.parent / "runs" / "config"
    assert cli("eval", "run", str(config), "--set", "judge=small", store=None).status == 0
    assert all(name.startswith("judge") for name in scorers(config))
    scores, asked = (run / "scores.jsonl").read_bytes(), len(chat_server.received)
    assert asked > 0
    assert cli("eval", "score", str(run), store=None).status == 0
    assert ((run / "scores.jsonl").read_bytes(), len(chat_server.received)) == (scores, asked)


def test_a_judge_is_spoken_to_as_the_configuration_says_and_its_refusal_loses_no_record(
    cli: Cli, config: Path, chat_server: Any
) -> None:
    chat_server.play(chat_server.refusal(400, "not so"))
    sets = ["--set", 'judge={"model": "small", "wire": "responses"}']
    ended = cli("eval", "run", str(config), *sets, "--json", store=None)
    assert {received.path for received in chat_server.received} == {"/v1/responses"}
    assert ended.status == 1
    assert (ended.json["complete"], ended.json["scored"]) == (True, None)
    assert ended.json["not_scored"]["code"] == "endpoint_refused_request"


def test_a_judge_that_cannot_be_had_is_told_before_anything_is_asked(
    cli: Cli, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    ended = cli("eval", "run", str(config), "--set", "judge=small", store=None)
    assert (ended.status, "endpoint_not_configured" in ended.err) == (1, True)
    assert not (config.parent / "runs" / "config" / "samples.jsonl").exists()


def test_a_judge_of_the_family_it_judges_is_told_at_the_end_of_a_run(cli: Cli, config: Path, chat_server: Any) -> None:
    chat_server.respond(lambda received: completion(model="qwen3-8b", content="yes", calls=[], usage=(10, 1)))
    sets = ["--set", "model=qwen3-8b", "--set", "judge=qwen2.5-72b", "--set", 'arms=["blind"]']
    assert "of its own family (Qwen)" in cli("eval", "run", str(config), *sets, store=None).err
