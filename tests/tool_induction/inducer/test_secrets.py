"""What looks like a credential in a model's words stands in the recording alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Induce = Callable[..., Any]
REDACTED = "[secret]"
KEY = "sk-proj-" + "ABCDEFGHIJKLMNOPQRSTUVWX0123456789"


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}


def leaking(tools: Any) -> Any:
    return tools.searching("leak_it") | {"description": f"Finds it with {KEY}. Use for when. Not for how often."}


def test_a_brought_document_leaves_none_in_what_is_written(
    induce: Induce, tools: Any, out: Path, tmp_path: Path
) -> None:
    brought = tmp_path / "chat.txt"
    brought.write_text(f"My key is {KEY}.\n{json.dumps([tools.counting(), leaking(tools)])}", encoding="utf-8")
    outcome = induce("--document", str(brought), model=None)
    assert (outcome.status, KEY in outcome.out + outcome.err) == (0, False)
    written = texts(out)
    assert [name for name, text in written.items() if KEY in text] == []
    assert REDACTED in written["log.jsonl"]
    assert REDACTED in written["report.md"]
    assert "secret_in_reply" in written["manifest.json"]


def test_none_is_handed_back_to_the_model(induce: Induce, tools: Any, chat_server: Any, out: Path) -> None:
    named = tools.faulty(f"{KEY}")
    outcome = induce(replies=[tools.said([tools.counting(), leaking(tools), named]), tools.said([tools.searching()])])
    assert (outcome.status, KEY in outcome.out + outcome.err) == (0, False)
    asked = json.dumps(chat_server.received[1].body)
    assert (KEY in asked, "this looks like a key" in asked, REDACTED in asked) == (False, True, True)
    assert [name for name, text in texts(out).items() if KEY in text] == ["recording.jsonl"]


def test_a_refusal_that_quotes_one_does_not_stop_the_freezing(induce: Induce, tools: Any, out: Path) -> None:
    reply = tools.said([tools.searching(), tools.counting()], refusal=f"I will not use {KEY}.")
    assert induce(replies=[reply]).status == 0
    notes = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["induction"]["notes"]
    assert [item["message"] for item in notes] == [f"the model refuses: I will not use {REDACTED}."]
