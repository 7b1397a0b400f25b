"""The registry of operations: name, schemas, state and price all come from one typed function.

JSON Schema, OpenAI and MCP tools, the command line and the documentation are generated from these declarations.
How to add an operation is shown in docs/extending.md.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from world_api.core.cost import Cost
from world_api.core.faults import OperationFault
from world_api.core.identifiers import suggestion
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.evidence import holes_in_words
from world_api.operations.schema import Result, TimeRange
from world_api.session.session import Session

Category = Literal["navigation", "perception", "entities", "retrieval", "memory", "meta"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
State = Literal["reads", "writes"]
#: The group of the sixteen, which is always on.
ALWAYS = ""
Implementation = TypeVar("Implementation", bound=Callable[..., Result])


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation on a world.

    ``depends_on_session``: the answer may change with what the session wrote, so a cache of results must include the
    session's ``session_key``. ``price`` is the cost of an answer from stored rows. ``looks`` is the greatest number of
    requests to the session's vision model, if it has one; their cost is charged in addition. ``group`` is the optional
    group, ``""`` for the sixteen. ``summary`` is the first paragraph of the description, which chat models read.
    """

    name: str
    group: str = ALWAYS
    category: Category
    state: State
    price: Cost
    looks: int = 0
    depends_on_session: bool
    description: str
    summary: str
    parameters: type[BaseModel]
    result: type[Result]
    implementation: Callable[..., Result]

    def validate(self, arguments: Mapping[str, Any]) -> BaseModel:
        """Check arguments against the declaration and return them as a model. No type is converted except int to float.

        Raises OperationFault: ``bad_arguments``, which lists the first eight faults.
        """
        _check_text(self.name, arguments)
        try:
            return self.parameters.model_validate(dict(arguments), strict=True)
        except ValidationError as error:
            raise OperationFault(
                "bad_arguments",
                f"{self.name}: " + "; ".join(_explain(item) for item in error.errors()[:8]),
                hint="parameters: " + ", ".join(self.signature()),
            ) from None

    def signature(self) -> list[str]:
        """Return the names of the parameters; those of optional ones end with ``?``."""
        return [name + ("" if field.is_required() else "?") for name, field in self.parameters.model_fields.items()]

    def parameters_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        return self.parameters.model_json_schema()

    def result_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the result."""
        return self.result.model_json_schema(mode="serialization")


def _check_text(name: str, arguments: Mapping[str, Any]) -> None:
    """Check that all text can be encoded as UTF-8; half a surrogate pair cannot.

    Raises OperationFault: ``bad_arguments``.
    """
    try:
        json.dumps(dict(arguments), ensure_ascii=False, default=str).encode()
    except (UnicodeEncodeError, ValueError, RecursionError):
        raise OperationFault(
            "bad_arguments", f"{name}: an argument is not Unicode text", hint="send text as UTF-8"
        ) from None


_PLAIN = {
    "missing": "is missing",
    "extra_forbidden": "is not a parameter",
    "model_type": 'must be an object, such as {"start_time": 10, "end_time": 20}',
    "value_error": "must not be empty",
}


def _explain(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "arguments"
    message = _PLAIN.get(error["type"], error["msg"])
    if error["type"].endswith(("too_long", "too_short")):
        bound, name = ("at most", "max_length") if error["type"].endswith("long") else ("at least", "min_length")
        number, unit = error["ctx"][name], "character" if isinstance(error["input"], str) else "item"
        message = f"must have {bound} {number} {unit}{'s' * (number != 1)}, not {len(error['input'])}"
    return f"{where} {message[0].lower()}{message[1:]}"


#: The fields that follow the answer in every result.
BESIDE = tuple(Result.model_fields)

_DECLARED: dict[str, Operation] = {}


def declared() -> tuple[Operation, ...]:
    """Return all declared operations: the sixteen by category, then those of optional groups as they were declared."""
    sixteen = [item for item in _DECLARED.values() if item.group == ALWAYS]
    optional = [item for item in _DECLARED.values() if item.group != ALWAYS]
    return (*sorted(sixteen, key=lambda item: CATEGORIES.index(item.category)), *optional)


def group_names() -> tuple[str, ...]:
    """Return the names of the optional groups, in the order of their declaration."""
    return tuple(dict.fromkeys(item.group for item in declared() if item.group != ALWAYS))


#: Prefix of a category among the names of groups: its operations are left out.
WITHOUT = "no-"


def check_groups(names: Iterable[str]) -> frozenset[str]:
    """Check names of optional groups, and of categories to leave out (``no-memory``), and return them as a set.

    Raises OperationFault: ``unknown_group``.
    """
    wanted = frozenset(names)
    left_out = [f"{WITHOUT}{category}" for category in CATEGORIES]
    if unknown := sorted(wanted - {*group_names(), *left_out}):
        raise OperationFault(
            "unknown_group",
            "there is no group of operations " + ", ".join(repr(name[:40]) for name in unknown[:5]),
            hint=_hint_of_groups(unknown[0], left_out),
        )
    return wanted


def _hint_of_groups(unknown: str, left_out: Sequence[str]) -> str:
    """Return a hint; a category to leave out is named as ``--without`` takes it."""
    if unknown.startswith(WITHOUT):
        return suggestion(unknown.removeprefix(WITHOUT), [name.removeprefix(WITHOUT) for name in left_out])
    return suggestion(unknown, group_names())


def is_offered(item: Operation, groups: Collection[str]) -> bool:
    """Whether a session with these optional groups and without these categories (``no-memory``) offers an operation."""
    return (item.group == ALWAYS or item.group in groups) and f"{WITHOUT}{item.category}" not in groups


def operations_for(groups: Iterable[str]) -> dict[str, Operation]:
    """Return the operations that a session with these groups (see ``check_groups``) offers, by name, as ``declared``.

    Raises OperationFault: ``unknown_group``.
    """
    wanted = check_groups(groups)
    return {item.name: item for item in declared() if is_offered(item, wanted)}


def operations_of(group: str) -> dict[str, Operation]:
    """Return the operations of one optional group by name, in the order of their declaration.

    Raises OperationFault: ``unknown_group``.
    """
    check_groups([group])
    return {item.name: item for item in declared() if item.group == group}


def operation(
    *,
    category: Category,
    state: State = "reads",
    price: Cost,
    looks: int = 0,
    depends_on_session: bool = False,
    group: str = ALWAYS,
) -> Callable[[Implementation], Implementation]:
    """Declare the decorated function as an operation; the arguments are fields of ``Operation``.

    The function's first parameter is the session; the others, keyword-only, are the operation's parameters. Its
    docstring is the description, its return annotation the type of the result.
    """

    def declare(function: Implementation) -> Implementation:
        name = function.__name__
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        for parameter in list(inspect.signature(function).parameters.values())[1:]:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[parameter.name] = (hints[parameter.name], default)
        _DECLARED[name] = Operation(
            name=name,
            group=group,
            category=category,
            state=state,
            price=price,
            looks=looks,
            depends_on_session=depends_on_session,
            description=" ".join((function.__doc__ or "").split()),
            summary=" ".join((function.__doc__ or "").split("\n\n")[0].split()),
            parameters=create_model(name, __config__=ConfigDict(extra="forbid", strict=True), **fields),
            result=hints["return"],
            implementation=function,
        )
        return function

    return declare


def run(session: Session, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call an operation by name with JSON arguments, and return its result as JSON values.

    Raises:
        OperationFault: ``unknown_operation``, ``operation_off``, ``bad_arguments``, and the faults of the operation.
        BackendFault: a model that the call needs is missing.
    """
    operation_ = _switched_on(session, name)
    checked = operation_.validate(arguments)
    if (stand_in := session.stand_ins.get(name)) is not None:
        return stand_in.answer(session, name, dict(arguments))
    values = {field: getattr(checked, field) for field in operation_.parameters.model_fields}
    record = operation_.implementation(session, **values).model_dump(mode="json")
    # The hint of an entity that is registered is its look; memories are the session's own words.
    tells = operation_.state == "reads" and operation_.category != "memory" and session.view.holes
    hole = holes_in_words(session.view, _asked(session, values)) if tells else ""
    record["hint"] = "; ".join(filter(None, (record["hint"], _clipped(session, values), hole)))
    return {**{key: record[key] for key in record if key not in BESIDE}, **{key: record[key] for key in BESIDE}}


def _asked(session: Session, values: Mapping[str, Any]) -> TimeSpan | None:
    """Return the interval that valid arguments ask about, of a moment its frame; None if they ask about the whole video."""
    if within := values.get("time_range"):
        return TimeSpan(start=within.start_time, end=within.end_time)
    if "end_time" in values:
        return TimeSpan(start=values["start_time"], end=values["end_time"])
    at = values.get("timestamp", values.get("time"))
    return None if at is None else session.view.frame_at(at)


def _clipped(session: Session, values: Mapping[str, Any]) -> str:
    """Return the hint that an interval was clipped to the visible part; an empty text if none was."""
    ends = [values["end_time"]] if "end_time" in values else []
    ends += [value.end_time for value in values.values() if isinstance(value, TimeRange)]
    duration = round_time(session.view.duration)
    if not ends or round_time(max(ends)) <= duration:
        return ""
    why = "the video ends there" if session.view.complete else "this session sees the video up to there"
    return f"end_time {max(ends):g} was cut to {duration:g} s: {why}"


def _switched_on(session: Session, name: str) -> Operation:
    operation_ = _DECLARED.get(name)
    if operation_ is not None and is_offered(operation_, session.groups):
        return operation_
    there = ", ".join(operations_for(session.groups))
    if operation_ is None:
        hint = suggestion(name, operations_for(session.groups))
        raise OperationFault("unknown_operation", f"there is no operation {name!r}", hint=hint)
    if f"{WITHOUT}{operation_.category}" in session.groups:
        what = f"{name} is left out of this session, with all operations of the category {operation_.category!r}"
        raise OperationFault("operation_off", what, hint=f"use one of: {there}")
    raise OperationFault(
        "operation_off",
        f"{name} belongs to the optional group {operation_.group!r}, which is off in this session",
        hint=f"use one of: {there}; the program that opens the session enables the group (--with {operation_.group})",
    )
