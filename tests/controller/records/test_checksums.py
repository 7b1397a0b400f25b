"""What of a record is changed is noticed, also what no request shows; what was added is not taken for a part of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Episode
from controller.records import DamagedEntry, Journal, answer, replay_recorded
from controller.systems import SystemContext
from tests.support.journals import edit_lines, forge
from world_api import SystemClock
from world_api.chat import Exchange, RuleBasedChatModel, append_line, read_lines
from world_api.core import EpisodeFault, content_hash

ASKED = Question(text="When does the person in red first appear?")
CONTEXT = SystemContext(model=RuleBasedChatModel(), clock=SystemClock())


@pytest.fixture
def kept(open_made: Any, tmp_path: Path) -> Path:
    """A journal with one episode."""
    answer(ASKED, open_made(), system="flat", context=CONTEXT, journal=Journal(tmp_path))
    return tmp_path


def name_in(folder: Path) -> str:
    [path] = (folder / "recordings").iterdir()
    return path.stem


def spend(line: dict[str, Any]) -> None:
    spent = {"purpose": "judge", "model": "m", "request": "r", "prompt": 9, "completion": 9}
    spent |= {"cached": 0, "images": 0, "estimated": False, "physical": True}
    line["episode"]["calls"][0]["spent"] = [spent]


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line["episode"]["task"].update(world_hash="f" * 64),
        lambda line: line["episode"]["task"].update(session="other"),
        lambda line: line["episode"]["task"].update(revision=7),
        lambda line: line["episode"]["budget"].update(tokens=1),
        lambda line: line["episode"].update(prices={"m": {"prompt": 0.0, "cached": 0.0, "completion": 0.0}}),
        lambda line: line["episode"]["calls"][0].update(inner_calls=[{"name": "x"}]),
        spend,
        lambda line: line["conditions"].update(version="9"),
        lambda line: line["sums"].update(exchanges="0" * 64),
        lambda line: line.update(more=1),
    ],
)
def test_a_changed_line_is_damage_for_whoever_reads_it(kept: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    edit_lines(kept / "episodes.jsonl", change)
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        Journal(kept).find(name_in(kept))


@pytest.mark.parametrize(
    ("file", "change", "part"),
    [
        ("timings", lambda line: line["timings"].update(seconds=0.001), "the timings"),
        ("recordings", lambda line: line["reply"].update(model="better"), "the exchanges"),
        ("recordings", lambda line: line.update(seconds=77.0), "the exchanges"),
        ("materials", lambda line: line.update(value={"changed": 1}), "the materials"),
    ],
)
def test_what_stands_beside_the_line_is_covered_too(kept: Path, file: str, change: Any, part: str) -> None:
    path = kept / f"{file}.jsonl" if file == "timings" else kept / file / f"{name_in(kept)}.jsonl"
    edit_lines(path, change)
    with pytest.raises(EpisodeFault, match="recording_damaged") as caught:
        replay_recorded(Journal(kept), name_in(kept))
    assert caught.value.message.startswith(part)


def test_an_exchange_that_was_added_is_damage_and_with_new_checksums_it_is_left_over(kept: Path) -> None:
    name = name_in(kept)
    path = kept / "recordings" / f"{name}.jsonl"
    append_line(path, Exchange(request={"messages": []}, reply={"id": "x"}, fault=None, seconds=0.0).record())
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        replay_recorded(Journal(kept), name)
    from controller.records import exchange_sum

    sums = content_hash([exchange_sum(item) for item in Journal(kept).exchanges(name)])
    forge(kept, lambda line: None, exchanges=sums)
    with pytest.raises(EpisodeFault, match="replay_mismatch") as caught:
        replay_recorded(Journal(kept), name)
    assert "1 x exchange" in caught.value.message


def test_clock_readings_that_were_added_are_left_over(kept: Path) -> None:
    edit_lines(kept / "timings.jsonl", lambda line: line["clock"].append(99.0))
    [time] = read_lines(kept / "timings.jsonl")
    forge(kept, lambda line: None, timings=content_hash([time["timings"], time["clock"]]))
    with pytest.raises(EpisodeFault, match="replay_mismatch") as caught:
        replay_recorded(Journal(kept), name_in(kept))
    assert "1 x clock reading" in caught.value.message


def test_a_damaged_line_harms_no_other_episode(kept: Path, open_made: Any) -> None:
    first = name_in(kept)
    second = answer(ASKED, open_made(), system="flat", context=CONTEXT, journal=Journal(kept)).name
    assert second is not None
    path = kept / "episodes.jsonl"
    one, two = path.read_text().splitlines()
    path.write_text(one[: len(one) // 2] + "\n" + two + "\n")
    journal = Journal(kept)
    assert [(item.name, isinstance(item, DamagedEntry)) for item in journal.scan()] == [(first, True), (second, False)]
    assert replay_recorded(journal, second).identical
    with pytest.raises(EpisodeFault, match="recording_damaged"):
        journal.find(first)


def test_an_episode_without_its_times_can_be_looked_at_and_not_run_again(kept: Path) -> None:
    (kept / "timings.jsonl").unlink()
    assert Journal(kept).find(name_in(kept)).episode.outcome == "submitted"
    with pytest.raises(EpisodeFault, match="recording_damaged") as caught:
        replay_recorded(Journal(kept), name_in(kept))
    assert "times" in caught.value.message


def test_an_episode_that_was_killed_tells_its_exchanges(kept: Path) -> None:
    name = name_in(kept)
    (kept / "episodes.jsonl").unlink()
    found: Episode = Journal(kept).beginning(name).episode
    assert (found.reason, found.task.question) == ("not_finished", ASKED)
    assert found.task.settings["language"] == "en"
    assert len(found.rounds) == len(Journal(kept).exchanges(name)) >= 1
