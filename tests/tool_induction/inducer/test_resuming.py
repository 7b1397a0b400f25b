"""An induction that was broken off is gone on from; one that is asked something else is not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from world_api.core import content_hash

Induce = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[3]
#: Who runs tests in the background has Ctrl-C ignored, and so has every process started there.
HEEDING_CTRL_C = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from videoworld import main; main()"
)


def test_what_the_model_answered_is_not_asked_again(induce: Induce, tools: Any, chat_server: Any, out: Path) -> None:
    first = chat_server.ok(tools.said([tools.faulty(), tools.counting()]))
    broken = induce(replies=[first, chat_server.refusal(401, "no such key")])
    assert (broken.status, out.exists()) == (1, False)
    outcome = induce("--json", replies=[chat_server.ok(tools.said([tools.searching()]))])
    assert (outcome.status, len(chat_server.received)) == (0, 3)
    assert "continuing with" in outcome.err
    assert (outcome.json["cost"]["calls"], outcome.json["cost"]["faults"]) == (3, 1)
    assert len((out / "recording.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    assert outcome.json["tools"] == ["find_moments", "count_things"]


def test_a_setting_that_was_refused_before_the_break_is_not_asked_for_again(
    induce: Induce, tools: Any, chat_server: Any, out: Path
) -> None:
    no = chat_server.refusal(400, "response_format is not supported")
    first = chat_server.ok(tools.said([tools.faulty(), tools.counting()]))
    induce("--mode", "structured", replies=[no, first, chat_server.refusal(401, "no such key")])
    asked = len(chat_server.received)
    outcome = induce("--mode", "structured", "--json", replies=[chat_server.ok(tools.said([tools.searching()]))])
    assert (outcome.status, len(chat_server.received)) == (0, asked + 1)
    assert "fit no request" not in outcome.err
    assert "response_format" not in chat_server.received[-1].body
    found = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["induction"]
    assert (found["mode"], found["mode_used"], [item["mode"] for item in found["rounds"]]) == (
        "structured",
        "plain",
        ["plain", "plain"],
    )
    assert (found["cost"]["calls"], found["cost"]["faults"]) == (4, 2)


def test_a_refusal_that_nothing_came_after_is_asked_again(induce: Induce, tools: Any, chat_server: Any) -> None:
    first = chat_server.ok(tools.said([tools.faulty(), tools.counting()]))
    induce(replies=[first, chat_server.refusal(400, "the prompt is too long")])
    outcome = induce("--json", replies=[chat_server.ok(tools.said([tools.searching()]))])
    assert (outcome.status, len(chat_server.received)) == (0, 3)


def test_it_comes_to_the_same_as_without_a_break(induce: Induce, tools: Any, chat_server: Any, out: Path) -> None:
    answers = [tools.said([tools.faulty(), tools.counting()]), tools.said([tools.searching()])]
    induce(replies=answers)
    whole = (out / "library.json").read_bytes(), _log(out)
    out.rename(out.with_name("draw0"))
    induce(replies=[chat_server.ok(answers[0]), chat_server.refusal(401, "no")])
    induce(replies=[chat_server.ok(answers[1])])
    assert ((out / "library.json").read_bytes(), _log(out)) == whole


def test_a_line_that_a_crash_cut_short_is_asked_again(induce: Induce, tools: Any, chat_server: Any, out: Path) -> None:
    induce(replies=[chat_server.ok(tools.said([tools.faulty(), tools.counting()])), chat_server.refusal(401, "no")])
    recording = out.with_name("draw1.induction") / "recording.jsonl"
    recording.write_bytes(recording.read_bytes()[:-100])
    recording.write_bytes(recording.read_bytes() + b'{"schema_version": 1, "requ')
    outcome = induce("--json", replies=[chat_server.ok(tools.said([tools.searching()]))])
    assert outcome.status == 0, outcome.err
    assert len((out / "recording.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_a_process_that_was_killed_is_gone_on_from(induce: Induce, tools: Any, chat_server: Any, out: Path) -> None:
    chat_server.play(chat_server.ok(tools.said([tools.faulty(), tools.counting()])), chat_server.hanging())
    command = [
        "induce",
        "A_locate_count",
        "--count",
        "2",
        "--out",
        str(out),
        "--model",
        "m",
        "--schema-worlds-only",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", HEEDING_CTRL_C, *command], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert any(line.startswith("repair 1") for line in process.stderr)  # waits until the first reply is worked on
    process.kill()
    process.communicate()
    before = len(chat_server.received)
    outcome = induce("--json", replies=[chat_server.ok(tools.said([tools.searching()]))])
    assert outcome.status == 0, outcome.err
    assert len(chat_server.received) == before + 1
    assert outcome.json["tools"] == ["find_moments", "count_things"]


def test_ctrl_c_ends_at_once_and_says_how_to_go_on(tools: Any, chat_server: Any, out: Path, induce: Induce) -> None:
    chat_server.play(chat_server.ok(tools.said([tools.faulty(), tools.counting()])), chat_server.hanging())
    command = ["induce", "A_locate_count", "--count", "2", "--out", str(out), "--model", "m", "--schema-worlds-only"]
    process = subprocess.Popen(
        [sys.executable, "-c", HEEDING_CTRL_C, *command], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert any(line.startswith("repair 1") for line in process.stderr)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert told == f"interrupted; the same command continues from {out.with_name('draw1.induction')}\n"


def test_a_recorded_reply_that_no_request_asks_for_any_more_is_told_and_counted(
    induce: Induce, tools: Any, chat_server: Any, out: Path
) -> None:
    induce(replies=[chat_server.ok(tools.said([tools.faulty(), tools.counting()])), chat_server.refusal(401, "no")])
    recording = out.with_name("draw1.induction") / "recording.jsonl"
    whole = json.loads(recording.read_text(encoding="utf-8").splitlines()[0])
    whole["request"]["messages"][1]["content"] = "as another version asked"
    whole["request_hash"] = content_hash(whole["request"])
    recording.write_text(json.dumps(whole) + "\n", encoding="utf-8")
    outcome = induce("--json", replies=[chat_server.ok(tools.said([tools.searching(), tools.counting()]))])
    assert "1 recorded replies fit no request any more" in outcome.err
    assert outcome.json["cost"]["calls"] == 2


@pytest.fixture
def begun(induce: Induce, tools: Any, chat_server: Any) -> None:
    """An induction of which the first reply is there."""
    induce(replies=[chat_server.ok(tools.said([tools.faulty(), tools.counting()])), chat_server.refusal(401, "no")])


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("other", "told"),
    [
        (("--seed", "2"), "seed was 1, is 2"),
        (("--temperature", "1"), "temperature was null, is 1.0"),
        (("--mode", "structured"), "mode was"),
        (("--repairs", "1"), "repairs was 3, is 1"),
    ],
)
def test_another_question_does_not_go_on_with_these_answers(
    induce: Induce, chat_server: Any, other: tuple[str, ...], told: str
) -> None:
    outcome = induce(*other)
    assert (outcome.status, len(chat_server.received)) == (1, 2)
    assert "other_induction" in outcome.err
    assert told in outcome.err


@pytest.mark.usefixtures("begun")
def test_another_model_or_another_prompt_does_not_either(
    induce: Induce, chat_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:

    assert 'model was "m", is "n"' in induce(model="n").err
    monkeypatch.setattr("tool_induction.limits.MAX_PLANNED_CALLS", 999)
    assert "prompt_hash was" in induce().err
    assert len(chat_server.received) == 2


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize("content", ["", "[]", '{"model": '])
def test_a_note_of_the_question_that_is_damaged_is_not_trusted(induce: Induce, out: Path, content: str) -> None:
    (out.with_name("draw1.induction") / "asked.json").write_text(content, encoding="utf-8")
    assert "missing or damaged" in induce().err


def test_where_nothing_was_answered_another_question_may_be_asked(
    induce: Induce, tools: Any, chat_server: Any, out: Path
) -> None:
    induce(replies=[chat_server.refusal(401, "no")])
    outcome = induce("--seed", "2", replies=[chat_server.ok(tools.said([tools.searching(), tools.counting()]))])
    assert outcome.status == 0, outcome.err
    assert len((out / "recording.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_what_is_no_reply_is_not_kept_as_the_answer(induce: Induce, tools: Any, chat_server: Any, out: Path) -> None:
    assert induce("--json", replies=[{"hello": 1}]).json["error"]["code"] == "endpoint_error"
    outcome = induce("--json", replies=[tools.said([tools.searching(), tools.counting()])])
    assert outcome.json["tools"] == ["find_moments", "count_things"]


class TestReplaying:
    def test_a_recording_alone_gives_the_same_library_and_asks_nobody(
        self, induce: Induce, tools: Any, chat_server: Any, out: Path
    ) -> None:
        no = chat_server.refusal(400, "response_format is not supported")
        answers = [tools.said([tools.faulty(), tools.counting()]), tools.said([tools.searching()])]
        first = induce("--mode", "structured", "--json", replies=[no, *(chat_server.ok(item) for item in answers)])
        kept = out.with_name("draw0")
        out.rename(kept)
        asked = len(chat_server.received)
        again = induce("--mode", "structured", "--replay", str(kept / "recording.jsonl"), "--json", model=None)
        assert again.status == 0, again.out
        assert len(chat_server.received) == asked
        assert again.json == first.json
        for name in ("library.json", "log.jsonl", "recording.jsonl", "report.md"):
            assert (out / name).read_bytes() == (kept / name).read_bytes(), name

    def test_a_recording_of_something_else_is_told_apart(self, induce: Induce, tools: Any, out: Path) -> None:
        induce(replies=[tools.said([tools.searching(), tools.counting()])])
        kept = out.with_name("draw0")
        out.rename(kept)
        outcome = induce("--seed", "2", "--replay", str(kept / "recording.jsonl"), "--json")
        assert outcome.json["error"]["code"] == "replay_mismatch"
        assert not (out.with_name("draw1.induction") / "recording.jsonl").exists()

    @pytest.mark.parametrize("content", [None, "", "{}\n", "no\n"])
    def test_a_recording_that_cannot_be_read_is_named(
        self, induce: Induce, tmp_path: Path, content: str | None
    ) -> None:
        path = tmp_path / "recording.jsonl"
        if content is not None:
            path.write_text(content, encoding="utf-8")
        outcome = induce("--replay", str(path), "--json", model=None)
        assert outcome.json["error"]["code"] in ("recording_missing", "recording_damaged", "recording_schema")


def test_two_at_work_on_one_library_is_one_too_many(induce: Induce, out: Path) -> None:
    from filelock import FileLock

    folder = out.with_name("draw1.induction")
    folder.mkdir(parents=True)
    with FileLock(folder / "lock"):
        assert "induction_running" in induce().err


def _log(out: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]
