"""A store in which nothing can be written: what is there is found up to date, inspected and asked."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.building import Listener, StandingClock
from world_api.api import build_world
from world_api.build import remembered_source
from world_api.options import BuildOptions

pytestmark = pytest.mark.media
ROOT = Path(__file__).resolve().parents[3]
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def _obey_permissions() -> None:
    """Let the permissions of files bind what is started next, also where it belongs to the superuser of a Linux."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


def run(*arguments: str) -> tuple[int, Any]:
    """Run a command that obeys permissions; its exit status and its JSON."""
    ended = subprocess.run(
        [sys.executable, "-m", "videoworld", *arguments, "--json"],
        preexec_fn=_obey_permissions,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, json.loads(ended.stdout)


@pytest.fixture
def read_only(two_shots: Path, tmp_path: Path) -> Iterator[Path]:
    """A store with the world of ``two_shots``, which nobody may write to."""
    store = tmp_path / "worlds"
    build_world(
        two_shots, store, progress=Listener(), clock=StandingClock(), options=BuildOptions(without=("screen_texts",))
    )
    for lock in store.rglob("*.lock"):
        lock.unlink()  # as where the store was copied from another machine
    places = [store, *store.rglob("*")]
    for place in places:
        place.chmod(place.stat().st_mode & ~0o222)
    touched = subprocess.run(
        ["touch", str(store / "probe")], preexec_fn=_obey_permissions, capture_output=True, check=False
    )
    if touched.returncode == 0:
        pytest.skip("permissions do not bind here")
    yield store
    for place in places:
        place.chmod(place.stat().st_mode | 0o200)


def test_a_build_of_an_up_to_date_world_writes_nothing(two_shots: Path, read_only: Path) -> None:
    there = sorted(read_only.rglob("*"))
    status, told = run("build", str(two_shots), "--store", str(read_only), "--without", "screen_texts")
    assert status == 0
    assert [world["changed"] for world in told["worlds"]] == [False]
    assert sorted(read_only.rglob("*")) == there


def test_a_build_that_has_something_to_do_says_that_the_store_cannot_be_written(
    two_shots: Path, read_only: Path
) -> None:
    status, told = run("build", str(two_shots), "--store", str(read_only), "--without", "screen_texts", "--force")
    assert (status, told["error"]["code"]) == (1, "store_not_writable")


def test_a_world_is_inspected_and_asked_and_what_would_be_written_is_named(read_only: Path) -> None:
    on = ("--video", "two_shots", "--store", str(read_only))
    assert run("worlds", "--store", str(read_only))[0] == 0
    assert run("inspect", "two_shots", "--check", "--store", str(read_only))[0] == 0
    assert run("call", "list_scenes", *on)[0] == 0
    assert run("call", "detect_objects", *on, "category=person", "timestamp=1.0")[0] == 0
    status, told = run("call", "write_memory", *on, "level=event", "content=a",
                       'time_range={"start_time": 1, "end_time": 2}')  # fmt: skip
    assert (status, told["error"]["code"]) == (1, "store_not_writable")
    assert run("ask", "two_shots", "When does a person appear?", "--tools", "hand_A", "--store", str(read_only))[0] == 0


def test_a_video_that_was_moved_is_noted_where_that_can_be_written_and_told_where_not(
    two_shots: Path, read_only: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from world_api.build import builder
    from world_api.core.faults import StoreFault

    def refused(*_: object) -> None:
        raise StoreFault("store_not_writable", "cannot write local.json", hint="")

    moved = tmp_path / "elsewhere" / two_shots.name
    moved.parent.mkdir()
    moved.write_bytes(two_shots.read_bytes())
    listener, options = Listener(), BuildOptions(without=("screen_texts",))
    build: Callable[[], Any] = lambda: build_world(  # noqa: E731 - it is called twice
        moved, read_only, progress=listener, clock=StandingClock(), options=options
    )
    with monkeypatch.context() as patch:
        patch.setattr(builder, "remember_source", refused)
        assert not build().changed
    assert "cannot write local.json" in listener.said[-1]
    (read_only / "two_shots").chmod(0o755)
    assert not build().changed
    assert remembered_source(read_only / "two_shots") == moved.resolve()
