"""Forks: new libraries that say what they came from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tool_induction import Origin, freeze_library, load_library
from tool_induction.curation import Edits, Fork, compared, comparison_text, fork_library
from tool_induction.domains import PlannedQuestion, Seen, load_domain, refuse_leaks
from tool_induction.library import find_library
from world_api.core import ToolFault

DATE = "2026-02-03"


def fork(parent: Any, folder: Path, edits: Edits, **more: Any) -> Fork:
    return fork_library(load_library(parent), edits, folder, name=folder.name, date=DATE, **more)


def edited(name: str, **changes: Any) -> bytes:
    return json.dumps(load_library("hand_A").tools[name].frozen | changes).encode()


def refused(folder: Path, edits: Edits) -> ToolFault:
    with pytest.raises(ToolFault) as fault:
        fork("hand_A", folder, edits)
    assert not folder.exists()
    return fault.value


def test_a_fork_has_its_own_hash_and_says_what_it_came_from(tmp_path: Path) -> None:
    parent = load_library("hand_A")
    words = "Finds the words. Use for quotes. Not for what is seen."
    edits = Edits(
        edit=edited("locate_words", description=words),
        add=edited("locate_words", tool_name="locate_quote"),
        drop=("list_things_in_view",),
    )

    made = fork("hand_A", tmp_path / "mine", edits, by="somebody", note="shorter")
    library = load_library(tmp_path / "mine")

    assert library.hash == made.library.hash != parent.hash
    assert library.manifest["origin"] == "edited"
    assert library.manifest["domain"] == parent.manifest["domain"]
    assert library.manifest["date"] == DATE
    assert (library.manifest["by"], library.manifest["note"]) == ("somebody", "shorter")
    assert library.manifest["changes"] == {
        "changed": ["locate_words"],
        "dropped": ["list_things_in_view"],
        "added": ["locate_quote"],
    }
    [ancestor] = library.manifest["lineage"]
    assert (ancestor["name"], ancestor["content_hash"]) == ("hand_A", parent.hash)
    assert ancestor["origin"] == "hand-written"
    assert library.tools["locate_words"].tool.description == words


def test_a_fork_and_its_forks_know_what_the_induction_saw(tmp_path: Path, cli: Cli) -> None:
    induction = {
        "examples_used": ["Who hid the seven spoons?"],
        "templates_used": ["t"],
        "example_worlds": {"film": "0"},
        "log_sha256": "0",
        "files": {"report.html": "0"},
        "unpruned_hash": "0",
    }
    origin = Origin(how="induced", date=DATE, domain="A_locate_count", details={"induction": induction})
    freeze_library(load_library("hand_A").tools, tmp_path / "induced", name="induced", origin=origin)
    seen = Seen.by(load_library(tmp_path / "induced").manifest)
    assert (seen.videos, len(seen.questions), seen.templates) == ({"film"}, 1, {"t"})
    for parent, child, tool in (("induced", "first", "locate_words"), ("first", "second", "list_things_in_view")):
        made = cli("tools", "fork", str(tmp_path / parent), "--drop", tool, "--out", str(tmp_path / child), store=None)
        assert made.status == 0, made.err
        assert Seen.by(load_library(tmp_path / child).manifest) == seen
        assert cli("tools", "check", str(tmp_path / child), store=None).status == 0
    placebo = cli("tools", "arm", "placebo", str(tmp_path / "second"), "--out", str(tmp_path / "arm"), store=None)
    assert placebo.status == 0, placebo.err
    assert Seen.by(load_library(tmp_path / "arm").manifest) == seen
    with pytest.raises(ToolFault, match="were tried on this video"):
        asked = [PlannedQuestion(video_id="film", question="Why?")]
        refuse_leaks(load_domain("A_locate_count"), "test", asked, library=load_library(tmp_path / "second").manifest)


def test_a_fork_of_what_no_model_made_tells_of_no_induction(tmp_path: Path) -> None:
    fork("hand_A", tmp_path / "mine", Edits(drop=("locate_words",)))
    assert "induction" not in load_library(tmp_path / "mine").manifest


def test_the_parent_stays_as_it_was(tmp_path: Path) -> None:
    parent = shutil.copytree(str(find_library("hand_A")), tmp_path / "parent")
    before = {file.name: file.read_bytes() for file in parent.iterdir()}

    fork(parent, tmp_path / "child", Edits(drop=("locate_words",)))

    assert {file.name: file.read_bytes() for file in parent.iterdir()} == before


def test_a_fork_of_a_fork_keeps_the_whole_lineage(tmp_path: Path) -> None:
    one = fork("hand_A", tmp_path / "one", Edits(drop=("locate_words",)), note="first")
    two = fork(tmp_path / "one", tmp_path / "two", Edits(drop=("locate_event",)), note="second")

    lineage = load_library(tmp_path / "two").manifest["lineage"]

    assert [(item["name"], item["content_hash"]) for item in lineage] == [
        ("hand_A", load_library("hand_A").hash),
        ("one", one.library.hash),
    ]
    assert lineage[1]["changes"]["dropped"] == ["locate_words"]
    assert lineage[1]["note"] == "first"
    assert two.library.manifest["note"] == "second"


def test_what_an_induction_knew_of_itself_stands_in_the_lineage(tmp_path: Path, seed_text: str) -> None:
    from tool_induction import Origin, compile_document, freeze_library

    tools = compile_document(seed_text).tools
    origin = Origin(how="induced", date="2026-01-01", domain="A", details={"model": "m", "seed": 3})
    freeze_library(tools, tmp_path / "induced", name="induced", origin=origin)
    other = json.dumps(tools["locate_first_appearance"].frozen | {"description": "Other words than those before."})

    made = fork(tmp_path / "induced", tmp_path / "mine", Edits(edit=other.encode()))

    [ancestor] = made.library.manifest["lineage"]
    assert (ancestor["model"], ancestor["seed"], ancestor["origin"]) == ("m", 3, "induced")


def test_only_the_tools_to_keep_stay(tmp_path: Path) -> None:
    made = fork("hand_A", tmp_path / "few", Edits(keep=("locate_words", "locate_event")))

    assert list(made.library.tools) == ["locate_words", "locate_event"]


def test_a_fork_that_a_tool_calls_into_nothing_is_stopped_with_the_tool_and_path(tmp_path: Path) -> None:
    fault = refused(tmp_path / "new", Edits(drop=("list_appearances",)))

    assert fault.code == "bad_tools"
    assert (
        "locate_last_appearance $.steps[0].tool: there is no tool 'list_appearances' [E_UNKNOWN_TOOL]" in fault.message
    )


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        (Edits(), "same_tools"),
        (Edits(edit=edited("locate_words")), "same_tools"),
        (Edits(drop=("locate_word",)), "unknown_tool"),
        (Edits(keep=("fly",)), "unknown_tool"),
        (Edits(add=edited("locate_words")), "duplicate_tool"),
        (Edits(edit=edited("locate_words", tool_name="locate_wordz")), "unknown_tool"),
        (Edits(edit=edited("locate_words", description="Other."), drop=("locate_words",)), "bad_arguments"),
        (Edits(edit=edited("locate_words", description="Other."), keep=("locate_event",)), "bad_arguments"),
        (Edits(edit=b"{"), "bad_tools"),
        (Edits(edit=b"\xff"), "bad_tools"),
        (Edits(edit=b"[1, 2]"), "bad_tools"),
        (Edits(edit=b'[{"tool_name": "a"}, {"tool_name": "a"}]'), "bad_tools"),
        (Edits(edit=edited("locate_words", steps=[])), "bad_tools"),
        (Edits(add=edited("locate_words", tool_name="get_segment")), "bad_tools"),
    ],
)
def test_edits_that_cannot_be_are_refused_and_nothing_is_written(tmp_path: Path, edits: Edits, code: str) -> None:
    assert refused(tmp_path / "new", edits).code == code


def test_a_comparison_names_tools_and_lines_of_their_plans(tmp_path: Path) -> None:
    steps = load_library("hand_A").tools["locate_words"].frozen["steps"]
    steps = [{**steps[0], "params": {**steps[0]["params"], "top_k": 10}}, *steps[1:]]
    fork("hand_A", tmp_path / "new", Edits(edit=edited("locate_words", steps=steps), drop=("locate_event",)))

    record = compared(load_library("hand_A"), load_library(tmp_path / "new"))

    assert (record["changed"], record["dropped"], record["added"]) == (["locate_words"], ["locate_event"], [])
    assert record["changes"]["locate_words"]["places"] == []
    plan = record["changes"]["locate_words"]["plan"]
    search = 'hits = search_segments_by_text(query=""{{ words }}"", top_k='
    assert f"+ {search}10)" in plan
    assert any(line.startswith(f"- {search}") for line in plan)
    assert "~ locate_words" in comparison_text(record)
    assert comparison_text(record).endswith("8 tools the same")
