"""Executes the steps of compiled tools in the order of the plan.

Whatever is counted, bounded, warned of or traced happens here, in that order and on one thread, so a run does not depend
on how many calls may be under way at a time. Steps and items of loops that do not depend on each other are run *ahead*
(``tool_induction.runtime.ahead``): other threads make the calls that this one is going to ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.evaluation import Json, as_text, evaluate, truth
from tool_induction.language.model import (
    Aggregate,
    Block,
    Call,
    Filter,
    If,
    JudgeStep,
    Project,
    Require,
    Set,
    Step,
)
from tool_induction.language.syntax import Expr
from tool_induction.runtime.ahead.facts import facts_of
from tool_induction.runtime.answers.asking import Asks
from tool_induction.runtime.budget import BudgetExhausted, Meter
from tool_induction.runtime.judged import Judged
from tool_induction.runtime.origins.expressions import origin_of
from tool_induction.runtime.origins.origin import NO_CALLS, NOTHING, Calls, Origin, Origins
from tool_induction.runtime.origins.steps import (
    of_aggregate,
    of_arguments,
    of_callee,
    of_filter,
    of_judgement,
    of_outputs,
    of_projection,
    read_by,
)
from tool_induction.runtime.outcome import Ended, Outcome, outcome_of
from tool_induction.runtime.steps.aggregating import aggregated
from tool_induction.runtime.steps.callees import as_callee_record, fitting
from tool_induction.runtime.steps.inheriting import completed, projected
from tool_induction.runtime.steps.judging import Judging, no_judge
from tool_induction.runtime.steps.loops import LoopRun
from tool_induction.runtime.steps.scopes import Scope, Stopped, listed
from tool_induction.runtime.trace import Tracer
from world_api.core.faults import VideoWorldError

if TYPE_CHECKING:
    from tool_induction.runtime.ahead.lookahead import Lookahead


#: A warning names at most so many words.
MOST_TOLD = 8


class Engine:
    """One run: what is shared by a tool and all tools it calls."""

    def __init__(
        self,
        *,
        tools: Mapping[str, CompiledTool],
        calls: Asks,
        meter: Meter,
        trace: Tracer,
        judging: Judging | None = None,
        ahead: Lookahead | None = None,
        told: bool = False,
    ) -> None:
        """``told``: somebody wants to know where outputs came from."""
        self.tools = tools
        self.calls = calls
        self.meter = meter
        self.trace = trace
        self.judging = judging
        self.ahead = ahead
        self.warnings: list[str] = []
        self.lost = False
        self.judged = Judged()  # of the tool that runs
        self._told = told

    def run(self, name: str, arguments: Mapping[str, Json], origins: Mapping[str, Origin] | None = None) -> Ended:
        """Run a tool on checked arguments. Faults inside do not raise."""
        tool = self.tools[name].tool
        scope = Scope({item.name: item.default.value for item in tool.inputs if item.default is not None})
        types = {item.name: item.type for item in tool.inputs}
        scope.values.update({key: completed(value, types[key]) for key, value in arguments.items()})
        scope.origins = Origins(names=dict(origins or {})) if self._told else None
        outer, self.judged = self.judged, Judged()
        with self.trace.tool(name, arguments) as node:
            status, reason, fault, stopped = "ok", "", None, False
            try:
                self.block(tool.steps, scope)
            except Stopped as stop:
                status, reason = stop.status, stop.reason
                stopped = stop.status != "ok"  # an answer, with every output that is always there: a caller goes on
            except BudgetExhausted as exhausted:
                status, reason = "budget_exhausted", exhausted.message
            except VideoWorldError as caught:
                status, reason, fault = "error", caught.message, caught
            if fault is None and self.meter.exhausted:
                status, reason = "budget_exhausted", f"the run used {self.meter.exhausted}"
            elif fault is None and self.lost and status in ("ok", "empty"):
                # Nothing found is no answer while part of the looking failed.
                status, reason = "partial", reason or "some calls failed"
            outcome = self._doubted(
                lambda told, why: outcome_of(tool, scope.values, status=told, reason=why, fault=fault), status, reason
            )
            outcome = replace(outcome, stopped=stopped)
            outer.merge(self.judged)
            self.judged = outer
            node.outcome = outcome.status
            if scope.origins is None:
                return Ended(outcome=outcome)
            origin = of_outputs(tool, scope.values, scope.origins, node)
            return Ended(outcome=outcome, origin=origin, held=scope.origins.held)

    def _doubted(self, outcome: Callable[[str, str], Outcome], status: str, reason: str) -> Outcome:
        """The outcome; partial where it rests on what was not judged, for neither a number nor "none" follows from that."""
        made = outcome(status, reason)
        self.judged.rest_on(made.evidence)
        if made.status not in ("ok", "empty", "partial") or not (doubt := self.judged.reason):
            return made
        return outcome("partial", "; ".join(filter(None, (doubt, made.reason))))

    def warn(self, text: str) -> None:
        """Note something the caller should know, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def block(self, steps: tuple[Step, ...], scope: Scope) -> None:
        """Do some steps, one after the other.

        Raises:
            VideoWorldError, Stopped: what ended them.
        """
        if self.ahead is not None:
            self._block_ahead(steps, scope, self.ahead)
            return
        for step in steps:
            self._do(step, scope)

    def _block_ahead(self, steps: tuple[Step, ...], scope: Scope, ahead: Lookahead) -> None:
        departures, going_on = ahead.departures(steps), [True]
        try:
            for place, step in enumerate(steps):
                if place in departures:
                    ahead.depart(departures[place], scope, is_wanted=lambda: bool(going_on))
                self._do(step, scope)
        finally:
            going_on.clear()

    def _do(self, step: Step, scope: Scope) -> None:
        if not isinstance(step, Require | Set | Aggregate | Filter | Project):
            self.meter.call()
        if not self.meter.exhausted:
            self.meter.step()
        with self.trace.step(step):
            self._step(step, scope)

    def _step(self, step: Step, scope: Scope) -> None:
        match step:
            case Call(loop=None):
                self.save(step.save_as, *self._call(step, scope), scope)
            case Call() | Block():
                LoopRun(self, step, scope).run()
            case If():
                self._branch(step, scope)
            case Require():
                self._require(step, scope)
            case _:
                self.save(step.save_as, *self._value(step, scope), scope)

    def save(self, name: str, value: Json, origin: Origin, scope: Scope) -> None:
        """Bind a value to a name.

        Raises:
            BudgetExhausted: the run holds too much.
        """
        self.meter.bound(value)
        scope.values[name] = value
        if scope.origins is not None:
            scope.origins.bind(name, origin)

    def _branch(self, step: If, scope: Scope) -> None:
        holds = truth(step.condition, evaluate(step.condition, scope.values))
        before = NO_CALLS
        if scope.origins is not None:
            before = scope.origins.branch
            scope.origins.branch |= origin_of(step.condition, scope.values, scope.origins).behind()
            if self.may_stop(step):  # also in the branch that is not taken
                scope.origins.held |= scope.origins.branch
        self.block(step.then if holds else step.otherwise, scope)
        if scope.origins is not None:
            scope.origins.branch = before

    def _require(self, step: Require, scope: Scope) -> None:
        holds = truth(step.condition, evaluate(step.condition, scope.values))
        if scope.origins is not None:
            asked = origin_of(step.condition, scope.values, scope.origins).behind()
            scope.origins.held |= asked | scope.origins.branch
        if not holds:
            raise Stopped(step.status, as_text(evaluate(step.reason, scope.values)))

    def may_stop(self, step: Step) -> bool:
        """Whether a requirement in a step, or in a tool that it calls, may end the tool."""
        return facts_of(self.tools).of(step).stops

    def _value(self, step: Filter | Project | Aggregate | Set | JudgeStep, scope: Scope) -> tuple[Json, Origin]:
        values, origins = scope.values, scope.origins
        match step:
            case Filter():
                rows = listed(step.inputs, values)
                inner = dict(values)
                kept = [item for item in rows if self._holds(step.where, inner, item)]
                return kept, NOTHING if origins is None else of_filter(step, values, origins, rows, kept)
            case Project():
                rows = listed(step.inputs, values)
                inner = dict(values)
                made: list[Json] = [self._projected(step, inner, item) for item in rows]
                return made, NOTHING if origins is None else of_projection(step, values, origins, rows, made)
            case Aggregate():
                inner = dict(values)
                given, value = aggregated(
                    step, values, holds=lambda where, item: self._holds(where, inner, item), weigh=self.meter.bound
                )
                return value, NOTHING if origins is None else of_aggregate(step, values, origins, given, value)
            case JudgeStep():
                return self._judged(step, scope)
            case Set():
                value = evaluate(step.value, values)
                return value, NOTHING if origins is None else origin_of(step.value, values, origins)

    def _judged(self, step: JudgeStep, scope: Scope) -> tuple[Json, Origin]:
        rows = [item for item in listed(step.inputs, scope.values) if item is not None]
        if len(rows) > step.bound:
            self.warn(f"{step.save_as}: the first {step.bound} of {len(rows)} items were judged")
        if self.judging is None:
            raise no_judge()
        made = self.judging.judged(step, as_text(evaluate(step.question, scope.values)), rows[: step.bound])
        return made, NOTHING if scope.origins is None else of_judgement(step, scope.values, scope.origins, len(made))

    def _projected(self, step: Project, inner: dict[str, Json], item: Json) -> Json:
        self.meter.look()
        inner["item"] = item
        return projected(item, {key: evaluate(value, inner) for key, value in step.fields})

    def _holds(self, where: Expr, inner: dict[str, Json], item: Json) -> bool:
        self.meter.look()
        inner["item"] = item
        return truth(where, evaluate(where, inner))

    def _call(self, step: Call, scope: Scope) -> tuple[Json, Origin]:
        before = self.calls.logical
        try:
            return self.once(step, scope)
        except BudgetExhausted:
            raise
        except (VideoWorldError, Stopped) as fault:
            if step.on_error == "fail":
                raise
            self.lose(step, fault, 1, 1)
            if scope.origins is None:
                return None, NOTHING
            return None, Origin(calls=self.calls_since(before), decided=read_by(step, scope.origins))

    def calls_since(self, before: int) -> Calls:
        """The calls made after the first ``before`` of them."""
        return frozenset(range(before + 1, self.calls.logical + 1))

    def once(self, step: Call, scope: Scope) -> tuple[Json, Origin]:
        """One call of an operation or a tool, and where its result came from.

        Raises:
            VideoWorldError, Stopped: what the operation or the tool ends with.
        """
        arguments = {key: evaluate(value, scope.values) for key, value in step.params}
        given = {} if scope.origins is None else of_arguments(step.params, scope.values, scope.origins)
        if step.kind == "api":
            made_from = sorted(NO_CALLS.union(*(origin.behind() for origin in given.values()))) if given else ()
            result = self.calls(step.target, arguments, made_from)
            self.judged.note(result)
            self._say_unused(step.target, result)
            return result, NOTHING if scope.origins is None else Origin(calls=frozenset((self.calls.logical,)))
        before = self.calls.logical
        ended = self.run(step.target, fitting(self.tools[step.target].tool, arguments), given)
        outcome = ended.outcome
        if scope.origins is not None and (step.on_error == "fail" or step.loop is not None):
            scope.origins.held |= ended.held
        if outcome.fault is not None:
            raise outcome.fault
        if outcome.status == "budget_exhausted":
            raise BudgetExhausted("budget_exhausted", outcome.reason)
        if outcome.stopped:
            raise Stopped(outcome.status, f"{step.target}: {outcome.reason or outcome.status}")
        record = as_callee_record(outcome.outputs, outcome.status, outcome.summary, outcome.evidence)
        return record, NOTHING if scope.origins is None else of_callee(ended.origin, given, self.calls_since(before))

    def _say_unused(self, operation: str, result: Mapping[str, Json]) -> None:
        """Warn of words of a description that an operation says made no difference to its result."""
        unused = result.get("unused_words")
        if isinstance(unused, list) and unused:
            more = f" and {len(unused) - MOST_TOLD} more" if len(unused) > MOST_TOLD else ""
            self.warn(f"words that {operation} could not use: {', '.join(map(as_text, unused[:MOST_TOLD]))}{more}")

    def lose(self, step: Call | Block, fault: VideoWorldError | Stopped, failed: int, tried: int) -> None:
        """Go on without what failed, and say so."""
        if isinstance(fault, Stopped):
            self.warn(f"{step.save_as}: {fault.reason or fault.status}")
            return
        self.lost = True
        self.warn(f"{step.save_as}: {failed} of {tried} calls failed ({fault.code}: {fault.message})")
