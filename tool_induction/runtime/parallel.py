"""Parallel calls: worker threads make the calls of loop items and neighbouring steps that are independent.

The interpreter still executes the items one after the other and uses the prepared results, so counts, limits, warnings
and the trace are those of a run with one call at a time. It begins an item when the item's worker is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from functools import partial, reduce
from operator import or_
from threading import Lock, Semaphore
from typing import Any, TypeAlias

from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language.evaluation import Json
from tool_induction.language.expressions import names
from tool_induction.language.model import Block, Call, JudgeStep, Require, Step, binds, blocks, values
from tool_induction.runtime.calls import Asks, CallResult, Memo, OperationCalls, WorldCalls, whole_numbers
from tool_induction.runtime.limits import RunMeter
from world_api.core.execution import ordered_map
from world_api.operations import EVERY_OPERATION

Steps: TypeAlias = tuple[Step, ...]
#: Steps for a worker, and the values of the names in their scope.
Task: TypeAlias = tuple[Steps, dict[str, Json]]
#: Executes a task's steps; the given object makes their calls.
DoTask: TypeAlias = Callable[[Asks, Task], None]
#: Operations with at least this price in seconds wait for something besides Python's lock: a decoder, a model.
_WAITS_FROM = 0.05


class Abandoned(Exception):
    """A worker ends: its calls are no longer needed, or must be made by the interpreter."""


class Effect(Flag):
    """The effects of a step, including all steps inside it and in tools that it calls."""

    NONE = 0
    WAITS = auto()  #: It calls an operation that is slow enough to gain from parallel calls.
    WRITES = auto()  #: It calls an operation that writes.
    STOPS = auto()  #: A ``require`` in it may end the tool.
    LOOPS = auto()  #: It is or contains a loop whose items may be independent.


@dataclass
class PreparedCalls:
    """The calls that workers make for one loop or group of steps; results are kept until the interpreter uses them.

    Each call is made once, by the first thread that requests it. Workers begin no call if the results that are kept
    take more bytes than the run may still receive.
    """

    world: WorldCalls
    memo: Memo
    meter: RunMeter
    turns: Semaphore
    closed: bool = False
    logical: int = 0
    _lock: Lock = field(default_factory=Lock)
    _futures: dict[str, Future[CallResult]] = field(default_factory=dict)
    _bytes: int = 0

    def __call__(self, name: str, arguments: Mapping[str, Json], made_from: Sequence[int] = ()) -> dict[str, Any]:
        """Return the result of an operation, for a worker; ``made_from`` is not used.

        Raises:
            Abandoned: the operation writes, the loop has ended, or the run has no time or bytes left.
            VideoWorldError: the faults of the operation.
        """
        arguments = whole_numbers(name, arguments)
        key = self.world.key(name, arguments)
        meter = self.meter
        if key is None or self.closed or meter.exhausted or self._bytes > meter.bytes_left or meter.is_late():
            raise Abandoned
        return self.take(key, name, arguments).result

    def take(self, key: str, name: str, arguments: Mapping[str, Json]) -> CallResult:
        """Return the result of a call: cached, from the thread that is making it, or made now.

        The result is kept until ``drop``, which the interpreter calls once it has counted it.

        Raises:
            VideoWorldError: the faults of the operation.
        """
        with self._lock:
            known = self.memo.peek(key)
            if known is not None:
                return known
            is_new = key not in self._futures
            future = self._futures.setdefault(key, Future())
        if is_new:
            try:
                with self.turns:
                    answer = self.world.ask(name, arguments)
            except BaseException as fault:
                future.set_exception(fault)
                raise
            with self._lock:
                self._bytes += answer.size
            future.set_result(answer)
        return future.result()

    def drop(self, key: str) -> None:
        """Remove a result that the run has used."""
        with self._lock:
            future = self._futures.pop(key, None)
            # It is not done if the wait for it was interrupted.
            if future is not None and future.done() and future.exception() is None:
                self._bytes -= future.result().size


@dataclass(kw_only=True)
class Parallel:
    """Decides which steps and items of a run are independent, and lets workers make their calls."""

    tools: Mapping[str, CompiledTool]
    calls: OperationCalls
    world: WorldCalls
    memo: Memo
    meter: RunMeter
    _effects: dict[int, Effect] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._turns = Semaphore(self.meter.limits.concurrency)

    def groups(self, steps: Steps) -> tuple[Steps, ...]:
        """Return the steps of a block in order, in groups: neighbouring independent calls together, others alone."""
        groups: list[list[Step]] = [[]]
        for step in steps:
            # a call of an operation, or of a tool without loops, that may be made in parallel
            is_single = isinstance(step, Call) and step.loop is None and self._effect(step) == Effect.WAITS
            bound = {name for before in groups[-1] for name in binds(before)}
            if not is_single or bound & {name for _, value in values(step) for name in names(value)}:
                groups.append([])
            groups[-1].append(step)
            if not is_single:
                groups.append([])
        return tuple(tuple(group) for group in groups if group)

    def of_group(self, group: Steps, scope: Mapping[str, Json]) -> list[Task]:
        """Return a task for each step of a group; none if parallel calls gain nothing."""
        if len(group) < 2 or self._is_off:
            return []
        return [((step,), dict(scope)) for step in group[: self.meter.left("steps")]]

    def of_items(self, step: Call | Block, rows: Sequence[Json], scope: Mapping[str, Json]) -> Iterable[Task]:
        """Return a task for each item of a loop; none if items may depend on each other or parallel calls gain nothing.

        They may depend on each other if one of them can write, judge, or make later ones unnecessary.
        """
        loop, effect = step.loop, self._effect(step)
        rows = rows[: self.meter.left("items")]
        if loop is None or loop.until is not None or len(rows) < 2 or self._is_off:
            return ()
        if Effect.WAITS not in effect or effect & (Effect.WRITES | Effect.STOPS):
            return ()
        if len(rows) < self.meter.limits.concurrency and Effect.LOOPS in self._inner(step):
            return ()  # the items of the inner loop are done in parallel instead
        steps: Steps = step.body if isinstance(step, Block) else (replace(step, loop=None, on_error="fail"),)
        return ((steps, {**scope, loop.variable: item, step.save_as: []}) for item in rows)

    @contextmanager
    def prepared(self, tasks: Iterable[Task], do: DoTask) -> Iterator[Callable[[], None]]:
        """Let workers make the calls of tasks; the yielded function waits until the next task is done.

        When the block ends, no call is running.
        """
        calls = PreparedCalls(self.world, self.memo, self.meter, self._turns)
        self.calls.prepared = calls
        with closing(ordered_map(partial(do, calls), tasks, width=self.meter.limits.concurrency)) as done:
            try:
                yield lambda: next(done, None)
            finally:
                calls.closed = True
                self.calls.prepared = None

    @property
    def _is_off(self) -> bool:
        return self.calls.prepared is not None or bool(self.meter.exhausted)

    def _effect(self, step: Step) -> Effect:
        if id(step) not in self._effects:
            self._effects[id(step)] = self._found(step)
        return self._effects[id(step)]

    def _found(self, step: Step) -> Effect:
        match step:
            case Require():
                return Effect.STOPS
            case JudgeStep():
                return Effect.STOPS | Effect.WRITES  # its answers cost tokens: none is requested before it is needed
            case Call(kind="api"):
                operation = EVERY_OPERATION[step.target]
                waits = operation.price.model_calls > 0 or operation.price.seconds >= _WAITS_FROM
                found = Effect.WAITS if waits else Effect.NONE  # others would only wait for Python's lock
                if operation.state == "writes":
                    found |= Effect.WRITES
            case _:
                found = self._inner(step)
        if isinstance(step, Call | Block) and step.on_error != "fail":
            found &= ~Effect.STOPS
        if isinstance(step, Call | Block) and step.loop is not None and Effect.WAITS in found:
            found |= Effect.LOOPS
        return found

    def _inner(self, step: Step) -> Effect:
        """Return the union of the effects of the steps inside a step and in the tool it calls, not its own."""
        inside = [one for block in blocks(step) for one in block]
        if isinstance(step, Call) and step.kind == "tool":
            inside = [*inside, *self.tools[step.target].tool.steps]
        return reduce(or_, map(self._effect, inside), Effect.NONE)
