"""Building where a world is already: what sessions wrote is never lost, and never taken for another video's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.building import Broken, Silent, StandingClock
from world_api.build import BuildReport, Clip, Job, Recipe, Records, StageSpec, build_world
from world_api.core import Image
from world_api.session import commit_session, list_sessions, open_overlay
from world_api.world import open_world

pytestmark = pytest.mark.media

MEMORY = {
    "event": "memory_written", "schema_version": 1, "known_at": 1.0, "memory_id": "mem_000001", "level": "event",
    "start": 0.0, "end": 1.0, "content": "someone enters", "parts": [],
}  # fmt: skip


class Drawing:
    """A stage on rows that writes one cut a clip, with whatever score it is told to."""

    def __init__(self, score: float = 1.0) -> None:
        self.spec = StageSpec(name="drawing", version=1, tables=("cuts",))
        self.score = score

    def make_rows(self, clip: Clip) -> Records:
        time = clip.span.start + 0.5
        row = {"time": time, "score": self.score, "kind": "cut", "known_at": time, "producer": "drawing/1"}
        return {"cuts": [row]}


def build(video: Path, store: Path, *, force: bool = True, score: float = 1.0) -> BuildReport:
    recipe = Recipe(profile="test", stages=lambda path, *_: [Drawing(score)])
    return build_world(
        Job(video=video, store=store, name="film", recipe=recipe, force=force, progress=Silent(), clock=StandingClock())
    )


@pytest.fixture
def film(make_video: Callable[..., Path], empty_room: Image) -> Path:
    return make_video("film.mp4", [empty_room] * 20)


@pytest.fixture
def other_film(make_video: Callable[..., Path], empty_room: Image) -> Path:
    return make_video("other.mp4", [255 - empty_room] * 20)


def remember(store: Path, session: str) -> Path:
    """Have a session write a memory, and give its log."""
    path = open_overlay(store, "film", session).path
    assert path is not None
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(MEMORY) + "\n")
    return path


def damage(manifest: Path) -> None:
    manifest.write_text("{")


def age(manifest: Path) -> None:
    raw: dict[str, Any] = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**raw, "schema_version": 99}))


@pytest.mark.parametrize("spoil", [damage, age])
def test_what_was_committed_survives_force_over_a_manifest_that_cannot_be_read(
    film: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    store = tmp_path / "store"
    build(film, store)
    remember(store, "kept")
    commit_session(store, "film", "kept")
    rows = sorted((store / "film" / "rows" / "memories").iterdir())
    assert rows
    spoil(store / "film" / "world.json")
    build(film, store)
    build(film, store)
    assert sorted((store / "film" / "rows" / "memories").iterdir()) == rows


def test_what_was_committed_goes_over_into_a_new_world_of_the_same_video(film: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(film, store)
    remember(store, "kept")
    commit_session(store, "film", "kept")
    build(film, store)
    assert open_world(store, "film").rows("memories").column("content").to_pylist() == ["someone enters"]


def test_sessions_stay_with_a_world_of_the_same_video(film: Path, tmp_path: Path) -> None:
    build(film, tmp_path / "store")
    remember(tmp_path / "store", "walk")
    assert build(film, tmp_path / "store").losses == ()
    assert list_sessions(tmp_path / "store", "film") == [("walk", 1)]


def test_sessions_on_another_video_are_put_aside_and_said_to_be(film: Path, other_film: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for _ in range(2):
        build(film, store)
        old = open_world(store, "film").manifest.source.sha256
        log = remember(store, "walk")
        text = log.read_text()
        report = build(other_film, store)
        assert [loss.code for loss in report.losses] == ["sessions_set_aside"]
        assert list_sessions(store, "film") == []
    aside = [store / "film" / f"sessions-of-{old[:12]}{ending}" for ending in ("", "-2")]
    assert [(folder / "walk.jsonl").read_text() for folder in aside] == [text, text]
    assert aside[1].name in report.losses[0].message


def test_sessions_of_a_world_that_cannot_be_read_are_put_aside(film: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(film, store)
    remember(store, "walk")
    damage(store / "film" / "world.json")
    assert [loss.code for loss in build(film, store).losses] == ["sessions_set_aside"]
    assert (store / "film" / "sessions-of-unknown" / "walk.jsonl").is_file()


def test_sessions_of_an_older_schema_stay_with_the_same_video(film: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(film, store)
    remember(store, "walk")
    age(store / "film" / "world.json")
    assert build(film, store).losses == ()
    assert list_sessions(store, "film") == [("walk", 1)]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.arrow")}


def test_force_with_the_same_rows_writes_no_file_again(film: Path, tmp_path: Path) -> None:
    build(film, tmp_path / "store")
    (path,) = (tmp_path / "store").rglob("*.arrow")
    before = path.stat()
    build(film, tmp_path / "store")
    assert [path] == list((tmp_path / "store").rglob("*.arrow"))
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


class Breaking(Drawing):
    """A power cut after the rows of a clip are stored."""

    def make_rows(self, clip: Clip) -> Records:
        if clip.number > 0:
            raise Broken
        return super().make_rows(clip)


def test_force_with_other_rows_leaves_the_files_of_the_world_that_is_there(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path
) -> None:
    film, store = make_video("film.mp4", [empty_room] * 80, rate=2), tmp_path / "store"
    build(film, store)
    before = files(store)
    with pytest.raises(Broken):
        build_world(
            Job(
                video=film, store=store, name="film", recipe=Recipe(profile="test", stages=lambda path, *_: [Breaking(0.25)]),
                force=True, progress=Silent(), clock=StandingClock(),
            )
        )  # fmt: skip
    assert {name: data for name, data in files(store).items() if name in before} == before
    build(film, store, score=0.25)
    world = open_world(store, "film")
    assert world.rows("cuts").column("score").to_pylist() == [0.25, 0.25]
    assert set(files(store)) == {Path(entry.path).name for entry in world.manifest.files}
