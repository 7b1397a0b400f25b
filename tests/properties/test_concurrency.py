"""However many calls may be under way at a time, a run is the same to the byte; and outputs hang on the calls it names."""

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.plans import ARGUMENTS, AnyWorld, document, drawn_steps, number_of
from tool_induction import Memo, RunLimits, Trace, compile_document, run_tool

INNER = drawn_steps(depth=1, callee=False, most=4)
OUTER = drawn_steps(depth=2, callee=True)
BOUNDS = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"steps": st.integers(1, 30)}),
    st.fixed_dictionaries({"items": st.integers(1, 12)}),
    st.fixed_dictionaries({"result_bytes": st.integers(100, 20_000)}),
    st.fixed_dictionaries({"values": st.integers(10, 2_000)}),
    st.fixed_dictionaries({"seconds": st.integers(1, 60)}),
)


@pytest.fixture(autouse=True)
def _restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


class Ticking:
    """A clock that goes on when the thread that made it looks at it; others see what time it is."""

    def __init__(self) -> None:
        self.now = 0.0
        self.owner = threading.get_ident()

    def __call__(self) -> float:
        self.now += threading.get_ident() == self.owner
        return self.now


def ran(
    tools: Any, world: AnyWorld, concurrency: int, bounds: Any, memo: Memo | None = None, *, known: bool = True
) -> tuple[str, str]:
    """The record and the trace of a run, as text. The clock ticks whenever the run looks at it."""
    trace, clock = Trace(), Ticking()
    limits = RunLimits(concurrency=concurrency, **{"seconds": 1e9, **bounds})
    record = run_tool(
        tools,
        "outer",
        ARGUMENTS,
        call=world,
        world=world if known else None,
        limits=limits,
        memo=memo,
        monotonic=clock,
        trace=trace,
    )
    return json.dumps(record), json.dumps(trace.root.record())


@settings(max_examples=120, deadline=None)
@given(inner=INNER, outer=OUTER, fails=st.sampled_from([0, 0, 2, 5, 13]), bounds=BOUNDS, known=st.booleans())
def test_a_concurrent_run_equals_a_sequential_one_to_the_byte(
    inner: Any, outer: Any, fails: int, bounds: Any, known: bool
) -> None:
    tools = compile_document([document("inner", inner), document("outer", outer)]).tools
    if "outer" not in tools:
        return
    alone, memo = AnyWorld(fails_every=fails), Memo()
    expected = [ran(tools, alone, 1, bounds, memo, known=known) for _ in range(2)]
    for concurrency in (2, 8):
        world, memo = AnyWorld(fails_every=fails, yields=True), Memo()
        found = [ran(tools, world, concurrency, bounds, memo, known=known) for _ in range(2)]

        assert found == expected
        assert world.most <= concurrency
        assert not Counter(alone.asked) - Counter(world.asked)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("ordered-map")]
        if not fails and not bounds and json.loads(expected[0][0])["status"] == "ok":
            assert Counter(world.asked) == Counter(alone.asked), "money was spent that a sequential run saves"


def behind(trace: dict[str, Any], output: str) -> set[int]:
    """Everything an output hangs on: the calls it names, and those behind their arguments in turn."""
    source = trace["outputs"].get(output, {})
    calls = {call["call"]: call for call in calls_in(trace)}
    left, found = set(source.get("calls", ())), set()
    while left:
        found |= left
        left = {number for call in left for number in calls[call].get("made_from", ())} - found
    return found


def calls_in(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node["kind"] == "call":
        yield node
    for child in node.get("children", ()):
        yield from calls_in(child)


READS_INNER = drawn_steps(depth=1, callee=False, most=4, writes=False)
READS_OUTER = drawn_steps(depth=2, callee=True, writes=False)


@settings(max_examples=120, deadline=None)
@given(inner=READS_INNER, outer=READS_OUTER, fails=st.sampled_from([0, 0, 5]), data=st.data())
def test_an_output_does_not_hang_on_a_call_that_is_not_behind_it(
    inner: Any, outer: Any, fails: int, data: st.DataObject
) -> None:
    tools = compile_document([document("inner", inner), document("outer", outer)]).tools
    if "outer" not in tools:
        return
    world = AnyWorld(fails_every=fails)
    record, trace = (json.loads(text) for text in ran(tools, world, 1, {}))
    if record["status"] not in ("ok", "partial") or "error" in record:
        return
    tool = trace["children"][0]
    numbers = {call["call"]: number_of(call["name"], call["arguments"]) for call in calls_in(tool)}
    output = data.draw(st.sampled_from(sorted(tool["outputs"])))
    named = {numbers[call] for call in behind(tool, output)}
    changed = AnyWorld(fails_every=fails)
    changed.altered = frozenset(numbers.values()) - named

    again, _ = (json.loads(text) for text in ran(tools, changed, 1, {}))

    if "error" in again:
        assert fails, "what stops where no call fails?"
        return  # nor is whether a call fails
    if again["status"] not in ("ok", "partial"):
        return  # whether a requirement holds is not followed
    assert again["outputs"][output] == record["outputs"][output]
