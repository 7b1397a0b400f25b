"""What to write in place of a parameter, or of an aggregate's inputs, that cannot stand where it stands."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from tool_induction.aggregates import AggregateSpec
from tool_induction.aggregates.spellings import (
    ALWAYS,
    DIRECTIONS,
    ENDS,
    IMPLIED,
    ORDER_NAMES,
    PARAMETERS_ELSEWHERE,
    PARAMETERS_INSTEAD,
)
from tool_induction.checking.typed import joined_field
from tool_induction.language.diagnostics import (
    Edit,
    Path,
    Suggestion,
    did_you_mean,
    leave_out,
    move_to,
    write,
    write_value,
)
from tool_induction.language.model import Aggregate, Call, free_name
from tool_induction.language.syntax import Const, Expr, Field, JsonList, JsonRecord, Name, Text, names, to_json, to_text
from tool_induction.language.types import BOOL, EnumType, RecordType, Type, is_text, operation_types, plain
from world_api.operations import EVERY_OPERATION


def moved_to_params(key: str, value: Expr, step: Aggregate, spec: AggregateSpec) -> str | Suggestion:
    """A parameter among the inputs, put where it belongs."""
    if _names_order(key) and "descending" in spec.params and _descending(key, _plain_json(value)) is None:
        return 'say the order with "params": {"descending": true}, or false'
    values = _as_parameter(key, value, spec)
    if values is None:
        return ""
    return move_to((*step.path, "params"), (*step.path, "inputs", key), values, exists=bool(step.params))


def list_alone(key: str, step: Aggregate, spec: AggregateSpec) -> str | Suggestion:
    """The list itself in place of the record around it; parameters of the aggregate that stand beside it are kept."""
    assert isinstance(step.inputs, JsonRecord)  # noqa: S101 - asked of records only
    inside = dict(step.inputs.entries)
    params = {name: to_json(value) for name, value in step.params}
    for name in (name for name in inside if name != key):
        values = _as_parameter(name, inside[name], spec)
        if values is None or values.keys() & params.keys():
            return 'the list stands by itself under "inputs", and what says how under "params"'
        params |= values
    return write(step.path, {"inputs": _plain_json(inside[key])} | ({"params": params} if len(inside) > 1 else {}))


def _as_parameter(key: str, value: Expr, spec: AggregateSpec) -> dict[str, object] | None:
    """A value that stands among the inputs as a parameter, if the aggregate has such a one."""
    given = _plain_json(value)
    descending = _descending(key, given)
    if key not in spec.params and "descending" in spec.params and descending is not None:
        return {"descending": descending}
    return {key: given} if key in spec.params else None


def _plain_json(value: Expr) -> object:
    """A value that was read as an expression, as JSON: a name is a text again."""
    return value.name if isinstance(value, Name) else to_json(value)


def parameter_instead(step: Aggregate, name: str, value: Expr, spec: AggregateSpec) -> str | Suggestion:
    """How to say what a parameter says that an aggregate has not."""
    holder: Path = (*step.path, "params")
    given = value.value if isinstance(value, Const) else None
    if _names_order(name):
        return _direction(name, given, step, spec)
    if name in ALWAYS or (spec.name, name) in IMPLIED:
        if given == (ALWAYS.get(name) or IMPLIED[spec.name, name]):
            return leave_out((*holder, name)).after(f"{given} is what it goes by")
        return PARAMETERS_ELSEWHERE.get((spec.name, name)) or PARAMETERS_ELSEWHERE["", name]
    said = PARAMETERS_ELSEWHERE.get((spec.name, name)) or PARAMETERS_INSTEAD.get(name, "")
    if "key" in said and name in PARAMETERS_INSTEAD and "key" not in spec.params:
        said = ""
    return said or did_you_mean(name, spec.params)


def _direction(name: str, given: object, step: Aggregate, spec: AggregateSpec) -> str | Suggestion:
    """``descending`` for another name of it, with the value that means the same; where there is none, what has an order."""
    if "descending" not in spec.params:
        if spec.name in ENDS and (spec.name != "top_k" or "key" in dict(step.params)):
            return ENDS[spec.name]
        if spec.order_free or spec.takes == "mix":
            return f"{spec.name} gives the same in every order: leave it out"
        return f'{spec.name} has no order of its own; to take the list in another one put sort_by with "descending" before it'
    descending = _descending(name, given)
    if descending is None or "descending" in dict(step.params):
        return 'say it with "descending" alone: true for the highest first, false for the lowest first'
    return write((*step.path, "params"), {"descending": descending}, without=[name])


def _names_order(name: str) -> bool:
    return name in DIRECTIONS or name in ORDER_NAMES


def _descending(name: str, given: object) -> bool | None:
    """What ``descending`` is where an order is said by another name; None where the value does not tell."""
    if name in ORDER_NAMES and isinstance(given, str):
        return DIRECTIONS.get(given.lower())
    return given == DIRECTIONS[name] if name in DIRECTIONS and isinstance(given, bool) else None


def field_name(value: Expr, path: Path) -> str | Suggestion:
    """The field of the items that an expression on ``item`` reads, as its bare name."""
    text = to_text(value).removeprefix("item.")
    is_field = isinstance(value, Field) and all(part.isidentifier() for part in text.split("."))
    if is_field and to_text(value).startswith("item."):
        return write_value(path, text)
    return "write the name of a field of the items, without braces; no value can name it"


def filter_afterwards(
    step: Call, name: str, value: Expr, *, is_read_by_field: bool, taken: Collection[str]
) -> str | Suggestion:
    """How to keep some results of an operation by a field they have, where it takes no parameter of that name.

    Where a later step reads a field of the result (``hits.candidates``), a list cannot take its name; in a branch, every
    other branch must bind a new name too.
    """
    if step.kind != "api" or step.target not in EVERY_OPERATION:
        return ""
    is_free = not is_read_by_field and (step.loop is None or step.loop.until is None)
    result = operation_types(step.target).result
    joined = joined_field(replace(result, name="") if isinstance(result, RecordType) else result)
    item = plain(joined[1].item) if joined is not None else None
    if not isinstance(item, RecordType):
        return ""
    rest = free_name(f"{step.save_as}_all", taken)
    after: dict[str, object] | None = None
    if name == "time_range" and item.get("start_time") is not None:
        interval = {"interval": to_json(value)}
        after = {"type": "aggregate", "operation": "filter_in_interval", "inputs": rest, "params": interval}
    elif (known := item.get(name)) is not None:
        where = _equals(name, plain(known), value)
        if where is None or "item" in names(value):  # in a filter, that is an item of the list
            return f'leave it out; its results have a field {name!r}: keep those that are wanted with a step of type "filter"'
        after = {"type": "filter", "inputs": rest, "where": where}
    if after is None:
        return ""
    if step.loop is not None and step.loop.variable in names(value):
        return f'leave it out; it is another {name!r} for each item: search in a step of type "loop", and keep there what is wanted'
    if not is_free:
        after["inputs"] = step.save_as
        shown = json.dumps(after, ensure_ascii=False)
        return f"leave it out, and take after this step what is kept of {step.save_as!r} (under a name of its own): {shown}"
    made = _followed_by(step, name, rest, after | {"save_as": step.save_as})
    if step.path[-2] not in ("then", "else"):
        return made
    empty = json.dumps({"type": "set", "value": None, "save_as": rest}, ensure_ascii=False)
    return f"{made.text}; begin the other branch with {empty}, since both bind the same names"


def _equals(name: str, known: Type, value: Expr) -> str | None:
    """The condition that a field has a value, where it can have it."""
    fits = not isinstance(value, Const)
    if isinstance(value, Const):
        fits = isinstance(value.value, bool) if known == BOOL else is_text(known) and isinstance(value.value, str)
        fits = fits and (not isinstance(known, EnumType) or value.value in known.values)
    elif not (is_text(known) or known == BOOL) or isinstance(value, JsonRecord | JsonList | Text):
        return None
    return f"{{{{ item.{name} == {to_text(value)} }}}}" if fits else None


def _followed_by(step: Call, name: str, rest: str, after: dict[str, object]) -> Suggestion:
    """The call without a parameter, its result under another name, and a step after it that gives the old name."""
    text = f'leave it out, save the result as "{rest}", and put this step after it: {json.dumps(after, ensure_ascii=False)}'
    block, place = step.path[:-1], step.path[-1]
    assert isinstance(place, int)  # noqa: S101 - a step stands in a list
    return Suggestion(
        text,
        (
            Edit(op="remove", path=(*step.path, "params", name)),
            Edit(op="add", path=(*step.path, "save_as"), value=rest),
            Edit(op="add", path=(*block, place + 1), value=after),
        ),
    )
