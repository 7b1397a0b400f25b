"""Pass 4d: the types of aggregate steps, and checks of their parameters."""

from __future__ import annotations

from dataclasses import replace

from tool_induction.aggregates import AGGREGATES, AggregateSpec, Parameter, field_type, surely_timed
from tool_induction.checker.environment import DISTINCT, KEPT, Environment, Fact, TypedList, list_field
from tool_induction.checker.expressions import Inference, no_number
from tool_induction.checker.operands import is_score, own_lists, refuse_mixture, refuse_score, refuse_score_argument
from tool_induction.checker.ranges import OTHER_DEFAULT, is_result, whole_condition
from tool_induction.checker.values import want, want_list
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.diagnostics import Findings, leave_out
from tool_induction.language.model import Aggregate
from world_api.core.identifiers import did_you_mean

_CONFIDENCE = ex.Const("confidence")


def check_aggregate(step: Aggregate, environment: Environment, at: Inference) -> tuple[Aggregate, Environment]:
    """Check an aggregate step. Return it with defaults and conversions made explicit, and the environment after it."""
    spec = AGGREGATES.get(step.operation)
    if spec is None:
        return step, environment.bind(step.save_as, ty.ANY)
    with at.at("inputs"):
        inputs, lists = _inputs(step.inputs, spec, at)
        if spec.times:
            for rows in lists:
                _need_times(rows, spec, at)
        if spec.name in ("min", "max", "sort_by", "top_k", "pick_best"):
            refuse_mixture(at, inputs)
        if spec.name in ("sum", "avg", "min", "max") and lists and not isinstance(lists[0].item, ty.RecordType):
            other = no_number(at, at.knowing(()).infer(inputs))
            if other is not None:
                at.note("E_TYPE", f"{spec.name} needs numbers, found {ty.show(other)}")
    params = _params(replace(step, inputs=inputs), spec, lists, at)
    constants = {name: value.value for name, value in params if isinstance(value, ex.Const)}
    result = spec.result(lists, constants) if lists or spec.takes in ("mix", "nothing", "lists") else ty.ANY
    written = replace(step, inputs=inputs, params=params)
    type_ = Inference(environment, Findings(), at.path).infer(inputs).type
    drops = isinstance(type_, ty.ListType) and isinstance(type_.item, ty.OptionalType)
    return written, _learn(written, result, lists, environment, drops=drops)


def _learn(
    step: Aggregate, result: ty.Type, lists: list[ty.ListType], environment: Environment, *, drops: bool
) -> Environment:
    """Return the environment after a step, with facts such as: if its list is not empty, its result is not null.

    ``drops``: the list may contain nulls, which an aggregate ignores. The facts are then about the list without them,
    since a list of nothing but nulls is not empty, and nothing can be picked from it.
    """
    seen = ex.Filtered(step.inputs, KEPT, ()) if drops else step.inputs
    meaning: ex.Expr | None = None
    plain_any = step.operation == "any" and not dict(step.params).get("where")
    if step.operation == "count":
        meaning = ex.Filtered(seen, "length", ())
    elif step.operation == "count_distinct":
        meaning = ex.Filtered(ex.Filtered(seen, DISTINCT, ()), "length", ())
    elif step.operation == "total_duration":
        meaning = ex.Filtered(seen, "abs", ())  # a number that is never below 0, and nothing else is known of it
    elif plain_any and lists and ty.plain(lists[0].item) != ty.BOOL:
        meaning = ex.Compare(ex.Filtered(seen, "length", ()), ">", ex.Const(0))
    source: Fact = ("filled", ex.to_text(seen))
    nothing: Fact = ("empty", ex.to_text(seen))
    if drops:
        environment = environment.imply(source, ("filled", ex.to_text(step.inputs)))
    name = step.save_as
    after = environment.bind(name, result, meaning=meaning)
    if step.operation == "concat_text":
        return after.assume([("joined", name)])
    if isinstance(step.inputs, ex.JsonRecord):
        return after
    same: list[tuple[Fact, Fact]] = []  # facts of which each follows from the other
    if isinstance(result, ty.OptionalType) and step.operation.startswith(("pick_", "first")):
        same = [(source, ("present", name)), (nothing, ("absent", name))]
    elif isinstance(result, ty.ListType) and step.operation in ("sort_by", "dedupe_by", "dedupe_overlaps", "group_by"):
        same = [(source, ("filled", name)), (nothing, ("empty", name))]
    elif isinstance(result, ty.ListType) and step.operation == "merge_intervals" and surely_timed(lists[0].item):
        after = after.imply(source, ("filled", name))
    for one, other in same:
        after = after.imply(one, other).imply(other, one)
    return after.measure(name, seen) if step.operation == "sort_by" and same else after


def _inputs(inputs: ex.Expr, spec: AggregateSpec, at: Inference) -> tuple[ex.Expr, list[ty.ListType]]:
    match spec.takes:
        case "nothing":
            return ex.Const(None), []
        case "mix":
            return at.infer(inputs).expr, []
        case "pair":
            return _pair(inputs, spec, at)
        case "lists":
            return _several(inputs, at)
        case "slots":
            return _slots(inputs, at)
        case "list":
            if isinstance(inputs, ex.JsonList) and len(inputs.items) == 1:
                inputs = _only_list(inputs, at)
            rows = want_list(at, inputs, f"the aggregate {spec.name}")
            return rows.expr, [_rows(rows, at)]


def _only_list(inputs: ex.JsonList, at: Inference) -> ex.Expr:
    """Return ``x`` for the inputs ``[x]`` if ``x`` is itself a list; otherwise the inputs unchanged."""
    inner = ty.plain(at.infer(inputs.items[0]).type)
    if not isinstance(inner, ty.ListType | ty.AnyType) and list_field(inner) is None:
        return inputs
    at.note("W_IMPLICIT_BINDING", f"[{ex.to_text(inputs.items[0])}] is read as {ex.to_text(inputs.items[0])}")
    return inputs.items[0]


def _rows(rows: TypedList, at: Inference) -> ty.ListType:
    """Return the type of a list as an aggregate gets it, without nulls; note a list of lists."""
    inner = ty.plain(rows.type.item)
    if isinstance(inner, ty.ListType):
        suggestion = "join the lists first with the aggregate concat_lists"
        at.note("E_TYPE", f"a flat list is wanted, found {ty.show(rows.type)}", suggestion=suggestion)
        return inner
    drops = isinstance(rows.type.item, ty.OptionalType)
    return replace(rows.type, item=inner, filled=rows.type.filled and not drops)


def _pair(inputs: ex.Expr, spec: AggregateSpec, at: Inference) -> tuple[ex.Expr, list[ty.ListType]]:
    entries: list[tuple[str, ex.Expr]] = []
    if isinstance(inputs, ex.JsonRecord):
        entries = [(key, value) for key, value in inputs.entries if key in ("a", "b")]
    elif isinstance(inputs, ex.JsonList) and len(inputs.items) == 2:
        entries = list(zip(("a", "b"), inputs.items, strict=True))
    is_record = isinstance(inputs, ex.JsonRecord)
    if len(entries) != 2:
        if not is_record and not isinstance(inputs, ex.Broken):
            suggestion = '"inputs" is a record of two lists, {"a": ..., "b": ...}'
            at.note("E_TYPE", f"{spec.name} takes two lists", suggestion=suggestion)
        return inputs, [ty.ListType(item=ty.ANY), ty.ListType(item=ty.ANY)]
    parts: list[tuple[str | int, ex.Expr]] = [
        (key if is_record else place, value) for place, (key, value) in enumerate(entries)
    ]
    done, lists = _each(parts, f"the aggregate {spec.name}", at)
    return ex.JsonRecord(tuple(zip((key for key, _ in entries), done, strict=True))), lists


def _each(parts: list[tuple[str | int, ex.Expr]], what: str, at: Inference) -> tuple[list[ex.Expr], list[ty.ListType]]:
    """Return list expressions with conversions made explicit, and their types. ``parts``: (key, list); ``what``: for messages."""
    done: list[ex.Expr] = []
    lists: list[ty.ListType] = []
    for key, value in parts:
        with at.at(key):
            rows = want_list(at, value, what)
        done.append(rows.expr)
        lists.append(_rows(rows, at))
    return done, lists


def _several(inputs: ex.Expr, at: Inference) -> tuple[ex.Expr, list[ty.ListType]]:
    """Return the lists to be joined (a JSON list or record of them, or a list of lists) as checked expression, and their types."""
    parts: list[tuple[str | int, ex.Expr]] = []
    if isinstance(inputs, ex.JsonList):
        parts = list(enumerate(inputs.items))
    elif isinstance(inputs, ex.JsonRecord):
        parts = list(inputs.entries)
    else:
        rows = want_list(at, inputs, "concat_lists")
        inner = ty.plain(rows.type.item)
        if not isinstance(inner, ty.ListType | ty.AnyType):
            what = f"{ex.to_text(rows.expr)} is one list already"
            suggestion = f"{what}: leave this step out and take that, or name several lists"
            at.note("E_TYPE", f"a list of lists is wanted, found {ty.show(rows.type)}", suggestion=suggestion)
        if not isinstance(inner, ty.ListType):
            return rows.expr, []
        # Of no lists nothing is joined, however full each of them would be.
        some = rows.type.filled and not isinstance(rows.type.item, ty.OptionalType)
        return rows.expr, [replace(inner, bound=None, filled=inner.filled and some)]
    done, lists = _each(parts, "concat_lists", at)
    return ex.JsonList(tuple(done)), lists


def _slots(inputs: ex.Expr, at: Inference) -> tuple[ex.Expr, list[ty.ListType]]:
    """Check a list, or a JSON record whose values are the positions, for an aggregate that also counts positions with null.

    Return the checked expression, and one list type, whose items are never null.
    """
    if isinstance(inputs, ex.JsonRecord):
        for key, value in inputs.entries:
            with at.at(key):
                at.infer(value)  # faults are noted at the place of the value
        quiet = Inference(at.environment, Findings(), at.path)
        return _slots(ex.JsonList(tuple(value for _, value in inputs.entries)), quiet)
    typed = at.infer(inputs) if isinstance(inputs, ex.JsonList) else want_list(at, inputs, "the aggregate")
    rows = typed.type if isinstance(typed.type, ty.ListType) else ty.ListType(item=ty.ANY)
    return typed.expr, [replace(rows, item=ty.plain(rows.item))]


def _need_times(rows: ty.ListType, spec: AggregateSpec, at: Inference) -> None:
    item = ty.plain(rows.item)
    if isinstance(item, ty.AnyType) or ty.is_numeric(item):
        return
    if isinstance(item, ty.RecordType) and (item.is_open or item.get("start_time") or item.get("timestamp")):
        return
    at.note(
        "E_TYPE",
        f"{spec.name} needs items with times; these are {ty.show(item)}",
        suggestion=own_lists(item)
        or "keep start_time and end_time when you project, or loop over the segments they came from",
    )


def _params(
    step: Aggregate, spec: AggregateSpec, lists: list[ty.ListType], at: Inference
) -> tuple[tuple[str, ex.Expr], ...]:
    done: list[tuple[str, ex.Expr]] = []
    item = lists[0].item if lists else ty.ANY
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
                written = want(at, value, parameter.type, name)
                refuse_score_argument(at, written, parameter.type, name)
                is_share = name == "min_score" and given.get("key", _CONFIDENCE) == _CONFIDENCE and is_result(item)
                check_limits(at, name, written, SHARE if is_share else parameter)
                if spec.name == "nth" and lists and lists[0].stated and lists[0].bound is not None:
                    most, place = lists[0].bound, written.value if isinstance(written, ex.Const) else None
                    if isinstance(place, int) and not -most <= place < most:
                        at.note("E_TYPE", f"the list has at most {most} items, and never one at place {place}")
                if spec.takes == "slots":
                    _check_labels(step.inputs, written, at)
                done.append((name, written))
            else:
                for rows in lists[:2] if spec.takes == "pair" else lists[:1]:
                    _check_key(value, parameter, rows.item, spec, at)
                done.append((name, value))
    if "key" in spec.params and "key" not in given:
        done.extend(_implied_key(spec, item, at))
    return tuple(done)


def _check_labels(inputs: ex.Expr, labels: ex.Expr, at: Inference) -> None:
    """Note if the numbers of labels and of items differ; checked only if the document lists both."""
    items = inputs.entries if isinstance(inputs, ex.JsonRecord) else _written(inputs)
    names = _written(labels)
    if items is not None and names is not None and len(items) != len(names):
        suggestion = f"write {len(items)} labels, in the order of the items"
        at.note("E_TYPE", f"{len(names)} labels for {len(items)} items: each names one place", suggestion=suggestion)


def _written(rows: ex.Expr) -> tuple[ex.Expr, ...] | None:
    return rows.items if isinstance(rows, ex.JsonList | ex.ListExpression) else None


def _check_key(value: ex.Expr, parameter: Parameter, item: ty.Type, spec: AggregateSpec, at: Inference) -> None:
    key = value.value if isinstance(value, ex.Const) else None
    inner = ty.plain(item)
    if not isinstance(key, str) or isinstance(inner, ty.AnyType):
        return
    if not isinstance(inner, ty.RecordType):
        suggestion = "" if parameter.required else leave_out(at.path)
        at.note("E_TYPE", f"items are {ty.show(inner)} and have no fields", found=key, suggestion=suggestion)
        return
    if key.split(".")[0] not in inner.keys and not inner.is_open:
        at.note(
            "E_TYPE",
            f"the items ({ty.show(inner)}) have no field {key!r}",
            found=key,
            suggestion=own_lists(inner, having=(key.split(".")[0],)) or did_you_mean(key, inner.keys),
        )
        return
    found = field_type(inner, key)
    if parameter.role == "number_key" and not ty.is_numeric(ty.plain(found)):
        at.note("E_TYPE", f"{spec.name} needs numbers; {key!r} is {ty.show(found)}")
    if isinstance(ty.plain(found), ty.ListType | ty.RecordType):
        what = "a list" if isinstance(ty.plain(found), ty.ListType) else "a record"
        if spec.name in ("sort_by", "top_k"):
            at.note("E_TYPE", f"{key!r} is {what}, which has no order")
        elif parameter.role == "text_key":
            texts = [name for name, type_ in inner.fields if ty.is_text(ty.plain(type_)) and not name.endswith("_id")]
            suggestion = f"fields with a text are {', '.join(texts)}" if texts else ""
            at.note("W_COERCED", f"{key!r} is {what} and is written as JSON", suggestion=suggestion)
    if spec.name == "filter_by_score" and is_score(found):
        instead = 'use "key": "confidence"' if inner.get("confidence") is not None else ""
        refuse_score(at, ex.Field(ex.Name("item"), key), "no threshold applies to it", instead=instead)


def _implied_key(spec: AggregateSpec, item: ty.Type, at: Inference) -> list[tuple[str, ex.Expr]]:
    """Return ``[("key", field)]`` if one field alone has the type to be read, else []; note a missing key that is required."""
    inner = ty.plain(item)
    if not isinstance(inner, ty.RecordType) or inner.is_open:
        return []
    if spec.name in ("pick_best", "top_k", "filter_by_score"):
        if spec.name == "filter_by_score" and inner.get("confidence") is None:
            at.note("E_TYPE", "the items have no confidence")
        return []
    wanted = spec.params["key"].role
    fits = {"text_key": ty.is_text, "number_key": ty.is_numeric}.get(wanted, lambda _: False)
    options = [
        key
        for key, type_ in inner.fields
        if key not in ty.BOOKKEEPING and fits(ty.plain(type_)) and not (wanted == "text_key" and key.endswith("_id"))
    ]
    if len(options) == 1:
        at.note("W_IMPLICIT_BINDING", f"{spec.name} reads the field {options[0]!r} of each item")
        return [("key", ex.Const(options[0]))]
    at.note(
        "E_MISSING_PARAM",
        f"{spec.name} needs 'key': the items are records",
        suggestion=f'"key" among "params" is one of {", ".join(options)}' if options else "",
    )
    return []


#: the range of a confidence
SHARE = Parameter(least=0, most=1)


def check_limits(at: Inference, name: str, value: ex.Expr, parameter: Parameter) -> None:
    """Note a constant, or a value computed from defaults of inputs, that is out of a parameter's range. ``name``: for messages."""
    number = value.value if isinstance(value, ex.Const) else at.environment.by_default(value)
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
    if most == 1 and 10 <= number <= 100:  # it can be meant as a percentage
        suggestion = f"it is a share, not a percentage: write {number / 100:g}"
    text = ex.to_text(value)
    if ex.names(value):
        text, suggestion = f"{text}, by default {number:g},", OTHER_DEFAULT
    at.note("E_TYPE", f"{name} must be {wanted}; {text} is not", suggestion=suggestion)
