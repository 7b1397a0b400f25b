"""``videoworld eval check``: what is here and what is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.support import published_files
from tests.support.command_line import Cli

QUESTION = {"schema_version": 1, "question": "How many?", "kind": "count", "answer": 3, "domain": "A_locate_count"}


def questions(folder: Path, *videos: str, **changes: Any) -> Path:
    """One question about each video."""
    path = folder / "mine.jsonl"
    lines = [json.dumps({**QUESTION, "id": f"q-{video}", "video": video, **changes}) for video in videos]
    path.write_text("\n".join(lines))
    return path


def test_videos_and_worlds_are_told_apart(cli: Cli, tmp_path: Path, make_world: Any) -> None:
    path = questions(tmp_path, "made", "hall", "attic")
    (tmp_path / "hall.mp4").write_bytes(b"x")
    record = cli("eval", "check", str(path), "--json").json
    assert record["questions"] == 3
    assert record["videos"]["there"] == 1
    assert record["videos"]["missing"] == ["attic", "made"]
    assert record["worlds"]["states"] == {"attic": "missing", "hall": "missing", "made": "there"}
    assert record["askable"] == 2  # the world of one is built, the video of the other is here


def test_a_world_of_another_file_is_not_the_videos(cli: Cli, tmp_path: Path) -> None:
    path = questions(tmp_path, "made")
    (tmp_path / "made.mp4").write_bytes(b"another film")
    page = cli("eval", "check", str(path))
    assert "made from something else" in page.out
    assert cli("eval", "check", str(path), "--json").json["worlds"]["other"] == 1


def test_a_damaged_world_is_told(cli: Cli, tmp_path: Path, make_world: Any) -> None:
    path = questions(tmp_path, "made")
    (make_world.store / "made" / "world.json").write_text("{")
    assert cli("eval", "check", str(path), "--json").json["worlds"]["damaged"] == 1


def test_evidence_after_the_end_and_unknown_domains_are_told(cli: Cli, tmp_path: Path) -> None:
    path = questions(tmp_path, "made", spans=[[900, 901]], domain="D_other")
    record = cli("eval", "check", str(path), "--json").json
    assert record["late"] == ["q-made"]
    assert record["unknown_domains"] == ["D_other"]
    page = cli("eval", "check", str(path)).out
    assert "evidence after the end of the world: q-made" in page
    assert "no packaged domain is called D_other" in page


def test_the_hash_of_what_is_missing_changes_with_it(cli: Cli, tmp_path: Path) -> None:
    path = questions(tmp_path, "hall", "attic")
    first = cli("eval", "check", str(path), "--json").json["videos"]
    (tmp_path / "hall.mp4").write_bytes(b"x")
    second = cli("eval", "check", str(path), "--json").json["videos"]
    assert first["missing"] == ["attic", "hall"]
    assert second["missing"] == ["attic"]
    assert first["missing_hash"] != second["missing_hash"]


def test_videos_in_a_folder_of_their_own_are_found(cli: Cli, tmp_path: Path) -> None:
    published_files.lvbench(tmp_path)
    (tmp_path / "all_videos").mkdir()
    (tmp_path / "all_videos" / "Cm73ma6Ibcs.mp4").write_bytes(b"x")
    named = f"lvbench:{tmp_path / 'video_info.meta.jsonl'}"
    assert "0 here, 1 missing" in cli("eval", "check", named).out
    assert "1 here, 0 missing" in cli("eval", "check", named, "--videos", str(tmp_path / "all_videos")).out


def test_what_is_left_out_is_counted_with_its_reason(cli: Cli, tmp_path: Path) -> None:
    page = cli("eval", "check", f"longvideobench:{published_files.longvideobench(tmp_path)}").out
    assert "left out  1 question that cannot be asked: 1 x its answer is not published" in page


def test_dialogues_need_no_videos_and_their_worlds_are_written_when_asked_for(cli: Cli, tmp_path: Path) -> None:
    named = f"locomo:{published_files.locomo(tmp_path)}"
    store = tmp_path / "store"
    first = cli("eval", "check", named, store=store)
    assert "none needed: 1 text" in first.out
    assert "0 in " in first.out
    second = cli("eval", "check", named, "--text-worlds", store=store)
    assert "written: locomo-7" in second.err
    assert "(text 1)" in second.out
    assert "written" not in cli("eval", "check", named, "--text-worlds", store=store).err


def test_a_fault_is_told_on_stdout_with_json_and_ends_with_one(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("{}\n")
    outcome = cli("eval", "check", str(path), "--json")
    assert outcome.status == 1
    assert outcome.json["error"]["code"] == "bad_dataset"
    assert "line 1: " in outcome.json["error"]["message"]


def test_worlds_of_runs_are_found_in_their_parts_of_the_store(cli: Cli, tmp_path: Path, make_world: Any) -> None:
    path = questions(tmp_path, "made")
    for part in ("oracle", "classical"):
        (tmp_path / "store" / part).mkdir(parents=True)
        shutil.copytree(make_world.store / "made", tmp_path / "store" / part / "made")
    record = cli("eval", "check", str(path), "--json", store=tmp_path / "store").json
    assert record["worlds"]["states"] == {"made": "there"}
    assert sum(record["worlds"]["profiles"].values()) == 2
    assert record["askable"] == 1
