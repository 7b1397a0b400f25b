"""From text to the tree of an expression. Jinja parses; nothing of it compiles, renders or evaluates.

Sizes are checked before Jinja sees the text and again on the tree; what the language does not have is refused
by an allow-list of Jinja's node types. (Jinja's sandbox has been escaped repeatedly, and its compiler folds
constants such as ``'a' * 1000000000``; its parser does neither.)
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tool_induction.language import limits
from tool_induction.language.allowed import (
    syntax_hint,
)
from tool_induction.language.converting import ExpressionFault, output
from tool_induction.language.syntax import (
    Const,
    Expr,
    Field,
    Index,
    Name,
    Text,
    children,
    to_json,
    walk,
)

if TYPE_CHECKING:
    from jinja2 import Environment


_INNER_BRACES = re.compile(r"(?P<quote>['\"]?)\{\{\s*(?P<inner>[^{}]*?)\s*\}\}(?P=quote)")


def parse_value(text: str) -> Expr:
    """A string of a document: a constant, one whole ``{{ expression }}`` (which keeps its type), or text.

    Raises:
        ExpressionFault: ``E_EXPR_SYNTAX``, ``E_EXPR_FORBIDDEN``, ``E_EXPR_SIZE`` or ``E_SIZE``.
    """
    if not any(mark in text for mark in ("{{", "{%", "{#")):
        if len(text) > limits.MAX_TEXT:
            raise ExpressionFault("E_SIZE", f"the text has {len(text)} characters, more than {limits.MAX_TEXT}")
        return Const(text)
    parts = _parts(text)
    meaningful = [part for part in parts if not (isinstance(part, Const) and str(part.value).isspace())]
    if len(meaningful) == 1 and not _is_literal(text, meaningful[0]):
        return meaningful[0]
    return Text(parts)


def parse_expression(text: str) -> Expr:
    """One expression, written with or without ``{{ }}`` around it (conditions are written both ways).

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
            instead=_in_one_pair(stripped),
        )
    return value


def _in_one_pair(text: str) -> str:
    """The expression that is left when the braces inside it are taken away; empty if that is none."""
    bare = _INNER_BRACES.sub(lambda found: _as_part(found["inner"]), text)
    try:
        _parts(f"{{{{ {bare} }}}}")
    except ExpressionFault:
        return ""
    return f"{{{{ {bare} }}}}"


def _as_part(text: str) -> str:
    """An expression as a part of a larger one: in brackets, unless it is a path or a constant."""
    try:
        parts = _parts(f"{{{{ {text} }}}}")
    except ExpressionFault:
        return text
    return text if isinstance(parts[0], Name | Field | Index | Const) else f"({text})"


def within_bounds(expr: Expr) -> bool:
    """Whether a tree could be written down and read again."""
    if isinstance(expr, Name) or (isinstance(expr, Const) and not isinstance(expr.value, str)):
        return True
    try:
        text = to_json(expr)
        return not isinstance(text, str) or "{{" not in text or bool(_parts(text))
    except ExpressionFault:
        return False


def _is_literal(text: str, part: Expr) -> bool:
    return isinstance(part, Const) and text.strip() == part.value


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment

    return Environment(keep_trailing_newline=True, autoescape=True)


@lru_cache(maxsize=1024)
def _parts(text: str) -> tuple[Expr, ...]:
    """The parts of a text, as trees; trees are immutable, and the same few texts come again and again."""
    _check_text(text)
    from jinja2 import TemplateSyntaxError

    try:
        template = _environment().parse(text)
        parts: list[Expr] = []
        for statement in template.body:
            parts.extend(output(statement))
    except TemplateSyntaxError as error:
        raise ExpressionFault(
            "E_EXPR_SYNTAX", f"not an expression: {error.message}", found=text, suggestion=syntax_hint(text)
        ) from None
    except (RecursionError, ValueError):
        raise ExpressionFault("E_EXPR_SIZE", "the expression is nested too deep or holds too long a number") from None
    for part in parts:
        _check_tree(part)
    if sum(sum(1 for _ in walk(part)) for part in parts) > limits.MAX_EXPRESSION_NODES:
        raise ExpressionFault("E_EXPR_SIZE", _too_many_nodes(), suggestion=_SPLIT)
    return tuple(parts)


def _check_text(text: str) -> None:
    if len(text) > limits.MAX_EXPRESSION_CHARACTERS:
        raise ExpressionFault(
            "E_EXPR_SIZE",
            f"a text with expressions has {len(text)} characters, more than {limits.MAX_EXPRESSION_CHARACTERS}",
            suggestion=_SPLIT,
        )
    if "{%" in text or "{#" in text:
        raise ExpressionFault(
            "E_EXPR_FORBIDDEN",
            "statements and comments ('{%', '{#') do not exist; only '{{ expression }}' does",
            suggestion="use an 'if' step, or 'a if condition else b'",
        )
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > limits.MAX_EXPRESSION_DEPTH + 6:
        raise ExpressionFault("E_EXPR_SIZE", f"brackets are nested {deepest} deep", suggestion=_SPLIT)


_SPLIT = "split it over several 'set' steps"


def _too_many_nodes() -> str:
    return f"the expressions have more than {limits.MAX_EXPRESSION_NODES} parts"


def _check_tree(expr: Expr) -> None:
    """Level by level: recursing into a tree that may be too deep is what this is to prevent."""
    level = [expr]
    for _ in range(limits.MAX_EXPRESSION_DEPTH):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise ExpressionFault(
        "E_EXPR_SIZE", f"the expression is more than {limits.MAX_EXPRESSION_DEPTH} deep", suggestion=_SPLIT
    )
