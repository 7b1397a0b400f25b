"""Sessions, and all they are put together from, are asked by several threads at once: answers are those of one thread."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from benchmarks.made_worlds import Plan, write_world
from benchmarks.operation_calls import CASES, Draws
from tests.support.hammer import hammered
from world_api.api import open_session
from world_api.core import OnceEach, OperationFault, TimeSpan, content_words
from world_api.media import Frame, VideoFrames
from world_api.operations import OPERATIONS, run
from world_api.perception import ClassicalDetector
from world_api.session import FrameLooker, Overlay, Session
from world_api.world import open_world, read_manifest

READING = [case for case in CASES if OPERATIONS[case.operation].state == "reads"]


def answer(session: Session, name: str, arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(run(session, name, arguments), sort_keys=True)
    except OperationFault as fault:
        return fault.code


def calls(session: Session, seed: int) -> list[tuple[str, dict[str, Any]]]:
    """Two drawn calls of every operation that reads."""
    return [
        (case.operation, {"video_id": session.video_id, **case.draw(Draws(session, seed + again))})
        for again in range(2)
        for case in READING
    ]


@pytest.mark.parametrize("cut", [None, 0.61], ids=["whole", "cut"])
def test_a_session_answers_many_threads_as_it_answers_one(tmp_path: Path, cut: float | None) -> None:
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    for store in (alone, shared):
        write_world(store, "made", Plan.of_segments(60, seed=3))
    whole = open_session(alone, "made", name=None).view.duration
    as_of = None if cut is None else round(whole * cut, 2)
    first = open_session(alone, "made", as_of=as_of, name=None)
    asked = calls(first, seed=5)
    expected = [answer(first, *call) for call in asked]

    session = open_session(shared, "made", as_of=as_of, name=None)
    found = hammered([partial(answer, session, *call) for call in asked])

    assert all(answers == expected for answers in found)


def test_threads_write_to_one_session_without_losing_or_doubling_anything(tmp_path: Path) -> None:
    write_world(tmp_path, "made", Plan.of_segments(20, seed=3))
    session = open_session(tmp_path, "made", name="shared")

    def write(number: int) -> int:
        session.write_memory(level="event", span=TimeSpan(start=0, end=1), content=f"memory {number}")
        return session.revision

    hammered([partial(write, number) for number in range(6)], threads=4)

    ids = [memory.memory_id for memory in session.memories()]
    assert len(ids) == len(set(ids)) == session.revision == 24
    assert len(open_session(tmp_path, "made", name="shared").memories()) == 24


def test_a_log_that_is_read_while_it_grows_is_read_once(tmp_path: Path) -> None:
    write_world(tmp_path, "made", Plan.of_segments(20, seed=3))
    writer = open_session(tmp_path, "made", name="log")
    for number in range(40):
        writer.write_memory(level="event", span=TimeSpan(start=0, end=1), content=str(number))
    assert writer.overlay.path is not None
    for _ in range(20):
        reader = Overlay(writer.overlay.path)

        assert {len(events) for found in hammered([reader.events] * 3) for events in found} == {40}


def test_words_have_the_same_stems_whoever_asks() -> None:
    texts = [
        f"{word}{end}" for word in ("walk", "runn", "nation", "relat", "hop") for end in ("ing", "ed", "ational", "s")
    ]
    fresh = [[f"{text} {text}x{turn}ing" for text in texts] for turn in range(40)]

    found = hammered([lambda some=some: [content_words(text) for text in some] for some in fresh])

    assert all(answers == found[0] for answers in found)
    assert content_words("walking")[0] == "walk"


def test_worlds_are_opened_beside_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        write_world(tmp_path, name, Plan.of_segments(5, seed=3))
    together = Barrier(2)

    def meeting(folder: Path) -> Any:
        together.wait(20)
        return read_manifest(folder)

    monkeypatch.setattr("world_api.world.store.read_manifest", meeting)
    with ThreadPoolExecutor(2) as pool:
        opened = list(pool.map(lambda name: open_world(tmp_path, name), ["one", "two"]))

    assert [world.manifest.video_id for world in opened] == ["one", "two"]
    assert [open_world(tmp_path, name) for name in ("one", "two")] == opened


def test_what_a_frame_is_made_into_is_made_once_for_all_threads() -> None:
    numbers = count()

    def of_another(frame: Frame) -> int:
        return frame.derived(lookalike) + 1

    def lookalike(frame: Frame) -> int:
        return next(numbers)

    for turn in range(30):
        frame = Frame(0.0)
        found = hammered(
            [lambda frame=frame: frame.derived(of_another), lambda f=frame: f.derived(lookalike)], threads=4
        )
        assert found == [[turn + 1, turn]] * 4


def test_values_by_key_are_made_once_and_may_be_made_of_one_another() -> None:
    for _ in range(50):
        each: OnceEach[str, object] = OnceEach()

        def inner(each: OnceEach[str, object] = each) -> object:
            return each.get("inner", object)

        def outer(each: OnceEach[str, object] = each, inner: Callable[[], object] = inner) -> object:
            return each.get("outer", lambda: (inner(), object()))

        found = hammered([inner, outer], threads=4)

        assert all(pair[0] is found[0][0] and pair[1] is found[0][1] for pair in found)


@pytest.mark.shared_data
def test_threads_that_look_at_frames_on_demand_see_what_one_thread_sees(shared_data: Path, tmp_path: Path) -> None:
    video = shared_data / "video" / "people_one_by_one.mp4"
    times = [12.4, 61.7]
    looks = [(time, category) for time in times for category in ("person", "face")]

    def looker(cache: Path) -> FrameLooker:
        return FrameLooker(frames=VideoFrames(video), detector=ClassicalDetector(), world_key="0" * 64, cache=cache)

    alone, shared = looker(tmp_path / "alone"), looker(tmp_path / "kept")
    expected = [alone.detect(*look) for look in looks]

    found = hammered([partial(shared.detect, *look) for look in looks], threads=3)

    assert all(seen == expected for seen in found)
    assert [looker(tmp_path / "kept").detect(*look) for look in looks] == expected
    assert len(list((tmp_path / "kept").rglob("*.json"))) == len(looks)
