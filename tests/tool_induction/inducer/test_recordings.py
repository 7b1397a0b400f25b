"""The repair loop on documents as a language model wrote them, with a scripted model that does what diagnostics suggest.

This measures the machinery: the recordings are no results of an induction, and no yield is read off them.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from tests.support.scripted_repairer import ScriptedRepairer
from tool_induction.admission import FLAWS, REASONS
from tool_induction.domains import load_domain
from tool_induction.inducer import Induction, Requester, Settings, induce, log_lines
from tool_induction.language import CODES
from world_api import SystemClock

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "recordings" / "induction"
DOMAINS = {"A": "A_locate_count", "B": "B_order_cause", "C": "C_summary_multihop"}
NAMES = ("A_full", "A_minimal", "B_full", "B_minimal", "C_full", "C_minimal")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the recordings (../shared/recordings) are not here")


@cache
def repaired(name: str) -> Induction:
    """The induction that continues a recording."""
    domain = load_domain(DOMAINS[name[0]])
    requester = Requester(ScriptedRepairer(), Settings(), clock=SystemClock())
    return induce(
        domain, Settings(), requester=requester, document=(FOLDER / f"{name}.json").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] if name.endswith("_full") else []) for name in NAMES]
)
class TestRecording:
    def test_every_tool_ends_admitted_or_refused_with_a_reason(self, name: str) -> None:
        for slot in repaired(name).draft.slots:
            current = slot.current
            if current.status == "admitted":
                assert {fault.code for fault in current.faults()} <= FLAWS
            else:
                codes = current.reason().split(", ")
                assert codes
                assert set(codes) <= CODES | REASONS
                assert all(fault.message and fault.path.startswith("$") for fault in current.faults())

    def test_it_ends_by_name_within_the_rounds(self, name: str) -> None:
        done = repaired(name)
        assert done.ending in ("all_usable", "repeats", "rounds_used")
        assert len(done.rounds) <= 4

    def test_no_tool_is_lost_and_none_is_changed_but_by_the_model(self, name: str) -> None:
        text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
        written = json.loads(text)
        written = written["tools"] if isinstance(written, dict) else written
        first = [slot.versions[0].written for slot in repaired(name).draft.slots]
        assert [item.value for item in first] == written
        assert all(text[item.start : item.end] == item.text for item in first)
        for later in repaired(name).rounds[1:]:
            assert all(later.text[item.start : item.end] == item.text for item in later.written.tools)

    def test_a_repair_round_never_leaves_fewer_tools_usable(self, name: str) -> None:
        usable = [item.counts["admitted"] + item.counts["duplicate"] for item in repaired(name).rounds]
        assert usable == sorted(usable)

    def test_the_log_holds_every_emission_as_it_came(self, name: str) -> None:
        done = repaired(name)
        lines = [json.loads(json.dumps(line)) for line in log_lines(done)]
        assert [line["raw"] for line in lines[:-1]] == [item.text for item in done.rounds]
        assert [tool["tool"] for tool in lines[-1]["tools"]] == [slot.name for slot in done.draft.slots]


PAGE = Path(__file__).resolve().parents[3] / "docs" / "induction.md"
BEGIN, END = "<!-- recordings: begin -->\n", "<!-- recordings: end -->"


@pytest.mark.nightly
def test_the_page_tells_what_comes_of_the_recordings() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    table, after = rest.split(END)
    if os.environ.get("UPDATE_GOLDENS") == "1":
        PAGE.write_text(f"{before}{BEGIN}{_table()}{END}{after}", encoding="utf-8")
        return
    assert table == _table(), "docs/induction.md is stale; if on purpose: UPDATE_GOLDENS=1"


def _table() -> str:
    lines = ["| recording | ended | codes and reasons of what is refused |", "| --- | --- | --- |"]
    for name in NAMES:
        done = repaired(name)
        refused = [slot.current.reason() for slot in done.draft.slots if slot.current.status != "admitted"]
        codes = sorted({code for reason in refused for code in reason.split(", ")})
        lines.append(f"| {name} | {done.ending} | {', '.join(codes) or 'none'} |")
    return "\n".join(lines) + "\n"
