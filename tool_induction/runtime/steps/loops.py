"""One loop: a call or a block of steps for each item of a list, in item order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tool_induction.language.evaluation import Json, evaluate, truth
from tool_induction.language.model import Block, Call, Loop, binds
from tool_induction.runtime.budget import BudgetExhausted
from tool_induction.runtime.origins.expressions import origin_of
from tool_induction.runtime.origins.origin import NO_CALLS, NOTHING, Calls, Origin
from tool_induction.runtime.origins.steps import of_product, read_by, rows_of
from tool_induction.runtime.steps.inheriting import flattened, inherit
from tool_induction.runtime.steps.scopes import Scope, Stopped, listed
from world_api.core.faults import VideoWorldError

if TYPE_CHECKING:
    from tool_induction.runtime.ahead.lookahead import ItemsAhead
    from tool_induction.runtime.engine import Engine


class LoopRun:
    """One run of one loop. What it has collected when a budget runs out is kept."""

    def __init__(self, engine: Engine, step: Call | Block, scope: Scope) -> None:
        assert step.loop is not None  # noqa: S101 - the engine asks for loops only
        self._engine = engine
        self._step = step
        self._loop: Loop = step.loop
        self._scope = scope
        self._collected: list[Json] = []
        self._origins: list[Origin] = []
        self._decided: Calls = NO_CALLS
        self._faults: list[VideoWorldError] = []
        self._done = 0

    def run(self) -> None:
        """Go through the items and bind the list.

        Raises:
            VideoWorldError, Stopped: what an item ended with, where that is not to be passed over.
        """
        step, engine = self._step, self._engine
        rows = listed(self._loop.over, self._scope.values)
        if len(rows) > self._loop.bound:
            engine.warn(f"{step.save_as}: the first {self._loop.bound} of {len(rows)} items were looked at")
        before = engine.calls.logical
        ahead = None if engine.ahead is None else engine.ahead.items(step, rows[: self._loop.bound], self._scope)
        try:
            self._items(rows, ahead)
        finally:
            if ahead is not None:
                ahead.over()
            self._hold()
        if self._faults and len(self._faults) == self._done:
            raise self._faults[0]
        # Bound only now: after a fault the list so far must not pass for the whole one.
        engine.save(step.save_as, self._collected, self._origin(before), self._scope)
        if self._faults:
            engine.lose(step, self._faults[0], len(self._faults), self._done)

    def _items(self, rows: list[Json], ahead: ItemsAhead | None) -> None:
        step, engine = self._step, self._engine
        over = self._over(len(rows))
        for place, item in enumerate(rows[: self._loop.bound]):
            inside = self._scope.inside(self._loop.variable, item)
            inside.values[step.save_as] = self._collected  # what ``until`` looks at
            if inside.origins is not None:
                inside.origins.names[self._loop.variable] = over[place]
            if ahead is not None:
                ahead.at(place)
            try:
                with engine.trace.step(step, place):
                    self._item(item, inside)
            except BudgetExhausted:
                engine.warn(f"{step.save_as}: the budget ran out after {self._done} of {len(rows)} items")
                break
            except (VideoWorldError, Stopped) as fault:
                if step.on_error == "fail":
                    raise
                self._pass_over(fault)
                continue  # what ``until`` asks about may not have been bound
            finally:
                if inside.origins is not None:
                    self._decided |= inside.origins.held
            self._done += 1
            if self._is_enough(inside):
                break

    def _item(self, item: Json, inside: Scope) -> None:
        self._engine.meter.item()
        self._engine.meter.call()
        value, origin = self._once(inside)
        gave = flattened(value, self._step.flattens)
        made = [inherit(row, item, value) for row in gave]
        self._collected.extend(made)
        if inside.origins is not None:
            own = inside.origins.of(self._loop.variable)
            rows = rows_of(origin, len(gave), self._step.flattens)
            self._origins.extend(
                of_product(given, one, product, own) for given, one, product in zip(gave, rows, made, strict=True)
            )

    def _once(self, inside: Scope) -> tuple[Json, Origin]:
        step = self._step
        if isinstance(step, Call):
            return self._engine.once(step, inside)
        self._engine.block(step.body, inside)
        last = next((binds(inner)[-1] for inner in reversed(step.body) if binds(inner)), None)
        if last is None:
            return None, NOTHING
        return inside.values.get(last), NOTHING if inside.origins is None else inside.origins.of(last)

    def _pass_over(self, fault: VideoWorldError | Stopped) -> None:
        if isinstance(fault, VideoWorldError):
            self._faults.append(fault)
        if self._step.on_error == "null" and self._step.flattens is None:
            self._collected.append(None)
            self._origins.append(NOTHING)  # what decided about the list decided about its nulls
        self._done += 1

    def _is_enough(self, inside: Scope) -> bool:
        until = self._loop.until
        if until is None:
            return False
        if inside.origins is not None:
            self._decided |= origin_of(until, inside.values, inside.origins).behind()
        return truth(until, evaluate(until, inside.values))

    def _hold(self) -> None:
        """Where an item may end the tool, what decided how many there were decided whether it goes on."""
        outer = self._scope.origins
        if outer is not None and self._engine.may_stop(self._step):
            over = origin_of(self._loop.over, self._scope.values, outer)
            outer.held |= self._decided | over.membership() | outer.branch

    def _over(self, count: int) -> tuple[Origin, ...]:
        if self._scope.origins is None:
            return ()
        return origin_of(self._loop.over, self._scope.values, self._scope.origins).each(count)

    def _origin(self, before: int) -> Origin:
        """Each item its own; which items there are was decided by every call of the loop, and by what the loop reads."""
        if self._scope.origins is None:
            return NOTHING
        decided = self._decided | self._engine.calls_since(before) | read_by(self._step, self._scope.origins)
        return Origin(decided=decided, items=tuple(self._origins))
