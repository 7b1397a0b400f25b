"""The bounds of a run hold for its worker threads: time, bytes, and calls that are not waited for."""

import threading
import time
import tracemalloc
from threading import Barrier, Event
from typing import Any

import pytest

from tests.support.gated import FOUND, PATIENCE, GatedWorld
from tool_induction import RunLimits, run_tool

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
ARGUMENTS = {"video_id": "film", "query": "somebody"}
AT_A_TIME = 4


@pytest.fixture
def document(document: Any, search: Any) -> Any:
    """Documents whose search finds more than the usual five."""
    search["params"]["top_k"] = 20
    return document


def looking(name: str = "seen", after: str = "0") -> dict[str, Any]:
    params = {"video_id": "{{video_id}}", "timestamp": f"{{{{ item.start_time + {after} }}}}", "category": "person"}
    return {"type": "call_world_api", "api": "detect_objects", "params": params, "save_as": name}


EACH = {**looking(), "loop_over": "hits"}
HITS = {"n": {"type": "int", "from": "{{ hits | length }}"}}
TWICE = {
    "type": "loop",
    "loop_over": "hits",
    "do": [
        looking("once"),
        looking("again", "0.25"),
        {"type": "set", "value": "{{ item.start_time }}", "save_as": "at"},
    ],
    "save_as": "seen",
}


@pytest.mark.parametrize("concurrency", [1, AT_A_TIME])
@pytest.mark.parametrize("step", [EACH, TWICE], ids=["calls", "blocks"])
def test_time_that_runs_out_amid_a_call_keeps_its_answer_and_starts_no_other(
    compiled: Any, document: Any, concurrency: int, step: Any
) -> None:
    now, over, together = [0.0], Event(), Barrier(concurrency)

    def look(_: float) -> None:
        if together.wait(PATIENCE) == 0:
            now[0] = 100.0
            over.set()
        assert over.wait(PATIENCE)

    world = GatedWorld(look)
    record = run_tool(
        compiled(document(step, outputs=HITS)),
        "small_tool",
        ARGUMENTS,
        call=world,
        limits=RunLimits(seconds=50, concurrency=concurrency),
        monotonic=lambda: now[0],
    )

    assert len(world.looked) == concurrency
    assert record["status"] == "budget_exhausted"
    assert record["outputs"] == {"n": FOUND}
    searched_and_waited_for = record["calls"]["logical"]  # the clock may strike before the run comes to its first look
    assert searched_and_waited_for in ((1, 2) if concurrency > 1 else (2,))


@pytest.mark.parametrize("concurrency", [1, AT_A_TIME])
def test_answers_beyond_the_bytes_of_a_run_are_not_gathered(compiled: Any, document: Any, concurrency: int) -> None:
    size = 2_000_000
    slow, together = Event(), Barrier(concurrency)

    class Large(GatedWorld):
        def _answer(self, name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
            answer = super()._answer(name, arguments, number)
            return answer | {"hint": "x" * size} if name == "detect_objects" else answer

    def look(at: float) -> None:
        if len(world.looked) <= concurrency:
            together.wait(PATIENCE)
        if at == 0:
            slow.wait(0.3)  # the others go on as far as they may

    world = Large(look, found=20)
    tracemalloc.start()
    try:
        record = run_tool(
            compiled(document(TWICE, outputs=HITS)),
            "small_tool",
            ARGUMENTS,
            call=world,
            limits=RunLimits(result_bytes=size // 2, concurrency=concurrency),
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert record["status"] == "budget_exhausted"
    assert len(world.looked) <= 2 * concurrency
    assert peak < (2 * concurrency + 1) * size


def test_answers_that_fit_one_by_one_do_not_pile_up_beyond_what_the_run_may_get(compiled: Any, document: Any) -> None:
    release = Event()

    class Large(GatedWorld):
        def _answer(self, name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
            answer = super()._answer(name, arguments, number)
            return answer | {"hint": "x" * 100_000} if name == "detect_objects" else answer

    def look(at: float) -> None:
        if at == 0:
            release.wait(0.5)  # as long as others may go on

    world = Large(look, found=20)
    record = run_tool(
        compiled(document(EACH, outputs=HITS)),
        "small_tool",
        ARGUMENTS,
        call=world,
        limits=RunLimits(result_bytes=250_000, concurrency=AT_A_TIME),
    )

    assert record["status"] == "budget_exhausted"
    assert len(world.looked) <= 3 + AT_A_TIME


def test_a_call_that_a_worker_gave_up_is_made_by_the_run(compiled: Any, document: Any) -> None:
    """The time is over for workers, while the run, whose clock stands still, wants its calls."""
    main = threading.get_ident()
    world = GatedWorld(lambda _: time.sleep(0.001))
    record = run_tool(
        compiled(document(EACH, outputs=HITS)),
        "small_tool",
        ARGUMENTS,
        call=world,
        limits=RunLimits(seconds=50, concurrency=AT_A_TIME),
        monotonic=lambda: 0.0 if threading.get_ident() == main else 100.0,
    )

    assert record["status"] == "ok"
    assert world.most == 1
    assert len(world.looked) == FOUND


def test_only_calls_that_wait_are_made_by_workers(compiled: Any, document: Any) -> None:
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "params": {
            "video_id": "{{video_id}}",
            "start_time": "{{ item.start_time }}",
            "end_time": "{{ item.end_time }}",
        },
        "loop_over": "hits",
        "save_as": "texts",
    }
    threads: set[int] = set()

    class Watched(GatedWorld):
        def _answer(self, name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
            threads.add(threading.get_ident())
            return super()._answer(name, arguments, number)

    limits = RunLimits(concurrency=AT_A_TIME)
    run_tool(compiled(document(describe, outputs=HITS)), "small_tool", ARGUMENTS, call=Watched(), limits=limits)

    assert threads == {threading.get_ident()}
