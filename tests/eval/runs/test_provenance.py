"""Which code asked which samples, when a run goes on with another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval.report.page import overview_of
from eval.runs import read_run
from tests.eval.runs.test_running import FEW
from tests.support.runs import Silent, prepare, run_here
from world_api.chat import completion


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return prepare(tmp_path, configuration=FEW.format(arm="blind", model="rule-based"))


def test_a_run_that_goes_on_with_other_code_tells_which_samples_are_whose(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Silent()
    first = run_here(config, overrides=['datasets=[{"path": "films", "limit": 3}]'], silent=silent)
    own = read_run(first.folder.root).manifest.loop
    assert [count for _, count in read_run(first.folder.root).provenance] == [3]
    monkeypatch.setattr("eval.runs.plan.loop_hash", lambda: "f" * 64)
    run = read_run(run_here(config, silent=silent).folder.root)
    assert [(one.loop, one.planned, count) for one, count in run.provenance] == [(own, 3, 3), ("f" * 64, 10, 7)]
    assert run.manifest.loop == own
    (told,) = [fact for facts in overview_of(run).values() for fact in facts if fact.name == "asked by"]
    assert [value.partition(":")[0] for value in told.values] == ["3 samples of 3 planned", "7 samples of 10 planned"]
    assert [text for text in silent.said if "changed since the run was begun" in text] == [
        "the code that runs episodes changed since the run was begun; manifest.json lists which samples were asked by which"
    ]
    monkeypatch.undo()
    assert read_run(run_here(config).folder.root).provenance == run.provenance  # nothing was asked


def test_another_endpoint_is_told_without_its_credentials(
    chat_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = prepare(tmp_path, configuration=FEW.format(arm="blind", model="small"), videos=["made"])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key-or-other")
    chat_server.play(completion(model="small", content="A", usage=(10, 1)))
    other = chat_server.url.replace("http://127.0.0.1", "http://me:secret@localhost")
    for limit, where in ((2, chat_server.url), (5, other)):
        monkeypatch.setenv("OPENAI_BASE_URL", where)
        run_here(config, overrides=[f'datasets=[{{"path": "films", "limit": {limit}}}]'])
    run = read_run(tmp_path / "runs" / "config")
    hosts = [(one.endpoint or "").split(":")[1] for one, _ in run.provenance]
    assert hosts == ["//127.0.0.1", "//localhost"]
    assert [count for _, count in run.provenance] == [2, 3]
    assert "secret" not in (run.folder.manifest).read_text()
