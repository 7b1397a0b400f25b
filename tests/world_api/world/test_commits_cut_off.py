"""Commits that are cut off anywhere: committing again adds what is missing, and nothing twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from world_api.api import open_session
from world_api.core import TimeSpan
from world_api.operations import run
from world_api.session import Registration, commit_session, list_sessions

SPAN = TimeSpan(start=1.0, end=2.0)
#: What changes files: a machine may go down before or after any of these.
STEPS = ((os, "fsync"), (os, "write"), (Path, "replace"), (Path, "unlink"))


class MachineDown(BaseException):
    """What nothing in the program catches."""


def name_entity(store: Path, session: str, label: str, *, entity: str = "ent_t0000_01") -> None:
    """Register an entity under a label."""
    open_session(store, "made", name=session).register(
        Registration(
            entity_id=entity, label=label, category="person", time=25.0, box=(0.0, 0.0, 9.0, 9.0), confidence=0.5,
            committed=False,
        )
    )  # fmt: skip


def write_all_kinds(store: Path, session: str) -> None:
    """Memories, and entities of which one is named anew and then again as before."""
    opened = open_session(store, "made", name=session)
    opened.write_memory(level="event", span=SPAN, content="first")
    name_entity(store, session, "a visitor")
    name_entity(store, session, "somebody else", entity="ent_t0001_01")
    name_entity(store, session, "the neighbour")
    name_entity(store, session, "a visitor")
    opened.write_memory(level="event", span=SPAN, content="second")
    run(opened, "register_entity", {"video_id": "made", "timestamp": 35.0, "entity_hint": "a person in red"})


def held(store: Path) -> dict[str, list[dict[str, Any]]]:
    """What sessions committed to the world, row by row."""
    world = open_session(store, "made", name=None).view.world
    return {name: world.rows(name).to_pylist() for name in ("memories", "registrations")}


def cut_off(patch: pytest.MonkeyPatch, at: int, *, after: bool, act: Callable[[], object]) -> bool:
    """Do something on a machine that goes down at the given step, before or after it is done; whether it came that far."""
    count = 0

    def wrapped(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count = number = count + 1  # threads may take steps side by side
            if number == at and not after:
                raise MachineDown
            done = step(*arguments, **options)
            if number == at:
                raise MachineDown
            return done

        return stepping

    with patch.context() as inner:
        for owner, name in STEPS:
            inner.setattr(owner, name, wrapped(getattr(owner, name)))
        try:
            act()
        except MachineDown:
            return True
    return False


@pytest.mark.parametrize("after", [False, True])
def test_wherever_a_commit_is_cut_off_committing_again_leaves_the_same_world(
    make_world: Any, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    store = make_world.store
    make_world()
    write_all_kinds(store, "writer")
    commit_session(store, "made", "writer")
    whole = held(store)
    assert (len(whole["memories"]), len(whole["registrations"])) == (2, 5)

    for step in range(1, 100):
        make_world()
        write_all_kinds(store, "writer")
        came_so_far = cut_off(monkeypatch, step, after=after, act=lambda: commit_session(store, "made", "writer"))
        if list_sessions(store, "made"):
            commit_session(store, "made", "writer")
        assert held(store) == whole, f"cut off at step {step}"
        if not came_so_far:
            break
    assert 5 < step < 99


def test_what_another_session_committed_after_the_cut_is_not_taken_back(
    make_world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_world.store
    make_world()
    name_entity(store, "one", "a visitor")
    _cut_off_before_the_log_goes(monkeypatch, store, "one")
    name_entity(store, "two", "the neighbour")
    commit_session(store, "made", "two")
    assert commit_session(store, "made", "one").entities == 0
    assert [row["hint"] for row in held(store)["registrations"]] == ["a visitor", "the neighbour"]


def test_what_a_session_wrote_after_the_cut_is_all_that_is_added(
    make_world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_world.store
    make_world()
    write_all_kinds(store, "writer")
    _cut_off_before_the_log_goes(monkeypatch, store, "writer")
    before = held(store)
    name_entity(store, "writer", "the neighbour")
    added = commit_session(store, "made", "writer")
    assert (added.memories, added.entities) == (0, 1)
    assert [row["hint"] for row in held(store)["registrations"][len(before["registrations"]) :]] == ["the neighbour"]


def test_a_session_of_the_same_name_says_the_same_anew_and_is_heard(make_world: Any) -> None:
    store = make_world.store
    make_world()
    for session, label in (("one", "a visitor"), ("two", "the neighbour"), ("one", "a visitor")):
        name_entity(store, session, label)
        assert commit_session(store, "made", session).entities == 1
    assert [row["hint"] for row in held(store)["registrations"]] == ["a visitor", "the neighbour", "a visitor"]


def _cut_off_before_the_log_goes(patch: pytest.MonkeyPatch, store: Path, session: str) -> None:
    from world_api.session import Overlay

    def down(_: Overlay) -> None:
        raise MachineDown

    with patch.context() as inner:
        inner.setattr(Overlay, "drop", down)
        with pytest.raises(MachineDown):
            commit_session(store, "made", session)
