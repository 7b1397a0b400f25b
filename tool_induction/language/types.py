"""The types of the tool language: which fits which, how documents write them, and their JSON Schemas.

Records are structural: a name such as ``Detection`` is for messages and schemas, the fields decide. ``Time`` is a
number of seconds; ``number`` is float or int; ``any`` is a value without a description. ``Score`` is a rank score: a
float that orders the hits of one search, and every number computed from one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from world_api.core.identifiers import did_you_mean

ScalarName = Literal["bool", "int", "float", "number", "string", "Time", "Score", "null"]


@dataclass(frozen=True)
class ScalarType:
    """A scalar type."""

    name: ScalarName


@dataclass(frozen=True)
class EnumType:
    """The type of a string that is one of ``values``; the type of a constant string has only that string."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class AnyType:
    """The type of an unknown value; it fits every type, and every type fits it."""


@dataclass(frozen=True)
class OptionalType:
    """The type of ``item`` or null; never nested."""

    item: Type


@dataclass(frozen=True, kw_only=True)
class ListType:
    """The type of a list.

    ``bound`` is the maximum length (None: unknown), ``typical`` the expected length; ``stated``: the bound comes from
    the document and is not a default. A ``filled`` list is never empty.
    """

    item: Type
    bound: int | None = None
    typical: int | None = None
    stated: bool = False
    filled: bool = False
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class RecordType:
    """The type of a record. ``is_open``: it may contain other keys.

    ``is_result``: it is made by an operation, not by a tool, so that its confidence or duration has the usual range.
    """

    fields: tuple[tuple[str, Type], ...]
    name: str = ""
    is_open: bool = False
    is_result: bool = False

    def get(self, key: str) -> Type | None:
        """Return the type under a key; None if there is no such key (in an open record, ``any``)."""
        for name, type_ in self.fields:
            if name == key:
                return type_
        return ANY if self.is_open else None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that have a declared type."""
        return tuple(name for name, _ in self.fields)


Type: TypeAlias = ScalarType | EnumType | AnyType | OptionalType | ListType | RecordType

BOOL, INT, FLOAT, NUMBER, STRING, TIME, SCORE, NULL = (
    ScalarType(name) for name in ("bool", "int", "float", "number", "string", "Time", "Score", "null")
)
ANY = AnyType()
BOX = ListType(item=FLOAT, bound=4, typical=4, stated=True, filled=True, name="Box")
INTERVAL = RecordType(fields=(("start_time", TIME), ("end_time", TIME)), name="Interval")
LONG_INTERVAL = RecordType(
    fields=(("start_time", TIME), ("end_time", TIME), ("center_time", TIME), ("duration", FLOAT)),
    name="Interval",
    is_result=True,
)
NUMERIC = ("int", "float", "number", "Time", "Score")
#: fields in which an operation reports how it judged the words of a query
JUDGEMENT = frozenset("unused_words matched unmatched not_found not_judged not_examined lacks".split())
#: fields that describe how a result came about; they never count as "the one list" or "the one value" of a record
BOOKKEEPING = JUDGEMENT.union(
    "evidence hint confidence start_time end_time center_time".split(),
    "parent status summary score may_be matching_lines moments".split(),
)


def optional(type_: Type) -> Type:
    """Return the type with null allowed."""
    if isinstance(type_, OptionalType | AnyType) or type_ == NULL:
        return type_
    return OptionalType(type_)


def plain(type_: Type) -> Type:
    """Return the type without null."""
    return type_.item if isinstance(type_, OptionalType) else type_


def is_numeric(type_: Type) -> bool:
    """Whether a type is a number (or ``any``)."""
    return isinstance(type_, AnyType) or (isinstance(type_, ScalarType) and type_.name in NUMERIC)


def is_text(type_: Type) -> bool:
    """Whether a type is a string or an enum (or ``any``)."""
    return isinstance(type_, AnyType | EnumType) or type_ == STRING


def show(type_: Type) -> str:
    """Return the type as a document writes it; of a record without a name also up to three fields."""
    match type_:
        case ScalarType(name):
            return "float" if type_ == SCORE else name
        case EnumType(values):
            return f"enum({', '.join(values)})"
        case AnyType():
            return "any"
        case OptionalType(item):
            return f"optional<{show(item)}>"
        case ListType():
            return type_.name or f"list<{show(type_.item)}>"
        case RecordType():
            if type_.name:
                return type_.name
            telling = [(key, value) for key, value in type_.fields if key not in BOOKKEEPING] or list(type_.fields)
            inside = ", ".join(f"{key}: {show(value)}" for key, value in telling[:3])
            return "record" + (f" {{{inside}{', ...' if len(telling) > 3 else ''}}}" if inside else "")


def is_smaller(type_: Type, most: int) -> bool:
    """Whether a type has at most ``most`` parts, those inside its parts included."""
    rest, parts = [type_], 0
    while rest:
        one = rest.pop()
        parts += 1 + (len(one.fields) if isinstance(one, RecordType) else 0)
        if parts > most:
            return False
        if isinstance(one, RecordType):
            rest.extend(value for _, value in one.fields)
        elif isinstance(one, ListType | OptionalType):
            rest.append(one.item)
    return True


def with_field(record: RecordType, key: str, type_: Type) -> RecordType:
    """Return the record with one more field, or with another type under that key."""
    rest = tuple((name, old) for name, old in record.fields if name != key)
    return replace(record, fields=(*rest, (key, type_)))


@dataclass(frozen=True)
class Fit:
    """How a found type fits a wanted one. ``optional``: except for null; ``coerced``: only some values do."""

    how: Literal["yes", "coerced", "optional", "no"]
    note: str = ""


_SEVERITY = ("yes", "coerced", "optional", "no")
YES, NO = Fit("yes"), Fit("no")


def fit(found: Type, wanted: Type) -> Fit:
    """Return how a value of the type ``found`` fits a place of the type ``wanted``."""
    if isinstance(found, AnyType) or isinstance(wanted, AnyType):
        return YES
    if isinstance(wanted, OptionalType):
        return YES if found == NULL else fit(plain(found), wanted.item)
    if found == NULL:
        return Fit("optional")
    if isinstance(found, OptionalType):
        inner = fit(found.item, wanted)
        return Fit("optional") if inner.how in ("yes", "coerced") else inner
    match found, wanted:
        case EnumType() | ScalarType(), EnumType() | ScalarType():
            return _fit_scalars(found, wanted)
        case ListType(), ListType():
            return fit(found.item, wanted.item)
        case RecordType(), RecordType():
            return _fit_records(found, wanted)
    return NO


def _fit_scalars(found: ScalarType | EnumType, wanted: ScalarType | EnumType) -> Fit:
    if isinstance(found, EnumType) and isinstance(wanted, EnumType):
        inside = [value in wanted.values for value in found.values]
        return YES if all(inside) else Fit("coerced", "it may be another word") if any(inside) else NO
    if isinstance(wanted, EnumType):
        return Fit("coerced", "checked when the tool runs") if found == STRING else NO
    if isinstance(found, EnumType):
        return YES if wanted == STRING else NO
    if found != wanted and not (found.name in NUMERIC and wanted.name in NUMERIC):
        return NO
    is_whole = found == wanted or wanted.name != "int"
    return YES if is_whole else Fit("coerced", "it must be a whole number when the tool runs")


def _fit_records(found: RecordType, wanted: RecordType) -> Fit:
    worst = YES
    # A record with a start and an end is an interval; its centre and duration follow from them.
    needed = wanted.fields if wanted.name != INTERVAL.name else INTERVAL.fields
    for key, type_ in needed:
        have = found.get(key)
        if have is None and isinstance(type_, OptionalType):
            continue
        inner = NO if have is None else fit(have, type_)
        worst = max(worst, inner, key=lambda one: _SEVERITY.index(one.how))
    return worst


def join(left: Type, right: Type) -> Type | None:
    """Return the smallest type that includes both, or None if they have nothing in common."""
    if left == right:
        return left
    if isinstance(left, AnyType) or isinstance(right, AnyType):
        return ANY
    if NULL in (left, right):
        return optional(right if left == NULL else left)
    if isinstance(left, OptionalType) or isinstance(right, OptionalType):
        inner = join(plain(left), plain(right))
        return None if inner is None else optional(inner)
    match left, right:
        case EnumType(), EnumType():
            return EnumType(tuple(dict.fromkeys(left.values + right.values)))
        case ListType(), ListType():
            return _join_lists(left, right)
        case RecordType(), RecordType():
            return _join_records(left, right)
    if is_text(left) and is_text(right):
        return STRING
    if is_numeric(left) and is_numeric(right):
        numbers = {left, right}
        if SCORE in numbers:
            return SCORE
        return FLOAT if numbers <= {FLOAT, TIME, INT} else NUMBER
    return None


def _join_lists(left: ListType, right: ListType) -> Type | None:
    if 0 in (left.bound, right.bound):
        return replace(right if left.bound == 0 else left, filled=False)
    item = join(left.item, right.item)
    if item is None:
        return None
    return ListType(
        item=item,
        bound=_larger(left.bound, right.bound),
        typical=_larger(left.typical, right.typical),
        stated=left.stated and right.stated,
        filled=left.filled and right.filled,
        name=left.name if left.name == right.name else "",
    )


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _join_records(left: RecordType, right: RecordType) -> RecordType:
    pairs = ((key, type_, right.get(key)) for key, type_ in left.fields)
    shared = [
        (key, both) for key, type_, other in pairs if other is not None and (both := join(type_, other)) is not None
    ]
    return RecordType(
        fields=tuple(shared),
        name=left.name if left.name == right.name else "",
        is_open=left.is_open or right.is_open,
        is_result=left.is_result and right.is_result,
    )


def join_all(types: Iterable[Type]) -> Type:
    """Return the smallest type that includes all of some types; ``any`` for none, or if they have nothing in common."""
    result: Type | None = None
    for place, type_ in enumerate(types):
        result = type_ if place == 0 else None if result is None else join(result, type_)
    return ANY if result is None else result


def constant_type(value: object) -> Type:
    """Return the type of a constant; a string is an enum of one value, so that closed lists can be checked."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    return EnumType((value,)) if isinstance(value, str) else FLOAT


Schema = Mapping[str, Any]
_SCALARS: dict[str, Type] = {"boolean": BOOL, "integer": INT, "number": FLOAT, "string": STRING, "null": NULL}


def type_from_schema(schema: Schema, root: Schema | None = None) -> Type:
    """Return the type that a JSON Schema describes, ``any`` if the language has none for it; ``root`` has its ``$defs``."""
    root = schema if root is None else root
    if "$ref" in schema:
        target = root.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1])
        return ANY if target is None else type_from_schema(target, root)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return join_all([type_from_schema(part, root) for part in schema[word]])
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        texts = tuple(value for value in values if isinstance(value, str))
        return EnumType(texts) if len(texts) == len(values) else ANY
    if schema.get("x-type") in ("Time", "Score"):
        return ScalarType(schema["x-type"])
    match schema.get("type"):
        case "array":
            return _list(schema, root)
        case "object":
            return _record(schema, root)
        case str() as name:
            return _SCALARS.get(name, ANY)
    return ANY


def resolved(schema: Schema, root: Schema) -> tuple[dict[str, Any], bool]:
    """Return a schema with its reference resolved, of alternatives the first that is not null; and whether null is allowed."""
    if "$ref" in schema:
        inner, nullable = resolved(root.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1], {}), root)
        return inner | {key: value for key, value in schema.items() if key == "default"}, nullable
    for word in ("anyOf", "oneOf"):
        if word in schema:
            parts = [part for part in schema[word] if part.get("type") != "null"]
            inner, nullable = resolved(parts[0], root) if parts else ({}, True)
            return inner, nullable or len(parts) < len(schema[word])
    return dict(schema), schema.get("type") == "null"


def _list(schema: Schema, root: Schema) -> Type:
    item = type_from_schema(schema.get("items", {}), root)
    bound = schema.get("maxItems")
    return ListType(
        item=item,
        bound=bound,
        typical=bound,
        stated=bound is not None,
        filled=bool(schema.get("minItems", 0)),
        name=str(schema.get("x-type", "")),
    )


def _record(schema: Schema, root: Schema) -> Type:
    from world_api.operations import MAY_BE_ABSENT

    properties = {
        key: value for key, value in schema.get("properties", {}).items() if value.get("x-type") != MAY_BE_ABSENT
    }
    return RecordType(
        fields=tuple((key, type_from_schema(value, root)) for key, value in properties.items()),
        name=str(schema.get("x-type", "")),
        is_open=not properties,
        is_result=bool(properties),
    )


@dataclass(frozen=True, kw_only=True)
class OperationTypes:
    """The types of an operation's parameters and result, made from its JSON Schemas."""

    parameters: Mapping[str, Type]
    required: frozenset[str]
    result: Type
    parameters_schema: Schema


@lru_cache(maxsize=64)
def operation_types(name: str) -> OperationTypes:
    """Return the types of an operation's parameters and result (cached)."""
    from world_api.operations import EVERY_OPERATION

    parameters = EVERY_OPERATION[name].parameters_schema()
    return OperationTypes(
        parameters={
            key: type_from_schema(value, parameters) for key, value in parameters.get("properties", {}).items()
        },
        required=frozenset(parameters.get("required", ())),
        result=type_from_schema(EVERY_OPERATION[name].result_schema()),
        parameters_schema=parameters,
    )


def type_to_schema(type_: Type) -> dict[str, Any]:
    """Return the JSON Schema of a type; the schema of a time contains its unit."""
    match type_:
        case ScalarType(name):
            return _scalar_schema(name)
        case EnumType(values):
            return {"type": "string", "enum": list(values)}
        case AnyType():
            return {}
        case OptionalType(item):
            inner = type_to_schema(item)
            return {"anyOf": [inner, {"type": "null"}]} if inner else {}
        case ListType():
            return {"type": "array", "items": type_to_schema(type_.item)}
        case RecordType() if type_.name == INTERVAL.name:
            times = {key: _scalar_schema("Time") for key in INTERVAL.keys}
            return {"type": "object", "properties": times, "required": list(times)}
        case RecordType():
            properties = {key: type_to_schema(value) for key, value in type_.fields}
            record = {"type": "object"} | ({"properties": properties} if properties else {})
            # said aloud, since strict mode would close an object that says nothing, and nothing could be given
            return record | ({"additionalProperties": True} if type_.is_open else {})


def _scalar_schema(name: str) -> dict[str, Any]:
    if name == "Time":
        return {"type": "number", "minimum": 0, "description": "Seconds."}
    return {"type": {"bool": "boolean", "int": "integer", "float": "number", "Score": "number"}.get(name, name)}


def parameter_type(operation: str, parameter: str) -> Type:
    """Return the type of an operation's parameter, without null; ``any`` for an unknown operation or parameter."""
    from world_api.operations import EVERY_OPERATION

    parameters = operation_types(operation).parameters if operation in EVERY_OPERATION else {}
    return plain(parameters.get(parameter, ANY))


_SIMPLE: dict[str, Type] = {
    **{type_.name: type_ for type_ in (BOOL, INT, FLOAT, NUMBER, STRING, TIME, BOX, LONG_INTERVAL)},
    "any": ANY,
    "record": RecordType(fields=(), is_open=True),
    "list": ListType(item=ANY),
}
#: other spellings of types -> the canonical one
TYPE_ALIASES: dict[str, str] = {
    "boolean": "bool",
    "integer": "int",
    "double": "float",
    "str": "string",
    "text": "string",
    "time": "Time",
    "seconds": "Time",
    "timestamp": "Time",
    "interval": "Interval",
    "TimeRange": "Interval",
    "object": "record",
    "dict": "record",
    "array": "list",
}
_WRAPPED = re.compile(r"(?P<outer>list|array|optional)\s*[<\[]\s*(?P<inner>.+?)\s*[>\]]")


@dataclass(frozen=True, kw_only=True)
class TypeName:
    """A type name that was parsed. ``aliased``: it was written in another spelling than ``canonical``."""

    type: Type
    canonical: str
    aliased: bool


class UnknownType(Exception):
    """An unknown type name; ``suggestion`` contains the one that was probably meant."""

    def __init__(self, word: str, suggestion: str) -> None:
        super().__init__(f"there is no type {word!r}")
        self.suggestion = suggestion


@lru_cache(maxsize=1)
def world_types() -> Mapping[str, Type]:
    """Return the named records of the operations' results, by name: Segment, Detection, Memory, Evidence ..."""
    from world_api.operations import OPERATIONS

    found: dict[str, Type] = {}
    for operation in OPERATIONS.values():
        schema = operation.result_schema()
        # Nested definitions first: where a whole result and an item of it share a name, the item is meant.
        for definition in [*schema.get("$defs", {}).values(), schema]:
            name = definition.get("x-type")
            if name and name not in _SIMPLE and definition.get("type") == "object":
                found.setdefault(name, type_from_schema(definition, schema))
    schema = OPERATIONS["search_segments_by_text"].result_schema()
    segments = (one for one in schema["$defs"].values() if one.get("x-type") == "Segment")
    return found | {"Segment": type_from_schema(next(segments), schema)}


def known_types() -> list[str]:
    """Return the names of all types without parameters, for messages and prompts.

    First the basic types, then the named records of operation results (Segment, Detection ...) in alphabetical order.
    """
    return [*_SIMPLE, *sorted(world_types())]


def parse_type(text: str) -> TypeName:
    """Parse a type name.

    Raises:
        UnknownType: The word is neither a type nor an accepted other spelling of one.
    """
    word = text.strip()
    if word.endswith("?"):
        inner = parse_type(word[:-1])
        return TypeName(type=optional(inner.type), canonical=f"optional<{inner.canonical}>", aliased=inner.aliased)
    match = _WRAPPED.fullmatch(word)
    if match is not None:
        inner = parse_type(match["inner"])
        outer = "optional" if match["outer"] == "optional" else "list"
        type_ = optional(inner.type) if outer == "optional" else ListType(item=inner.type)
        aliased = inner.aliased or "[" in word or match["outer"] == "array"
        return TypeName(type=type_, canonical=f"{outer}<{inner.canonical}>", aliased=aliased)
    name = TYPE_ALIASES.get(word, word)
    found = _SIMPLE.get(name) or world_types().get(name)
    if found is None:
        raise UnknownType(word, did_you_mean(word, [*known_types(), *TYPE_ALIASES]))
    return TypeName(type=found, canonical=name, aliased=name != word)
