"""``videoworld ask --record``, ``replay`` and ``show`` on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tests.support.journals import forge

QUESTION = "When does the person in red first appear?"


@pytest.fixture
def records(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an episode of ``flat`` and one of ``hier``; the world is gone."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    folder = tmp_path / "records"
    for more in ((), ("--tools", "hand_A")):
        assert cli("ask", "made", QUESTION, "--record", str(folder), *more).status == 0
    shutil.rmtree(tmp_path / "worlds")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "recordings").iterdir())


def edit(folder: Path, change: Any) -> None:
    forge(folder, lambda line: change(line["episode"]))


def test_a_folder_is_replayed_whole_offline(cli: Cli, records: Path, offline: None) -> None:
    outcome = cli("replay", str(records), store=None)
    assert (outcome.status, outcome.out.count("identical")) == (0, 2)


def test_an_episode_is_named_in_its_folder_or_by_its_file(cli: Cli, records: Path) -> None:
    first, _ = names(records)
    for place in (records / first, records / "recordings" / f"{first}.jsonl"):
        outcome = cli("replay", str(place), store=None)
        assert (outcome.status, outcome.out) == (0, f"{first}  identical\n")


def test_a_name_that_a_folder_lists_is_taken_beside_the_folder(cli: Cli, records: Path) -> None:
    for line in cli("show", str(records), store=None).out.splitlines():
        name = line.split("  ")[0]
        shown = cli("show", str(records), name, store=None)
        assert (shown.status, shown.out) == (0, cli("show", str(records / name), store=None).out)
        assert cli("replay", str(records), name, store=None).out == f"{name}  identical\n"
    for command in ("show", "replay"):
        outcome = cli(command, str(records), "nobody", "--json", store=None)
        assert (outcome.status, outcome.json["error"]["code"]) == (1, "unknown_episode")
        outcome = cli(command, str(records / "nowhere"), "nobody", "--json", store=None)
        assert (outcome.status, outcome.json["error"]["code"]) == (1, "recording_missing")


def test_a_difference_ends_with_status_1_and_is_named(cli: Cli, records: Path) -> None:
    edit(records, lambda episode: episode.update(answer="Never."))
    outcome = cli("replay", str(records), "--json", store=None)
    assert outcome.status == 1
    assert [item["difference"] for item in outcome.json["episodes"]] == ["$.answer", "$.answer"]
    assert "differs at $.answer" in cli("replay", str(records), store=None).out


def test_a_refusal_is_told_beside_the_others(cli: Cli, records: Path) -> None:
    def change(episode: dict[str, Any]) -> None:
        if episode["task"]["system"] == "flat":
            episode["calls"][0]["arguments"]["query"] = "something else"

    edit(records, change)
    outcome = cli("replay", str(records), store=None)
    assert outcome.status == 1
    assert "[replay_mismatch]" in outcome.out
    assert outcome.out.count("identical") == 1


@pytest.mark.parametrize("command", ["replay", "show"])
def test_what_is_no_record_is_named(cli: Cli, records: Path, tmp_path: Path, command: str) -> None:
    for place in (tmp_path, tmp_path / "nowhere", tmp_path / ("x" * 300)):
        outcome = cli(command, str(place), "--json", store=None)
        assert (outcome.status, outcome.json["error"]["code"]) == (1, "recording_missing")
    outcome = cli("show", str(records / "nobody"), "--json", store=None)
    assert outcome.json["error"]["code"] == "unknown_episode"


def test_a_folder_of_several_is_listed(cli: Cli, records: Path) -> None:
    outcome = cli("show", str(records), store=None)
    assert [line.split("  ")[0] for line in outcome.out.splitlines()] == sorted(names(records), key=lambda n: n[:14])
    listed = cli("show", str(records), "--json", store=None).json
    assert {item["system"] for item in listed["episodes"]} == {"flat", "hier"}


def test_an_episode_is_shown_and_as_json_it_is_whole(cli: Cli, records: Path) -> None:
    hier = next(name for name in names(records) if "hier" in name)
    told = cli("show", str(records / hier), store=None)
    assert told.status == 0
    assert "locate_first_appearance" in told.out
    assert f"recorded  {hier}" in told.out
    whole = cli("show", str(records / hier), "--json", store=None).json
    assert whole["summary"]["cost"]["logical"]["total"]["total"] == 0
    assert whole["episode"]["schema_version"] == 3
    assert whole["conditions"]["system"] == "hier"
    assert whole["timings"]["rounds"]


def test_one_round_and_full_results_are_shown(cli: Cli, records: Path) -> None:
    flat = next(name for name in names(records) if "flat" in name)
    alone = cli("show", str(records / flat), "--round", "1", "--full", store=None).out
    assert alone.startswith("round 1")
    assert '"candidates": [' in alone
    assert cli("show", str(records / flat), "--round", "99", store=None).status == 1


def test_an_episode_that_is_not_finished_is_listed_as_such(cli: Cli, records: Path) -> None:
    (records / "recordings" / "20260101-flat-1.jsonl").touch()
    assert "20260101-flat-1  not finished" in cli("show", str(records), store=None).out
    assert cli("replay", str(records), store=None).status == 0


def test_an_episode_of_a_run_is_found_by_its_id_in_whichever_cell_it_is(
    cli: Cli, records: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for cell in ("cell-1", "cell-2"):
        (run / "episodes" / cell / "recordings").mkdir(parents=True)
    shutil.copytree(records, run / "episodes" / "cell-2", dirs_exist_ok=True)
    name = cli("show", str(records), "--json", store=None).json["episodes"][0]["name"]
    shown = cli("show", str(run), name, store=None)
    assert (shown.status, shown.out) == (0, cli("show", str(records), name, store=None).out)
    assert cli("show", str(run / name), store=None).out == shown.out
    assert cli("replay", str(run), name, store=None).status == 0
    error = cli("show", str(run), name[:-1], "--json", store=None).json["error"]
    assert error["code"] == "unknown_episode"
    assert "did you mean" in error["hint"]
