"""``videoworld induce``: from a domain to a frozen library, through the real client, broken off and taken up again."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tool_induction import Origin, freeze_library, load_library
from world_api.core import content_hash

Induce = Callable[..., Any]


def document(path: Path, *tools: Any) -> str:
    path.write_text(json.dumps(list(tools)), encoding="utf-8")
    return str(path)


class TestThroughTheRealClient:
    def test_a_library_is_drafted_mended_and_frozen(
        self, induce: Induce, tools: Any, out: Path, chat_server: Any
    ) -> None:
        replies = [tools.said([tools.faulty(), tools.counting()]), tools.said([tools.searching()])]
        outcome = induce("--json", replies=replies)
        assert outcome.status == 0, outcome.err
        assert outcome.json["tools"] == ["find_moments", "count_things"]
        assert outcome.json["cost"] | {"seconds": 0} == {
            "calls": 2,
            "faults": 0,
            "prompt_tokens": 200,
            "completion_tokens": 100,
            "tokens_estimated": False,
            "seconds": 0,
            "money": None,
            "currency": "",
        }
        assert [received.body["seed"] for received in chat_server.received] == [1, 1]
        assert list(load_library(out).tools) == ["find_moments", "count_things"]
        assert sorted(path.name for path in out.iterdir()) == [
            "library.json",
            "log.jsonl",
            "manifest.json",
            "recording.jsonl",
            "report.md",
            "unpruned",
        ]
        assert not out.with_name("draw1.induction").exists()
        assert re.search(r"2 tools came \(100 \+ 50 tokens, \d+ s\); now 1 admitted, 1 faulty", outcome.err)

    def test_the_manifest_says_all_that_the_library_came_from(self, induce: Induce, tools: Any, out: Path) -> None:
        induce(
            "--seed", "5", "--temperature", "0.5", replies=[tools.said([tools.searching(), tools.searching("again")])]
        )
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        found = manifest["induction"]
        assert (manifest["origin"], manifest["domain"]) == ("induced", "A_locate_count")
        assert (found["model"], found["seed"], found["temperature"], found["mode"]) == ("m", 5, 0.5, "plain")
        assert (found["yields"]["written"], found["yields"]["admitted"], found["yields"]["duplicates"]) == (2, 1, 1)
        assert found["split"]["test"] == ["sandbox-test-*"]
        assert found["endpoint"].startswith("127.0.0.1:")
        assert len(found["examples_used"]) == 8
        assert all(item.split("/")[1] == "induction" for item in found["templates_used"])
        assert {"domain_hash", "prompt_hash", "cost", "compiler", "log_sha256", "unpruned_hash"} <= found.keys()

    def test_the_unpruned_library_lies_beside_it_with_the_duplicates(
        self, induce: Induce, tools: Any, out: Path
    ) -> None:
        induce(replies=[tools.said([tools.searching(), tools.searching("again")])])
        library, unpruned = load_library(out), load_library(out / "unpruned")
        assert (list(library.tools), list(unpruned.tools)) == (["find_moments"], ["find_moments", "again"])
        assert library.manifest["induction"]["unpruned_hash"] == unpruned.hash
        assert unpruned.manifest["induction"]["duplicates"] == {"again": "find_moments"}

    def test_the_log_and_the_recording_hold_every_exchange(self, induce: Induce, tools: Any, out: Path) -> None:
        induce(replies=[tools.said([tools.faulty(), tools.counting()]), tools.said([tools.searching()])])
        log = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        recording = [json.loads(line) for line in (out / "recording.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [line["request_hash"] for line in log[:-1]] == [line["request_hash"] for line in recording]
        assert [line["raw"] for line in log[:-1]] == [
            line["reply"]["choices"][0]["message"]["content"] for line in recording
        ]
        assert [content_hash(line["request"]) for line in recording] == [line["request_hash"] for line in recording]
        assert [part["slot"] for part in log[1]["parsed"]] == [0]

    def test_the_report_tells_what_was_refused_and_how_it_was_mended(
        self, induce: Induce, tools: Any, out: Path
    ) -> None:
        induce(replies=[tools.said([tools.faulty(), tools.blind("stay_blind")]), tools.said([tools.searching()])])
        page = (out / "report.md").read_text(encoding="utf-8")
        assert "**1 are admitted**" in page
        assert '\n-   "api": "search_segment_by_text",\n+   "api": "search_segments_by_text",\n' in page
        assert "did you mean 'search_segments_by_text'?" in page
        assert "| `stay_blind` | refused |" in page
        assert "300 prompt and 150 reply tokens" in page

    def test_money_is_told_where_a_price_is_known(self, induce: Induce, tools: Any, tmp_path: Path) -> None:
        table = tmp_path / "prices.json"
        table.write_text('{"m": {"prompt": 1000, "completion": 4000}}', encoding="utf-8")
        outcome = induce("--prices", str(table), "--json", replies=[tools.said([tools.searching(), tools.counting()])])
        assert (outcome.json["cost"]["money"], outcome.json["cost"]["currency"]) == (0.3, "USD")

    def test_a_server_without_usage_is_estimated_and_told(self, induce: Induce, tools: Any) -> None:
        reply = tools.said([tools.searching(), tools.counting()])
        del reply["usage"]
        cost = induce("--json", replies=[reply]).json["cost"]
        assert cost["tokens_estimated"]
        assert cost["prompt_tokens"] > 1000

    def test_strict_is_another_name_of_structured_mode(
        self, induce: Induce, tools: Any, chat_server: Any, out: Path
    ) -> None:
        reply = tools.said(json.dumps({"tools": [tools.searching(), tools.counting()]}))
        outcome = induce("--mode", "strict", replies=[reply])
        assert outcome.status == 0, outcome.err
        assert chat_server.received[0].body["response_format"]["json_schema"]["strict"] is False
        found = load_library(out).manifest["induction"]
        assert (found["mode"], found["mode_used"]) == ("structured", "structured")

    def test_a_library_that_an_earlier_version_induced_in_strict_mode_is_read(self, tmp_path: Path) -> None:
        origin = Origin(
            how="induced", date="2026-01-01", details={"induction": {"mode": "strict", "mode_used": "strict"}}
        )
        freeze_library(load_library("hand_A").tools, tmp_path / "old", name="old", origin=origin)
        assert load_library(tmp_path / "old").manifest["induction"]["mode_used"] == "strict"

    def test_structured_mode_falls_back_by_name(self, induce: Induce, tools: Any, chat_server: Any, out: Path) -> None:
        no = chat_server.refusal(400, "response_format json_schema is not supported")
        outcome = induce(
            "--mode", "structured", replies=[no, chat_server.ok(tools.said([tools.searching(), tools.counting()]))]
        )
        assert outcome.status == 0
        assert "structured_refused" in outcome.err
        notes = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["induction"]["notes"]
        assert [item["problem"] for item in notes] == ["structured_refused"]


class TestWithoutAModel:
    def test_a_document_is_checked_tried_and_frozen(
        self, induce: Induce, tools: Any, out: Path, tmp_path: Path
    ) -> None:
        brought = document(tmp_path / "chat.json", tools.searching(), tools.faulty("find_others"))
        outcome = induce("--document", brought, "--json", model=None)
        assert outcome.json["tools"] == ["find_moments"]
        assert outcome.json["refused"] == {"find_others": "E_UNKNOWN_API"}
        assert (outcome.json["ending"], outcome.json["cost"]["calls"]) == ("no_model", 0)
        assert "No model was asked." in (out / "report.md").read_text(encoding="utf-8")
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        found = manifest["induction"]
        assert (manifest["origin"], found["model"], found["examples_used"], found["templates_used"]) == (
            "brought",
            "",
            [],
            [],
        )
        assert not {"prompt_hash", "seed", "mode", "temperature", "max_tokens", "count", "endpoint"} & found.keys()
        assert (found["yields"]["asked"], found["yields"]["written"]) == (0, 2)
        assert "| seed |" not in (out / "report.md").read_text(encoding="utf-8")

    def test_a_document_can_be_mended_by_a_model(
        self, induce: Induce, tools: Any, tmp_path: Path, chat_server: Any, out: Path
    ) -> None:
        brought = document(tmp_path / "chat.json", tools.faulty())
        outcome = induce("--document", brought, "--json", replies=[tools.said([tools.searching()])])
        assert (outcome.json["tools"], len(chat_server.received)) == (["find_moments"], 1)
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        assert (manifest["origin"], manifest["induction"]["examples_used"]) == ("brought, mended by m", [])
        assert manifest["induction"]["seed"] == 1
        assert manifest["induction"]["prompt_hash"]

    def test_a_dry_run_shows_the_prompt_and_sends_nothing(self, cli: Any) -> None:
        outcome = cli("induce", "A_locate_count", "--dry-run", store=None)
        assert "nothing was sent" in outcome.out
        assert "- search_segments_by_text(video_id, query: string" in outcome.out
        record = cli("induce", "A_locate_count", "--dry-run", "--json", store=None).json
        assert [item["role"] for item in record["messages"]] == ["system", "user"]
        assert 3000 < record["tokens"]["system"] < 4500

    def test_tools_are_tried_on_a_real_world_where_one_is_named(
        self, induce: Induce, tools: Any, out: Path, tmp_path: Path
    ) -> None:
        brought = document(tmp_path / "chat.json", tools.searching())
        outcome = induce("--document", brought, model=None, worlds=("--example-world", "made"))
        assert outcome.status == 0, outcome.err
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        assert list(manifest["induction"]["example_worlds"]) == ["made"]
        log = json.loads((out / "log.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        runs = log["tools"][0]["verdict"]["runs"]
        assert any(item["world"] == "made" and item["status"] == "partial" and item["evidence"] for item in runs)


class TestRefusals:
    def refusal(self, outcome: Any) -> str:
        assert outcome.status == 1
        return str(outcome.json["error"]["code"])

    def test_no_model(self, induce: Induce) -> None:
        assert self.refusal(induce("--json", model=None)) == "no_model"
        assert self.refusal(induce("--json", model="rule-based")) == "no_model"

    def test_no_endpoint(self, induce: Induce, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_BASE_URL")
        monkeypatch.delenv("OPENAI_API_KEY")
        assert self.refusal(induce("--json")) == "endpoint_not_configured"

    def test_a_library_that_is_there_already(self, induce: Induce, out: Path) -> None:
        out.mkdir(parents=True)
        assert self.refusal(induce("--json")) == "library_exists"

    def test_a_place_that_cannot_be_written(self, induce: Induce, out: Path) -> None:
        out.parent.write_text("a file where a folder should be", encoding="utf-8")
        assert self.refusal(induce("--json")) == "out_not_writable"

    def test_a_full_disk_is_told_as_one(self, induce: Induce, tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("tool_induction.inducer.checkpoint.append_line", full)
        outcome = induce("--json", replies=[tools.said([tools.searching()])])
        assert self.refusal(outcome) == "out_not_writable"
        assert "free some space" in outcome.json["error"]["hint"]

    def test_a_link_to_nowhere_is_told_before_anybody_is_asked(
        self, induce: Induce, tools: Any, out: Path, chat_server: Any
    ) -> None:
        out.parent.mkdir(parents=True)
        out.symlink_to(out.with_name("nowhere"))
        assert self.refusal(induce("--json", replies=[tools.said([tools.searching()])])) == "out_not_writable"
        assert chat_server.received == []

    def test_the_folder_one_stands_in_is_there_already(self, cli: Any) -> None:
        outcome = cli("induce", "A_locate_count", "--model", "m", "--out", ".", "--json")
        assert self.refusal(outcome) == "library_exists"

    def test_hints_say_what_can_be_done_here(
        self, cli: Any, induce: Induce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "empty").write_text("", encoding="utf-8")
        outcome = induce("--document", str(tmp_path / "empty"), "--json", model=None)
        assert self.refusal(outcome) == "no_tools"
        assert "recording" not in outcome.json["error"]["hint"]
        monkeypatch.delenv("OPENAI_BASE_URL")
        monkeypatch.delenv("OPENAI_API_KEY")
        assert "rule-based" not in induce("--json").json["error"]["hint"]
        assert "rule-based" in cli("ask", "made", "What is seen?", "--model", "m", "--json").json["error"]["hint"]

    def test_a_name_that_no_library_can_have(self, cli: Any, tmp_path: Path) -> None:
        outcome = cli("induce", "A_locate_count", "--model", "m", "--out", str(tmp_path / "my library"), "--json")
        assert self.refusal(outcome) == "bad_library_name"

    def test_no_example_world_and_none_waived(self, induce: Induce) -> None:
        assert self.refusal(induce("--json", worlds=())) == "no_example_world"
        assert self.refusal(induce("--json", worlds=("--example-world", "nowhere"))) == "no_such_world"

    def test_a_world_of_another_split(self, induce: Induce) -> None:
        assert self.refusal(induce("--json", worlds=("--example-world", "sandbox-test-1"))) == "split_leak"

    def test_a_document_that_is_not_there_or_no_text(self, induce: Induce, tmp_path: Path) -> None:
        assert self.refusal(induce("--json", "--document", str(tmp_path / "none"))) == "unreadable_document"
        (tmp_path / "bytes").write_bytes(b"\xff\xff")
        assert self.refusal(induce("--json", "--document", str(tmp_path / "bytes"))) == "unreadable_document"

    @pytest.mark.parametrize(
        "table",
        [
            "",
            "[]",
            '{"m": 3}',
            '{"m": {"prompt": 1, "completion": 1, "currency": "EUR"}}',
            '{"m": {"prompt": -1, "completion": 0}}',
            '{"n": {"prompt": 1, "completion": 1}}',
        ],
    )
    def test_a_price_table_that_cannot_be_used(self, induce: Induce, tmp_path: Path, table: str) -> None:
        path = tmp_path / "prices.json"
        path.write_text(table, encoding="utf-8")
        assert self.refusal(induce("--json", "--prices", str(path))) == "bad_prices"

    def test_no_folder_to_write_to_is_wrong_usage(self, cli: Any) -> None:
        assert cli("induce", "A_locate_count", "--model", "m").status == 2

    def test_a_reply_without_tools_freezes_nothing(self, induce: Induce, tools: Any, out: Path) -> None:
        assert self.refusal(induce("--json", replies=[tools.said("I cannot.")])) == "no_tools"
        assert not out.exists()
        assert (out.with_name("draw1.induction") / "recording.jsonl").exists()

    def test_a_draw_of_which_nothing_is_admitted_leaves_log_and_report(
        self, induce: Induce, tools: Any, out: Path
    ) -> None:
        outcome = induce("--json", "--repairs", "0", replies=[tools.said([tools.faulty(), tools.blind("see_nothing")])])
        assert self.refusal(outcome) == "nothing_admitted"
        folder = out.with_name("draw1.induction")
        assert not out.exists()
        assert "**0 are admitted**" in (folder / "report.md").read_text(encoding="utf-8")
        assert (folder / "log.jsonl").exists()

    def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(self, induce: Induce, chat_server: Any) -> None:
        outcome = induce("--json", "--timeout", "1", replies=[chat_server.hanging()])
        assert self.refusal(outcome) == "endpoint_unreachable"
        message = outcome.json["error"]["message"]
        assert "no whole answer" in message or "timed out" in message  # the second where the server was slow to begin

    def test_a_fault_of_the_server_is_told_as_it_is(self, induce: Induce, chat_server: Any) -> None:
        assert (
            self.refusal(
                induce("--json", replies=[chat_server.refusal(404, "model m does not exist", code="model_not_found")])
            )
            == "endpoint_unknown_model"
        )
