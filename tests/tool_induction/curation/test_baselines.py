"""The libraries that come with the product: what they are like."""

from __future__ import annotations

from functools import lru_cache

import pytest

from tool_induction import Compilation, compile_document, load_library
from tool_induction.admission import admit
from tool_induction.domains import load_domain
from tool_induction.library import TOOLS_FILE, find_library, read_bytes

HAND_WRITTEN = ("hand_A", "hand_B", "hand_C")
TOOLS = [(library, tool) for library in HAND_WRITTEN for tool in load_library(library).tools]
VERBS = (
    *("locate", "list", "count", "check", "arrange", "describe"),
    *("find", "gather", "compare", "summarize", "collect", "profile"),
)


@lru_cache(maxsize=4)
def compiled(library: str) -> Compilation:
    return compile_document(read_bytes(find_library(library) / TOOLS_FILE))


@pytest.mark.parametrize("library", HAND_WRITTEN)
def test_it_compiles_without_a_fault_a_warning_or_advice(library: str) -> None:
    found = [(item.code, item.json_path) for item in compiled(library).diagnostics]
    # the seed document declares its evidence as text, and stays as it was written
    assert [item for item in found if item != ("W_COERCED", "$.tools[0].outputs.evidence.from")] == []


@pytest.mark.parametrize("library", HAND_WRITTEN)
def test_it_says_that_it_was_written_by_hand(library: str) -> None:
    loaded = load_library(library)
    assert loaded.manifest["origin"] == "hand-written"
    assert loaded.manifest["domain"] == load_domain(loaded.manifest["domain"]).name
    assert loaded.manifest["domain"].startswith(library[-1] + "_")
    assert "the sample film, its world and what is asked about it" in loaded.manifest["authors"]["had_seen"]
    assert 6 <= len(loaded.tools) <= 15


@pytest.mark.parametrize("library", HAND_WRITTEN)
def test_no_tool_of_a_baseline_is_for_a_kind_of_question_that_is_kept_for_testing(library: str) -> None:
    loaded = load_library(library)
    domains = [load_domain(load_library(name).manifest["domain"]) for name in HAND_WRITTEN]
    kept = {kind.id for domain in domains for kind in domain.question_types if not kind.of("induction")}
    assert {"place_count", "together_time"} <= kept
    assert loaded.manifest["authors"]["taken_out"].keys() & loaded.tools.keys() == set()
    told = " ".join(item.tool.description for item in loaded.tools.values()).lower()
    assert not [words for words in ("rooms", "places", "same time") if words in told]


@pytest.mark.parametrize(("library", "name"), TOOLS)
def test_a_tool_says_what_it_is_for_and_what_not_and_asks_for_little(library: str, name: str) -> None:
    tool = compiled(library).tools[name].tool
    assert name.split("_", maxsplit=1)[0] in VERBS
    assert "Use for" in tool.description or "Use to" in tool.description
    assert "Not " in tool.description
    assert sum(item.required for item in tool.inputs) <= 4
    assert all(item.description for item in tool.inputs)
    assert "evidence" in [item.name for item in tool.outputs]


@pytest.mark.parametrize("library", HAND_WRITTEN)
def test_every_tool_would_be_admitted(library: str) -> None:
    assert [verdict for verdict in admit(compiled(library).tools).verdicts if not verdict.admitted] == []
