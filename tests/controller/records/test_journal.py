"""Damaged journals are named as such; they are never repaired and never crash."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from controller.records import Conditions, Journal
from tests.support import journal_writer
from world_api.core import EpisodeFault, json_line, parse_json

CONDITIONS = Conditions(system="flat")


@pytest.fixture
def kept(hold: Any, replies: Any, tmp_path: Path) -> Path:
    """A journal with one finished episode."""
    recording = Journal(tmp_path).begin("one")
    recording.finish(
        hold(replies.finds(), replies.submits()).episode, CONDITIONS, [0.0, "2026-01-01T00:00:00+00:00", 1]
    )
    return tmp_path


def damage(path: Path, change: dict[str, Any]) -> None:
    path.write_text(json_line(parse_json(path.read_text()) | change) + "\n")


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("episodes", {"episode": 5}),
        ("episodes", {"episode": None}),
        ("episodes", {"name": ["one"]}),
        ("episodes", {"name": None}),
        ("timings", {"clock": None}),
        ("timings", {"clock": {"a": 1}}),
        ("timings", {"clock": [None]}),
        ("timings", {"clock": [True]}),
    ],
)
def test_a_line_that_is_not_whole_is_named(kept: Path, file: str, change: dict[str, Any]) -> None:
    damage(kept / f"{file}.jsonl", change)
    with pytest.raises(EpisodeFault, match="recording_damaged") as caught:
        list(Journal(kept).entries())
    assert f"line 1 of {file}.jsonl is not whole" in caught.value.message


@pytest.mark.parametrize("field", ["task", "budget", "messages", "rounds", "calls", "outcome", "spans", "tools"])
@pytest.mark.parametrize("value", [5, None, [[]], {"a": 1}])
def test_an_episode_that_is_not_whole_is_named(kept: Path, field: str, value: Any) -> None:
    path = kept / "episodes.jsonl"
    damage(path, {"episode": parse_json(path.read_text())["episode"] | {field: value}})
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        list(Journal(kept).entries())


@pytest.mark.parametrize("name", [[], {"a": 1}, "another"])
def test_times_that_are_of_no_episode_leave_it_without_times(kept: Path, name: Any) -> None:
    damage(kept / "timings.jsonl", {"name": name})
    [entry] = Journal(kept).entries()
    assert (entry.timed, entry.readings, entry.episode.timings) == (False, (), None)


def test_what_was_kept_reads_back(kept: Path) -> None:
    [entry] = Journal(kept).entries()
    assert (entry.name, entry.readings) == ("one", (0.0, "2026-01-01T00:00:00+00:00", 1))


def test_threads_and_processes_record_side_by_side_without_mixing(tmp_path: Path) -> None:
    """Lines of hundreds of kilobytes, all episodes under one label: each has a name of its own and is whole."""
    script = Path(journal_writer.__file__)
    processes = [
        subprocess.Popen([sys.executable, str(script), str(tmp_path), "same", "6"], cwd=script.parents[2],
                         env={**os.environ, "PYTHONPATH": str(script.parents[2])})
        for _ in range(3)
    ]  # fmt: skip
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: journal_writer.write(tmp_path, "same", 2), range(8)))
    assert [process.wait() for process in processes] == [0] * 3
    journal = Journal(tmp_path)
    entries = list(journal.entries())
    assert len(entries) == len({entry.name for entry in entries}) == 3 * 6 + 8 * 2
    for entry in entries:
        fault = entry.episode.fault
        assert fault is not None
        assert fault.message == entry.name
        assert journal.taken(entry)[1] == {"digest": {"of": entry.name}}
        assert len(journal.exchanges(entry.name)) == 1
    assert journal.unfinished() == []


def test_what_a_dead_process_left_half_written_harms_no_other_episode(kept: Path) -> None:
    for file in ("episodes.jsonl", "timings.jsonl"):
        with (kept / file).open("ab") as torn:
            torn.write(b'{"schema_version": 3, "name": "cut o')
    assert [entry.name for entry in Journal(kept).entries()] == ["one"]
    journal_writer.write(kept, "two", 1)
    assert [entry.name for entry in Journal(kept).entries()] == ["one", "two"]


def test_an_episode_that_was_begun_and_not_finished_is_named_as_such(kept: Path) -> None:
    Journal(kept).begin("begun")
    assert Journal(kept).unfinished() == ["begun"]
    with pytest.raises(EpisodeFault, match="unknown_episode") as caught:
        Journal(kept).find("begun")
    assert "not finished" in caught.value.message


def test_a_folder_where_nothing_is_finished_yet_has_no_episodes(tmp_path: Path) -> None:
    Journal(tmp_path).begin("begun")
    assert list(Journal(tmp_path).entries()) == []


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(EpisodeFault, match="recording_missing"):
        list(Journal(tmp_path / "nowhere").entries())


def test_two_episodes_of_one_name_are_named(kept: Path) -> None:
    path = kept / "episodes.jsonl"
    path.write_text(path.read_text() * 2)
    with pytest.raises(EpisodeFault, match="two episodes are named 'one'"):
        list(Journal(kept).entries())


@pytest.mark.parametrize("name", ["../one", "a/b", "", ".hidden", "a\x1b[2J"])
def test_a_name_that_is_no_file_name_is_damage(kept: Path, name: str) -> None:
    damage(kept / "episodes.jsonl", {"name": name})
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        list(Journal(kept).entries())


def test_a_full_disk_ends_a_recording_by_name_and_harms_no_other(
    kept: Path, hold: Any, replies: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Journal(kept).begin("two")
    with monkeypatch.context() as full:
        full.setattr(os, "write", no_space)
        with pytest.raises(EpisodeFault, match="record_not_writable") as caught:
            recording.finish(hold(replies.submits()).episode, CONDITIONS, [])
    assert "No space left" in caught.value.message
    assert [entry.name for entry in Journal(kept).entries()] == ["one"]


def no_space(*_: Any) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_times_that_are_not_whole_are_named(kept: Path) -> None:
    damage(kept / "timings.jsonl", {"timings": {"seconds": "long"}})
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        list(Journal(kept).entries())


def test_an_episode_reads_back_with_its_times(kept: Path) -> None:
    [entry] = Journal(kept).entries()
    assert entry.episode.timings is not None
    assert len(entry.episode.timings.rounds) == len(entry.episode.rounds) == 2
