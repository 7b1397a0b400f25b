"""Pass 4a: infers the type of an expression, and makes its defaults and conversions explicit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tool_induction.checker.environment import Environment, Fact, Typed, facts_of, is_list, is_path, list_field
from tool_induction.checker.operands import (
    Demand,
    as_condition,
    is_score,
    null_not_handled,
    own_lists,
    refuse_comparison,
    refuse_mixture,
    with_default,
)
from tool_induction.checker.ranges import check_divisor, check_span, named_type, whole_condition
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.diagnostics import Code, Findings, Path, Suggestion
from world_api.core.identifiers import did_you_mean


@dataclass
class Inference:
    """Infers the types of expressions at one place of a document and notes what does not fit."""

    environment: Environment
    findings: Findings
    path: Path
    #: collects the values that must not be missing here, for which ``require`` steps are added; None: none may be added
    demands: list[Demand] | None = None
    #: the whole condition of which a part is being checked
    condition: ex.Expr | None = None
    #: whether the place is a parameter of a call, which could be repeated in a loop
    in_call: bool = False

    def note(self, code: Code, message: str, *, found: str = "", suggestion: str | Suggestion = "") -> None:
        """Note a finding at the current place; not ``E_OPTIONAL`` after a faulty condition, which may have excluded null."""
        if code == "E_OPTIONAL" and self.environment.is_unsure:
            return
        self.findings.add(code, self.path, message, found=found, suggestion=suggestion)

    def knowing(self, facts: Iterable[Fact]) -> Inference:
        """Return a copy for the same place in the document with more facts; what it finds is not added to ``findings``."""
        return Inference(self.environment.assume(facts), Findings(), self.path)

    @contextmanager
    def _with(self, **changed: Any) -> Iterator[None]:
        before = {name: getattr(self, name) for name in changed}
        vars(self).update(changed)
        yield
        vars(self).update(before)

    def _under(self, environment: Environment) -> AbstractContextManager[None]:
        """Within the block, use another environment, for a part that is not always evaluated: it adds no ``demands``."""
        return self._with(environment=replace(environment, defaults={}), demands=None)

    def asking(self, condition: ex.Expr) -> AbstractContextManager[None]:
        """Within the block, ``self.condition`` is ``condition``, or the outer one of which ``condition`` is a part."""
        return self._with(condition=self.condition or condition)

    def at(self, *parts: str | int) -> AbstractContextManager[None]:
        """Within the block, the current place in the document is the part of it at ``parts`` (keys and indexes)."""
        return self._with(path=(*self.path, *parts))

    def infer(self, expr: ex.Expr) -> Typed:  # noqa: PLR0912 - one case a node type, flat
        """Return the expression with defaults and conversions made explicit, and its type."""
        match expr:
            case ex.Const(value):
                return Typed(expr, ty.constant_type(value))
            case ex.Broken():
                return Typed(expr, ty.ANY)
            case ex.Name(name):
                return Typed(expr, self.environment.narrowed(expr, self.environment.type_of(name)))
            case ex.Field():
                return self._field(expr)
            case ex.Index():
                return self._index(expr)
            case ex.ListExpression(items):
                listed = [self.infer(item) for item in items]
                return Typed(ex.ListExpression(tuple(item.expr for item in listed)), _list_of(listed))
            case ex.JsonList(items):
                listed = []
                for place, item in enumerate(items):
                    with self.at(place):
                        listed.append(self.infer(item))
                return Typed(ex.JsonList(tuple(item.expr for item in listed)), _list_of(listed))
            case ex.JsonRecord(entries):
                return self._json_record(entries)
            case ex.Text(parts):
                return Typed(ex.Text(tuple(self._text_part(part) for part in parts)), ty.STRING)
            case ex.Compare():
                return Typed(compare(self, expr), ty.BOOL)
            case ex.IsNone(value, negated):
                return Typed(ex.IsNone(self.infer(value).expr, negated), ty.BOOL)
            case ex.Logic(op, left, right):
                first = as_condition(self, left)
                known = facts_of(first, self.environment, holds=op == "and")
                with self._under(self.environment.assume(known)):
                    return Typed(ex.Logic(op, first, as_condition(self, right)), ty.BOOL)
            case ex.Not(value):
                return Typed(ex.Not(as_condition(self, value)), ty.BOOL)
            case ex.Negate(value):
                number = as_number(self, value)
                return Typed(ex.Negate(number.expr), ty.FLOAT if number.type == ty.TIME else number.type)
            case ex.Arithmetic():
                return arithmetic(self, expr)
            case ex.Choice():
                return self._choice(expr)
            case ex.Filtered():
                return filtered(self, expr)

    def _field(self, expr: ex.Field) -> Typed:
        base = self.infer(expr.base)
        inner = ty.plain(base.type)
        written = ex.Field(base.expr, expr.key)
        if self.environment.is_absent(base.expr):
            self._of_null(written)
        if isinstance(inner, ty.AnyType):
            return Typed(written, ty.ANY)
        found = inner.get(expr.key) if isinstance(inner, ty.RecordType) else None
        if found is None:
            self._no_field(written, inner)
            return Typed(written, ty.ANY)
        type_ = ty.optional(found) if isinstance(base.type, ty.OptionalType) else found
        return Typed(written, self.environment.narrowed(written, type_))

    def _of_null(self, expr: ex.Field) -> None:
        """Note that ``expr`` reads a field of a value that is always null here, probably since a condition is inverted."""
        base = ex.to_text(expr.base)
        self.note(
            "E_OPTIONAL",
            f"{base} is always null here, so it has no {expr.key!r}",
            suggestion=f"ask the other way round: \"{{{{ {base} is not none }}}}\"; in an 'if' that is 'then' and 'else' swapped",
        )

    def _no_field(self, expr: ex.Field, inner: ty.Type) -> None:
        base = ex.to_text(expr.base)
        inside = list_field(inner)
        rows = inner if isinstance(inner, ty.ListType) else inside[1] if inside else None
        item = ty.plain(rows.item) if rows else None
        if isinstance(item, ty.RecordType) and item.get(expr.key) is not None:
            walked = self.environment.walked.get(expr.base.name) if isinstance(expr.base, ex.Name) else None
            suggestion = (
                f'take one item first, for instance with the aggregate "pick_best", or {{{{ {base}[0].{expr.key} }}}}'
                + (f'; or loop_over: "{base}" with {{{{ item.{expr.key} }}}}' if self.in_call and not walked else "")
            )
            if walked is not None:
                joined = own_lists(inner, having=(expr.key,))
                suggestion = f"{suggestion}; or {joined}" if joined else suggestion
        elif is_list(inner) and ex.OTHER_FILTERS.get(expr.key, expr.key) == "length":
            suggestion = f"for how many there are write {base} | length"
        else:
            keys = inner.keys if isinstance(inner, ty.RecordType) else ()
            suggestion = self.findings.near(expr.key, keys) or (f"its fields are {', '.join(keys)}" if keys else "")
        self.note("E_TYPE", f"{base} is {ty.show(inner)} and has no field {expr.key!r}", suggestion=suggestion)

    def _index(self, expr: ex.Index) -> Typed:
        base = self.as_list(expr.base)
        written = ex.Index(base.expr, expr.number)
        rows = ty.plain(base.type)
        if not isinstance(rows, ty.ListType):
            return Typed(written, ty.ANY)
        sure = self._is_long_enough(base.expr, rows, expr.number) and not isinstance(base.type, ty.OptionalType)
        return Typed(written, self.environment.narrowed(written, rows.item if sure else ty.optional(rows.item)))

    def _is_long_enough(self, rows: ex.Expr, type_: ty.ListType, number: int) -> bool:
        """Whether a list certainly has an item at the index ``number``."""
        if isinstance(rows, ex.ListExpression | ex.JsonList):
            return -len(rows.items) <= number < len(rows.items)
        if type_.name == ty.BOX.name:
            return -4 <= number < 4
        return (type_.filled and number in (0, -1)) or self.environment.has_place(rows, number)

    def as_list(self, expr: ex.Expr) -> Typed:
        """Return an expression as a list, with its type; a record with one list field is read as that field."""
        return self.listed(self.infer(expr))

    def listed(self, base: Typed) -> Typed:
        """Return a typed expression as a list; a record with one list field is read as that field. Note any other type."""
        inner = ty.plain(base.type)
        if isinstance(inner, ty.ListType | ty.AnyType):
            return base
        one = list_field(inner)
        if one is None:
            self.note("E_TYPE", f"a list is wanted, found {ty.show(base.type)}")
            return Typed(base.expr, ty.ANY)
        written = ex.Field(base.expr, one[0])
        self.note(
            "W_IMPLICIT_BINDING", f"where a list is wanted, {ex.to_text(base.expr)} is read as {ex.to_text(written)}"
        )
        type_: ty.Type = ty.optional(one[1]) if isinstance(base.type, ty.OptionalType) else one[1]
        return Typed(written, self.environment.narrowed(written, type_))

    def _json_record(self, entries: tuple[tuple[str, ex.Expr], ...]) -> Typed:
        written: list[tuple[str, ex.Expr]] = []
        fields: list[tuple[str, ty.Type]] = []
        for key, value in entries:
            with self.at(key):
                part = self.infer(value)
            written.append((key, part.expr))
            fields.append((key, named_type(self, part.expr, part.type)))
        check_span(self, dict(written), moments=True)
        return Typed(ex.JsonRecord(tuple(written)), ty.RecordType(fields=tuple(fields)))

    def _text_part(self, part: ex.Expr) -> ex.Expr:
        if isinstance(part, ex.Const):
            return part
        typed = self.infer(part)
        if isinstance(typed.type, ty.OptionalType):
            self.note(
                "W_COERCED",
                f"{ex.to_text(typed.expr)} may be null and then leaves nothing in the text",
                suggestion=f"to have a word in its place, {{{{ {ex.to_text(typed.expr)} | default('nothing') }}}}",
            )
        elif isinstance(typed.type, ty.ListType | ty.RecordType):
            self.note("W_COERCED", f"{ex.to_text(typed.expr)} is written into the text as JSON")
        return typed.expr

    def _choice(self, expr: ex.Choice) -> Typed:
        condition = whole_condition(self, expr.condition)
        sides: list[Typed] = []
        for branch, holds in ((expr.then, True), (expr.otherwise, False)):
            facts = facts_of(condition, self.environment, holds=holds)
            with self._under(self.environment.assume(facts)):
                sides.append(self.infer(branch))
        then, otherwise = sides
        type_ = ty.join(then.type, otherwise.type)
        if type_ is None:
            self.note(
                "E_TYPE", f"the two sides of 'if' / 'else' differ: {ty.show(then.type)} and {ty.show(otherwise.type)}"
            )
        return Typed(ex.Choice(condition, then.expr, otherwise.expr), ty.ANY if type_ is None else type_)


def _list_of(items: Sequence[Typed]) -> ty.ListType:
    """Return the type of a list of exactly these items."""
    size = len(items)
    joined = ty.join_all(item.type for item in items)
    return ty.ListType(item=joined, bound=size, typical=size, stated=True, filled=size > 0)


def as_number(at: Inference, expr: ex.Expr) -> Typed:
    """Return an expression as a number, with its type; note a value that is not a number or may be null."""
    return _number(at, at.infer(expr))


def _number(at: Inference, typed: Typed) -> Typed:
    inner = ty.plain(typed.type)
    if not ty.is_numeric(inner):
        at.note(
            "E_TYPE",
            f"arithmetic works on numbers; {ex.to_text(typed.expr)} is {ty.show(typed.type)}",
            suggestion=_instead_of_arithmetic(inner, ex.to_text(typed.expr)),
        )
        return Typed(typed.expr, ty.NUMBER)
    if isinstance(typed.type, ty.OptionalType):
        null_not_handled(at, typed, "an operand")
    return Typed(typed.expr, inner)


def arithmetic(at: Inference, expr: ex.Arithmetic) -> Typed:
    """Return an arithmetic expression with conversions made explicit, and its type.

    The difference of two times is a duration, of the type ``float``.
    """
    sides = [at.infer(side) for side in (expr.left, expr.right)]
    if expr.op == "+" and not any(ty.is_numeric(ty.plain(side.type)) for side in sides):
        first, second = (ex.to_text(side.expr) for side in sides)
        suggestion = _instead_of_arithmetic(ty.plain(sides[0].type), first)
        if all(is_list(ty.plain(side.type)) for side in sides):
            step = {"type": "aggregate", "operation": "concat_lists", "inputs": [first, second]}
            suggestion = f'{json.dumps(step)[:-1]}, "save_as": ...}}'
        at.note("E_TYPE", f"'+' adds numbers; {first} is {ty.show(sides[0].type)}", suggestion=suggestion)
        return Typed(ex.Arithmetic(sides[0].expr, expr.op, sides[1].expr), ty.ANY)
    left, right = (_number(at, side) for side in sides)
    written = ex.Arithmetic(left.expr, expr.op, right.expr)
    if expr.op in "/%":
        check_divisor(at, written)
    if ty.SCORE in (left.type, right.type):
        return Typed(written, ty.SCORE)
    if ty.TIME in (left.type, right.type) and expr.op in "+-":
        both = left.type == right.type
        return Typed(written, ty.FLOAT if both and expr.op == "-" else ty.TIME)
    if left.type == right.type == ty.INT and expr.op != "/":
        return Typed(written, ty.INT)
    if ty.ANY in (left.type, right.type):
        return Typed(written, ty.NUMBER)
    return Typed(written, ty.FLOAT)


def _instead_of_arithmetic(type_: ty.Type, text: str) -> str:
    """Return a suggestion how to count a list (written ``text``) or join texts; empty for values of another type."""
    if is_list(type_):
        return f"for how many there are write {text} | length; the aggregate concat_lists joins lists"
    if ty.is_text(type_):
        return 'a text is joined by writing its parts one after the other, outside of expressions: "{{ a }}{{ b }}"'
    return ""


def compare(at: Inference, expr: ex.Compare) -> ex.Expr:
    """Return a comparison with conversions made explicit; note values that cannot be compared."""
    if expr.op in ("in", "not in"):
        return _membership(at, expr)
    left, right = at.infer(expr.left), at.infer(expr.right)
    written = ex.Compare(left.expr, expr.op, right.expr)
    first, second = ty.plain(left.type), ty.plain(right.type)
    if refuse_comparison(at, left, right):
        return written
    if expr.op in ("==", "!="):
        _equality(at, first, second, written)
        return _not_empty(at, written, left, right)
    numbers = ty.is_numeric(first) and ty.is_numeric(second)
    if not numbers and not (ty.is_text(first) and ty.is_text(second)):
        at.note(
            "E_TYPE",
            f"{ty.show(left.type)} and {ty.show(right.type)} have no order",
            suggestion=_instead_of_arithmetic(first, ex.to_text(left.expr))
            or _instead_of_arithmetic(second, ex.to_text(right.expr)),
        )
        return written
    return _with_null(at, written, left, right)


def _with_null(at: Inference, written: ex.Compare, left: Typed, right: Typed) -> ex.Expr:
    """Return a comparison that a null confidence passes if it is one with a minimum. Note any other operand that may be null."""
    loose = [side for side in (left, right) if isinstance(side.type, ty.OptionalType)]
    if not loose:
        return written
    passes = written.op in (">", ">=") if loose == [left] else written.op in ("<", "<=")
    value = loose[0].expr
    if len(loose) == 1 and passes and isinstance(value, ex.Field) and value.key == "confidence":
        lenient = ex.Logic("or", ex.IsNone(value, negated=False), written)
        at.note(
            "W_COERCED",
            f"{ex.to_text(value)} is null if it was not calibrated, and then passes the threshold",
            suggestion=f"to drop such items write {ex.to_text(value)} | default(0), and say in the description that unknown ones are "
            "left out",
        )
        return lenient
    for side in loose:
        null_not_handled(at, side, "an operand of a comparison")
    return written


def _not_empty(at: Inference, written: ex.Compare, left: Typed, right: Typed) -> ex.Expr:
    """Return ``text != ""`` as a check that the text is neither null nor empty; other comparisons unchanged."""
    value = left if right.expr == ex.Const("") else right
    is_asked = written.op == "!=" and ex.Const("") in (left.expr, right.expr)
    if not is_asked or not isinstance(value.type, ty.OptionalType) or not is_path(value.expr):
        return written
    at.note("W_COERCED", f"{ex.to_text(value.expr)} may be null, which is no text either")
    return ex.Logic("and", ex.IsNone(value.expr, negated=True), written)


def _equality(at: Inference, first: ty.Type, second: ty.Type, written: ex.Compare) -> None:
    if (
        isinstance(first, ty.EnumType)
        and isinstance(second, ty.EnumType)
        and not set(first.values) & set(second.values)
    ):
        known, word = (first, second) if len(second.values) == 1 else (second, first)
        if len(known.values) > 1:
            at.note(
                "E_TYPE",
                f"{ex.to_text(written)}: {word.values[0]!r} is not one of the values",
                suggestion=did_you_mean(word.values[0], known.values),
            )
        return
    if ty.join(first, second) is None:
        message = f"{ex.to_text(written)}: {ty.show(first)} and {ty.show(second)} are never equal"
        at.note("E_TYPE", message)


def _membership(at: Inference, expr: ex.Compare) -> ex.Expr:
    left, right = at.infer(expr.left), at.infer(expr.right)
    item, is_in_text = ty.plain(left.type), ty.is_text(ty.plain(right.type))
    rows = right if is_in_text else at.listed(right)
    written = ex.Compare(left.expr, expr.op, rows.expr)
    if is_in_text:
        if not ty.is_text(item):
            at.note("E_TYPE", f"only a string can be in a string, not {ty.show(item)}")
        for side in (left, right):
            if isinstance(side.type, ty.OptionalType):
                null_not_handled(at, side, "an operand of 'in'")
    elif not refuse_comparison(at, left, rows):
        for member in members(at, rows):
            _equality(at, item, ty.plain(member.type), written)
        if isinstance(rows.type, ty.OptionalType):
            null_not_handled(at, rows, "the list of 'in'")
    return written


def members(at: Inference, rows: Typed) -> list[Typed]:
    """Return the items of a list literal with their types; for another list one entry: its expression, typed as an item."""
    if isinstance(rows.expr, ex.ListExpression | ex.JsonList):
        return [at.knowing(()).infer(item) for item in rows.expr.items]
    inner = ty.plain(rows.type)
    return [Typed(rows.expr, inner.item)] if isinstance(inner, ty.ListType) else []


def no_number(at: Inference, rows: Typed) -> ty.Type | None:
    """Return the type of the first item of a list that is surely no number and not null, or None if there is none."""
    types = [ty.plain(member.type) for member in members(at, rows)]
    return next((type_ for type_ in types if not ty.is_numeric(type_) and type_ != ty.NULL), None)


def filtered(at: Inference, expr: ex.Filtered) -> Typed:
    """Return the use of a filter (``value | name``) with conversions made explicit, and its type."""
    match expr.name:
        case "length":
            return _length(at, expr)
        case "default":
            return _default(at, expr)
        case "min" | "max":
            return _extreme(at, expr)
        case "lower" | "upper":
            text = at.infer(expr.value)
            if isinstance(text.type, ty.OptionalType):
                null_not_handled(at, text, f"the operand of '{expr.name}'", with_default(text, "''"))
            elif not ty.is_text(text.type):
                at.note("E_TYPE", f"'{expr.name}' works on strings")
            return Typed(ex.Filtered(text.expr, expr.name, ()), ty.STRING)
    number = as_number(at, expr.value)
    arguments = tuple(as_number(at, argument).expr for argument in expr.arguments)
    written = ex.Filtered(number.expr, expr.name, arguments)
    if expr.name == "round" and not is_score(number.type):
        return Typed(written, ty.INT if arguments in ((), (ex.Const(0),)) else ty.FLOAT)
    return Typed(written, number.type)


def _length(at: Inference, expr: ex.Filtered) -> Typed:
    value = at.infer(expr.value)
    if not ty.is_text(ty.plain(value.type)) or isinstance(value.type, ty.AnyType):
        value = at.listed(value)
    if isinstance(value.type, ty.OptionalType):
        null_not_handled(at, value, "the operand of 'length'", with_default(value, "[]"))
    return Typed(ex.Filtered(value.expr, "length", ()), ty.INT)


def _default(at: Inference, expr: ex.Filtered) -> Typed:
    value, fallback = at.infer(expr.value), at.infer(expr.arguments[0])
    written = ex.Filtered(value.expr, "default", (fallback.expr,))
    type_ = fallback.type if value.type == ty.NULL else ty.join(ty.plain(value.type), fallback.type)
    if isinstance(type_, ty.EnumType) and not isinstance(ty.plain(value.type), ty.EnumType):
        type_ = ty.STRING
    if type_ is None:
        at.note("E_TYPE", f"the default is {ty.show(fallback.type)}, the value {ty.show(ty.plain(value.type))}")
        return Typed(written, ty.plain(value.type))
    return Typed(written, type_)


def _extreme(at: Inference, expr: ex.Filtered) -> Typed:
    rows = at.as_list(expr.value)
    refuse_mixture(at, rows.expr)
    written = ex.Filtered(rows.expr, expr.name, ())
    inner = ty.plain(rows.type)
    if not isinstance(inner, ty.ListType):
        return Typed(written, ty.ANY)
    item = ty.plain(inner.item)
    other = no_number(at, rows)
    if other is not None:
        suggestion = f'use the aggregate "{expr.name}" with a key' if isinstance(item, ty.RecordType) else ""
        at.note("E_TYPE", f"'{expr.name}' works on numbers, found {ty.show(other)}", suggestion=suggestion)
        return Typed(written, ty.ANY)
    sure = inner.filled and not isinstance(inner.item, ty.OptionalType) and not isinstance(rows.type, ty.OptionalType)
    return Typed(written, item if sure else ty.optional(item))
