"""From the nodes of Jinja's parser to the tree of an expression; what the language does not have is refused by name."""

from __future__ import annotations

import math
from typing import Any, cast

from tool_induction.language import limits
from tool_induction.language.allowed import (
    COMPARATORS,
    FILTER_STEPS,
    FILTERS,
    FORBIDDEN,
    OPERATORS,
    OTHER_FILTERS,
)
from tool_induction.language.diagnostics import ErrorCode, did_you_mean
from tool_induction.language.syntax import (
    Arithmetic,
    Choice,
    Comparator,
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    Index,
    IsNone,
    Items,
    Logic,
    Name,
    Negate,
    Not,
)


class ExpressionFault(Exception):
    """Why a text is not an expression of the language. The compiler turns it into a diagnostic."""

    def __init__(
        self, code: ErrorCode, message: str, *, found: str = "", suggestion: str = "", instead: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.found = found
        self.suggestion = suggestion
        self.instead = instead  #: the whole text, mended


def output(statement: Any) -> list[Expr]:
    """The expressions of one statement, of which only output is allowed.

    Raises:
        ExpressionFault: ``E_EXPR_SYNTAX``, ``E_EXPR_FORBIDDEN`` or ``E_EXPR_SIZE``.
    """
    from jinja2 import nodes

    if not isinstance(statement, nodes.Output):
        raise ExpressionFault("E_EXPR_FORBIDDEN", "statements do not exist in this language")
    return [Const(node.data) if isinstance(node, nodes.TemplateData) else _convert(node) for node in statement.nodes]


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
            return _negation(_convert(node.node))
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
            return Items(tuple(_convert(item) for item in node.items))
        case nodes.Filter():
            return _filter(node)
        case nodes.Test() if node.name == "none":
            return IsNone(_convert(node.node), negated=False)
        case _:
            what, instead = FORBIDDEN.get(type(node).__name__, (f"'{type(node).__name__}'", ""))
            raise ExpressionFault("E_EXPR_FORBIDDEN", f"{what} is not allowed in an expression", suggestion=instead)


def _constant(value: object) -> Const:
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionFault("E_EXPR_FORBIDDEN", "a number is not finite")
    if isinstance(value, str):
        _check_unicode(value)
    if isinstance(value, int | float) and abs(value) > limits.MAX_NUMBER:
        raise ExpressionFault(
            "E_EXPR_SIZE",
            f"a number is larger than {limits.MAX_NUMBER:g}",
            suggestion="times are in seconds, counts are small: no such number is needed",
        )
    return Const(cast("str | int | float | bool | None", value))


def _negation(value: Expr) -> Expr:
    return IsNone(value.value, negated=not value.negated) if isinstance(value, IsNone) else Not(value)


def _check_unicode(text: str) -> None:
    """Jinja reads escapes, and some escapes stand for half a character."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ExpressionFault("E_EXPR_SYNTAX", "a text is not valid Unicode: an escape stands for half a character")


def _plain_key(key: str) -> str:
    _check_unicode(key)
    if key.startswith("_"):
        raise ExpressionFault("E_EXPR_FORBIDDEN", f"{key!r}: names that begin with '_' are not allowed")
    return key


def _item(node: Any) -> Expr:
    from jinja2 import nodes

    base = _convert(node.node)
    key = node.arg
    negative = isinstance(key, nodes.Neg) and isinstance(key.node, nodes.Const)
    whole = negative and isinstance(key.node.value, int) and not isinstance(key.node.value, bool)
    value = -key.node.value if whole else getattr(key, "value", None)
    if isinstance(value, str):
        return Field(base, _plain_key(value))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= limits.MAX_LOOP_ITEMS:
        return Index(base, value)
    what, instead = FORBIDDEN["Slice"] if isinstance(key, nodes.Slice) else ("a computed index", "use x[0] or nth(n)")
    raise ExpressionFault("E_EXPR_FORBIDDEN", f"{what} is not allowed in an expression", suggestion=instead)


def _comparison(node: Any) -> Expr:
    pairs: list[Expr] = []
    left = _convert(node.expr)
    for operand in node.ops:
        right = _convert(operand.expr)
        pairs.append(_compare(left, COMPARATORS[operand.op], right))
        left = right
    result = pairs[0]
    for pair in pairs[1:]:
        result = Logic("and", result, pair)
    return result


def _compare(left: Expr, op: Comparator, right: Expr) -> Expr:
    """``x != none`` is ``x is not none``: one spelling below this point."""
    if op in ("==", "!="):
        for one, other in ((left, right), (right, left)):
            if other == Const(None):
                return IsNone(one, negated=op == "!=")
    return Compare(left, op, right)


def _other_filter(name: str) -> str:
    if name in OTHER_FILTERS:
        return f"did you mean {OTHER_FILTERS[name]!r}?"
    return FILTER_STEPS.get(name) or did_you_mean(name, FILTERS)


def _filter(node: Any) -> Expr:
    name = str(node.name)
    if name not in FILTERS:
        raise ExpressionFault(
            "E_EXPR_FORBIDDEN",
            f"there is no filter {name!r}; the filters are {', '.join(FILTERS)}",
            found=name,
            suggestion=_other_filter(name),
        )
    if node.node is None or node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
        raise ExpressionFault("E_EXPR_FORBIDDEN", f"filter {name!r} takes its arguments by position")
    least, most = FILTERS[name]
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise ExpressionFault("E_EXPR_FORBIDDEN", f"filter {name!r} takes {wanted} arguments, not {len(node.args)}")
    return Filtered(_convert(node.node), name, tuple(_convert(item) for item in node.args))
