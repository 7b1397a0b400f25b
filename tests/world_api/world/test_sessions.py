"""Sessions: overlays that never meet, and commits that lose nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from world_api.api import open_session
from world_api.core import StoreFault, TimeSpan
from world_api.session import commit_session, drop_session, list_sessions

SPAN = TimeSpan(start=1.0, end=2.0)


def test_two_sessions_writing_at_once_never_see_each_others_memories(make_world: Any) -> None:
    make_world()

    def write(name: str) -> None:
        session = open_session(make_world.store, "made", name=name)
        for number in range(20):
            session.write_memory(level="event", span=SPAN, content=f"{name} {number}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["one", "two"]))
    for name in ("one", "two"):
        contents = [m.content for m in open_session(make_world.store, "made", name=name).memories()]
        assert contents == [f"{name} {number}" for number in range(20)]


def test_two_writers_of_one_session_lose_nothing(make_world: Any) -> None:
    make_world()
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda n: open_session(make_world.store, "made").write_memory(level="event", span=SPAN, content=f"{n}"),
                range(24),
            )
        )
    session = open_session(make_world.store, "made")
    assert sorted(int(m.content) for m in session.memories()) == list(range(24))
    assert len({m.memory_id for m in session.memories()}) == 24
    assert session.revision == 24


def test_the_same_words_twice_are_two_memories(make_world: Any) -> None:
    make_world()
    session = open_session(make_world.store, "made")
    ids = {session.write_memory(level="frame", span=SPAN, content="again").memory_id for _ in range(2)}
    assert len(ids) == 2


def test_a_session_without_a_name_leaves_nothing_behind(make_world: Any) -> None:
    make_world()
    session = open_session(make_world.store, "made", name=None)
    session.write_memory(level="event", span=SPAN, content="gone")
    assert len(session.memories()) == 1
    assert list_sessions(make_world.store, "made") == []


def test_a_memory_written_with_later_knowledge_is_hidden_from_an_earlier_cut(make_world: Any) -> None:
    make_world()
    open_session(make_world.store, "made").write_memory(level="event", span=SPAN, content="the end is known")
    open_session(make_world.store, "made", as_of=30.0).write_memory(level="event", span=SPAN, content="seen so far")
    assert [m.content for m in open_session(make_world.store, "made", as_of=30.0).memories()] == ["seen so far"]
    assert [m.content for m in open_session(make_world.store, "made", as_of=29.0).memories()] == []
    assert len(open_session(make_world.store, "made").memories()) == 2


def test_a_commit_makes_memories_visible_to_every_session_and_changes_the_world(make_world: Any) -> None:
    before = make_world().manifest.world_hash
    open_session(make_world.store, "made", name="writer").write_memory(level="event", span=SPAN, content="kept")
    committed = commit_session(make_world.store, "made", "writer")
    assert (committed.memories, committed.entities) == (1, 0)
    assert committed.world_hash != before
    reader = open_session(make_world.store, "made", name="reader")
    assert [m.content for m in reader.memories()] == ["kept"]
    assert reader.world_hash == committed.world_hash
    assert list_sessions(make_world.store, "made") == []


def test_a_commit_that_was_cut_off_before_its_end_adds_nothing_twice(make_world: Any) -> None:
    make_world()
    open_session(make_world.store, "made", name="writer").write_memory(level="event", span=SPAN, content="kept")
    log = make_world.store / "made" / "sessions" / "writer.jsonl"
    kept = log.read_bytes()
    commit_session(make_world.store, "made", "writer")
    log.write_bytes(kept)
    assert commit_session(make_world.store, "made", "writer").memories == 0
    assert len(open_session(make_world.store, "made").memories()) == 1


def test_committing_or_dropping_what_is_not_there_is_named(make_world: Any) -> None:
    make_world()
    for act in (commit_session, drop_session):
        with pytest.raises(StoreFault) as caught:
            act(make_world.store, "made", "nobody")
        assert caught.value.code == "no_such_session"


def test_a_torn_last_line_is_set_aside_and_the_rest_kept(make_world: Any) -> None:
    make_world()
    session = open_session(make_world.store, "made")
    session.write_memory(level="event", span=SPAN, content="whole")
    log = make_world.store / "made" / "sessions" / "default.jsonl"
    log.write_bytes(log.read_bytes() + b'{"event": "memory_wri')
    assert [m.content for m in session.memories()] == ["whole"]
    session.write_memory(level="event", span=SPAN, content="after")
    assert [m.content for m in session.memories()] == ["whole", "after"]


def test_a_damaged_line_is_named_and_can_be_dropped(make_world: Any) -> None:
    make_world()
    session = open_session(make_world.store, "made")
    session.write_memory(level="event", span=SPAN, content="whole")
    log = make_world.store / "made" / "sessions" / "default.jsonl"
    log.write_bytes(b"garbage\n" + log.read_bytes())
    with pytest.raises(StoreFault) as caught:
        session.memories()
    assert caught.value.code == "session_damaged"
    drop_session(make_world.store, "made", "default")
    assert session.memories() == []


@pytest.mark.parametrize("name", ["../up", "a/b", "x" * 65, "", "Üb"])
def test_a_session_name_that_could_leave_the_world_is_refused(make_world: Any, name: str) -> None:
    make_world()
    with pytest.raises(StoreFault) as caught:
        open_session(make_world.store, "made", name=name)
    assert caught.value.code == "bad_session_name"


def test_what_is_written_while_a_session_is_committed_is_kept(make_world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer waits for the commit: its memory is in the session afterwards, not lost between reading and dropping."""
    from threading import Thread

    from world_api.session import session as session_module

    make_world()
    session = open_session(make_world.store, "made", name="writer")
    session.write_memory(level="event", span=SPAN, content="before")
    writers: list[Thread] = []
    write_manifest = session_module.write_manifest

    def write_meanwhile(*arguments: Any) -> None:
        late = open_session(make_world.store, "made", name="writer")
        writer = Thread(target=lambda: late.write_memory(level="event", span=SPAN, content="meanwhile"))
        writer.start()
        writers.append(writer)
        write_manifest(*arguments)

    monkeypatch.setattr(session_module, "write_manifest", write_meanwhile)
    commit_session(make_world.store, "made", "writer")
    writers[0].join(timeout=10)
    contents = {m.content for m in open_session(make_world.store, "made", name="writer").memories()}
    assert contents == {"before", "meanwhile"}


def test_committed_memories_keep_their_order_and_a_later_name_of_an_entity_holds(make_world: Any) -> None:
    from world_api.operations import run

    make_world()
    for name, hint in (("one", "a person in black"), ("two", "the visitor, a person in black")):
        session = open_session(make_world.store, "made", name=name)
        for number in range(5):
            session.write_memory(level="event", span=SPAN, content=f"{name} {number}")
        run(session, "register_entity", {"video_id": "made", "timestamp": 25.0, "entity_hint": hint})
        assert commit_session(make_world.store, "made", name).entities == 1
    reader = open_session(make_world.store, "made", name=None)
    assert [m.content for m in reader.memories()] == [f"{name} {n}" for name in ("one", "two") for n in range(5)]
    assert [item.label for item in reader.registrations()] == ["the visitor, a person in black"]
    assert reader.registrations()[0].confidence == round(reader.registrations()[0].confidence, 2)


@pytest.mark.parametrize("line", [b"[]", b"3", b"null", b'{"event": "memory_written"}', b"\xff\xfe"])
def test_a_line_of_another_shape_is_named(make_world: Any, line: bytes) -> None:
    make_world()
    log = make_world.store / "made" / "sessions" / "default.jsonl"
    log.parent.mkdir()
    log.write_bytes(line + b"\n")
    with pytest.raises(StoreFault) as caught:
        open_session(make_world.store, "made").memories()
    assert caught.value.code == "session_damaged"
    assert drop_session(make_world.store, "made", "default") == 0
