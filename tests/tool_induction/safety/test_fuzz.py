"""What is accepted runs, within what was said of it; what is refused is told where. Seeded: the same documents each time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.support.damaged_documents import damaged
from tests.support.positions import locate
from tests.support.tool_documents import documents
from tool_induction.admission import schema_trials, tried
from tool_induction.compiler import Compilation, compile_document
from tool_induction.runtime import Memo, RunLimits, run_tool
from world_api.core import canonical_json

CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
QUICK = settings(max_examples=30, suppress_health_check=CALM)
FEW = settings(max_examples=12, suppress_health_check=CALM)
LONG = settings(max_examples=1_500, suppress_health_check=CALM)
TEXTS = ("a dog", "rain")
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
KEYS = st.one_of(
    st.sampled_from(["tools", "steps", "type", "do", "then", "tool_name", "inputs", "outputs"]), st.text(max_size=4)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
#: faults that a tool which fits its types may end with: the world's own, and values nobody could have known
TOLD = {"planted_fault", "unknown_id", "bad_time_range", "bad_interval", "output_too_large"}


def check_refusal(text: str, compilation: Compilation) -> None:
    refused = [name for name in compilation.names if name not in compilation.tools]
    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    if refused or not compilation.names:
        assert errors
    for item in errors:
        assert locate(text, item.path) is not None, item.json_path
    if not any(item.tool == "" for item in errors):
        for name in refused:
            assert any(item.tool == name for item in errors), name
    json.dumps(compilation.record(), allow_nan=False).encode()


def check_frozen(compilation: Compilation) -> None:
    frozen = {"tools": [item.frozen for item in compilation.tools.values()]}
    again = compile_document(json.dumps(frozen))
    assert again.ok, [item.record() for item in again.diagnostics if item.severity == "error"][:3]
    assert {name: item.frozen for name, item in again.tools.items()} == {
        name: item.frozen for name, item in compilation.tools.items()
    }
    assert {name: item.price for name, item in again.tools.items()} == {
        name: item.price for name, item in compilation.tools.items()
    }


def check_runs(compilation: Compilation) -> None:
    for name, compiled in compilation.tools.items():
        for trial in schema_trials(compiled.tool, texts=TEXTS, turns=(0, 1)):
            run = tried(compilation.tools, name, trial)
            assert run.error.split(":")[0] in {"", *TOLD}, (trial.world, run.error)
            assert run.misfit == "", trial.world
            assert run.overspent == "", trial.world
            if run.status == "ok" and not run.failed_calls:
                assert run.calls >= compiled.price.least.calls, trial.world


def check(document: Any) -> None:
    text = json.dumps(document)
    compilation = compile_document(text)
    check_refusal(text, compilation)
    if compilation.tools and compilation.ok:
        check_frozen(compilation)
    check_runs(compilation)


@QUICK
@given(documents())
def test_sound_documents_hold_what_is_promised(document: Any) -> None:
    check(document)


@QUICK
@given(damaged())
def test_damaged_documents_are_refused_with_a_place_or_hold_what_is_promised(document: Any) -> None:
    check(document)


@QUICK
@given(ANYTHING, st.binary(max_size=60))
def test_any_value_and_any_bytes_are_answered_with_a_place_that_exists(value: Any, junk: bytes) -> None:
    text = json.dumps(value)
    check_refusal(text, compile_document(text))
    check_refusal(text, compile_document(value))
    assert not compile_document(junk).ok
    assert not compile_document(text.encode() + junk + b"}").ok


@pytest.mark.nightly
@LONG
@given(documents(most_steps=12))
def test_many_sound_documents_hold_what_is_promised(document: Any) -> None:
    check(document)


@pytest.mark.nightly
@LONG
@given(damaged())
def test_many_damaged_documents_are_refused_with_a_place_or_hold_what_is_promised(document: Any) -> None:
    check(document)


@pytest.mark.nightly
def test_most_documents_of_this_fuzz_compile_and_some_results_are_found() -> None:
    compiled: list[bool] = []
    statuses: set[str] = set()

    @settings(FEW, max_examples=25)
    @given(documents())
    def look(document: Any) -> None:
        compilation = compile_document(document)
        compiled.append(compilation.ok)
        for name, one in compilation.tools.items():
            statuses.update(
                tried(compilation.tools, name, trial).status for trial in schema_trials(one.tool, texts=TEXTS)
            )

    look()
    assert sum(compiled) >= 0.5 * len(compiled) > 0
    assert {"ok", "empty"} <= statuses


@FEW
@given(documents())
def test_concurrent_runs_equal_sequential_ones_byte_for_byte(document: Any) -> None:
    tools = compile_document(document).tools
    for name, compiled in tools.items():
        for trial in schema_trials(compiled.tool, texts=TEXTS, turns=(0,)):
            results = [
                run_tool(
                    tools,
                    name,
                    trial.arguments,
                    call=trial.call,
                    world=trial.state,
                    memo=Memo(),
                    limits=RunLimits(concurrency=width),
                )
                for width in (1, 4)
            ]
            assert canonical_json(results[0]) == canonical_json(results[1]), trial.world
