"""Pass 4b: does a value fit where it stands? With what a writer most likely meant, where it does not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tool_induction.checking.expressions import Inference
from tool_induction.checking.nulls import base_name, null_not_handled
from tool_induction.checking.ranges import check_span, from_the_start
from tool_induction.checking.typed import Typed, list_field, value_field
from tool_induction.language.diagnostics import Suggestion, did_you_mean, shorten, write_value
from tool_induction.language.syntax import Const, Expr, Field, Filtered, Index, JsonList, JsonRecord, Name, to_text
from tool_induction.language.types import (
    BOOL,
    FLOAT,
    INT,
    INTERVAL,
    STRING,
    TIME,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    fit,
    is_numeric,
    operation_types,
    plain,
    show,
)

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a place of a document takes: its type, and what to call it."""

    type: Type
    name: str


def want(at: Inference, expr: Expr, wanted: Wanted) -> Expr:
    """The written-out value; whatever keeps it from fitting is noted."""
    inner = plain(wanted.type)
    if isinstance(expr, JsonRecord) and isinstance(inner, RecordType) and not inner.is_open:
        return _record(at, expr, inner, wanted)
    if isinstance(expr, JsonList) and isinstance(inner, ListType):
        return _list(at, expr, inner, wanted)
    if isinstance(expr, JsonList) and isinstance(inner, RecordType) and not inner.is_open:
        if inner.name == INTERVAL.name and len(expr.items) == len(INTERVAL.keys):
            return _interval(at, expr, wanted)
        example = ", ".join(f'"{key}": ...' for key in inner.keys)
        at.note(
            "E_TYPE",
            f"{wanted.name}: expected {show(inner)}, found a list",
            found="a list",
            expected=show(inner),
            suggestion=f"write {{{example}}}",
        )
        return expr
    return _single(at, unwrapped(at, at.infer(expr), wanted.type), wanted)


def unwrapped(at: Inference, typed: Typed, wanted: Type) -> Typed:
    """A whole record stands for its one list or its one value where such is wanted; that is written out."""
    inner = plain(typed.type)
    one = list_field(inner) if isinstance(plain(wanted), ListType) else value_field(inner, plain(wanted))
    if one is None or isinstance(inner, AnyType):
        return typed
    written = Field(typed.expr, one[0])
    at.note(
        "W_IMPLICIT_BINDING",
        f"{to_text(typed.expr)} is read as {to_text(written)}",
        found=to_text(typed.expr),
        expected=to_text(written),
    )
    return at.infer(written)


def _single(at: Inference, typed: Typed, wanted: Wanted) -> Expr:
    found = fit(typed.type, wanted.type)
    if found.how == "no":
        at.note(
            "E_TYPE",
            f"expected {_in_words(wanted.type)}, found {_found(typed)}",
            found=show(typed.type),
            expected=show(wanted.type),
            suggestion=suggestion(at, typed, wanted),
        )
        return typed.expr
    if found.how == "optional":
        null_not_handled(at, typed, wanted.name)
        return typed.expr
    inner, have = plain(wanted.type), plain(typed.type)
    if isinstance(inner, RecordType) and isinstance(have, RecordType) and _closed(inner, have):
        return _narrowed_record(at, typed, inner)
    if found.how == "coerced" and inner == INT and have == FLOAT and _is_computed(typed.expr):
        at.note(
            "E_TYPE",
            f"a whole number is wanted, and {to_text(typed.expr)} need not be one",
            found=show(typed.type),
            expected="int",
            suggestion=write_value(at.path, f"{{{{ {_as_operand(typed.expr)} | round }}}}"),
        )
    elif found.how == "coerced" and isinstance(have, EnumType):
        at.note(
            "E_TYPE",
            f"{to_text(typed.expr)} may also be {', '.join(word for word in have.values if word not in _words(inner))}",
            found=show(typed.type),
            expected=show(wanted.type),
        )
    elif found.how == "coerced":
        at.note(
            "W_COERCED",
            f"{show(typed.type)} where {show(wanted.type)} is wanted: {found.note}",
            found=show(typed.type),
            expected=show(wanted.type),
        )
    return typed.expr


def _is_computed(expr: Expr) -> bool:
    """Whether a number is made here, not handed in by a caller; 3.0 is a whole number."""
    if isinstance(expr, Const):
        return isinstance(expr.value, float) and not expr.value.is_integer()
    return not isinstance(expr, Name | Field | Index)


def _as_operand(expr: Expr) -> str:
    text = to_text(expr)
    return text if isinstance(expr, Filtered) else f"({text})"


def _found(typed: Typed) -> str:
    """What stands there, in words: a text as it is written, anything else by its type."""
    if isinstance(typed.expr, Const) and isinstance(typed.expr.value, str):
        return f"the text {shorten(repr(typed.expr.value), 60)}"
    return show(typed.type)


def _words(type_: Type) -> tuple[str, ...]:
    return type_.values if isinstance(type_, EnumType) else ()


def _closed(wanted: RecordType, found: RecordType) -> bool:
    return bool(wanted.fields) and not wanted.is_open and bool(set(found.keys) - set(wanted.keys))


def _narrowed_record(at: Inference, typed: Typed, wanted: RecordType) -> Expr:
    """Operations take exactly the declared keys; of a richer record only those are handed on."""
    written = JsonRecord(tuple((key, Field(typed.expr, key)) for key in wanted.keys))
    at.note(
        "W_COERCED",
        f"of {to_text(typed.expr)} only {', '.join(wanted.keys)} are handed on",
        found=show(typed.type),
        expected=show(wanted),
    )
    return written


def _record(at: Inference, expr: JsonRecord, inner: RecordType, wanted: Wanted) -> Expr:
    done: list[tuple[str, Expr]] = []
    for key, value in expr.entries:
        type_ = inner.get(key)
        with at.at(key):
            if type_ is None:
                at.note(
                    "E_UNKNOWN_PARAM",
                    f"{wanted.name} has no key {key!r}",
                    found=key,
                    expected=", ".join(inner.keys),
                    suggestion=did_you_mean(key, inner.keys),
                )
                done.append((key, value))
            else:
                written = want(at, value, Wanted(type=type_, name=f"{wanted.name}.{key}"))
                done.append((key, from_the_start(at, written) if type_ == TIME else written))
    if inner.name == INTERVAL.name:
        check_span(at, dict(done))
    given = [key for key, _ in expr.entries]
    for key, type_ in inner.fields:
        if key not in given and not isinstance(type_, OptionalType):
            at.note("E_MISSING_PARAM", f"{wanted.name} needs the key {key!r}", found=", ".join(given), expected=key)
    return JsonRecord(tuple(done))


def _list(at: Inference, expr: JsonList, inner: ListType, wanted: Wanted) -> Expr:
    done: list[Expr] = []
    for place, item in enumerate(expr.items):
        with at.at(place):
            done.append(want(at, item, Wanted(type=inner.item, name=f"{wanted.name}[{place}]")))
    return JsonList(tuple(done))


def _interval(at: Inference, expr: JsonList, wanted: Wanted) -> Expr:
    """``[start, end]`` where an interval is wanted."""
    at.note(
        "W_ALIAS",
        f"{wanted.name}: [start, end] is read as an interval",
        found="[start, end]",
        expected='{"start_time": ..., "end_time": ...}',
    )
    done: list[tuple[str, Expr]] = []
    for place, (key, item) in enumerate(zip(INTERVAL.keys, expr.items, strict=True)):
        with at.at(place):
            written = want(at, item, Wanted(type=TIME, name=f"{wanted.name}.{key}"))
            done.append((key, from_the_start(at, written)))
    check_span(at, dict(done), places=(0, 1))
    return JsonRecord(tuple(done))


def want_list(at: Inference, expr: Expr, what: str) -> Typed:
    """The expression as a list that may be walked; null is an empty list, and that is written out."""
    rows = at.as_list(expr)
    if isinstance(rows.type, OptionalType):
        written = Filtered(rows.expr, "default", (JsonList(()),))
        at.note(
            "W_COERCED",
            f"{to_text(rows.expr)} may be null; {what} reads null as the empty list",
            found=show(rows.type),
            expected=show(plain(rows.type)),
        )
        return at.infer(written)
    return rows


def _in_words(type_: Type) -> str:
    return "Time (seconds)" if plain(type_) == TIME else show(type_)


def suggestion(at: Inference, typed: Typed, wanted: Wanted) -> str | Suggestion:
    """What was most likely meant."""
    inner, goal = plain(typed.type), plain(wanted.type)
    text = to_text(typed.expr)
    if isinstance(goal, ListType | AnyType):
        return "join lists first with the aggregate concat_lists" if _nested(inner, goal) else ""
    inside = list_field(inner)
    rows = inner if isinstance(inner, ListType) else inside[1] if inside else None
    if rows is not None:
        key = _likely_field(plain(rows.item), wanted)
        field = f".{key}" if key else ""
        if at.in_call and base_name(typed.expr) not in at.environment.walked:
            return f'did you mean loop_over: "{text}" with "{{{{ item{field} }}}}"?'
        return f'did you mean "{{{{ {text}[0]{field} }}}}", of the first?' if key or not _is_record(rows.item) else ""
    if isinstance(inner, RecordType):
        key = _likely_field(inner, wanted)
        return f'did you mean "{{{{ {text}.{key} }}}}"?' if key else ""
    if isinstance(goal, EnumType) and isinstance(inner, EnumType):
        return did_you_mean(inner.values[0], goal.values)
    if is_numeric(goal) and isinstance(inner, EnumType) and isinstance(typed.expr, Const):
        return _as_a_number(at, inner.values[0], goal)
    if goal == BOOL and isinstance(typed.expr, Const) and typed.expr.value in ("true", "false"):
        return write_value(at.path, typed.expr.value == "true")
    if goal == STRING and is_numeric(inner):
        return f'a text is wanted, such as "about {{{{ {text} }}}}"'
    return ""


def _as_a_number(at: Inference, text: str, goal: Type) -> str | Suggestion:
    if text in at.environment.types:
        return f'did you mean "{{{{ {text} }}}}"?'
    if not _NUMBER.fullmatch(text.strip()):
        return "write a number"
    number = float(text) if "." in text else int(text)
    if goal == INT and not float(number).is_integer():
        return "write a whole number, without quotes"
    made = write_value(at.path, number)
    return Suggestion(f"{made.text}, without quotes", made.edits)


def _is_record(type_: Type) -> bool:
    return isinstance(plain(type_), RecordType)


def _nested(found: Type, goal: Type) -> bool:
    return isinstance(found, ListType) and isinstance(plain(found.item), ListType) and isinstance(goal, ListType)


def _likely_field(item: Type, wanted: Wanted) -> str | None:
    """The field of a record that would fit: of the same name, else of the same type."""
    if not isinstance(item, RecordType):
        return None
    name = wanted.name.rsplit(".", 1)[-1]
    fitting = [key for key, type_ in item.fields if fit(type_, wanted.type).how == "yes"]
    if name in fitting:
        return name
    for key in ("timestamp", "center_time", "start_time"):
        if plain(wanted.type) == TIME and key in fitting:
            return key
    close = [key for key in fitting if key in name or name in key]
    return close[0] if close else fitting[0] if len(fitting) == 1 else None


@lru_cache(maxsize=512)
def _parameter_validator(operation: str, name: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = operation_types(operation).parameters_schema
    return Draft202012Validator({"$defs": schema.get("$defs", {}), **schema["properties"][name]})


def check_constant(at: Inference, operation: str, name: str, value: Const) -> None:
    """A constant is checked against the parameter's own schema: ranges, lengths."""
    error = next(iter(_parameter_validator(operation, name).iter_errors(value.value)), None)
    if error is not None:
        at.note("E_TYPE", f"{name}: {error.message}", found=repr(value.value), expected=f"{name} of {operation}")
