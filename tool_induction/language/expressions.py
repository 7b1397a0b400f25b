"""Expressions: their tree, parsed from text and written back to text.

A value of a document is one tree: a constant, a JSON record or list of values, text with expressions in it, or one
whole expression. Jinja only parses; it compiles, renders and evaluates nothing. Sizes are checked before Jinja gets the
text and again on the tree; anything else that Jinja accepts is refused by an allow-list of its node types. (Jinja's
sandbox has been escaped repeatedly, and its compiler folds constants such as ``'a' * 1000000000``; its parser does
neither.)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, reduce
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from tool_induction import limits
from tool_induction.language.diagnostics import ErrorCode
from world_api.core.identifiers import did_you_mean, printable

if TYPE_CHECKING:
    from jinja2 import Environment


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

Scalar: TypeAlias = str | int | float | bool | None
Comparator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Operator = Literal["+", "-", "*", "/", "%"]


@dataclass(frozen=True)
class Const:
    """A constant in an expression."""

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
    """A comparison, ``left op right``."""

    left: Expr
    op: Comparator
    right: Expr


@dataclass(frozen=True)
class IsNone:
    """A check for null, ``value is none`` or ``value is not none``."""

    value: Expr
    negated: bool


@dataclass(frozen=True)
class Logic:
    """A combination of two conditions, ``left and right`` or ``left or right``."""

    op: Literal["and", "or"]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not:
    """A negated condition, ``not value``."""

    value: Expr


@dataclass(frozen=True)
class Negate:
    """A number with the opposite sign, ``-value``."""

    value: Expr


@dataclass(frozen=True)
class Arithmetic:
    """``left op right`` on numbers."""

    left: Expr
    op: Operator
    right: Expr


@dataclass(frozen=True)
class Choice:
    """A conditional expression, ``then if condition else otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True)
class Filtered:
    """The use of a filter, ``value | name(arguments)``."""

    value: Expr
    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class ListExpression:
    """A list written inside an expression, ``[a, b]``."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Text:
    """Text with expressions in it; its value is a string. ``parts`` are constants and expressions in any order."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class JsonList:
    """A JSON list in a document whose items are values of the language."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class JsonRecord:
    """A JSON object in a document; ``entries`` are its keys and values."""

    entries: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True)
class Broken:
    """A value that could not be read; its fault has been reported, and it fits every type."""

    source: str


_Computed: TypeAlias = Compare | IsNone | Logic | Not | Negate | Arithmetic | Choice | Filtered
Expr: TypeAlias = Const | Name | Field | Index | _Computed | ListExpression | Text | JsonList | JsonRecord | Broken


def children(expr: Expr) -> Iterator[Expr]:
    """Yield the expressions directly inside an expression; of a record its values."""
    for item in fields(expr):
        value = getattr(expr, item.name)
        if isinstance(value, tuple):
            for part in value:
                yield part[1] if isinstance(expr, JsonRecord) else part
        elif hasattr(value, "__dataclass_fields__"):
            yield value


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the nodes of a tree, parents first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def names(expr: Expr) -> frozenset[str]:
    """Return the names that a tree reads."""
    return frozenset(node.name for node in walk(expr) if isinstance(node, Name))


#: precedence of operators; a part of lower precedence than its place is put in brackets
_STRENGTH = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6} | dict.fromkeys(
    get_args(Comparator), 4
)


def to_text(expr: Expr) -> str:
    """Return the expression as it is written between ``{{`` and ``}}``; parsing it gives the same tree."""
    return _text(expr, 0)


def _text(expr: Expr, outside: int) -> str:  # noqa: PLR0912 - one case a node type, flat
    text, strength = "", 9
    match expr:
        case Const(value):
            text = _constant_text(value)
        case Name(name):
            text = name
        case Field(base, key):
            after = f".{key}" if _PLAIN.fullmatch(key) else f"[{_constant_text(key)}]"
            text = _text(base, 9) + after
        case Index(base, number):
            text = f"{_text(base, 9)}[{number}]"
        case Filtered(value, name, arguments):
            shown = f"({', '.join(_text(item, 0) for item in arguments)})" if arguments else ""
            text, strength = f"{_text(value, 8)} | {name}{shown}", 8 if outside == 8 else 0
        case ListExpression(items) | JsonList(items):
            text = f"[{', '.join(_text(item, 0) for item in items)}]"
        case Compare(left, op, right) | Logic(op, left, right) | Arithmetic(left, op, right):
            strength = _STRENGTH[op]
            first = _text(left, strength + isinstance(expr, Compare))
            text = f"{first} {op} {_text(right, strength + 1)}"
        case IsNone(value, negated):
            text, strength = f"{_text(value, 8)} {'is not none' if negated else 'is none'}", 0
        case Not(value):
            text, strength = f"not {_text(value, 3)}", 3
        case Negate(value):
            text, strength = f"-{_text(value, 9)}", 7
        case Choice(condition, then, otherwise):
            text, strength = f"{_text(then, 1)} if {_text(condition, 1)} else {_text(otherwise, 1)}", 0
        case Broken(source):
            text = source
        case Text() | JsonRecord():  # not expressions; this is how messages show them
            text = json.dumps(to_json(expr), ensure_ascii=False)
    return f"({text})" if outside > strength else text


def _constant_text(value: Scalar) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def to_json(expr: Expr) -> object:
    """Return the value as a document contains it."""
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
    """Return a part of a text as a document contains it; a constant with ``{{`` is written as an expression."""
    text = part.value if isinstance(part, Const) else None
    if isinstance(text, str) and not _looks_like_template(text) and (is_last or not text.endswith("{")):
        return text
    return f"{{{{ {to_text(part)} }}}}"


def _looks_like_template(text: str) -> bool:
    return any(mark in text for mark in ("{{", "{%", "{#"))


def located(expr: Expr, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Expr]]:
    """Yield the values inside ``expr`` that are no JSON record or list, each with its path; ``path`` is that of ``expr``."""
    match expr:
        case JsonRecord(entries):
            for key, value in entries:
                yield from located(value, (*path, key))
        case JsonList(items):
            for place, item in enumerate(items):
                yield from located(item, (*path, place))
        case _:
            yield path, expr


#: Names of the functions that controllers offer beside the tools; no tool may have one.
RESERVED_TOOL_NAMES = frozenset(
    {"judge", "judge_items", "read_more", "submit_answer", "describe_operation", "call_operation"}
)

#: filter -> how many arguments it takes (at least, at most)
FILTERS: dict[str, tuple[int, int]] = {
    "length": (0, 0),
    "default": (1, 1),
    "round": (0, 1),
    "abs": (0, 0),
    "min": (0, 0),
    "max": (0, 0),
    "lower": (0, 0),
    "upper": (0, 0),
}

COMPARATORS: dict[str, Comparator] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lteq": "<=",
    "gt": ">",
    "gteq": ">=",
    "in": "in",
    "notin": "not in",
}
OPERATORS: dict[str, Operator] = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}

#: what Jinja has and the language has not -> what to write instead
FORBIDDEN = {
    "Call": ("a call", "use an aggregate step, or one of the filters " + " ".join(FILTERS)),
    "Pow": ("'**'", "multiply"),
    "FloorDiv": ("'//'", "divide with '/'; '| round' gives the nearest whole number, not the one below"),
    "Concat": ("'~'", 'write text around expressions: "{{ a }} and {{ b }}"'),
    "Slice": ("a slice", "for the first k use the aggregate top_k, for one item x[0] or x[-1]"),
    "Dict": ("a {...} record", "write a JSON object as the value of a 'set' step"),
    "Tuple": ("a tuple", "write a list: [a, b]"),
    "Test": ("this test", "only 'is none' and 'is not none' exist"),
}

_SPELLINGS = (
    ("&&", "'and'"),
    ("||", "'or'"),
    ("===", "'=='"),
    (" matches ", "'in', the part first: part in text"),
    ("=>", "'>='"),
    ("=<", "'<='"),
    (" for ", "a 'filter' step"),
)


#: filters of Jinja, or functions of other languages -> the filter that does that here
OTHER_FILTERS = {"count": "length", "len": "length", "size": "length", "d": "default", "lowercase": "lower"}
#: filters of Jinja -> what does that here
FILTER_STEPS = {
    "first": "write x[0] for the first item",
    "last": "write x[-1] for the last item",
    "sum": 'use the aggregate "sum" with a key',
    "sort": 'use the aggregate "sort_by" with a key',
    "unique": 'use the aggregate "dedupe_by" with a key',
    "join": 'use the aggregate "concat_text"',
    "select": 'use a step of type "filter"',
    "selectattr": 'use a step of type "filter"',
    "map": 'use a step of type "project"',
    "int": "did you mean 'round'?",
}

_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")
_ONE_EQUALS = re.compile(r"(?<![=!<>])=(?![=<>])")


def syntax_hint(text: str) -> str:
    """Return a suggestion for an operator in the spelling of another language, or an empty text."""
    if _ONE_EQUALS.search(_TEXTS.sub("", text)):
        return "instead of '=' use '=='"
    for wrong, right in _SPELLINGS:
        if wrong in text:
            return f"instead of '{wrong.strip()}' use {right}"
    return ""


class ExpressionFault(Exception):
    """A text is not an expression of the language. The compiler turns this into a diagnostic."""

    def __init__(self, code: ErrorCode, message: str, *, found: str = "", suggestion: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.found, self.suggestion = code, message, found, suggestion


def _refused(message: str, suggestion: str = "", *, found: str = "") -> ExpressionFault:
    return ExpressionFault("E_EXPR_FORBIDDEN", message, found=found, suggestion=suggestion)


def _too_large(message: str) -> ExpressionFault:
    return ExpressionFault("E_EXPR_SIZE", message, suggestion="split it over several 'set' steps")


def _convert(node: Any) -> Expr:  # noqa: PLR0912 - one case a node type, flat
    from jinja2 import nodes

    match node:
        case nodes.Const():
            return _constant(node.value)
        case nodes.Name():
            return Name(_plain_key(node.name))
        case nodes.Getattr():
            return Field(_convert(node.node), _plain_key(node.attr))
        case nodes.Getitem():
            return _item(node)
        case nodes.Compare():
            return _comparison(node)
        case nodes.And() | nodes.Or():
            return Logic("and" if isinstance(node, nodes.And) else "or", _convert(node.left), _convert(node.right))
        case nodes.Not():
            value = _convert(node.node)
            return IsNone(value.value, negated=not value.negated) if isinstance(value, IsNone) else Not(value)
        case nodes.Neg():
            return Negate(_convert(node.node))
        case nodes.Pos():
            return _convert(node.node)
        case nodes.Add() | nodes.Sub() | nodes.Mul() | nodes.Div() | nodes.Mod():
            return Arithmetic(_convert(node.left), OPERATORS[type(node).__name__], _convert(node.right))
        case nodes.CondExpr():
            otherwise = Const(None) if node.expr2 is None else _convert(node.expr2)
            return Choice(_convert(node.test), _convert(node.expr1), otherwise)
        case nodes.List():
            return ListExpression(tuple(_convert(item) for item in node.items))
        case nodes.Filter():
            return _filter(node)
        case nodes.Test() if node.name == "none":
            return IsNone(_convert(node.node), negated=False)
        case _:
            what, instead = FORBIDDEN.get(type(node).__name__, (f"'{type(node).__name__}'", ""))
            raise _refused(f"{what} is not allowed in an expression", instead)


def _constant(value: object) -> Const:
    if isinstance(value, float) and not math.isfinite(value):
        raise _refused("a number is not finite")
    if isinstance(value, str):
        _check_unicode(value)
    if isinstance(value, int | float) and abs(value) > limits.MAX_NUMBER:
        message = f"a number is larger than {limits.MAX_NUMBER:g}"
        hint = "times are in seconds, counts are small: no such number is needed"
        raise ExpressionFault("E_EXPR_SIZE", message, suggestion=hint)
    return Const(cast("str | int | float | bool | None", value))


def _check_unicode(text: str) -> None:
    """Refuse lone surrogates, which escapes in a text may produce when Jinja reads them."""
    if printable(text) != text:
        raise ExpressionFault("E_EXPR_SYNTAX", "a text is not valid Unicode: an escape is half a character")


def _plain_key(key: str) -> str:
    _check_unicode(key)
    if key.startswith("_"):
        raise _refused(f"{key!r}: names that begin with '_' are not allowed")
    return key


def _item(node: Any) -> Expr:
    from jinja2 import nodes

    base, key = _convert(node.node), node.arg
    is_negative = isinstance(key, nodes.Neg) and isinstance(key.node, nodes.Const)
    value = getattr(key.node if is_negative else key, "value", None)
    if isinstance(value, str) and not is_negative:
        return Field(base, _plain_key(value))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= limits.MAX_LOOP_ITEMS:
        return Index(base, -value if is_negative else value)
    what, instead = FORBIDDEN["Slice"] if isinstance(key, nodes.Slice) else ("a computed index", "use x[0] or nth(n)")
    raise _refused(f"{what} is not allowed in an expression", instead)


def _comparison(node: Any) -> Expr:
    operands = [_convert(node.expr), *(_convert(operand.expr) for operand in node.ops)]
    pairs = (
        _compare(left, COMPARATORS[operand.op], right)
        for (left, right), operand in zip(pairwise(operands), node.ops, strict=True)
    )
    return reduce(lambda left, right: Logic("and", left, right), pairs)


def _compare(left: Expr, op: Comparator, right: Expr) -> Expr:
    """Return a comparison; ``x != none`` becomes ``x is not none``, so that there is only one form of it."""
    if op in ("==", "!="):
        for one, other in ((left, right), (right, left)):
            if other == Const(None):
                return IsNone(one, negated=op == "!=")
    return Compare(left, op, right)


def _filter(node: Any) -> Expr:
    name = str(node.name)
    if name not in FILTERS:
        other = OTHER_FILTERS.get(name)
        suggestion = f"did you mean {other!r}?" if other else FILTER_STEPS.get(name) or did_you_mean(name, FILTERS)
        raise _refused(f"there is no filter {name!r}; the filters are {', '.join(FILTERS)}", suggestion, found=name)
    if node.node is None or node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
        raise _refused(f"filter {name!r} takes its arguments by position")
    least, most = FILTERS[name]
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise _refused(f"filter {name!r} takes {wanted} arguments, not {len(node.args)}")
    return Filtered(_convert(node.node), name, tuple(_convert(item) for item in node.args))


def parse_value(text: str) -> Expr:
    """Parse a string of a document: a constant, one whole ``{{ expression }}`` (which keeps its type), or text.

    Raises:
        ExpressionFault: ``E_EXPR_SYNTAX``, ``E_EXPR_FORBIDDEN``, ``E_EXPR_SIZE`` or ``E_SIZE``.
    """
    if not _looks_like_template(text):
        if len(text) > limits.MAX_TEXT:
            raise ExpressionFault("E_SIZE", f"the text has {len(text)} characters, more than {limits.MAX_TEXT}")
        return Const(text)
    parts = _parts(text)
    meaningful = [part for part in parts if not (isinstance(part, Const) and str(part.value).isspace())]
    if len(meaningful) == 1 and meaningful[0] != Const(text.strip()):
        return meaningful[0]
    return Text(parts)


def parse_expression(text: str) -> Expr:
    """Parse one expression, written with or without ``{{ }}`` around it (conditions are written both ways).

    Raises:
        ExpressionFault: as ``parse_value``.
    """
    stripped = text.strip()
    if not stripped:
        raise ExpressionFault("E_EXPR_SYNTAX", "the expression is empty")
    value = parse_value(stripped if "{{" in stripped else f"{{{{ {stripped} }}}}")
    if isinstance(value, Text):
        raise ExpressionFault(
            "E_EXPR_SYNTAX",
            "text around '{{ }}' makes a string, but one expression is wanted here",
            found=stripped,
            suggestion="put the whole expression inside one pair of '{{ }}'",
        )
    return value


def within_bounds(expr: Expr) -> bool:
    """Whether a tree can be written as text and parsed again without exceeding a limit."""
    if isinstance(expr, Name) or (isinstance(expr, Const) and not isinstance(expr.value, str)):
        return True
    try:
        text = to_json(expr)
        return not isinstance(text, str) or "{{" not in text or bool(_parts(text))
    except ExpressionFault:
        return False


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment

    return Environment(keep_trailing_newline=True, autoescape=True)


@lru_cache(maxsize=1024)
def _parts(text: str) -> tuple[Expr, ...]:
    """Return the parts of a text as trees; cached, since trees are immutable and texts repeat."""
    _check_text(text)
    from jinja2 import TemplateSyntaxError, nodes

    parts: list[Expr] = []
    try:
        for statement in _environment().parse(text).body:
            if not isinstance(statement, nodes.Output):
                raise _refused("statements do not exist in this language")
            parts += [
                Const(node.data) if isinstance(node, nodes.TemplateData) else _convert(node) for node in statement.nodes
            ]
    except TemplateSyntaxError as error:
        message = f"not an expression: {error.message}"
        raise ExpressionFault("E_EXPR_SYNTAX", message, found=text, suggestion=syntax_hint(text)) from None
    except (RecursionError, ValueError):
        raise ExpressionFault("E_EXPR_SIZE", "the expression is nested too deep or holds too long a number") from None
    _check_trees(parts)
    return tuple(parts)


def _check_text(text: str) -> None:
    if len(text) > limits.MAX_EXPRESSION_CHARACTERS:
        most = limits.MAX_EXPRESSION_CHARACTERS
        raise _too_large(f"a text with expressions has {len(text)} characters, more than {most}")
    if "{%" in text or "{#" in text:
        message = "statements and comments ('{%', '{#') do not exist; only '{{ expression }}' does"
        raise _refused(message, "use an 'if' step, or 'a if condition else b'")
    depths = accumulate((character in "([{") - (character in ")]}") for character in text)
    if (deepest := max(depths, default=0)) > limits.MAX_EXPRESSION_DEPTH + 6:
        raise _too_large(f"brackets are nested {deepest} deep")


def _check_trees(parts: Sequence[Expr]) -> None:
    """Refuse trees that are too deep or too large. It works level by level, since recursion could go too deep."""
    level, count = list(parts), 0
    for _ in range(limits.MAX_EXPRESSION_DEPTH):
        count += len(level)
        level = [child for node in level for child in children(node)]
    if level:
        raise _too_large(f"the expression is more than {limits.MAX_EXPRESSION_DEPTH} deep")
    if count > limits.MAX_EXPRESSION_NODES:
        raise _too_large(f"the expressions have more than {limits.MAX_EXPRESSION_NODES} parts")
