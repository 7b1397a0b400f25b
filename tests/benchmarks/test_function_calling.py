"""The leaderboard's function-calling cases through our emission of schemas and our checking of arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.function_calling.__main__ import check_folder
from benchmarks.function_calling.cases import Answer, Case
from benchmarks.function_calling.checking import Emitted, Findings, check_case
from benchmarks.function_calling.declarations import TYPE_WORDS
from benchmarks.function_calling.variants import variants


@pytest.fixture(scope="module")
def suite(shared_data: Path) -> Path:
    folder = shared_data / "suites" / "bfcl"
    if not folder.is_dir():
        pytest.skip("the leaderboard's cases (../shared/data/suites/bfcl) are not here")
    return folder


@pytest.mark.shared_data
@pytest.mark.nightly
def test_right_calls_are_taken_and_wrong_ones_refused(suite: Path) -> None:
    findings = check_folder(suite)
    assert findings.refused == []
    assert findings.taken == []
    assert findings.counts["answers"] > 3000
    assert findings.counts["answers strict"] > 3000
    assert findings.counts["variants"] > 50_000
    assert findings.counts["variants strict"] > 50_000
    assert findings.counts["cases without an answer"] >= 240
    assert findings.counts["functions of documents"] > 100
    # Few answers contradict their own declaration, and few functions are free-form.
    assert len(findings.contradictions) < 20
    assert len(findings.not_strict) < 12


def function(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": properties, "required": list(required)}
    return {"name": "measure.room", "description": "Measure a room.", "parameters": parameters}


def checked(properties: dict[str, Any], *required: str, **arguments: Any) -> Findings:
    findings = Findings()
    answers = (Answer(function="measure.room", arguments=arguments),)
    check_case(Case(id="made", functions=(function(properties, *required),), answers=answers), findings)
    return findings


def test_each_type_word_has_its_schema_and_its_wrong_values() -> None:
    right: dict[str, Any] = {
        **{"string": "x", "integer": 3, "float": 3.5, "number": 3, "boolean": True},
        **{"array": [1], "tuple": [1, 2], "dict": {"a": 1}, "object": {"a": 1}},
    }
    assert set(right) | {"any"} == set(TYPE_WORDS)
    for word, value in right.items():
        emitted = Emitted(function({"it": {"type": word}}, "it"))
        assert emitted.takes({"it": value})
        wrong = [arguments for _, arguments in variants({"it": value}, emitted.declared)]
        assert len(wrong) >= 6
        assert not any(map(emitted.takes, wrong))


def test_a_right_call_that_is_refused_is_found() -> None:
    with_enum = {"unit": {"type": "string", "enum": ["m"]}}
    assert checked(with_enum, "unit", unit="m").ok
    broken = Emitted(function(with_enum, "unit"))
    assert not broken.takes({"unit": "ft"})


def test_an_answer_that_its_declaration_excludes_is_told_apart() -> None:
    findings = checked({"height": {"type": "float"}}, "height", height="tall")
    assert (findings.counts["answers"], len(findings.contradictions)) == (0, 1)


def test_what_is_left_out_inside_an_object_passes_strictly_as_null() -> None:
    box = {"type": "dict", "properties": {"wide": {"type": "integer"}, "high": {"type": "integer"}}, "required": []}
    findings = checked({"box": box, "note": {"type": "string"}}, "box", box={"wide": 3})
    assert findings.ok
    assert findings.counts["answers strict"] == 1


def test_a_free_form_object_is_not_offered_strictly() -> None:
    findings = checked({"scores": {"type": "dict"}}, "scores", scores={"maths": 5})
    assert findings.ok
    assert (findings.counts["answers"], findings.counts["answers strict"]) == (1, 0)
    assert findings.not_strict == {"measure_room"}
