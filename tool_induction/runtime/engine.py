"""Executes the steps of compiled tools, in order.

Steps read and bind names and nothing else, and a loop's items do not see each other; so steps and items that do
not depend on each other may later run concurrently with the same results.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.diagnostics import format_path
from tool_induction.language.evaluation import Json, as_text, evaluate, truth
from tool_induction.language.model import (
    Aggregate,
    Block,
    Call,
    Filter,
    If,
    Loop,
    Project,
    Require,
    Set,
    Step,
    StopStatus,
    binds,
)
from tool_induction.language.syntax import Expr
from tool_induction.runtime.aggregating import aggregated
from tool_induction.runtime.budget import BudgetExhausted, Meter
from tool_induction.runtime.calling import OperationCalls
from tool_induction.runtime.inheriting import as_callee_record, completed, products, projected
from tool_induction.runtime.outcome import Outcome, outcome_of
from tool_induction.runtime.trace import Trace
from tool_induction.runtime.values import Unfit, fitted
from world_api.core.faults import ToolFault, VideoWorldError

Scope: TypeAlias = MutableMapping[str, Json]


class Stopped(Exception):
    """A ``require`` did not hold, here or in a tool that was called."""

    def __init__(self, status: StopStatus | str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(kw_only=True)
class Engine:
    """One run: what is shared by a tool and all tools it calls."""

    tools: Mapping[str, CompiledTool]
    calls: OperationCalls
    meter: Meter
    trace: Trace
    warnings: list[str] = field(default_factory=list)
    lost: bool = False

    def run(self, name: str, arguments: Mapping[str, Json]) -> Outcome:
        """Run a tool on checked arguments. Never raises for what happens inside."""
        compiled = self.tools[name]
        scope: Scope = {item.name: item.default.value for item in compiled.tool.inputs if item.default is not None}
        types = {item.name: item.type for item in compiled.tool.inputs}
        scope.update({key: completed(value, types[key]) for key, value in arguments.items()})
        with self.trace.inside("tool", name, arguments=dict(arguments)) as node:
            status, reason, fault, stopped = "ok", "", None, False
            try:
                self._block(compiled.tool.steps, scope)
            except Stopped as stop:
                status, reason, stopped = stop.status, stop.reason, True
            except BudgetExhausted as exhausted:
                status, reason = "budget_exhausted", exhausted.message
            except VideoWorldError as caught:
                status, reason, fault = "error", caught.message, caught
            if fault is None and self.meter.exhausted:
                status, reason = "budget_exhausted", f"the run used {self.meter.exhausted}"
            elif fault is None and self.lost and status in ("ok", "empty"):
                # Nothing found is no answer while part of the looking failed.
                status, reason = "partial", reason or "some calls failed"
            outcome = outcome_of(compiled.tool, scope, status=status, reason=reason, fault=fault)
            outcome = replace(outcome, stopped=stopped)
            node.outcome = outcome.status
            return outcome

    def warn(self, text: str) -> None:
        """Note something the caller should know, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def _block(self, steps: tuple[Step, ...], scope: Scope) -> None:
        for step in steps:
            if not isinstance(step, Require | Set | Aggregate | Filter | Project):
                self.meter.call()
            self._count_step()
            with self.trace.inside("step", _label(step), path=format_path(step.path)) as node:
                try:
                    self._step(step, scope)
                except Stopped as stop:
                    node.outcome = stop.status
                    raise
                except VideoWorldError as fault:
                    node.outcome = fault.code
                    raise

    def _count_step(self) -> None:
        if not self.meter.exhausted:
            self.meter.step()

    def _step(self, step: Step, scope: Scope) -> None:
        match step:
            case If():
                holds = truth(step.condition, evaluate(step.condition, scope))
                self._block(step.then if holds else step.otherwise, scope)
            case Require():
                if not truth(step.condition, evaluate(step.condition, scope)):
                    raise Stopped(step.status, as_text(evaluate(step.reason, scope)))
            case Call(loop=Loop() as loop):
                self._loop(step, loop, scope, lambda inside: self._once(step, inside))
            case Block():
                self._loop(step, step.loop, scope, lambda inside: self._body(step, inside))
            case _:
                self._save(step.save_as, self._value(step, scope), scope)

    def _save(self, name: str, value: Json, scope: Scope) -> None:
        self.meter.bound(value)
        scope[name] = value

    def _value(self, step: Call | Filter | Project | Aggregate | Set, scope: Scope) -> Json:
        match step:
            case Call():
                return self._call(step, scope)
            case Filter():
                return [item for item in self._list(step.inputs, scope) if self._holds(step.where, scope, item)]
            case Project():
                return [self._projected(step, scope, item) for item in self._list(step.inputs, scope)]
            case Aggregate():
                return aggregated(
                    step, scope, holds=lambda where, item: self._holds(where, scope, item), weigh=self.meter.bound
                )
            case Set():
                return evaluate(step.value, scope)

    def _projected(self, step: Project, scope: Scope, item: Json) -> Json:
        self.meter.look()
        return projected(item, {key: evaluate(value, _with(scope, "item", item)) for key, value in step.fields})

    def _list(self, expr: Expr, scope: Mapping[str, Json]) -> list[Json]:
        value = evaluate(expr, scope)
        if value is None:
            return []
        if not isinstance(value, list):
            raise ToolFault("bad_list", "a list is wanted where there is none", hint="the tool's types do not hold")
        return value

    def _holds(self, where: Expr, scope: Scope, item: Json) -> bool:
        self.meter.look()
        return truth(where, evaluate(where, _with(scope, "item", item)))

    def _call(self, step: Call, scope: Scope) -> Json:
        try:
            return self._once(step, scope)
        except BudgetExhausted:
            raise
        except (VideoWorldError, Stopped) as fault:
            if step.on_error == "fail":
                raise
            self._lose(step, fault, 1, 1)
            return None

    def _once(self, step: Call, scope: Mapping[str, Json]) -> Json:
        arguments = {key: evaluate(value, scope) for key, value in step.params}
        if step.kind == "api":
            return self.calls(step.target, arguments)
        outcome = self.run(step.target, self._fitting(step.target, arguments))
        if outcome.fault is not None:
            raise outcome.fault
        if outcome.status == "budget_exhausted":
            raise BudgetExhausted("budget_exhausted", outcome.reason)
        if outcome.stopped:
            raise Stopped(outcome.status, f"{step.target}: {outcome.reason}")
        return as_callee_record(outcome.outputs, outcome.status, outcome.summary, outcome.evidence)

    def _fitting(self, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments of a call as the called tool's inputs have them."""
        types = {item.name: item.type for item in self.tools[name].tool.inputs}
        try:
            return {key: fitted(value, types[key], place=key) for key, value in arguments.items()}
        except Unfit as why:
            raise ToolFault("bad_arguments", f"{name}: {why}", hint="a called tool takes what it declares") from None

    def _body(self, step: Block, scope: Scope) -> Json:
        self._block(step.body, scope)
        last = next((binds(inner)[-1] for inner in reversed(step.body) if binds(inner)), None)
        return scope.get(last) if last is not None else None

    def _loop(self, step: Call | Block, loop: Loop, scope: Scope, once: Callable[[Scope], Json]) -> None:
        rows = self._list(loop.over, scope)
        if len(rows) > loop.bound:
            self.warn(f"{step.save_as}: the first {loop.bound} of {len(rows)} items were looked at")
        collected: list[Json] = []
        faults: list[VideoWorldError] = []
        done = 0
        for item in rows[: loop.bound]:
            inside = _with(scope, loop.variable, item)
            inside[step.save_as] = collected  # what ``until`` looks at
            try:
                self.meter.item()
                self.meter.call()
                collected.extend(products(once(inside), item, step.flattens))
            except BudgetExhausted:
                self.warn(f"{step.save_as}: the budget ran out after {done} of {len(rows)} items")
                break
            except (VideoWorldError, Stopped) as fault:
                if step.on_error == "fail":
                    raise
                if isinstance(fault, VideoWorldError):
                    faults.append(fault)
                if step.on_error == "null" and step.flattens is None:
                    collected.append(None)
                done += 1
                continue  # what ``until`` asks about may not have been bound
            done += 1
            if loop.until is not None and truth(loop.until, evaluate(loop.until, inside)):
                break
        if faults and len(faults) == done:
            raise faults[0]
        # Bound only now: after a fault the list so far must not pass for the whole one.
        self._save(step.save_as, collected, scope)
        if faults:
            self._lose(step, faults[0], len(faults), done)

    def _lose(self, step: Call | Block, fault: VideoWorldError | Stopped, failed: int, tried: int) -> None:
        if isinstance(fault, Stopped):
            self.warn(f"{step.save_as}: {fault.reason or fault.status}")
            return
        self.lost = True
        self.warn(f"{step.save_as}: {failed} of {tried} calls failed ({fault.code}: {fault.message})")


def _with(scope: Scope, name: str, value: Json) -> Scope:
    """A scope inside this one: what is bound in it is not seen outside."""
    return ChainMap({name: value}, scope)


def _label(step: Step) -> str:
    match step:
        case Call():
            return f"{step.target} as {step.save_as}"
        case Aggregate():
            return f"{step.operation} as {step.save_as}"
        case If() | Require():
            return type(step).__name__.lower()
    return f"{type(step).__name__.lower()} as {step.save_as}"
