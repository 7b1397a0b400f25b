"""A store in which nothing can be written: what is there is found up to date, inspected and asked."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.building import Listener, StandingClock
from world_api.api import build_world
from world_api.build import remembered_source
from world_api.options import BuildOptions

pytestmark = pytest.mark.media
ROOT = Path(__file__).resolve().parents[3]
OPTIONS = BuildOptions(without=("screen_texts", "look_links"))
WITHOUT = ("--without", "screen_texts", "--without", "look_links")
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def _obey_permissions() -> None:
    """Let the permissions of files bind what is started next, also where it belongs to the superuser of a Linux."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


_PROGRAM = """
import contextlib, io, json, sys
from videoworld import main
for arguments in json.loads(sys.argv[1]):
    status, out = 0, io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            main([*arguments, "--json"])
        except SystemExit as leaving:
            status = leaving.code or 0
    print(json.dumps([status, json.loads(out.getvalue())]))
"""


def run(*commands: Sequence[str]) -> list[tuple[int, Any]]:
    """Run commands in one process that obeys permissions; the exit status and the JSON of each."""
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps(commands)],
        preexec_fn=_obey_permissions,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture(scope="module")
def built(encoded_shots: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the world of ``two_shots``."""
    store = tmp_path_factory.mktemp("built")
    build_world(encoded_shots, store, progress=Listener(), clock=StandingClock(), options=OPTIONS)
    return store


@pytest.fixture
def read_only(built: Path, two_shots: Path, tmp_path: Path) -> Iterator[Path]:
    """A store with the world of ``two_shots`` in which nothing can be written."""
    store = tmp_path / "worlds"
    shutil.copytree(built, store)
    build_world(
        two_shots, store, progress=Listener(), clock=StandingClock(), options=OPTIONS
    )  # notes where the video is
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
    [(status, report)] = run(["build", str(two_shots), "--store", str(read_only), *WITHOUT])
    assert status == 0
    assert [world["changed"] for world in report["worlds"]] == [False]
    assert sorted(read_only.rglob("*")) == there


def test_a_build_that_has_something_to_do_says_that_the_store_cannot_be_written(
    two_shots: Path, read_only: Path
) -> None:
    [(status, report)] = run(["build", str(two_shots), "--store", str(read_only), *WITHOUT, "--force"])
    assert (status, report["error"]["code"]) == (1, "store_not_writable")


def test_a_world_is_inspected_and_asked_and_what_would_be_written_is_named(read_only: Path) -> None:
    on = ("--video", "two_shots", "--store", str(read_only))
    *reading, (status, report) = run(
        ["worlds", "--store", str(read_only)],
        ["inspect", "two_shots", "--check", "--store", str(read_only)],
        ["call", "list_scenes", *on],
        ["call", "detect_objects", *on, "category=person", "timestamp=1.0"],
        ["ask", "two_shots", "When does a person appear?", "--tools", "hand_A", "--store", str(read_only)],
        ["call", "write_memory", *on, "level=event", "content=a", 'time_range={"start_time": 1, "end_time": 2}'],
    )
    assert [status for status, _ in reading] == [0] * 5
    assert (status, report["error"]["code"]) == (1, "store_not_writable")


def test_a_video_that_was_moved_is_noted_where_that_can_be_written_and_told_where_not(
    two_shots: Path, read_only: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from world_api.build import builder
    from world_api.core import StoreFault

    def refused(*_: object) -> None:
        raise StoreFault("store_not_writable", "cannot write local.json", hint="")

    moved = tmp_path / "elsewhere" / two_shots.name
    moved.parent.mkdir()
    moved.write_bytes(two_shots.read_bytes())
    listener = Listener()
    build: Callable[[], Any] = lambda: build_world(  # noqa: E731 - it is called twice
        moved, read_only, progress=listener, clock=StandingClock(), options=OPTIONS
    )
    with monkeypatch.context() as patch:
        patch.setattr(builder, "remember_source", refused)
        assert not build().changed
    assert "cannot write local.json" in listener.said[-1]
    (read_only / "two_shots").chmod(0o755)
    assert not build().changed
    assert remembered_source(read_only / "two_shots") == moved.resolve()
