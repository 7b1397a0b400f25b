"""What single steps do: their scope, aggregates, called tools, judgements, and what a loop's product takes over from its item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tool_induction.aggregates import AGGREGATES, AggregateSpec
from tool_induction.aggregates.functions import evidence_of, span_of, times
from tool_induction.compiler.price import JUDGEMENT
from tool_induction.judging.answers import asked_item, asked_question, chosen
from tool_induction.judging.port import Judge
from tool_induction.language.evaluation import Json, evaluate
from tool_induction.language.model import Aggregate, JudgeStep, Tool
from tool_induction.language.syntax import Const, Expr
from tool_induction.language.types import INTERVAL, ListType, RecordType, Type, plain
from tool_induction.runtime.budget import Meter
from tool_induction.runtime.calls import Answer, Memo
from tool_induction.runtime.origins import Calls, Origins
from tool_induction.runtime.values import Unfit, fitted
from world_api.core.canonical import canonical_json
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault
from world_api.core.spans import round_time

#: Whether a condition holds of an item.
Holds = Callable[[Expr, Json], bool]
_TIMES = ("start_time", "end_time", "center_time")
_MAX_EVIDENCE = 6


@dataclass(slots=True, eq=False)
class Scope:
    """Names and their values. ``origins`` is None unless the run is traced."""

    values: dict[str, Json]
    origins: Origins | None = None

    def inside(self, name: str, value: Json, calls: Calls) -> Scope:
        """A scope inside this one with one more name, whose value came from ``calls``; what is bound in it is not seen outside."""
        return Scope({**self.values, name: value}, None if self.origins is None else self.origins.inside(name, calls))


def listed(expr: Expr, values: Mapping[str, Json]) -> list[Json]:
    """The list an expression stands for; null is an empty one.

    Raises:
        ToolFault: ``bad_list``.
    """
    value = evaluate(expr, values)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ToolFault("bad_list", "a list is wanted where there is none", hint="the tool's types do not hold")
    return value


def aggregated(step: Aggregate, scope: Mapping[str, Json], holds: Holds, weigh: Callable[[Json], None]) -> Json:
    """The value of an aggregate step. Lists that it joins are weighed first: joining makes a list long at once.

    Raises:
        ToolFault: ``bad_parameter``, and what the aggregate names.
    """
    spec = AGGREGATES[step.operation]
    params = _parameters(step, spec, scope)
    if spec.takes == "nothing":
        return spec.run(**params)
    value = evaluate(step.inputs, scope)
    match spec.takes:
        case "pair":
            sides = value if isinstance(value, dict) else {}
            return spec.run(_without_null(sides.get("a")), _without_null(sides.get("b")), **params)
        case "mix":
            weigh(value)
            whole = isinstance(value, dict) and "evidence" in value
            rows = [*value.values()] if isinstance(value, dict) else value
            return spec.run([value] if whole or not isinstance(rows, list) else rows, **params)
        case "lists":
            weigh(value)
            return spec.run([_without_null(one) for one in value] if isinstance(value, list) else [], **params)
        case "slots":
            return spec.run(value if isinstance(value, list) else [], **params)
    items = _without_null(value)
    return spec.run(_flags(step, items, holds) if step.operation in ("any", "all") else items, **params)


def _parameters(step: Aggregate, spec: AggregateSpec, scope: Mapping[str, Json]) -> dict[str, Json]:
    params: dict[str, Json] = {}
    for name, expr in step.params:
        if spec.params[name].role == "condition":
            continue
        try:
            params[name] = fitted(evaluate(expr, scope), spec.params[name].type, place=name)
        except Unfit as why:
            raise ToolFault("bad_parameter", f"{step.operation} ({step.save_as}): {why}") from None
    return params


def _flags(step: Aggregate, items: list[Json], holds: Holds) -> list[bool]:
    where = dict(step.params).get("where", Const(None))
    if where != Const(None):
        return [holds(where, item) for item in items]
    return [item if isinstance(item, bool) else True for item in items]


def _without_null(rows: Json) -> list[Json]:
    return [item for item in rows if item is not None] if isinstance(rows, list) else []


def fitting(tool: Tool, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments of a call as the called tool's inputs have them.

    Raises:
        ToolFault: ``bad_arguments``.
    """
    types = {item.name: item.type for item in tool.inputs}
    try:
        return {key: fitted(value, types[key], place=key) for key, value in arguments.items()}
    except Unfit as why:
        raise ToolFault("bad_arguments", f"{tool.name}: {why}", hint="a called tool takes what it declares") from None


def as_callee_record(outputs: dict[str, Json], status: str, summary: str, evidence: list[Json]) -> dict[str, Json]:
    """What a tool's caller sees: the outputs and what the runtime adds."""
    record: dict[str, Json] = dict(outputs)
    start, end = outputs.get("start_time"), outputs.get("end_time")
    if "center_time" not in outputs and isinstance(start, int | float) and isinstance(end, int | float):
        record["center_time"] = round((start + end) / 2, 3)
    return record | {"status": status, "summary": summary, "evidence": evidence}


def flattened(value: Json, flattens: str | None) -> list[Json]:
    """What one iteration gave, before it inherits: the value, or the rows of its one list (of itself where that is ``""``)."""
    if flattens is None:
        return [value]
    rows = value if flattens == "" else value.get(flattens) if isinstance(value, dict) else None
    return rows if isinstance(rows, list) else []


def inherit(made: Json, item: Json, result: Json) -> Json:
    """The product with what it lacks. A detection has times of its own and keeps them."""
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


def projected(item: Json, fields: dict[str, Json]) -> dict[str, Json]:
    """A projection: times and evidence stay unless overwritten."""
    kept: dict[str, Json] = {}
    if isinstance(item, dict):
        kept = {key: item[key] for key in (*_TIMES, "evidence") if key in item}
    return kept | fields


def completed(value: Json, type_: Type) -> Json:
    """Intervals with their centre and duration, wherever the type says that there is one."""
    inner = plain(type_)
    if isinstance(inner, ListType) and isinstance(value, list):
        return [completed(item, inner.item) for item in value]
    if not isinstance(inner, RecordType) or inner.name != INTERVAL.name or not isinstance(value, dict):
        return value
    span = span_of(value)
    return value if span is None else times(span) | {"duration": round_time(span.duration)} | value


class Judging:
    """The judgements of one run."""

    def __init__(self, judge: Judge | None, *, memo: Memo, meter: Meter) -> None:
        self._judge = judge
        self._memo = memo
        self._meter = meter
        self._judged = 0

    @property
    def cost(self) -> Cost:
        """The price of all that was judged."""
        return JUDGEMENT.times(self._judged)

    def judged(self, step: JudgeStep, question: str, rows: Sequence[Json]) -> list[Json]:
        """The items with their answers.

        Raises:
            ToolFault: ``no_judge``, ``bad_judgement``.
            BackendFault: what the judge names.
            BudgetExhausted: when a bound of the run was reached.
        """
        if self._judge is None:
            raise no_judge()
        asked, made = asked_question(question), []
        for item in rows:
            self._meter.item()
            self._meter.call()
            made.append(_with_answer(item, self._answer(self._judge, asked, step.answers, asked_item(item))))
        return made

    def _answer(self, judge: Judge, question: str, answers: tuple[str, ...], item: str) -> str:
        self._judged += 1
        key = canonical_json(["judge", judge.name, question, list(answers), item])
        known = self._memo.get(key)
        if known is None:
            given = list(judge.answer(question, answers, [item]))
            if len(given) != 1 or not isinstance(given[0], str):
                raise ToolFault("bad_judgement", f"{judge.name} gave {len(given)} answers about one item")
            answer = chosen(given[0], answers, judge=judge.name)
            known = Answer(result={"answer": answer}, size=len(key) + len(answer))
            self._memo.put(key, known)
        return str(known.result["answer"])


def no_judge() -> ToolFault:
    """The fault of a tool with a judge step that is run without a judge."""
    return ToolFault(
        "no_judge", "the tool has a judge step and there is no judge", hint="give a judging model: --judge-model MODEL"
    )


def _with_answer(item: Json, answer: str) -> Json:
    return {**item, "answer": answer} if isinstance(item, dict) else {"answer": answer, "parent": item}
