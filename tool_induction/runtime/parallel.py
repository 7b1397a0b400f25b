"""Several calls at a time: worker threads get the answers to loop items and neighbouring steps that are independent.

The interpreter goes through the items one after the other and takes the answers as it comes to them, so counts,
bounds, warnings and the trace are those of a run with one call at a time. It begins an item when the item's worker is done.
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
from tool_induction.runtime.budget import RunMeter
from tool_induction.runtime.calls import Asks, CallResult, Memo, OperationCalls, WorldCalls, whole_numbers
from world_api.core.execution import ordered_map
from world_api.operations import EVERY_OPERATION

Steps: TypeAlias = tuple[Step, ...]
#: Steps to be done by a worker, and the values of the names they see.
Task: TypeAlias = tuple[Steps, dict[str, Json]]
#: Does a task's steps; the calls in them go to the given object.
DoTask: TypeAlias = Callable[[Asks, Task], None]
#: Declared seconds from which on a call waits for something beside Python's lock: a picture to be decoded, a model.
_WAITS_FROM = 0.05


class Abandoned(Exception):
    """A worker's calls are no longer needed, or are left to the interpreter."""


class Effect(Flag):
    """What a step does, with all steps inside it and in tools it calls."""

    NONE = 0
    WAITS = auto()  #: It calls an operation that is waited for.
    WRITES = auto()  #: It calls an operation that writes.
    STOPS = auto()  #: A ``require`` in it may end the tool.
    LOOPS = auto()  #: It is or holds a loop whose items may be independent.


@dataclass
class PreparedCalls:
    """The calls that workers make for one loop or group of steps; their answers are kept until the interpreter takes them.

    Each call is made once, by the thread that asks first. What is kept takes no more bytes than the run may still get: beyond that
    workers begin no call.
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
        """The result of an operation, for a worker.

        Raises:
            Abandoned: the run has ended the loop, or has no time or room left.
            VideoWorldError: what the operation names.
        """
        arguments = whole_numbers(name, arguments)
        key = self.world.key(name, arguments)
        meter = self.meter
        if key is None or self.closed or meter.exhausted or self._bytes > meter.bytes_left or meter.is_late():
            raise Abandoned
        return self.take(key, name, arguments).result

    def take(self, key: str, name: str, arguments: Mapping[str, Json]) -> CallResult:
        """The result of a call: the one that was or is being got, or got now. ``drop`` it once it counts.

        Raises:
            VideoWorldError: what the operation names.
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
        """Drop an answer that the run has taken."""
        with self._lock:
            future = self._futures.pop(key, None)
            # It is not done where the wait for it was interrupted.
            if future is not None and future.done() and future.exception() is None:
                self._bytes -= future.result().size


@dataclass(kw_only=True)
class Parallel:
    """Decides which steps and items of a run are independent, and has workers make their calls."""

    tools: Mapping[str, CompiledTool]
    calls: OperationCalls
    world: WorldCalls
    memo: Memo
    meter: RunMeter
    _effects: dict[int, Effect] = field(default_factory=dict)
    _groups: dict[int, tuple[Steps, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._turns = Semaphore(self.meter.limits.concurrency)

    def groups(self, steps: Steps) -> tuple[Steps, ...]:
        """The steps of a block in order; neighbouring calls that are independent are together, all others alone."""
        if id(steps) not in self._groups:
            self._groups[id(steps)] = self._grouped(steps)
        return self._groups[id(steps)]

    def of_group(self, group: Steps, scope: Mapping[str, Json]) -> list[Task]:
        """The tasks of a group of steps; none if parallel calls gain nothing."""
        if len(group) < 2 or self._is_off:
            return []
        return [((step,), dict(scope)) for step in group[: self.meter.left("steps")]]

    def of_items(self, step: Call | Block, rows: Sequence[Json], scope: Mapping[str, Json]) -> Iterable[Task]:
        """The tasks of a loop's items; none if they depend on each other or parallel calls gain nothing.

        They are not where one of them writes or can make later ones needless.
        """
        loop, effect = step.loop, self._effect(step)
        rows = rows[: self.meter.left("items")]
        if loop is None or loop.until is not None or len(rows) < 2 or self._is_off:
            return ()
        if Effect.WAITS not in effect or effect & (Effect.WRITES | Effect.STOPS):
            return ()
        if len(rows) < self.meter.limits.concurrency and Effect.LOOPS in self._inner(step):
            return ()  # then the items of the inner loop are done side by side
        steps: Steps = step.body if isinstance(step, Block) else (replace(step, loop=None, on_error="fail"),)
        return ((steps, {**scope, loop.variable: item, step.save_as: []}) for item in rows)

    @contextmanager
    def prepared(self, tasks: Iterable[Task], do: DoTask) -> Iterator[Callable[[], None]]:
        """Have workers make the calls of tasks; the function that is given waits for those of the next task.

        When the block is left no call is under way.
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

    def _grouped(self, steps: Steps) -> tuple[Steps, ...]:
        groups: list[list[Step]] = [[]]
        for step in steps:
            # a call, or one of a tool without loops, that may be made beside others
            is_single = isinstance(step, Call) and step.loop is None and self._effect(step) == Effect.WAITS
            bound = {name for before in groups[-1] for name in binds(before)}
            if not is_single or bound & {name for _, value in values(step) for name in names(value)}:
                groups.append([])
            groups[-1].append(step)
            if not is_single:
                groups.append([])
        return tuple(tuple(group) for group in groups if group)

    def _effect(self, step: Step) -> Effect:
        if id(step) not in self._effects:
            self._effects[id(step)] = self._found(step)
        return self._effects[id(step)]

    def _found(self, step: Step) -> Effect:
        match step:
            case Require():
                return Effect.STOPS
            case JudgeStep():
                return Effect.STOPS | Effect.WRITES  # its answers cost tokens: none is got that may not be needed
            case Call(kind="api"):
                operation = EVERY_OPERATION[step.target]
                waits = operation.price.model_calls > 0 or operation.price.seconds >= _WAITS_FROM
                found = Effect.WAITS if waits else Effect.NONE  # others only take turns in computing
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
        """What is done inside a step, and in the tool it calls."""
        inside = [one for block in blocks(step) for one in block]
        if isinstance(step, Call) and step.kind == "tool":
            inside = [*inside, *self.tools[step.target].tool.steps]
        return reduce(or_, map(self._effect, inside), Effect.NONE)
