"""Calls of independent items and steps are made side by side: which, when, how that ends, and who is charged."""

import json
import signal
import threading
from threading import Barrier, Event
from typing import Any

import pytest

from tests.support.gated import FOUND, PATIENCE, GatedWorld
from tool_induction.runtime import RunLimits, Trace, run_tool
from world_api.core import OperationFault, Spent, charge, deadline, ledger, remaining

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
ARGUMENTS = {"video_id": "film", "query": "somebody"}


@pytest.fixture
def document(document: Any, search: Any) -> Any:
    """Documents whose search finds more than the usual five."""
    search["params"]["top_k"] = 20
    return document


def call(api: str, name: str, **params: Any) -> dict[str, Any]:
    return {"type": "call_world_api", "api": api, "params": {"video_id": "{{video_id}}", **params}, "save_as": name}


DETECT = {**call("detect_objects", "seen", timestamp="{{item.start_time}}", category="person"), "loop_over": "hits"}
SEEN = {"n": {"type": "int", "from": "{{ seen | length }}"}}
DESCRIBE = call("describe_segment", "text", start_time=0, end_time=1)


def ran(tools: Any, world: Any, concurrency: int, **limits: Any) -> tuple[str, str]:
    trace = Trace()
    record = run_tool(
        tools,
        list(tools)[-1],
        ARGUMENTS,
        call=world,
        world=world,
        limits=RunLimits(concurrency=concurrency, **limits),
        trace=trace,
    )
    return json.dumps(record), json.dumps(trace.root.record())


def test_items_that_end_in_the_opposite_order_give_the_same_bytes(compiled: Any, document: Any) -> None:
    tools = compiled(document(DETECT, outputs={**SEEN, "rows": {"type": "list", "from": "{{ seen }}"}}))
    over = [Event() for _ in range(FOUND + 1)]
    over[FOUND].set()

    def after_the_next(time: float) -> None:
        assert over[int(time) + 1].wait(PATIENCE)
        over[int(time)].set()

    assert ran(tools, GatedWorld(after_the_next), FOUND) == ran(tools, GatedWorld(), 1)


def test_so_many_calls_are_under_way_at_a_time_and_no_more(compiled: Any, document: Any) -> None:
    together = Barrier(4)
    world = GatedWorld(lambda _: together.wait(PATIENCE) and None)

    ran(compiled(document(DETECT, outputs=SEEN)), world, 4)

    assert world.most == 4


def test_steps_that_do_not_need_each_other_run_together(compiled: Any, document: Any) -> None:
    looks = [call("detect_objects", f"x{n}", timestamp=n, category="person") for n in range(3)]
    needs = call("detect_objects", "y", timestamp="{{ x0 | length + 90 }}", category="person")
    together = Barrier(3)
    world = GatedWorld(lambda time: together.wait(PATIENCE) and None if time < 3 else None)

    ran(compiled(document(*looks, needs)), world, 4)

    assert world.looked[-1] >= 90


def test_called_tools_and_loops_in_loops_do_not_wait_for_each_other(compiled: Any, document: Any) -> None:
    inner = document(DETECT, outputs=SEEN, name="inner")
    params = {"video_id": "{{video_id}}", "query": "{{query}} {{outer.start_time}} {{item.start_time}}"}
    each = {
        "type": "call_tool",
        "tool": "inner",
        "params": params,
        "loop_over": "hits",
        "max_items": 4,
        "save_as": "one",
    }
    nested = {"type": "loop", "loop_over": "hits", "max_items": 4, "as": "outer", "do": [each], "save_as": "all"}
    tools = compiled(
        inner, document(nested, outputs={"n": {"type": "int", "from": "{{ all | length }}"}}, name="outer")
    )

    found = [ran(tools, GatedWorld(found=4), concurrency) for concurrency in (1, 2, 3, 16)]

    assert found[1:] == found[:1] * 3


@pytest.mark.parametrize("kind", ["require", "if", "callee", "block"])
def test_nothing_after_a_requirement_starts_before_it_held(compiled: Any, document: Any, kind: str) -> None:
    require = {"type": "require", "condition": "{{ hits | length > 99 }}", "reason": "too few"}
    callee = {
        "type": "call_tool",
        "tool": "inner",
        "params": {"video_id": "{{video_id}}", "query": "x"},
        "save_as": "y",
    }
    gate = {
        "require": require,
        "if": {"type": "if", "condition": "{{ hits | length > 1 }}", "then": [require], "else": [require]},
        "callee": callee,
        "block": {"type": "loop", "loop_over": "hits", "as": "one", "do": [require, DESCRIBE], "save_as": "y"},
    }[kind]
    inner = document(require, DESCRIBE, name="inner")
    world = GatedWorld()

    record, _ = ran(compiled(inner, document(gate, DETECT, outputs=SEEN, name="outer")), world, 8)

    assert json.loads(record)["status"] == "empty"
    assert set(world.names) == {"search_segments_by_text"}


def test_a_loop_with_until_makes_no_call_that_one_thread_would_not_make(compiled: Any, document: Any) -> None:
    tools = compiled(document(DETECT | {"until": "{{ seen | length > 0 }}"}, outputs=SEEN))
    alone, world = GatedWorld(), GatedWorld()

    assert ran(tools, world, 8) == ran(tools, alone, 1)
    assert sorted(world.asked) == sorted(alone.asked)


def test_nothing_runs_beside_an_operation_that_writes_nor_before_it(compiled: Any, document: Any) -> None:
    write = call("write_memory", "note", level="event", time_range={"start_time": 0, "end_time": 1}, content="x")
    block = {"type": "loop", "loop_over": "hits", "as": "one", "do": [write, DESCRIBE], "save_as": "all"}
    tools = compiled(document(DETECT, block, call("list_entities", "who"), outputs=SEEN))
    world = GatedWorld()

    assert ran(tools, world, 8) == ran(tools, GatedWorld(), 1)
    assert world.revision == FOUND
    assert world.names.index("write_memory") == FOUND + 1


def test_a_call_that_two_steps_make_is_made_once(compiled: Any, document: Any) -> None:
    looks = [call("detect_objects", f"x{n}", timestamp=5, category="person") for n in range(6)]
    world = GatedWorld()

    record, _ = ran(compiled(document(*looks)), world, 4)

    assert world.looked == [5]
    assert json.loads(record)["calls"] == {"logical": 7, "physical": 2}


def test_a_fault_ends_a_loop_where_one_thread_would_and_little_more_is_asked(compiled: Any, document: Any) -> None:
    def fails(time: float) -> None:
        if time == 3:
            raise OperationFault("frame_unreadable", "no")

    tools = compiled(document(DETECT, outputs=SEEN))
    world = GatedWorld(fails, found=20)

    assert ran(tools, world, 2) == ran(tools, GatedWorld(fails, found=20), 1)
    assert len(world.looked) <= 4 + 2 * 2


def test_what_a_failed_item_left_behind_is_not_asked_any_more(compiled: Any, document: Any) -> None:
    def fails(time: float) -> None:
        raise OperationFault("frame_unreadable", "no")

    each = {**DETECT, "params": {**DETECT["params"], "text_query": "{{ one.segment_id }} {{ one.start_time }}"}}
    block = {"type": "loop", "loop_over": "hits", "as": "one", "do": [each], "on_error": "skip", "save_as": "all"}
    tools = compiled(document({**block, "max_items": 4}, outputs={"n": {"type": "int", "from": "{{ hits | length }}"}}))
    world = GatedWorld(fails, found=20)

    assert ran(tools, world, 2) == ran(tools, GatedWorld(fails, found=20), 1)
    assert len(world.looked) <= 4 * (1 + 2 * 2)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_whatever_ends_a_run_ends_its_threads(compiled: Any, document: Any, error: type[BaseException]) -> None:
    tools = compiled(document(DETECT, outputs=SEEN))
    started = Barrier(2)

    def breaks(time: float) -> None:
        if time == 0:
            raise error
        if time == 1:
            started.wait(PATIENCE)

    def first_breaks(time: float) -> None:
        if time == 0:
            started.wait(PATIENCE)
        breaks(time)

    with pytest.raises(error):
        ran(tools, GatedWorld(first_breaks, found=20), 3)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_amid_a_wait_ends_the_run_when_the_calls_under_way_are_over(compiled: Any, document: Any) -> None:
    tools = compiled(document(DETECT, outputs=SEEN))
    interrupted = Event()

    def look(time: float) -> None:
        if time == 1:
            signal.raise_signal(signal.SIGINT)  # comes up in the main thread, wherever that is
            interrupted.set()
        elif time == 0:
            assert interrupted.wait(PATIENCE)

    world = GatedWorld(look, found=20)

    with pytest.raises(KeyboardInterrupt):
        ran(tools, world, 2)
    assert len(world.looked) < 20
    assert world.under_way == 0


def test_charges_of_calls_made_by_workers_are_in_the_ledger_of_the_tool(compiled: Any, document: Any) -> None:
    together = Barrier(2)
    asking: set[str] = set()

    def look(time: float) -> None:
        if time < 2:
            together.wait(PATIENCE)
        asking.add(threading.current_thread().name)
        charge(Spent(purpose="perception", model="eyes", request=f"{time:g}", prompt=1, completion=1))

    with ledger() as book:
        ran(compiled(document(DETECT, outputs=SEEN)), GatedWorld(look), 4)
    assert len(asking) > 1
    assert {item.request for item in book.items} == {f"{number}" for number in range(FOUND)}


def test_calls_made_by_workers_have_no_more_time_than_the_tool(compiled: Any, document: Any) -> None:
    allowed: set[float] = set()

    def look(time: float) -> None:
        allowed.add(remaining(300.0))

    with deadline(7.0):
        ran(compiled(document(DETECT, outputs=SEEN)), GatedWorld(look), 4)
    assert allowed == {7.0}
