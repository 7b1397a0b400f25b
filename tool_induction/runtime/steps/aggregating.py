"""Runs one aggregate step: its inputs as the aggregate takes them, its parameters as their types say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tool_induction.aggregates import AGGREGATES, AggregateSpec
from tool_induction.language.evaluation import Json, evaluate
from tool_induction.language.model import Aggregate
from tool_induction.language.syntax import Const, Expr
from tool_induction.runtime.values import Unfit, fitted
from world_api.core.faults import ToolFault

#: whether a condition holds of an item
Holds = Callable[[Expr, Json], bool]


def aggregated(
    step: Aggregate, scope: Mapping[str, Json], holds: Holds, weigh: Callable[[Json], None]
) -> tuple[Json, Json]:
    """The inputs and the value of an aggregate step.

    What it is to join is weighed first: joining makes a list long at once.

    Raises:
        ToolFault: ``bad_parameter``, and what the aggregate names.
    """
    spec = AGGREGATES[step.operation]
    params = _parameters(step, spec, scope)
    if spec.takes == "nothing":
        return None, spec.run(**params)
    given = evaluate(step.inputs, scope)
    return given, _run(step, spec, given, params, holds, weigh)


def _run(
    step: Aggregate,
    spec: AggregateSpec,
    value: Json,
    params: dict[str, Json],
    holds: Holds,
    weigh: Callable[[Json], None],
) -> Json:
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
