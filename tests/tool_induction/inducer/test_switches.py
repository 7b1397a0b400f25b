"""Inductions in which tools may judge or call operations of an optional group, from the order to the frozen library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tool_induction import compile_document, load_library
from tool_induction.admission import MadeUpJudge, admit
from tool_induction.documents import emission_schema
from tool_induction.inducer import InducerPrompts, Settings
from tool_induction.library import MANIFEST_FILE
from world_api.core import ToolFault

Document = dict[str, Any]
SCAN = {
    "type": "call_world_api",
    "api": "scan_segments",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
    "save_as": "found",
}
MATCHES = {
    "count": {"type": "int", "from": "{{ found.matched_in_all }}"},
    "matches": {"type": "list", "from": "{{ found }}"},
}


@pytest.fixture
def judging(document: Callable[..., Document]) -> Document:
    judged = {
        "type": "judge",
        "inputs": "hits",
        "question": "Is this about {{query}}?",
        "answers": ["yes", "no"],
        "max_items": 5,
        "save_as": "judged",
    }
    kept = {"type": "filter", "inputs": "judged", "where": "{{ item.answer == 'yes' }}", "save_as": "kept"}
    outputs = {"times": {"type": "list", "from": "{{ kept }}"}, "found": {"type": "int", "from": "{{ kept | length }}"}}
    return document(judged, kept, outputs=outputs, name="judge_hits")


def induced(cli: Cli, tmp_path: Path, document: Document, *more: str) -> Any:
    file, out = tmp_path / "emission.json", tmp_path / "made"
    file.write_text(json.dumps({"tools": [document]}), encoding="utf-8")
    given = ("induce", "A_locate_count", "--document", str(file), "--out", str(out), "--schema-worlds-only", "--json")
    return cli(*given, *more, store=None).json, out


def test_a_tool_of_an_optional_group_is_induced_where_the_group_is_on(
    cli: Cli, tmp_path: Path, document: Callable[..., Document]
) -> None:
    scanning = document(name="scan_for_it", outputs=MATCHES) | {"steps": [SCAN]}
    refused, _ = induced(cli, tmp_path, scanning)
    assert refused["error"]["code"] == "nothing_admitted"
    (tmp_path / "on").mkdir()
    record, out = induced(cli, tmp_path / "on", scanning, "--with", "inspect")
    assert record["tools"] == ["scan_for_it"]
    manifest = json.loads((out / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert manifest["groups"] == ["inspect"]
    with pytest.raises(ToolFault, match="operations_off"):
        load_library(out)
    assert list(load_library(out, groups={"inspect"}).tools) == ["scan_for_it"]
    assert cli("tools", "check", str(out), "--with", "inspect", store=None).status == 0


def test_a_tool_that_judges_is_induced_where_judging_is_allowed(cli: Cli, tmp_path: Path, judging: Document) -> None:
    refused, _ = induced(cli, tmp_path, judging)
    assert refused["error"]["code"] == "nothing_admitted"
    (tmp_path / "allowed").mkdir()
    record, out = induced(cli, tmp_path / "allowed", judging, "--allow-judge")
    assert record["tools"] == ["judge_hits"]
    assert list(load_library(out, allow_judge=True).tools) == ["judge_hits"]
    with pytest.raises(ToolFault, match="bad_tools"):
        load_library(out)


def test_trials_ask_no_model_and_the_made_up_judge_answers_the_same_each_time(judging: Document) -> None:
    tools = compile_document(judging, allow_judge=True).require()
    first, second = (admit(tools, reuse=False) for _ in range(2))
    assert [item.admitted for item in first.verdicts] == [True]
    assert first == second
    judge = MadeUpJudge()
    items = [f"line {number}" for number in range(50)]
    assert judge.answer("Is it?", ["yes", "no"], items) == judge.answer("Is it?", ["yes", "no"], items)
    assert set(judge.answer("Is it?", ["yes", "no"], items)) == {"yes", "no"}


def test_the_step_is_told_and_may_be_written_only_where_it_is_allowed() -> None:
    assert "- judge: " not in InducerPrompts().system("plain")
    assert "- judge: inputs, question, answers" in InducerPrompts(allow_judge=True).system("plain")
    assert '["judge"]' not in json.dumps(emission_schema())
    assert '["judge"]' in json.dumps(emission_schema(allow_judge=True))


def test_what_is_switched_on_is_recorded_only_where_it_is() -> None:
    assert set(Settings().record()) == {"mode", "seed", "temperature", "max_tokens"}
    assert Settings(allow_judge=True).record()["allow_judge"] is True
