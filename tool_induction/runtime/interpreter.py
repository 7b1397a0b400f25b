"""Executes the steps of compiled tools, one after the other in the order of the plan.

Counting, limits, warnings and the trace are done here, on one thread. If several calls may be made at a time, worker
threads first make the calls of independent items and steps (``tool_induction.runtime.parallel``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from tool_induction.aggregates import AGGREGATES, AggregateSpec
from tool_induction.aggregates.functions import evidence_of, span_of, times
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.judge.port import JUDGEMENT, Judge, chosen, item_text, question_text
from tool_induction.language import model
from tool_induction.language.evaluation import Json, as_text, evaluate, truth
from tool_induction.language.expressions import Const, Expr
from tool_induction.runtime.budget import BudgetExhausted, RunMeter, Stopped
from tool_induction.runtime.calls import Asks, CallResult, Memo
from tool_induction.runtime.parallel import Abandoned, Parallel, Steps, Task
from tool_induction.runtime.results import Judged, ToolOutcome, named, outcome_of
from tool_induction.runtime.trace import Calls, Origins, Source, Trace
from tool_induction.runtime.values import Unfit, completed, fitted
from world_api.core.canonical import canonical_json
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault, VideoWorldError


@dataclass(kw_only=True)
class Interpreter:
    """One run: the state shared by a tool and all tools it calls."""

    tools: Mapping[str, CompiledTool]
    calls: Asks
    meter: RunMeter
    trace: Trace
    judging: JudgeCalls | None = None
    parallel: Parallel | None = None
    follow_origins: bool = False  #: whether to record which calls outputs came from
    warnings: list[str] = field(default_factory=list)
    judged: Judged = field(default_factory=Judged)  #: words and spans that the running tool's operations reported
    lost: bool = False  #: whether the run continued although calls failed

    def run(self, name: str, arguments: Mapping[str, Json], origins: Mapping[str, Calls] | None = None) -> ToolOutcome:
        """Run a tool on checked arguments. Faults of the run are part of the outcome and are not raised.

        ``origins``: for each argument, the numbers of the calls that it was computed from.
        """
        tool = self.tools[name].tool
        scope = Scope({item.name: item.default.value for item in tool.inputs if item.default is not None})
        types = {item.name: item.type for item in tool.inputs}
        scope.values.update({key: completed(value, types[key]) for key, value in arguments.items()})
        scope.origins = Origins(origins or {}) if self.follow_origins else None
        outer, self.judged = self.judged, Judged()
        with self.trace.tool(name, arguments) as node:
            status, reason, fault, stopped = "ok", "", None, False
            try:
                self._block(tool.steps, scope)
            except Stopped as stop:
                status, reason = stop.status, stop.reason
                stopped = stop.status != "ok"  # with "ok" it is an answer: a calling tool continues
            except BudgetExhausted as exhausted:
                status, reason = "budget_exhausted", exhausted.message
            except VideoWorldError as caught:
                status, reason, fault = "error", caught.message, caught
            if fault is None and self.meter.exhausted:
                status, reason = "budget_exhausted", f"the run used {self.meter.exhausted}"
            elif fault is None and self.lost and status in ("ok", "empty"):
                # "Nothing found" is not certain if some calls failed.
                status, reason = "partial", reason or "some calls failed"
            outcome = self._doubted(
                lambda ended, why: outcome_of(tool, scope.values, status=ended, reason=why, fault=fault), status, reason
            )
            outer.merge(self.judged)
            self.judged = outer
            node.outcome = outcome.status
            if scope.origins is not None:
                node.outputs = {
                    output.name: Source(calls=tuple(sorted(scope.origins.of(output.source))))
                    for output in tool.outputs
                    if output.source is not None
                }
            return replace(outcome, stopped=stopped)

    def _doubted(self, outcome: Callable[[str, str], ToolOutcome], status: str, reason: str) -> ToolOutcome:
        """Return the outcome, with the status ``partial`` if words were not judged or spans not examined.

        Then neither a number nor an empty result is certain. ``outcome`` makes the outcome from a status and a reason.
        """
        made = outcome(status, reason)
        self.judged.rest_on(made.evidence)
        if made.status not in ("ok", "empty", "partial") or not (doubt := self.judged.reason):
            return made
        return outcome("partial", "; ".join(filter(None, (doubt, made.reason))))

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def _block(self, steps: Steps, scope: Scope) -> None:
        """Execute steps in order; an exception in one of them ends the block."""
        for group in (steps,) if self.parallel is None else self.parallel.groups(steps):
            tasks = () if self.parallel is None else self.parallel.of_group(group, scope.values)
            with self._prepared(tasks) as wait_for_next:
                for step in group:
                    wait_for_next()
                    self._do(step, scope)

    def _prepared(self, tasks: Iterable[Task]) -> AbstractContextManager[Callable[[], None]]:
        """Let workers make the calls of tasks, if there are any; the yielded function waits until the next task is done."""
        if self.parallel is None or not tasks:
            return nullcontext(lambda: None)
        return self.parallel.prepared(tasks, self._prepare)

    def _prepare(self, calls: Asks, task: Task) -> None:
        """Execute steps on a worker thread only for their calls. A fault is ignored; the run itself meets it again."""
        worker = Interpreter(tools=self.tools, calls=calls, meter=self.meter.for_worker(), trace=Trace(keep=False))
        steps, values = task
        try:
            worker._block(steps, Scope(values))
        except (Abandoned, VideoWorldError, Stopped):
            return

    def _do(self, step: model.Step, scope: Scope) -> None:
        if not isinstance(step, model.Require | model.Set | model.Aggregate | model.Filter | model.Project):
            self.meter.call()
        if not self.meter.exhausted:
            self.meter.count("steps")
        before = self.calls.logical
        with self.trace.step(step):
            self._step(step, scope)
        if scope.origins is not None:
            scope.origins.bind(step, frozenset(range(before + 1, self.calls.logical + 1)))

    def _step(self, step: model.Step, scope: Scope) -> None:
        match step:
            case model.Call(loop=None):
                self._save(step.save_as, self._call(step, scope), scope)
            case model.Call() | model.Block():
                self._loop(step, scope)
            case model.If():
                holds = truth(step.condition, evaluate(step.condition, scope.values))
                self._block(step.then if holds else step.otherwise, scope)
            case model.Require():
                if not truth(step.condition, evaluate(step.condition, scope.values)):
                    raise Stopped(step.status, as_text(evaluate(step.reason, scope.values)))
            case _:
                self._save(step.save_as, self._value(step, scope.values), scope)

    def _save(self, name: str, value: Json, scope: Scope) -> None:
        self.meter.bound(value)
        scope.values[name] = value

    def _value(
        self,
        step: model.Filter | model.Project | model.Aggregate | model.Set | model.JudgeStep,
        values: Mapping[str, Json],
    ) -> Json:
        inner = dict(values)
        match step:
            case model.Filter():
                return [item for item in listed(step.inputs, values) if self._holds(step.where, inner, item)]
            case model.Project():
                return [self._projected(step, inner, item) for item in listed(step.inputs, values)]
            case model.Aggregate():
                return aggregated(
                    step, values, holds=lambda where, item: self._holds(where, inner, item), weigh=self.meter.bound
                )
            case model.JudgeStep():
                return self._judge(step, values)
            case model.Set():
                return evaluate(step.value, values)

    def _judge(self, step: model.JudgeStep, values: Mapping[str, Json]) -> Json:
        rows = [item for item in listed(step.inputs, values) if item is not None]
        if len(rows) > step.bound:
            self._warn(f"{step.save_as}: the first {step.bound} of {len(rows)} items were judged")
        if self.judging is None:
            raise no_judge()
        made: Json = self.judging.judged(step, as_text(evaluate(step.question, values)), rows[: step.bound])
        return made

    def _projected(self, step: model.Project, inner: dict[str, Json], item: Json) -> Json:
        """Return a projected item; its times and evidence are kept unless they are overwritten."""
        self.meter.look()
        inner["item"] = item
        kept = {key: item[key] for key in (*_TIMES, "evidence") if key in item} if isinstance(item, dict) else {}
        return kept | {key: evaluate(value, inner) for key, value in step.fields}

    def _holds(self, where: Expr, inner: dict[str, Json], item: Json) -> bool:
        self.meter.look()
        inner["item"] = item
        return truth(where, evaluate(where, inner))

    def _call(self, step: model.Call, scope: Scope) -> Json:
        try:
            return self._once(step, scope)
        except BudgetExhausted:
            raise
        except (VideoWorldError, Stopped) as fault:
            if step.on_error == "fail":
                raise
            self._lose(step, fault, 1, 1)
            return None

    def _once(self, step: model.Call, scope: Scope) -> Json:
        """Return the result of one call of an operation or a tool; a fault or a stop is raised."""
        arguments = {key: evaluate(value, scope.values) for key, value in step.params}
        origins = scope.origins
        if step.kind == "api":
            made_from = () if origins is None else sorted(origins.of(*(value for _, value in step.params)))
            result = self.calls(step.target, arguments, made_from)
            self.judged.note(result)
            if isinstance(unused := result.get("unused_words"), list) and unused:
                self._warn(f"words that {step.target} could not use: {named(list(map(as_text, unused)))}")
            return result
        given = {} if origins is None else {key: origins.of(value) for key, value in step.params}
        outcome = self.run(step.target, fitting(self.tools[step.target].tool, arguments), given)
        if outcome.fault is not None:
            raise outcome.fault
        if outcome.status == "budget_exhausted":
            raise BudgetExhausted("budget_exhausted", outcome.reason)
        if outcome.stopped:
            raise Stopped(outcome.status, f"{step.target}: {outcome.reason or outcome.status}")
        return as_callee_record(outcome.outputs, outcome.status, outcome.summary, outcome.evidence)

    def _lose(self, step: model.Call | model.Block, fault: VideoWorldError | Stopped, failed: int, tried: int) -> None:
        """Add a warning about a failure after which the run continues; ``failed`` of ``tried`` calls failed.

        The status of the tool that is run is then ``partial`` instead of ``ok`` or ``empty``. If ``fault`` is a
        ``Stopped``, the warning contains only its reason or status, and the tool's status stays.
        """
        if isinstance(fault, Stopped):
            self._warn(f"{step.save_as}: {fault.reason or fault.status}")
            return
        self.lost = True
        self._warn(f"{step.save_as}: {failed} of {tried} calls failed ({fault.code}: {fault.message})")

    def _loop(self, step: model.Call | model.Block, scope: Scope) -> None:
        """Execute a loop and bind the list of results. A failing item is skipped or null, as ``on_error`` requires.

        Its fault is raised if ``on_error`` is ``fail`` or no item succeeded. The loop ends when the budget is
        exhausted.
        """
        loop = step.loop
        assert loop is not None  # noqa: S101 - a block has one
        rows = listed(loop.over, scope.values)
        if len(rows) > loop.bound:
            self._warn(f"{step.save_as}: the first {loop.bound} of {len(rows)} items were looked at")
        over: Calls = frozenset() if scope.origins is None else scope.origins.of(loop.over)
        collected: list[Json] = []
        faults: list[VideoWorldError] = []
        done = 0
        tasks = () if self.parallel is None else self.parallel.of_items(step, rows[: loop.bound], scope.values)
        with self._prepared(tasks) as wait_for_next:
            for place, item in enumerate(rows[: loop.bound]):
                inside = scope.inside(loop.variable, item, over)
                inside.values[step.save_as] = collected  # ``until`` may read it
                wait_for_next()
                try:
                    with self.trace.item(place):
                        collected.extend(self._item(step, item, inside))
                except BudgetExhausted:
                    self._warn(f"{step.save_as}: the budget ran out after {done} of {len(rows)} items")
                    break
                except (VideoWorldError, Stopped) as fault:
                    if step.on_error == "fail":
                        raise
                    faults += [fault] if isinstance(fault, VideoWorldError) else []
                    collected += [None] if step.on_error == "null" and step.flattens is None else []
                    done += 1
                    continue  # names in ``until`` may not have been bound
                done += 1
                if loop.until is not None and truth(loop.until, evaluate(loop.until, inside.values)):
                    break
        if faults and len(faults) == done:
            raise faults[0]
        # Bound only now: after a fault the incomplete list must not look complete.
        self._save(step.save_as, collected, scope)
        if faults:
            self._lose(step, faults[0], len(faults), done)

    def _item(self, step: model.Call | model.Block, item: Json, inside: Scope) -> list[Json]:
        self.meter.count("items")
        self.meter.call()
        if isinstance(step, model.Call):
            value = self._once(step, inside)
        else:
            self._block(step.body, inside)
            last = next((model.binds(inner)[-1] for inner in reversed(step.body) if model.binds(inner)), None)
            value = None if last is None else inside.values.get(last)
        return [inherit(row, item, value) for row in flattened(value, step.flattens)]


#: Whether a condition holds of an item.
Holds = Callable[[Expr, Json], bool]
_TIMES = ("start_time", "end_time", "center_time")
_MAX_EVIDENCE = 6


@dataclass(slots=True, eq=False)
class Scope:
    """Names and their values. ``origins``: the calls that each value came from, None unless the run is traced."""

    values: dict[str, Json]
    origins: Origins | None = None

    def inside(self, name: str, value: Json, calls: Calls) -> Scope:
        """Return a copy of this scope with one more name, whose value came from ``calls``."""
        return Scope({**self.values, name: value}, None if self.origins is None else self.origins.inside(name, calls))


def listed(expr: Expr, values: Mapping[str, Json]) -> list[Json]:
    """Return the list that an expression evaluates to; an empty list for null.

    Raises:
        ToolFault: ``bad_list``: the value is no list.
    """
    value = evaluate(expr, values)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ToolFault("bad_list", "a list is wanted where there is none", hint="the tool's types do not hold")
    return value


def aggregated(step: model.Aggregate, scope: Mapping[str, Json], holds: Holds, weigh: Callable[[Json], None]) -> Json:
    """Return the value of an aggregate step.

    ``holds`` evaluates a condition on an item. ``weigh`` checks the size of lists before they are joined.

    Raises:
        ToolFault: ``bad_parameter``; the faults of the aggregate.
    """
    spec = AGGREGATES[step.operation]
    params = _parameters(step, spec, scope)
    if spec.takes == "nothing":
        return spec.run(**params)
    value = evaluate(step.inputs, scope)
    if spec.takes in ("mix", "lists"):
        weigh(value)
    match spec.takes:
        case "pair":
            sides = value if isinstance(value, dict) else {}
            return spec.run(_without_null(sides.get("a")), _without_null(sides.get("b")), **params)
        case "mix":
            whole = isinstance(value, dict) and "evidence" in value
            rows = [*value.values()] if isinstance(value, dict) else value
            return spec.run([value] if whole or not isinstance(rows, list) else rows, **params)
        case "lists":
            return spec.run([_without_null(one) for one in value] if isinstance(value, list) else [], **params)
        case "slots":
            return spec.run(value if isinstance(value, list) else [], **params)
    items = _without_null(value)
    if step.operation in ("any", "all"):
        where = dict(step.params).get("where", Const(None))
        return spec.run([item is not False if where == Const(None) else holds(where, item) for item in items])
    return spec.run(items, **params)


def _parameters(step: model.Aggregate, spec: AggregateSpec, scope: Mapping[str, Json]) -> dict[str, Json]:
    params = ((name, expr, spec.params[name]) for name, expr in step.params)
    try:
        return {
            name: fitted(evaluate(expr, scope), parameter.type, place=name)
            for name, expr, parameter in params
            if parameter.role != "condition"
        }
    except Unfit as why:
        raise ToolFault("bad_parameter", f"{step.operation} ({step.save_as}): {why}") from None


def _without_null(rows: Json) -> list[Json]:
    return [item for item in rows if item is not None] if isinstance(rows, list) else []


def fitting(tool: model.Tool, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments of a call, converted to the types of the called tool's inputs.

    Raises:
        ToolFault: ``bad_arguments``: an argument does not fit its type.
    """
    types = {item.name: item.type for item in tool.inputs}
    try:
        return {key: fitted(value, types[key], place=key) for key, value in arguments.items()}
    except Unfit as why:
        raise ToolFault("bad_arguments", f"{tool.name}: {why}", hint="a called tool takes what it declares") from None


def as_callee_record(outputs: dict[str, Json], status: str, summary: str, evidence: list[Json]) -> dict[str, Json]:
    """Return the record that a calling tool gets: the outputs, status, summary, evidence, and ``center_time``.

    ``center_time`` is computed from the outputs ``start_time`` and ``end_time``, if both are numbers.
    """
    record: dict[str, Json] = dict(outputs)
    start, end = outputs.get("start_time"), outputs.get("end_time")
    if "center_time" not in outputs and isinstance(start, int | float) and isinstance(end, int | float):
        record["center_time"] = round((start + end) / 2, 3)
    return record | {"status": status, "summary": summary, "evidence": evidence}


def flattened(value: Json, flattens: str | None) -> list[Json]:
    """Return the rows of one iteration: ``[value]`` if ``flattens`` is None, else the list in the field of that name.

    An empty ``flattens`` means ``value`` itself. If there is no list, the result is an empty one.
    """
    if flattens is None:
        return [value]
    rows = value if flattens == "" else value.get(flattens) if isinstance(value, dict) else None
    return rows if isinstance(rows, list) else []


def inherit(made: Json, item: Json, result: Json) -> Json:
    """Return one entry of a loop's list: ``made`` with times and evidence of ``item``, and ``item`` as ``parent``.

    ``item`` is what the iteration ran on, ``result`` what it returned, ``made`` this result or one of its rows. If ``made``
    has a start time, its times are kept. Its evidence (if it has no such field, that of ``result``) precedes that of
    ``item``. A ``made`` that is no record is returned unchanged.
    """
    if not isinstance(made, dict):
        return made
    product: dict[str, Json] = dict(made)
    if not isinstance(product.get("start_time"), int | float):
        product |= _times_of(item)
    own = evidence_of([made]) or (evidence_of([result]) if made is not result and "evidence" not in made else [])
    inherited = [piece for piece in evidence_of([item]) if piece not in own]
    product["evidence"] = [*own, *inherited][:_MAX_EVIDENCE]
    product["parent"] = item
    return product


def _times_of(item: Json) -> dict[str, Json]:
    if isinstance(item, dict):
        return {key: item[key] for key in _TIMES if key in item}
    span = span_of(item)
    return {} if span is None else times(span)


@dataclass
class JudgeCalls:
    """Makes the judgements of one run; ``made`` counts them, cached ones included."""

    judge: Judge | None
    memo: Memo
    meter: RunMeter
    made: int = 0

    @property
    def cost(self) -> Cost:
        """The price of all judgements."""
        return JUDGEMENT.times(self.made)

    def judged(self, step: model.JudgeStep, question: str, rows: Sequence[Json]) -> list[Json]:
        """Return each item with its answer under ``answer``; one that is no record as ``{answer, parent: item}``.

        Raises:
            ToolFault: ``no_judge``, ``bad_judgement``.
            BackendFault: the faults of the judge.
            BudgetExhausted: a limit of the run was exceeded.
        """
        if self.judge is None:
            raise no_judge()
        sent = question_text(question)
        made: list[Json] = []
        for item in rows:
            self.meter.count("items")
            self.meter.call()
            answer = self._answer(self.judge, sent, step.answers, item_text(item))
            made.append({**item, "answer": answer} if isinstance(item, dict) else {"answer": answer, "parent": item})
        return made

    def _answer(self, judge: Judge, question: str, answers: tuple[str, ...], item: str) -> str:
        self.made += 1
        key = canonical_json(["judge", judge.name, question, list(answers), item])
        known = self.memo.get(key)
        if known is None:
            given = list(judge.answer(question, answers, [item]))
            if len(given) != 1 or not isinstance(given[0], str):
                raise ToolFault("bad_judgement", f"{judge.name} gave {len(given)} answers about one item")
            answer = chosen(given[0], answers, judge=judge.name)
            known = CallResult(result={"answer": answer}, size=len(key) + len(answer))
            self.memo.put(key, known)
        return str(known.result["answer"])


def no_judge() -> ToolFault:
    """Return the fault of a tool with a judge step that is run without a judge."""
    return ToolFault(
        "no_judge", "the tool has a judge step and there is no judge", hint="give a judging model: --judge-model MODEL"
    )
