"""Pass 4d: the typing of aggregate steps, and values of their parameters that make no sense."""

from __future__ import annotations

from dataclasses import replace

from tool_induction.aggregates import AGGREGATES, AggregateSpec, Parameter, field_type, surely_timed
from tool_induction.checker.environment import DISTINCT, KEPT, Environment, Fact, Typed, list_field
from tool_induction.checker.expressions import Inference
from tool_induction.checker.nulls import own_lists
from tool_induction.checker.ranges import is_percentage, is_result, whole_condition
from tool_induction.checker.scores import is_score, refuse_mixture, refuse_score, refuse_score_argument
from tool_induction.checker.values import Wanted, want, want_list
from tool_induction.language.diagnostics import Findings, did_you_mean, leave_out
from tool_induction.language.expressions import (
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    JsonList,
    JsonRecord,
    Name,
    to_text,
)
from tool_induction.language.model import Aggregate
from tool_induction.language.types import (
    ANY,
    BOOKKEEPING,
    BOOL,
    AnyType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    is_numeric,
    is_text,
    plain,
    show,
)

_CONFIDENCE = Const("confidence")


def check_aggregate(step: Aggregate, environment: Environment, at: Inference) -> tuple[Aggregate, Environment]:
    """Type a step; return it with everything implicit written out, and the environment after it."""
    spec = AGGREGATES.get(step.operation)
    if spec is None:
        return step, environment.bind(step.save_as, ANY)
    with at.at("inputs"):
        inputs, lists = _inputs(step.inputs, spec, at)
        if spec.times:
            for rows in lists:
                _need_times(inputs, rows, spec, at)
        if spec.name in ("min", "max", "sort_by", "top_k", "pick_best"):
            refuse_mixture(at, inputs)
    params = _params(replace(step, inputs=inputs), spec, lists, at)
    constants = {name: value.value for name, value in params if isinstance(value, Const)}
    result = spec.result(lists, constants) if lists or spec.takes in ("mix", "nothing", "lists") else ANY
    written = replace(step, inputs=inputs, params=params)
    quiet = Inference(environment, Findings(), at.path)
    return written, _learn(written, result, lists, environment, drops=_holds_nulls(written.inputs, quiet))


def _learn(
    step: Aggregate, result: Type, lists: list[ListType], environment: Environment, *, drops: bool
) -> Environment:
    """Note what later conditions on the result say about the list it came from.

    ``drops``: the list may hold nulls, which an aggregate does not see. The facts are then about the list without them,
    since a list of nothing but nulls is not empty, and nothing can be picked from it.
    """
    seen = Filtered(step.inputs, KEPT, ()) if drops else step.inputs
    meaning: Expr | None = None
    plain_any = step.operation == "any" and not dict(step.params).get("where")
    if step.operation == "count":
        meaning = Filtered(seen, "length", ())
    elif step.operation == "count_distinct":
        meaning = Filtered(Filtered(seen, DISTINCT, ()), "length", ())
    elif step.operation == "total_duration":
        meaning = Filtered(seen, "abs", ())  # a number that is never below 0, and nothing else is known of it
    elif plain_any and lists and plain(lists[0].item) != BOOL:
        meaning = Compare(Filtered(seen, "length", ()), ">", Const(0))
    source: Fact = ("filled", to_text(seen))
    nothing: Fact = ("empty", to_text(seen))
    if drops:
        environment = environment.imply(source, ("filled", to_text(step.inputs)))
    after = environment.bind(step.save_as, result, meaning=meaning)
    name = step.save_as
    if step.operation == "concat_text":
        return replace(after, joined=after.joined | {name})
    if isinstance(step.inputs, JsonRecord):
        return after
    if isinstance(result, OptionalType) and step.operation.startswith(("pick_", "first")):
        after = after.imply(source, ("present", name)).imply(("present", name), source)
        after = after.imply(nothing, ("absent", name)).imply(("absent", name), nothing)
    elif isinstance(result, ListType) and step.operation in ("sort_by", "dedupe_by", "dedupe_overlaps", "group_by"):
        after = after.imply(source, ("filled", name)).imply(("filled", name), source)
        after = after.imply(nothing, ("empty", name)).imply(("empty", name), nothing)
        if step.operation == "sort_by":
            after = after.measure(name, seen)
    elif isinstance(result, ListType) and step.operation == "merge_intervals" and surely_timed(lists[0].item):
        after = after.imply(source, ("filled", name))
    return after


def _holds_nulls(inputs: Expr, at: Inference) -> bool:
    rows = at.infer(inputs).type
    return isinstance(rows, ListType) and isinstance(rows.item, OptionalType)


def _inputs(inputs: Expr, spec: AggregateSpec, at: Inference) -> tuple[Expr, list[ListType]]:
    match spec.takes:
        case "nothing":
            return Const(None), []
        case "mix":
            return at.infer(inputs).expr, []
        case "pair":
            return _pair(inputs, spec, at)
        case "lists":
            return _several(inputs, at)
        case "slots":
            return _slots(inputs, at)
        case "list":
            if isinstance(inputs, JsonList) and len(inputs.items) == 1:
                inputs = _only_list(inputs, at)
            rows = want_list(at, inputs, f"the aggregate {spec.name}")
            return rows.expr, [_rows(rows, at)]


def _only_list(inputs: JsonList, at: Inference) -> Expr:
    """Read a list of one name that is itself a list as that list."""
    inner = plain(at.infer(inputs.items[0]).type)
    if not isinstance(inner, ListType | AnyType) and list_field(inner) is None:
        return inputs
    at.note("W_IMPLICIT_BINDING", f"[{to_text(inputs.items[0])}] is read as {to_text(inputs.items[0])}")
    return inputs.items[0]


def _rows(typed: Typed, at: Inference) -> ListType:
    """The list type that an aggregate gets: without nulls."""
    if not isinstance(typed.type, ListType):
        return ListType(item=ANY)
    inner = plain(typed.type.item)
    if isinstance(inner, ListType):
        at.note(
            "E_TYPE",
            f"a flat list is wanted, found {show(typed.type)}",
            suggestion="join the lists first with the aggregate concat_lists",
        )
        return inner
    drops = isinstance(typed.type.item, OptionalType)
    return replace(typed.type, item=inner, filled=typed.type.filled and not drops)


def _pair(inputs: Expr, spec: AggregateSpec, at: Inference) -> tuple[Expr, list[ListType]]:
    entries: list[tuple[str, Expr]] = []
    if isinstance(inputs, JsonRecord):
        entries = [(key, value) for key, value in inputs.entries if key in ("a", "b")]
    elif isinstance(inputs, JsonList) and len(inputs.items) == 2:
        entries = list(zip(("a", "b"), inputs.items, strict=True))
    if len(entries) != 2:
        if not isinstance(inputs, JsonRecord):
            at.note(
                "E_TYPE",
                f"{spec.name} takes two lists",
                suggestion='"inputs" is a record of two lists, {"a": ..., "b": ...}',
            )
        return inputs, [ListType(item=ANY), ListType(item=ANY)]
    done: list[tuple[str, Expr]] = []
    lists: list[ListType] = []
    for place, (key, value) in enumerate(entries):
        with at.at(key if isinstance(inputs, JsonRecord) else place):
            rows = want_list(at, value, f"the aggregate {spec.name}")
        done.append((key, rows.expr))
        lists.append(_rows(rows, at))
    return JsonRecord(tuple(done)), lists


def _several(inputs: Expr, at: Inference) -> tuple[Expr, list[ListType]]:
    """Type the lists to be joined: a JSON list or record of them, or an expression that is a list of lists."""
    parts: list[tuple[str | int, Expr]] = []
    if isinstance(inputs, JsonList):
        parts = list(enumerate(inputs.items))
    elif isinstance(inputs, JsonRecord):
        parts = list(inputs.entries)
    else:
        rows = want_list(at, inputs, "concat_lists")
        inner = plain(rows.type.item) if isinstance(rows.type, ListType) else ANY
        if not isinstance(inner, ListType | AnyType):
            at.note(
                "E_TYPE",
                f"a list of lists is wanted, found {show(rows.type)}",
                suggestion=f"{to_text(rows.expr)} is one list already: leave this step out and take that, or name several lists",
            )
        if not isinstance(inner, ListType):
            return rows.expr, []
        # Of no lists nothing is joined, however full each of them would be.
        some = isinstance(rows.type, ListType) and rows.type.filled and not isinstance(rows.type.item, OptionalType)
        return rows.expr, [replace(inner, bound=None, filled=inner.filled and some)]
    done: list[Expr] = []
    lists: list[ListType] = []
    for key, value in parts:
        with at.at(key):
            rows = want_list(at, value, "concat_lists")
        done.append(rows.expr)
        lists.append(_rows(rows, at))
    return JsonList(tuple(done)), lists


def _slots(inputs: Expr, at: Inference) -> tuple[Expr, list[ListType]]:
    """Type a list whose nulls count, since each place is checked."""
    if isinstance(inputs, JsonRecord):
        for key, value in inputs.entries:
            with at.at(key):
                at.infer(value)  # faults are noted at the place of the value
        quiet = Inference(at.environment, Findings(), at.path)
        return _slots(JsonList(tuple(value for _, value in inputs.entries)), quiet)
    typed = at.infer(inputs) if isinstance(inputs, JsonList) else want_list(at, inputs, "the aggregate")
    if not isinstance(typed.type, ListType):
        return typed.expr, [ListType(item=ANY)]
    return typed.expr, [replace(typed.type, item=plain(typed.type.item))]


def _need_times(inputs: Expr, rows: ListType, spec: AggregateSpec, at: Inference) -> None:
    item = plain(rows.item)
    if isinstance(item, AnyType) or is_numeric(item):
        return
    if isinstance(item, RecordType) and (item.is_open or item.get("start_time") or item.get("timestamp")):
        return
    at.note(
        "E_TYPE",
        f"{spec.name} needs items with times; these are {show(item)}",
        suggestion=own_lists(item)
        or "keep start_time and end_time when you project, or loop over the segments they came from",
    )


def _params(step: Aggregate, spec: AggregateSpec, lists: list[ListType], at: Inference) -> tuple[tuple[str, Expr], ...]:
    done: list[tuple[str, Expr]] = []
    item = lists[0].item if lists else ANY
    given = dict(step.params)
    for name, value in step.params:
        parameter = spec.params.get(name)
        with at.at("params", name):
            if parameter is None:
                done.append((name, value))
            elif parameter.role == "condition":
                inside = Inference(at.environment.walk("item", item, step.inputs), at.findings, at.path)
                done.append((name, whole_condition(inside, value)))
            elif parameter.role == "value":
                written = want(at, value, Wanted(type=parameter.type, name=name))
                refuse_score_argument(at, written, parameter.type, name)
                is_share = name == "min_score" and given.get("key", _CONFIDENCE) == _CONFIDENCE and is_result(item)
                check_limits(at, name, written, SHARE if is_share else parameter)
                if spec.name == "nth" and lists:
                    check_place(at, written, lists[0])
                done.append((name, written))
            else:
                for rows in lists[:2] if spec.takes == "pair" else lists[:1]:
                    _check_key(value, parameter, rows.item, spec, at, step.inputs)
                done.append((name, value))
    if "key" in spec.params and "key" not in given:
        done.extend(_implied_key(spec, item, at))
    return tuple(done)


def _check_key(value: Expr, parameter: Parameter, item: Type, spec: AggregateSpec, at: Inference, rows: Expr) -> None:
    key = value.value if isinstance(value, Const) else None
    inner = plain(item)
    if not isinstance(key, str) or isinstance(inner, AnyType):
        return
    if not isinstance(inner, RecordType):
        suggestion = "" if parameter.required else leave_out(at.path)
        at.note("E_TYPE", f"items are {show(inner)} and have no fields", found=key, suggestion=suggestion)
        return
    if key.split(".")[0] not in inner.keys and not inner.is_open:
        at.note(
            "E_TYPE",
            f"the items ({show(inner)}) have no field {key!r}",
            found=key,
            suggestion=own_lists(inner, having=(key.split(".")[0],)) or did_you_mean(key, inner.keys),
        )
        return
    found = field_type(inner, key)
    if parameter.role == "number_key" and not is_numeric(plain(found)):
        at.note("E_TYPE", f"{spec.name} needs numbers; {key!r} is {show(found)}")
    if spec.name == "filter_by_score" and is_score(found):
        instead = 'use "key": "confidence"' if inner.get("confidence") is not None else ""
        refuse_score(at, Field(Name("item"), key), "no threshold applies to it", instead=instead)


def _implied_key(spec: AggregateSpec, item: Type, at: Inference) -> list[tuple[str, Expr]]:
    """Return the key to add if exactly one field fits; else note an error and return nothing."""
    inner = plain(item)
    if not isinstance(inner, RecordType) or inner.is_open:
        return []
    if spec.name in ("pick_best", "top_k", "filter_by_score"):
        if spec.name == "filter_by_score" and inner.get("confidence") is None:
            at.note("E_TYPE", "the items have no confidence")
        return []
    wanted = spec.params["key"].role
    fits = {"text_key": is_text, "number_key": is_numeric}.get(wanted, lambda _: False)
    options = [
        key
        for key, type_ in inner.fields
        if key not in BOOKKEEPING and fits(plain(type_)) and not (wanted == "text_key" and key.endswith("_id"))
    ]
    if len(options) == 1:
        at.note("W_IMPLICIT_BINDING", f"{spec.name} reads the field {options[0]!r} of each item")
        return [("key", Const(options[0]))]
    at.note(
        "E_MISSING_PARAM",
        f"{spec.name} needs 'key': the items are records",
        suggestion=f'"key" among "params" is one of {", ".join(options)}' if options else "",
    )
    return []


#: what confidences are compared with
SHARE = Parameter(least=0, most=1)


def check_limits(at: Inference, name: str, value: Expr, parameter: Parameter) -> None:
    """Note a constant that is out of the range of a parameter."""
    number = value.value if isinstance(value, Const) else None
    if not isinstance(number, int | float) or isinstance(number, bool):
        return
    above, least, most = parameter.above, parameter.least, parameter.most
    if least is not None and number < least:
        wanted = f"at least {least:g}"
    elif above is not None and number <= above:
        wanted = f"more than {above:g}"
    elif most is not None and number > most:
        wanted = f"at most {most:g}"
    else:
        return
    suggestion = f"write a number from {least:g} to {most:g}" if least is not None and most is not None else ""
    if most == 1 and is_percentage(number):
        suggestion = f"it is a share, not a percentage: write {number / 100:g}"
    text = to_text(value)
    at.note("E_TYPE", f"{name} must be {wanted}; {text} is not", suggestion=suggestion)


def check_place(at: Inference, number: Expr, rows: ListType) -> None:
    """Note a place at which a list of that type has no item."""
    bound = rows.bound if rows.stated else None
    if bound is None or not isinstance(number, Const) or not isinstance(number.value, int):
        return
    if not -bound <= number.value < bound:
        at.note("E_TYPE", f"the list has at most {bound} items, and never one at place {number.value}")
