"""The tree of an expression, and back to text.

A value of a document is one tree: a constant, a JSON record or list of values, text with expressions in it, or
one whole expression. Jinja's own tree never leaves ``parsing.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

Scalar: TypeAlias = str | int | float | bool | None
Comparator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Operator = Literal["+", "-", "*", "/", "%"]


@dataclass(frozen=True)
class Const:
    """A constant."""

    value: Scalar


@dataclass(frozen=True)
class Name:
    """A saved name, an input or a loop variable."""

    name: str


@dataclass(frozen=True)
class Field:
    """``base.key``: the value under a key of a record."""

    base: Expr
    key: str


@dataclass(frozen=True)
class Index:
    """``base[number]``: an item of a list, or null beyond its end."""

    base: Expr
    number: int


@dataclass(frozen=True)
class Compare:
    """``left op right``."""

    left: Expr
    op: Comparator
    right: Expr


@dataclass(frozen=True)
class IsNone:
    """``value is none`` or ``value is not none``."""

    value: Expr
    negated: bool


@dataclass(frozen=True)
class Logic:
    """``left and right`` or ``left or right``."""

    op: Literal["and", "or"]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not:
    """``not value``."""

    value: Expr


@dataclass(frozen=True)
class Negate:
    """``-value``."""

    value: Expr


@dataclass(frozen=True)
class Arithmetic:
    """``left op right`` on numbers."""

    left: Expr
    op: Operator
    right: Expr


@dataclass(frozen=True)
class Choice:
    """``then if condition else otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True)
class Filtered:
    """``value | name(arguments)``."""

    value: Expr
    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Items:
    """A list written inside an expression."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Text:
    """Text with expressions in it; its value is a string. ``parts`` alternates freely."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class JsonList:
    """A JSON list of values."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class JsonRecord:
    """A JSON object of values."""

    entries: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True)
class Broken:
    """A value that could not be read; its fault has been reported, and it fits everywhere."""

    source: str


Expr: TypeAlias = (
    Const
    | Name
    | Field
    | Index
    | Compare
    | IsNone
    | Logic
    | Not
    | Negate
    | Arithmetic
    | Choice
    | Filtered
    | Items
    | Text
    | JsonList
    | JsonRecord
    | Broken
)


def children(expr: Expr) -> Iterator[Expr]:
    """The direct parts of a tree."""
    for item in fields(expr):
        value = getattr(expr, item.name)
        if isinstance(value, tuple):
            for part in value:
                yield part[1] if isinstance(expr, JsonRecord) else part
        elif hasattr(value, "__dataclass_fields__"):
            yield value


def walk(expr: Expr) -> Iterator[Expr]:
    """The tree's nodes, parents first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def names(expr: Expr) -> frozenset[str]:
    """The names a tree reads."""
    return frozenset(node.name for node in walk(expr) if isinstance(node, Name))


_STRENGTH = {"or": 1, "and": 2, "not": 3, "compare": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "unary": 7}


def to_text(expr: Expr) -> str:
    """The expression as it is written between ``{{`` and ``}}``; parsing it gives the same tree."""
    return _text(expr, 0)


def _text(expr: Expr, outside: int) -> str:
    match expr:
        case Const(value):
            return _constant(value)
        case Name(name):
            return name
        case Field(base, key):
            return f"{_text(base, 9)}.{key}" if _PLAIN.fullmatch(key) else f"{_text(base, 9)}[{_constant(key)}]"
        case Index(base, number):
            return f"{_text(base, 9)}[{number}]"
        case Filtered(value, name, arguments):
            shown = f"({', '.join(_text(item, 0) for item in arguments)})" if arguments else ""
            return _wrapped(f"{_text(value, 8)} | {name}{shown}", 8 if outside == 8 else 0, outside)
        case Items(items) | JsonList(items):
            return f"[{', '.join(_text(item, 0) for item in items)}]"
        case _:
            return _operation_text(expr, outside)


def _operation_text(expr: Expr, outside: int) -> str:
    match expr:
        case Compare(left, op, right):
            strength = _STRENGTH["compare"]
            return _wrapped(f"{_text(left, strength + 1)} {op} {_text(right, strength + 1)}", strength, outside)
        case IsNone(value, negated):
            word = "is not none" if negated else "is none"
            return _wrapped(f"{_text(value, 8)} {word}", 0, outside)
        case Logic(op, left, right):
            strength = _STRENGTH[op]
            return _wrapped(f"{_text(left, strength)} {op} {_text(right, strength + 1)}", strength, outside)
        case Not(value):
            return _wrapped(f"not {_text(value, _STRENGTH['not'])}", _STRENGTH["not"], outside)
        case Negate(value):
            return _wrapped(f"-{_text(value, 9)}", _STRENGTH["unary"], outside)
        case Arithmetic(left, op, right):
            strength = _STRENGTH[op]
            return _wrapped(f"{_text(left, strength)} {op} {_text(right, strength + 1)}", strength, outside)
        case Choice(condition, then, otherwise):
            return _wrapped(f"{_text(then, 1)} if {_text(condition, 1)} else {_text(otherwise, 1)}", 0, outside)
        case Broken(source):
            return source
        case _:  # records and texts stand beside expressions; this is how messages show them
            return json.dumps(to_json(expr), ensure_ascii=False)


def _wrapped(text: str, strength: int, outside: int) -> str:
    return f"({text})" if outside > strength else text


def _constant(value: Scalar) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def to_json(expr: Expr) -> object:
    """The value as it stands in a document."""
    match expr:
        case Const(value):
            return f"{{{{ {to_text(expr)} }}}}" if isinstance(value, str) and _looks_like_template(value) else value
        case JsonList(items):
            return [to_json(item) for item in items]
        case JsonRecord(entries):
            return {key: to_json(value) for key, value in entries}
        case Text(parts):
            last = len(parts) - 1
            return "".join(_text_part(part, is_last=place == last) for place, part in enumerate(parts))
        case Broken(source):
            return source
        case _:
            return f"{{{{ {to_text(expr)} }}}}"


def _text_part(part: Expr, *, is_last: bool) -> str:
    """A part of a text; a brace that would open an expression together with what follows is written as one."""
    plain = isinstance(part, Const) and isinstance(part.value, str) and not _looks_like_template(part.value)
    if plain and isinstance(part, Const) and (is_last or not str(part.value).endswith("{")):
        return str(part.value)
    return f"{{{{ {to_text(part)} }}}}"


def _looks_like_template(text: str) -> bool:
    return any(mark in text for mark in ("{{", "{%", "{#"))


def located(expr: Expr, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Expr]]:
    """The strings and constants of a JSON value, each with the path at which it stands in the document."""
    match expr:
        case JsonRecord(entries):
            for key, value in entries:
                yield from located(value, (*path, key))
        case JsonList(items):
            for place, item in enumerate(items):
                yield from located(item, (*path, place))
        case _:
            yield path, expr
