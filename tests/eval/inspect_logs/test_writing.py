"""``videoworld eval export``: logs that Inspect reads back, where its extra is installed; a named fault where it is not."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from eval.inspect_logs import conditions_of, export_run, log_record
from eval.runs import read_run
from tests.support.command_line import Cli
from world_api.core import BackendFault, EvalFault
from world_api.installation import install_command

with_inspect = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="the extra inspect is not installed")


def test_without_the_extra_the_fault_says_what_to_install(
    cli: Cli, tmp_path: Path, small_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    outcome = cli("eval", "export", str(small_run), "--out", str(tmp_path / "x.eval"), "--json", store=None)
    assert outcome.status == 1
    assert outcome.json["error"]["code"] == "extra_missing"
    assert outcome.json["error"]["hint"] == install_command("inspect")
    with pytest.raises(BackendFault):
        list(export_run(read_run(small_run), tmp_path / "x.eval"))


@with_inspect
@pytest.mark.parametrize("name", ["all.eval", "all.json"])
def test_inspect_reads_back_what_was_written(cli: Cli, tmp_path: Path, small_run: Path, name: str) -> None:
    from inspect_ai.log import read_eval_log

    place = small_run
    run = read_run(place)
    outcome = cli("eval", "export", str(place), "--out", str(tmp_path / name), "--json", store=None)
    assert outcome.json["logs"] == [{"file": str(tmp_path / name), "samples": len(run.samples)}]
    log = read_eval_log(str(tmp_path / name))
    record = log_record(run, conditions_of(run))
    assert log.status == record["status"]
    assert log.eval.model == run.manifest.model
    assert log.results is not None
    assert (
        log.results.scores[0].metrics["accuracy"].value
        == record["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    )
    read = {(sample.id, sample.epoch): sample for sample in log.samples or []}
    for sample in record["samples"]:
        _compare(read.pop((sample["id"], sample["epoch"])), sample)
    assert read == {}


def _compare(read: Any, written: dict[str, Any]) -> None:
    assert (read.input, read.target, read.choices) == (written["input"], written["target"], written["choices"])
    assert read.metadata == written["metadata"]
    assert [message.role for message in read.messages] == [message["role"] for message in written["messages"]]
    assert [message.text for message in read.messages if message.role != "assistant"] == [
        message["content"] for message in written["messages"] if message["role"] != "assistant"
    ]
    calls = [call for message in read.messages if message.role == "assistant" for call in message.tool_calls or []]
    told = [call for message in written["messages"] for call in message.get("tool_calls", ())]
    assert [(call.id, call.function, call.arguments) for call in calls] == [
        (call["id"], call["function"], call["arguments"]) for call in told
    ]
    assert {name: (score.value, score.answer) for name, score in read.scores.items()} == {
        name: (score["value"], score["answer"]) for name, score in written["scores"].items()
    }
    usage = {model: tokens.total_tokens for model, tokens in read.model_usage.items()}
    assert usage == {model: tokens["total_tokens"] for model, tokens in written["model_usage"].items()}


@with_inspect
def test_a_folder_gets_a_log_for_each_condition(cli: Cli, tmp_path: Path, small_run: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log_sample_summaries

    place = small_run
    run = read_run(place)
    cli("eval", "export", str(place), "--out", str(tmp_path / "logs"), store=None)
    logs = list_eval_logs(str(tmp_path / "logs"))
    assert sorted(Path(log.name).stem for log in logs) == sorted(condition.name for condition in conditions_of(run))
    assert sum(len(read_eval_log_sample_summaries(log)) for log in logs) == len(run.samples)
    assert not list((tmp_path / "logs").glob(".*"))


@with_inspect
@pytest.mark.parametrize("name", ["all.txt", "all.eval.gz"])
def test_a_name_that_says_another_format_is_refused(tmp_path: Path, small_run: Path, name: str) -> None:
    with pytest.raises(EvalFault) as caught:
        list(export_run(read_run(small_run), tmp_path / name))
    assert caught.value.code == "bad_export_name"


@with_inspect
def test_a_run_without_a_finished_sample_is_refused(tmp_path: Path, small_run: Path) -> None:
    run = read_run(small_run)
    run.folder.samples.write_text("")
    with pytest.raises(EvalFault) as caught:
        list(export_run(read_run(run.folder.root), tmp_path / "x.eval"))
    assert caught.value.code == "nothing_to_export"
