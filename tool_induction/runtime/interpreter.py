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
from tool_induction.judge.judges import JUDGEMENT, Judge, chosen, item_text, question_text
from tool_induction.language import model
from tool_induction.language.evaluation import Json, as_text, evaluate, truth
from tool_induction.language.expressions import Compare, Const, Expr, Name
from tool_induction.runtime.calls import Asks, CallResult, Memo, listed_under
from tool_induction.runtime.doubts import (
    Doubt,
    Extent,
    Scope,
    aggregated,
    as_value,
    doubt_of,
    doubt_of_hits,
    doubt_of_list,
    doubt_of_record,
    firm,
    has_other_fields,
    joined,
    lacked,
    of_iteration,
    settled,
    with_lacks,
)
from tool_induction.runtime.limits import BudgetExhausted, RunMeter, Stopped, Unfit, completed, fitted
from tool_induction.runtime.parallel import Abandoned, Parallel, Steps, Task
from tool_induction.runtime.results import Judged, ToolOutcome, named, outcome_of
from tool_induction.runtime.trace import Calls, Origins, Source, Trace
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

    def run(
        self,
        name: str,
        arguments: Mapping[str, Json],
        origins: Mapping[str, Calls] | None = None,
        doubts: Mapping[str, Doubt] | None = None,
    ) -> ToolOutcome:
        """Run a tool on checked arguments. Faults of the run are part of the outcome and are not raised.

        For each argument, ``origins`` has the numbers of the calls that it was computed from; ``doubts`` says what is
        not sure of it.
        """
        tool = self.tools[name].tool
        scope = Scope({item.name: item.default.value for item in tool.inputs if item.default is not None})
        types = {item.name: item.type for item in tool.inputs}
        scope.values.update({key: completed(value, types[key]) for key, value in arguments.items()})
        scope.origins = Origins(origins or {}) if self.follow_origins else None
        scope.doubts = dict(doubts or {})
        outer, self.judged = self.judged, Judged(is_unsure=bool(doubts))
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
            outcome = outcome_of(tool, scope, self.judged, status=status, reason=reason, fault=fault)
            outer.merge(self.judged, stopped=stopped)
            self.judged = outer
            node.outcome = outcome.status
            if scope.origins is not None:
                node.outputs = {
                    output.name: Source(calls=tuple(sorted(scope.origins.of(output.source))))
                    for output in tool.outputs
                    if output.source is not None
                }
            return replace(outcome, stopped=stopped)

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
                self._save(step.save_as, *self._call(step, scope), scope)
            case model.Call() | model.Block():
                self._loop(step, scope)
            case model.If():
                holds = truth(step.condition, evaluate(step.condition, scope.values))
                doubt = firm(as_value(self._doubt(step.condition, scope)))
                self._control(step, doubt)
                self._block(step.then if holds else step.otherwise, scope)
                if doubt is not None:
                    for name in model.binds(step):
                        scope.bind(name, scope.values.get(name), joined(doubt, as_value(scope.doubts.get(name))))
            case model.Require():
                # What comes after it rests on the condition, and so does that the tool ended here.
                doubt, holds = (
                    self._doubt(step.condition, scope),
                    truth(step.condition, evaluate(step.condition, scope.values)),
                )
                self._control(step, firm(doubt) if holds else doubt)
                if not holds:
                    raise Stopped(step.status, as_text(evaluate(step.reason, scope.values)))
            case _:
                self._save(step.save_as, *self._value(step, scope), scope)

    def _save(self, name: str, value: Json, doubt: Doubt | None, scope: Scope) -> None:
        self.meter.bound(value)
        scope.bind(name, value, doubt)

    def _control(self, step: model.Step, doubt: Doubt | None) -> None:
        """Note that it is in doubt whether, or with what, a step is done, if that may end the tool."""
        if doubt is not None and any(
            isinstance(one, model.Require | model.CallTool) for one in model.walk_steps((step,))
        ):
            self.judged.control = joined(self.judged.control, as_value(doubt))

    def _doubt(self, expr: Expr, scope: Scope, of: Callable[[Expr, Scope], Doubt | None] = doubt_of) -> Doubt | None:
        return of(expr, scope) if self.judged.is_unsure else None

    def _value(
        self, step: model.Filter | model.Project | model.Aggregate | model.Set | model.JudgeStep, scope: Scope
    ) -> tuple[Json, Doubt | None]:
        """Return the value of a step and what is in doubt about it."""
        values = scope.values
        match step:
            case model.Filter():
                return self._filtered(step.where, listed(step.inputs, values), step.inputs, scope)
            case model.Project():
                inner = dict(values)
                rows = [self._projected(step, inner, item, scope) for item in listed(step.inputs, values)]
                return rows, self._doubt(step.inputs, scope, doubt_of_list)
            case model.Aggregate():
                return self._aggregated(step, scope)
            case model.JudgeStep():
                return self._judge(step, scope)
            case model.Set():
                return evaluate(step.value, values), self._doubt(step.value, scope)

    def _filtered(
        self, where: Expr, rows: Sequence[Json], inputs: Expr, scope: Scope, *, wanted: bool = True
    ) -> tuple[list[Json], Doubt | None]:
        """Return the items for which a condition is ``wanted``; one for which it may not be is only possible."""
        inner = dict(scope.values)
        if not self.judged.is_unsure:
            return [item for item in rows if self._holds(where, inner, item) is wanted], None
        kept: list[Json] = []
        found = doubt_of_list(inputs, scope)
        for item in rows:
            fits, doubt = self._holds(where, inner, item) is wanted, firm(doubt_of(where, scope.inside("item", item)))
            if fits:
                kept.append(item if doubt is None else with_lacks(item, doubt.words))
            if doubt is not None and not (fits and isinstance(item, dict)):
                found = joined(found, Doubt(words=doubt.words, extent=Extent.VALUE if fits else Extent.MISSING))
        return kept, found

    def _aggregated(self, step: model.Aggregate, scope: Scope) -> tuple[Json, Doubt | None]:
        spec = AGGREGATES[step.operation]
        params = _parameters(step, spec, scope.values)
        operands = _operands(step, spec, scope.values, self.meter.bound)
        if spec.unsure == "settled":
            is_any, where = spec.name == "any", dict(step.params).get("where", Const(None))
            where = _IS_NOT_FALSE if where == Const(None) else where
            decisive, doubt = self._filtered(where, operands[0], step.inputs, scope, wanted=is_any)
            return spec.run([is_any for _ in decisive]), settled(decisive, doubt)
        if not self.judged.is_unsure:
            return spec.run(*operands, **params), None
        given = firm(joined(*(doubt_of(value, scope) for _, value in step.params)))
        return aggregated(spec, operands, params, doubt_of_list(step.inputs, scope), given)

    def _judge(self, step: model.JudgeStep, scope: Scope) -> tuple[Json, Doubt | None]:
        rows = [item for item in listed(step.inputs, scope.values) if item is not None]
        doubt = self._doubt_of_first(step.save_as, rows, step.bound, step.inputs, scope, done="judged")
        if self.judging is None:
            raise no_judge()
        made = self.judging.judged(step, as_text(evaluate(step.question, scope.values)), rows[: step.bound])
        return made, joined(doubt, as_value(self._doubt(step.question, scope)))

    def _doubt_of_first(
        self, name: str, rows: Sequence[Json], bound: int, inputs: Expr, scope: Scope, *, done: str
    ) -> Doubt | None:
        """Return what is in doubt about the first items of a list; warn if there are more of them."""
        doubt = self._doubt(inputs, scope, doubt_of_list)
        if len(rows) > bound:
            self._warn(f"{name}: the first {bound} of {len(rows)} items were {done}")
            if words := [word for item in rows for word in lacked(item)]:  # any of these may stand in another's place
                doubt = joined(doubt, Doubt(words=tuple(dict.fromkeys(words)), extent=Extent.MISSING))
        return doubt

    def _projected(self, step: model.Project, inner: dict[str, Json], item: Json, scope: Scope) -> Json:
        """Return a projected item; its times and evidence are kept unless they are overwritten.

        It lacks what the item does, and what its fields rest on.
        """
        self.meter.look()
        inner["item"] = item
        kept = {key: item[key] for key in (*_TIMES, "evidence") if key in item} if isinstance(item, dict) else {}
        made = kept | {key: evaluate(value, inner) for key, value in step.fields}
        if not self.judged.is_unsure:
            return made
        inside = scope.inside("item", item)
        found = firm(joined(*(doubt_of(value, inside) for _, value in step.fields)))
        inherited = with_lacks(made, lacked(item), unsure=has_other_fields(item))
        return with_lacks(inherited, () if found is None else found.words, unsure=True)

    def _holds(self, where: Expr, inner: dict[str, Json], item: Json) -> bool:
        self.meter.look()
        inner["item"] = item
        return truth(where, evaluate(where, inner))

    def _call(self, step: model.Call, scope: Scope) -> tuple[Json, Doubt | None]:
        try:
            return self._once(step, scope)
        except BudgetExhausted:
            raise
        except (VideoWorldError, Stopped) as fault:
            if step.on_error == "fail":
                raise
            self._lose(step, fault, 1, 1)
            return None, None

    def _once(self, step: model.Call, scope: Scope) -> tuple[Json, Doubt | None]:
        """Return the result of one call of an operation or a tool, and what is in doubt about it.

        A fault or a stop is raised.
        """
        arguments = {key: evaluate(value, scope.values) for key, value in step.params}
        origins = scope.origins
        given = step.params if self.judged.is_unsure else ()
        doubts = {key: doubt for key, value in given if (doubt := firm(doubt_of(value, scope))) is not None}
        if step.kind == "api":
            made_from = () if origins is None else sorted(origins.of(*(value for _, value in step.params)))
            listed = listed_under(step.target)
            result = self.judged.noted(self.calls(step.target, arguments, made_from), listed)
            if isinstance(unused := result.get("unused_words"), list) and unused:
                self._warn(f"words that {step.target} could not use: {named(list(map(as_text, unused)))}")
            if result.get("not_found") and result.get("not_judged") and (hint := as_text(result.get("hint"))):
                self._warn(f"{step.target}: {hint}")  # how far the search goes that found nothing
            hits = doubt_of_hits(result, result.get(listed or ""), arguments["top_k"]) if "top_k" in arguments else None
            self.judged.is_unsure |= hits is not None
            return result, joined(as_value(joined(*doubts.values())), hits)
        behind = {} if origins is None else {key: origins.of(value) for key, value in step.params}
        outcome = self.run(step.target, fitting(self.tools[step.target].tool, arguments), behind, doubts)
        if outcome.fault is not None:
            raise outcome.fault
        if outcome.status == "budget_exhausted":
            raise BudgetExhausted("budget_exhausted", outcome.reason)
        if outcome.stopped:
            raise Stopped(outcome.status, f"{step.target}: {outcome.reason or outcome.status}")
        record = as_callee_record(outcome.outputs, outcome.status, outcome.summary, outcome.evidence)
        return record, outcome.doubt

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
        over: Calls = frozenset() if scope.origins is None else scope.origins.of(loop.over)
        collected: list[Json] = []
        faults: list[VideoWorldError] = []
        done = 0
        doubt = self._doubt_of_first(step.save_as, rows, loop.bound, loop.over, scope, done="looked at")
        self._control(step, firm(doubt))
        tasks = () if self.parallel is None else self.parallel.of_items(step, rows[: loop.bound], scope.values)
        with self._prepared(tasks) as wait_for_next:
            for place, item in enumerate(rows[: loop.bound]):
                inside = scope.inside(loop.variable, item, over)
                inside.values[step.save_as] = collected  # ``until`` may read it
                wait_for_next()
                try:
                    with self.trace.item(place):
                        made, found = self._item(step, item, inside)
                        collected.extend(made)
                        doubt = joined(doubt, found)
                except BudgetExhausted:
                    self._warn(f"{step.save_as}: the budget ran out after {done} of {len(rows)} items")
                    break
                except (VideoWorldError, Stopped) as fault:
                    if lacked(item):
                        self._control(step, Doubt(words=lacked(item)))
                    if step.on_error == "fail":
                        raise
                    faults += [fault] if isinstance(fault, VideoWorldError) else []
                    collected += [None] if step.on_error == "null" and step.flattens is None else []
                    done += 1
                    continue  # names in ``until`` may not have been bound
                done += 1
                if loop.until is not None:
                    holds = truth(loop.until, evaluate(loop.until, inside.values))
                    found = firm(self._doubt(loop.until, inside))
                    found = joined(found, Doubt(words=lacked(item)) if holds and lacked(item) else None)
                    doubt = joined(doubt, found and Doubt(words=found.words, extent=Extent.MISSING))
                    if holds:
                        break
        if faults and len(faults) == done:
            raise faults[0]
        # Bound only now: after a fault the incomplete list must not look complete.
        self._save(step.save_as, collected, doubt, scope)
        if faults:
            self._lose(step, faults[0], len(faults), done)

    def _item(self, step: model.Call | model.Block, item: Json, inside: Scope) -> tuple[list[Json], Doubt | None]:
        """Return the entries of one iteration, and what is in doubt about the list of them."""
        self.meter.count("items")
        self.meter.call()
        if isinstance(step, model.Call):
            value, doubt = self._once(step, inside)
        else:
            self._block(step.body, inside)
            last = next((model.binds(inner)[-1] for inner in reversed(step.body) if model.binds(inner)), "")
            value, doubt = inside.values.get(last), inside.doubts.get(last)
        rows = [inherit(row, item, value) for row in flattened(value, step.flattens)]
        if not self.judged.is_unsure:
            return rows, None
        if step.flattens is not None:
            doubt = joined(doubt and doubt.field(step.flattens), doubt_of_record(value))
        # An operation that judged a word of what it gives knows better than the item it was asked about.
        matched = value.get("matched") if isinstance(value, dict) and isinstance(step, model.CallWorldApi) else None
        return of_iteration(rows, item, doubt, is_list=step.flattens is not None, judged=matched)


_TIMES = ("start_time", "end_time", "center_time")
_IS_NOT_FALSE = Compare(Name("item"), "!=", Const(False))
_MAX_EVIDENCE = 6


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


def _operands(
    step: model.Aggregate, spec: AggregateSpec, values: Mapping[str, Json], weigh: Callable[[Json], None]
) -> tuple[list[Json], ...]:
    """Return what the function of an aggregate takes. ``weigh`` checks the size of lists before they are joined."""
    if spec.takes == "nothing":
        return ()
    value = evaluate(step.inputs, values)
    if spec.takes in ("mix", "lists"):
        weigh(value)
    match spec.takes:
        case "pair":
            sides = value if isinstance(value, dict) else {}
            return _without_null(sides.get("a")), _without_null(sides.get("b"))
        case "mix":
            whole = isinstance(value, dict) and "evidence" in value
            rows = [*value.values()] if isinstance(value, dict) else value
            return ([value] if whole or not isinstance(rows, list) else rows,)
        case "lists":
            return ([_without_null(one) for one in value] if isinstance(value, list) else [],)
        case "slots":
            return (value if isinstance(value, list) else [],)
    return (_without_null(value),)


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
