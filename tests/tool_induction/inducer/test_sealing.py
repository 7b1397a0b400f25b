"""The files beside an induced library are compared with its manifest by the commands that check or review it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tool_induction import load_library

Induce = Callable[..., Any]
BESIDE = ("log.jsonl", "report.md", "recording.jsonl")
COMMANDS = pytest.mark.parametrize("command", ["check", "review"])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the library that all tests copy."""
    return tmp_path_factory.mktemp("kept") / "draw1"


@pytest.fixture
def frozen(kept: Path, induce: Induce, tools: Any, out: Path) -> Path:
    """An induced library with a duplicate beside it."""
    if not kept.exists():
        induce(replies=[tools.said([tools.searching(), tools.searching("again")])])
        shutil.copytree(out, kept)
        return out
    shutil.copytree(kept, out)
    return out


@COMMANDS
def test_a_library_is_whole_as_it_was_frozen(cli: Any, frozen: Path, command: str) -> None:
    assert load_library(frozen).manifest["induction"]["files"].keys() == set(BESIDE)
    for folder in (frozen, frozen / "unpruned"):
        outcome = cli("tools", command, str(folder), store=None)
        assert (outcome.status, outcome.err) == (0, "")


@COMMANDS
@pytest.mark.parametrize("name", BESIDE)
def test_a_file_that_was_changed_is_named(cli: Any, frozen: Path, command: str, name: str) -> None:
    with (frozen / name).open("ab") as stream:
        stream.write(b"\n")
    outcome = cli("tools", command, str(frozen), "--json", store=None)
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "library_changed")
    assert name in outcome.json["error"]["message"]


@COMMANDS
def test_an_unpruned_library_that_was_changed_or_exchanged_is_named(cli: Any, frozen: Path, command: str) -> None:
    tools = frozen / "unpruned" / "library.json"
    was = tools.read_text(encoding="utf-8")
    tools.write_text(was.replace('"find_moments"', '"find_moment"'), encoding="utf-8")
    outcome = cli("tools", command, str(frozen), "--json", store=None)
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "library_changed")

    for name in ("library.json", "manifest.json"):  # a sound library, but another one
        (frozen / "unpruned" / name).write_bytes((frozen / name).read_bytes())
    outcome = cli("tools", command, str(frozen), "--json", store=None)
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "library_changed")
    assert "unpruned" in outcome.json["error"]["message"]


@COMMANDS
def test_what_was_taken_away_is_said(cli: Any, frozen: Path, command: str) -> None:
    (frozen / "recording.jsonl").unlink()
    outcome = cli("tools", command, str(frozen), store=None)
    assert outcome.status == 0
    assert "recording.jsonl" in outcome.err


def test_the_hashes_themselves_are_sealed(cli: Any, frozen: Path) -> None:
    manifest = json.loads((frozen / "manifest.json").read_text(encoding="utf-8"))
    manifest["induction"]["files"]["log.jsonl"] = "0" * 64
    (frozen / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    outcome = cli("tools", "check", str(frozen), "--json", store=None)
    assert outcome.json["error"]["code"] == "library_changed"
