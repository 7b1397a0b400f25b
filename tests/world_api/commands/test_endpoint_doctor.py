"""``videoworld doctor --endpoint``: the table, the exit status, and what is never printed."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tests.support.json_servers import WithoutTools
from tests.support.model_server import Manners
from world_api.chat import images_and_window

KEY = "sk-a-key-that-nobody-may-see"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A key that must not be shown, and a folder for findings."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VIDEOWORLD_CACHE", str(tmp_path))


def test_a_good_endpoint_is_told_in_one_table(cli: Cli, chat_server: Any) -> None:
    chat_server.respond(Manners(responses=True))
    outcome = cli("doctor", "--endpoint", chat_server.url, "--model", "m")
    assert outcome.status == 0
    rows = [line.split() for line in outcome.out.splitlines() if line.startswith("  ") and " ok " in line]
    assert len(rows) == 5
    assert "it can be a controller, over Chat Completions" in outcome.out
    assert f"{len(chat_server.received)} requests" in outcome.out
    assert KEY not in outcome.out + outcome.err


def test_an_endpoint_without_tools_cannot_be_a_controller(cli: Cli, chat_server: Any) -> None:
    chat_server.respond(Manners("refuses_tools"))
    outcome = cli("doctor", "--endpoint", chat_server.url, "--model", "m", "--json")
    assert (outcome.status, outcome.json["usable"]) == (1, False)
    rows = {row["check"]: row for row in outcome.json["checks"]}
    assert rows["tools"]["outcome"] == "not_offered"
    assert "does not support tools" in rows["tools"]["seen"]
    assert rows["json"]["means"] == "it cannot be a controller"


def test_an_endpoint_that_writes_calls_as_json_can_be_one_over_that_wire(cli: Cli, chat_server: Any) -> None:
    chat_server.respond(WithoutTools(knows_format=True))
    outcome = cli("doctor", "--endpoint", chat_server.url, "--model", "m")
    assert outcome.status == 0
    assert "it can be a controller, over calls as JSON (--wire json)" in outcome.out


def test_findings_are_kept_until_they_are_asked_for_again(cli: Cli, chat_server: Any) -> None:
    chat_server.respond(Manners())
    ask = ("doctor", "--endpoint", chat_server.url, "--model", "m")
    first, asked = cli(*ask), len(chat_server.received)
    assert cli(*ask).out == first.out
    assert len(chat_server.received) == asked
    cli(*ask, "--again")
    assert len(chat_server.received) == 2 * asked


def test_the_window_that_a_server_tells_is_shown_and_found_again(cli: Cli, chat_server: Any) -> None:
    good = Manners()
    listed = {"data": [{"id": "m", "max_model_len": 32_768}]}
    chat_server.respond(lambda received: listed if received.path.endswith("/models") else good(received))
    environment = {**os.environ, "OPENAI_BASE_URL": chat_server.url}
    assert images_and_window("m", environment=environment) == (None, None)
    assert "32,768 tokens, as the server reports" in cli("doctor", "--endpoint", chat_server.url, "--model", "m").out
    assert images_and_window("m", environment=environment) == (True, 32_768)
    assert images_and_window("rule-based", environment={}) == (None, None)


def test_words_of_a_server_cannot_steer_the_terminal(cli: Cli, chat_server: Any) -> None:
    chat_server.play(chat_server.refusal(400, "no tools\x1b[2J\u202e\nit can be a controller"))
    outcome = cli("doctor", "--endpoint", chat_server.url, "--model", "m")
    assert outcome.status == 1
    assert "\x1b" not in outcome.out + outcome.err
    assert "\u202e" not in outcome.out
    assert "\nit can be a controller" not in outcome.out


@pytest.mark.parametrize(
    ("given", "code"), [(("--model", "m"), "no endpoint"), (("--endpoint", "http://x/v1"), "no model")]
)
def test_half_a_request_says_what_is_missing(cli: Cli, given: tuple[str, ...], code: str) -> None:
    outcome = cli("doctor", *given)
    assert outcome.status == 1
    assert code in outcome.err
    assert "hint: videoworld doctor --endpoint" in outcome.err


@pytest.mark.parametrize("url", ["nonsense", "ftp://host/v1", "http://[::1", "http://127.0.0.1:99999/v1"])
def test_what_is_no_address_is_named(cli: Cli, url: str) -> None:
    outcome = cli("doctor", "--endpoint", url, "--model", "m")
    assert outcome.status == 1
    assert "endpoint_bad_url" in outcome.err


def test_a_closed_port_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("world_api.commands.doctor._RETRIES", 0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    outcome = cli("doctor", "--endpoint", f"http://127.0.0.1:{port}/v1", "--model", "m")
    assert outcome.status == 1
    assert "endpoint_unreachable" in outcome.err
