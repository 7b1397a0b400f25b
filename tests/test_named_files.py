"""Files that a user names: only regular ones are read; what would hang or never end is a named fault."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.command_line import Cli

INDUCE = ("induce", "A_locate_count", "--schema-worlds-only", "--json")
PLACES = {
    "a tool document": (("tools", "check", "{}", "--json"), "unreadable_library"),
    "a library to look at": (("tools", "schemas", "{}", "--json"), "unreadable_library"),
    "a library to run": (("tools", "run", "{}", "tool", "--video", "made", "--json"), "unreadable_library"),
    "a library to ask with": (("ask", "made", "What is seen?", "--tools", "{}", "--json"), "unreadable_library"),
    "an edited document": (("tools", "fork", "hand_A", "--edit", "{}", "--out", "new", "--json"), "unreadable_library"),
    "an added document": (("tools", "fork", "hand_A", "--add", "{}", "--out", "new", "--json"), "unreadable_library"),
    "a domain": (("domains", "{}", "--json"), "unreadable_domain"),
    "a first emission": ((*INDUCE, "--out", "new", "--document", "{}"), "unreadable_document"),
    "a recording": ((*INDUCE, "--out", "new", "--replay", "{}"), "recording_missing"),
    "prices": ((*INDUCE, "--out", "new", "--model", "m", "--prices", "{}"), "bad_prices"),
    "judgements": (
        ("ask", "made", "What is seen?", "--allow-judge", "--judge-record", "{}", "--json"),
        "recording_missing",
    ),
}


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe that nobody writes into."""
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("file", ["pipe", "/dev/zero"])
@pytest.mark.parametrize(("command", "code"), PLACES.values(), ids=list(PLACES))
def test_a_pipe_or_a_device_is_refused(
    cli: Cli, pipe: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], code: str, file: str
) -> None:
    monkeypatch.chdir(pipe.parent)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    named = str(pipe) if file == "pipe" else file
    # commands that know no worlds are given no store
    store = {} if "ask" in command or "run" in command or "induce" in command else {"store": None}
    outcome = cli(*(part.format(named) for part in command), **store)
    assert outcome.status == 1
    assert outcome.json["error"]["code"] == code
    assert "not a regular file" in outcome.json["error"]["message"]


def test_a_pipe_inside_a_library_is_refused(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    outcome = cli("tools", "schemas", str(tmp_path), "--json", store=None)
    assert outcome.json["error"]["code"] == "unreadable_library"


def test_a_recording_that_is_a_folder_is_refused_with_what_to_give(cli: Cli, tmp_path: Path) -> None:
    outcome = cli(*INDUCE, "--out", str(tmp_path / "new"), "--replay", str(tmp_path))
    assert outcome.json["error"]["code"] == "recording_missing"
    assert "recording.jsonl" in outcome.json["error"]["hint"]
