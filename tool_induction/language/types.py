"""The types of the tool language, and which fits where.

Records are structural: a name such as ``Detection`` is for messages and schemas, the fields decide.
``Time`` is a number of seconds; ``number`` is float or int; ``Anything`` is a value nobody described. ``Score`` is a rank
score: a float that orders the hits of one search, and whatever is computed from one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

ScalarName = Literal["bool", "int", "float", "number", "string", "Time", "Score", "null"]


@dataclass(frozen=True)
class ScalarType:
    """A scalar."""

    name: ScalarName


@dataclass(frozen=True)
class EnumType:
    """One of some strings; a constant string is an enum of one."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class AnyType:
    """Unknown; fits everywhere."""


@dataclass(frozen=True)
class OptionalType:
    """``item`` or null; never nested."""

    item: Type


@dataclass(frozen=True, kw_only=True)
class ListType:
    """A list.

    ``bound`` is how long it can be (None: nobody knows), ``typical`` how long it is expected to be; ``stated``
    says that the bound comes from the document and not from a default. ``filled`` lists are never empty.
    """

    item: Type
    bound: int | None = None
    typical: int | None = None
    stated: bool = False
    filled: bool = False
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class RecordType:
    """A record. ``is_open`` records may hold keys nobody described.

    ``is_result`` records are made by operations, and not by a tool: a confidence or a duration in them is what it says.
    """

    fields: tuple[tuple[str, Type], ...]
    name: str = ""
    is_open: bool = False
    is_result: bool = False

    def get(self, key: str) -> Type | None:
        """The type under a key; None where there is no such key."""
        for name, type_ in self.fields:
            if name == key:
                return type_
        return ANY if self.is_open else None

    @property
    def keys(self) -> tuple[str, ...]:
        """The described keys."""
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
#: fields in which an operation tells how it judged the words it was asked with
JUDGEMENT = frozenset(
    ["unused_words", "matched", "unmatched", "not_found", "not_judged", "not_examined", "lacks"],
)
#: fields that describe how a result came about; never meant when "the one list" or "the one value" is
BOOKKEEPING = frozenset(
    [
        "evidence",
        "truncated",
        "hint",
        "confidence",
        "start_time",
        "end_time",
        "center_time",
        "parent",
        "status",
        "summary",
        "score",
        "may_be",
        "matching_lines",
        *JUDGEMENT,
    ]
)


def optional(type_: Type) -> Type:
    """The type or null."""
    if isinstance(type_, OptionalType | AnyType) or type_ == NULL:
        return type_
    return OptionalType(type_)


def plain(type_: Type) -> Type:
    """The type without null."""
    return type_.item if isinstance(type_, OptionalType) else type_


def is_numeric(type_: Type) -> bool:
    """Whether it is a number (or unknown)."""
    return isinstance(type_, AnyType) or (isinstance(type_, ScalarType) and type_.name in NUMERIC)


def is_text(type_: Type) -> bool:
    """Whether it is a string (or unknown)."""
    return isinstance(type_, AnyType | EnumType) or type_ == STRING


def show(type_: Type) -> str:
    """The type as a document spells it."""
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
    """Whether a type has at most so many parts; counting stops there."""
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
    """The record with one more field, or with another type under that key."""
    rest = tuple((name, old) for name, old in record.fields if name != key)
    return replace(record, fields=(*rest, (key, type_)))


@dataclass(frozen=True)
class Fit:
    """How a found type goes with a wanted one. ``how``: ``yes``, ``coerced``, ``optional`` (null is possible) or ``no``."""

    how: Literal["yes", "coerced", "optional", "no"]
    note: str = ""


_SEVERITY = ("yes", "coerced", "optional", "no")
YES, NO = Fit("yes"), Fit("no")


def fit(found: Type, wanted: Type) -> Fit:
    """Whether a value of one type may stand where another is wanted."""
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
    if isinstance(wanted, EnumType):
        if isinstance(found, EnumType):
            inside = [value in wanted.values for value in found.values]
            return YES if all(inside) else Fit("coerced", "it may be another word") if any(inside) else NO
        return Fit("coerced", "checked when the tool runs") if found == STRING else NO
    if isinstance(found, EnumType):
        return YES if wanted == STRING else NO
    if found == wanted:
        return YES
    if found.name in NUMERIC and wanted.name in NUMERIC:
        if wanted.name == "int":
            return Fit("coerced", "it must be a whole number when the tool runs")
        return YES
    return NO


def _fit_records(found: RecordType, wanted: RecordType) -> Fit:
    worst = YES
    # Whatever has a start and an end is an interval; its centre and duration follow from them.
    needed = wanted.fields if wanted.name != INTERVAL.name else INTERVAL.fields
    for key, type_ in needed:
        have = found.get(key)
        if have is None:
            if isinstance(type_, OptionalType):
                continue
            return NO
        inner = fit(have, type_)
        if inner.how == "no":
            return NO
        worst = max(worst, inner, key=lambda one: _SEVERITY.index(one.how))
    return worst


def join(left: Type, right: Type) -> Type | None:
    """The smallest type that holds both, or None where they have nothing in common."""
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
    bounds = [left.bound, right.bound]
    typicals = [left.typical, right.typical]
    return ListType(
        item=item,
        bound=None if None in bounds else max(value for value in bounds if value is not None),
        typical=None if None in typicals else max(value for value in typicals if value is not None),
        stated=left.stated and right.stated,
        filled=left.filled and right.filled,
        name=left.name if left.name == right.name else "",
    )


def _join_records(left: RecordType, right: RecordType) -> RecordType:
    shared: list[tuple[str, Type]] = []
    for key, type_ in left.fields:
        other = right.get(key)
        both = None if other is None else join(type_, other)
        if both is not None:
            shared.append((key, both))
    return RecordType(
        fields=tuple(shared),
        name=left.name if left.name == right.name else "",
        is_open=left.is_open or right.is_open,
        is_result=left.is_result and right.is_result,
    )
