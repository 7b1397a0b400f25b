"""The page about libraries: its commands run and print what it says, its tables are complete."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tool_induction import load_library
from tool_induction.judge import JUDGEMENT
from videoworld import main

PAGE = Path(__file__).resolve().parents[3] / "docs" / "libraries.md"
TEXT = PAGE.read_text(encoding="utf-8")


def consoles() -> list[tuple[str, str]]:
    """Every command of the page with the output that stands below it."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.strip()))
    return found


def test_every_command_of_the_page_runs_and_prints_what_stands_there(
    sample_film: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "worlds").symlink_to(sample_film.store)
    judging = re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)
    assert judging is not None
    (tmp_path / "complaints.json").write_text(judging[1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    for command, expected in consoles():
        words = shlex.split(command)
        assert words[0] == "videoworld"
        status: Any = 0
        try:
            main(words[1:])
        except SystemExit as leaving:
            status = leaving.code
        printed = capsys.readouterr()
        assert status in (0, None), f"{command}: {printed.err}"
        assert "Traceback" not in printed.err
        wanted = ".*?".join(re.escape(part) for part in expected.split("..."))
        assert not expected or re.search(wanted, printed.out), f"{command} printed:\n{printed.out}"

    assert (tmp_path / "review.html").is_file()
    assert load_library("mine").manifest["note"] == "counting only"


def test_there_are_commands_of_every_kind() -> None:
    commands = " ".join(command for command, _ in consoles())
    assert all(word in commands for word in ("review", "fork", "diff", "schemas", "ask", "run", "check"))


@pytest.mark.parametrize("library", ["hand_A", "hand_B", "hand_C"])
def test_the_page_names_every_tool_of_the_libraries(library: str) -> None:
    [row] = [line for line in TEXT.splitlines() if line.startswith(f"| `{library}`")]
    assert re.findall(r"`(\w+)`", row)[1:] == list(load_library(library).tools)


def test_the_page_names_every_key_of_a_manifest_and_the_price_of_judging() -> None:
    table = TEXT.split("## What a manifest holds")[1].split("## ")[0]
    assert all(f"`{key}`" in table for key in load_library("hand_A").manifest)
    assert f"at most {JUDGEMENT.tokens} tokens an item" in TEXT.replace("\n", " ")
    assert json.dumps(load_library("hand_A").manifest["schema_version"]) in table
