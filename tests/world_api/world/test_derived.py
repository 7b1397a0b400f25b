"""What follows from rows is kept beside a world, and never believed unread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from world_api.api import open_session, text_embedder
from world_api.operations import run
from world_api.search import prepare, prepare_all
from world_api.session import commit_session
from world_api.world import World, derived_folder, open_world

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_segments_by_text", {"query": "blue folder 花园", "top_k": 5}),
    ("search_similar_to_example", {"example_segment": {"start_time": 21.0, "end_time": 25.0}, "top_k": 5}),
    ("list_entities", {}),
    ("list_scenes", {}),
)


def answers(store: Path, as_of: float | None = None) -> list[Any]:
    session = open_session(store, "made", as_of=as_of, name=None)
    return [run(session, name, {"video_id": "made", **arguments}) for name, arguments in CALLS]


def kept(world: World) -> Path:
    return derived_folder(world.folder.parent, world.manifest)


def forget_open_worlds(world: World) -> None:
    """What another process would find: the same manifest, written at another time."""
    path = world.folder / "world.json"
    path.write_bytes(path.read_bytes())


@pytest.mark.parametrize("as_of", [None, 33.0])
def test_answers_do_not_change_with_what_is_kept(make_world: Any, as_of: float | None) -> None:
    world = make_world()
    before = answers(make_world.store, as_of)
    prepare(make_world.store, "made", text_embedder())
    forget_open_worlds(world)
    assert (kept(world) / "index.json").is_file()
    assert answers(make_world.store, as_of) == before


def test_what_is_kept_is_read_and_rows_are_not(make_world: Any) -> None:
    world = make_world()
    before = answers(make_world.store)
    prepare(make_world.store, "made", text_embedder())
    for entry in world.manifest.files:
        (world.folder / entry.path).unlink()
    forget_open_worlds(world)
    assert answers(make_world.store) == before


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-200], lambda data: data[:300] + b"\x00\xff" * 40 + data[380:], lambda data: b""]
)
def test_damage_to_what_is_kept_changes_no_answer(make_world: Any, damage: Any) -> None:
    world = make_world()
    before = answers(make_world.store)
    prepare(make_world.store, "made", text_embedder())
    for path in kept(world).glob("*.arrow"):
        path.write_bytes(damage(path.read_bytes()))
    forget_open_worlds(world)
    assert answers(make_world.store) == before
    (kept(world) / "index.json").write_text("[1, 2")
    forget_open_worlds(world)
    assert answers(make_world.store) == before


def test_what_was_kept_for_other_rows_is_not_read_and_goes(make_world: Any) -> None:
    old = kept(make_world())
    prepare(make_world.store, "made", text_embedder())
    new = kept(make_world({}, duration=30.0))
    assert new != old
    assert open_session(make_world.store, "made", name=None).view.duration == 30.0
    prepare(make_world.store, "made", text_embedder())
    assert new.is_dir()
    assert not old.exists()


def test_what_sessions_commit_leaves_the_indexes_as_they_are(make_world: Any) -> None:
    world = make_world()
    prepare(make_world.store, "made", text_embedder())
    session = open_session(make_world.store, "made", name="writer")
    span = {"start_time": 1.0, "end_time": 2.0}
    run(session, "write_memory", {"video_id": "made", "level": "event", "time_range": span, "content": "kept"})
    commit_session(make_world.store, "made", "writer")
    after = open_world(make_world.store, "made")
    assert after.manifest.world_hash != world.manifest.world_hash
    assert kept(after) == kept(world)


def test_a_world_that_cannot_be_read_keeps_no_other_from_being_prepared(make_world: Any) -> None:
    make_world(video_id="broken")
    (make_world.store / "broken" / "world.json").write_text("{}")
    world = make_world()
    prepare_all(make_world.store, text_embedder())
    assert (kept(world) / "index.json").is_file()


def test_sessions_on_one_world_share_it_until_it_is_replaced(make_world: Any) -> None:
    make_world()
    one, two = (open_session(make_world.store, "made", name=None).view.world for _ in range(2))
    assert one is two
    make_world({}, duration=30.0)
    assert open_session(make_world.store, "made", name=None).view.world is not one
