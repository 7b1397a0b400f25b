"""The page on recording, replay and cost: its example runs, and it tells every way in which a replay is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from controller.records import EPISODES, RECORDINGS, Answered, Journal, replay_recorded

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "controller.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_the_example_runs_and_what_it_records_replays(open_made: Any, monkeypatch: Any, tmp_path: Path) -> None:
    import world_api

    monkeypatch.setattr(world_api, "open_session", lambda *_, **__: open_made())
    [code] = re.findall(r"```python\n(.*?)```", section("Recording"), re.DOTALL)
    made: dict[str, Any] = {"store": None, "records": tmp_path}
    exec(compile(code, "example", "exec"), made)  # noqa: S102 - the page is ours
    assert len(made["answers"]) == 2
    for item in made["answers"]:
        assert isinstance(item, Answered)
        assert item.name is not None
        assert replay_recorded(Journal(tmp_path), item.name).identical


def test_every_way_in_which_a_replay_is_refused_is_told() -> None:
    folder = ROOT / "controller" / "records"
    sources = "".join((folder / f"{name}.py").read_text() for name in ("journal", "replay"))
    raised = set(re.findall(r'EpisodeFault\(\s*"([a-z_]+)"', sources)) - {"record_not_writable", "unknown_episode"}
    told = set(re.findall(r"`([a-z_]+)`", section("Replay")))
    assert raised <= told
    assert "record_not_writable" in section("Recording")


def test_every_file_of_a_record_is_told() -> None:
    text = section("Recording")
    for name in (EPISODES, RECORDINGS, "timings.jsonl", "materials"):
        assert f"FOLDER/{name}" in text
