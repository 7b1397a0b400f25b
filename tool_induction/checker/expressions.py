"""Pass 4a: the type of an expression, and the expression with everything implicit written out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tool_induction.checker.environment import Environment, Fact, Typed, facts_of, is_list, is_path, list_field
from tool_induction.checker.nulls import Demand, as_condition, null_not_handled, own_lists, with_default
from tool_induction.checker.ranges import check_divisor, check_span, signed_type, whole_condition
from tool_induction.checker.scores import is_score, refuse_comparison, refuse_mixture
from tool_induction.language.diagnostics import Code, Findings, Path, Suggestion, did_you_mean
from tool_induction.language.expressions import (
    OTHER_FILTERS,
    Arithmetic,
    Broken,
    Choice,
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    Index,
    IsNone,
    Items,
    JsonList,
    JsonRecord,
    Logic,
    Name,
    Negate,
    Not,
    Text,
    to_text,
)
from tool_induction.language.types import (
    ANY,
    BOOL,
    BOX,
    FLOAT,
    INT,
    NULL,
    NUMBER,
    SCORE,
    STRING,
    TIME,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    constant_type,
    is_numeric,
    is_text,
    join,
    optional,
    plain,
    show,
)


class Inference:
    """Infers the types of expressions at one place of a document and notes what does not fit."""

    def __init__(self, environment: Environment, findings: Findings, path: Path) -> None:
        self.environment = environment
        self.findings = findings
        self.path = path
        #: what must be there for this place to make sense, where the checker may ask for it; None: it may not
        self.demands: list[Demand] | None = None
        #: the condition being looked at, as a whole
        self.condition: Expr | None = None
        #: whether the place is a parameter of a call, which may be done for each item of a list
        self.in_call = False

    def note(self, code: Code, message: str, *, found: str = "", suggestion: str | Suggestion = "") -> None:
        """Note a finding at the current place."""
        self.findings.add(code, self.path, message, found=found, suggestion=suggestion)

    def knowing(self, facts: Iterable[Fact]) -> Inference:
        """The same place with more facts; findings there are dropped, since they were noted before."""
        return Inference(self.environment.assume(facts), Findings(), self.path)

    @contextmanager
    def _under(self, environment: Environment) -> Iterator[None]:
        """Look at a part that is not always evaluated: nothing in it can be demanded."""
        before, self.environment = self.environment, environment
        demands, self.demands = self.demands, None
        yield
        self.environment, self.demands = before, demands

    @contextmanager
    def asking(self, condition: Expr) -> Iterator[None]:
        """Remember the whole condition while its parts are typed."""
        before, self.condition = self.condition, self.condition or condition
        yield
        self.condition = before

    @contextmanager
    def at(self, *parts: str | int) -> Iterator[None]:
        """Move to a part of the current place."""
        before, self.path = self.path, (*self.path, *parts)
        yield
        self.path = before

    def infer(self, expr: Expr) -> Typed:
        """The written-out expression and its type."""
        match expr:
            case Const(value):
                return Typed(expr, constant_type(value))
            case Broken():
                return Typed(expr, ANY)
            case Name(name):
                return Typed(expr, self.environment.narrowed(expr, self.environment.type_of(name)))
            case Field():
                return self._field(expr)
            case Index():
                return self._index(expr)
            case Items(items):
                parts = [self.infer(item) for item in items]
                return Typed(Items(tuple(part.expr for part in parts)), self._list_of([part.type for part in parts]))
            case JsonList(items):
                return self._json_list(items)
            case JsonRecord(entries):
                return self._json_record(entries)
            case Text(parts):
                return Typed(Text(tuple(self._text_part(part) for part in parts)), STRING)
        return self._computed(expr)

    def _computed(self, expr: Expr) -> Typed:
        match expr:
            case Compare():
                return Typed(compare(self, expr), BOOL)
            case IsNone(value, negated):
                return Typed(IsNone(self.infer(value).expr, negated), BOOL)
            case Logic(op, left, right):
                first = as_condition(self, left)
                known = facts_of(first, self.environment, holds=op == "and")
                with self._under(self.environment.assume(known)):
                    return Typed(Logic(op, first, as_condition(self, right)), BOOL)
            case Not(value):
                return Typed(Not(as_condition(self, value)), BOOL)
            case Negate(value):
                number = as_number(self, value)
                return Typed(Negate(number.expr), FLOAT if number.type == TIME else number.type)
            case Arithmetic():
                return arithmetic(self, expr)
            case Choice():
                return self._choice(expr)
            case Filtered():
                return filtered(self, expr)
        raise AssertionError(f"no rule for {type(expr).__name__}")

    def _field(self, expr: Field) -> Typed:
        base = self.infer(expr.base)
        inner = plain(base.type)
        written = Field(base.expr, expr.key)
        if self.environment.is_absent(base.expr):
            self._of_null(written)
        if isinstance(inner, AnyType):
            return Typed(written, ANY)
        found = inner.get(expr.key) if isinstance(inner, RecordType) else None
        if found is None:
            self._no_field(written, inner)
            return Typed(written, ANY)
        type_ = optional(found) if isinstance(base.type, OptionalType) else found
        return Typed(written, self.environment.narrowed(written, type_))

    def _of_null(self, expr: Field) -> None:
        """Note a field of a value that is always null here; the condition was probably meant the other way round."""
        base = to_text(expr.base)
        self.note(
            "E_OPTIONAL",
            f"{base} is always null here, so it has no {expr.key!r}",
            suggestion=f"ask the other way round: \"{{{{ {base} is not none }}}}\"; in an 'if' that is 'then' and 'else' swapped",
        )

    def _no_field(self, expr: Field, inner: Type) -> None:
        base = to_text(expr.base)
        inside = list_field(inner)
        rows = inner if isinstance(inner, ListType) else inside[1] if inside else None
        item = plain(rows.item) if rows else None
        if isinstance(item, RecordType) and item.get(expr.key) is not None:
            walked = self.environment.walked.get(expr.base.name) if isinstance(expr.base, Name) else None
            suggestion = (
                f'take one item first, for instance with the aggregate "pick_best", or {{{{ {base}[0].{expr.key} }}}}'
                + (f'; or loop_over: "{base}" with {{{{ item.{expr.key} }}}}' if self.in_call and not walked else "")
            )
            if walked is not None:
                joined = own_lists(inner, having=(expr.key,))
                suggestion = f"{suggestion}; or {joined}" if joined else suggestion
        elif is_list(inner) and OTHER_FILTERS.get(expr.key, expr.key) == "length":
            suggestion = f"for how many there are write {base} | length"
        else:
            keys = inner.keys if isinstance(inner, RecordType) else ()
            suggestion = self.findings.near(expr.key, keys) or (f"its fields are {', '.join(keys)}" if keys else "")
        self.note("E_TYPE", f"{base} is {show(inner)} and has no field {expr.key!r}", suggestion=suggestion)

    def _index(self, expr: Index) -> Typed:
        base = self.as_list(expr.base)
        written = Index(base.expr, expr.number)
        rows = plain(base.type)
        if not isinstance(rows, ListType):
            return Typed(written, ANY)
        sure = self._is_long_enough(base.expr, rows, expr.number) and not isinstance(base.type, OptionalType)
        return Typed(written, self.environment.narrowed(written, rows.item if sure else optional(rows.item)))

    def _is_long_enough(self, rows: Expr, type_: ListType, number: int) -> bool:
        """Whether a list surely has an item at a place."""
        if isinstance(rows, Items | JsonList):
            return -len(rows.items) <= number < len(rows.items)
        if type_.name == BOX.name:
            return -4 <= number < 4
        return (type_.filled and number in (0, -1)) or self.environment.has_place(rows, number)

    def as_list(self, expr: Expr) -> Typed:
        """The typed expression as a list; a record with one list field is read as that field."""
        return self.listed(self.infer(expr))

    def listed(self, base: Typed) -> Typed:
        """As ``as_list``, of an expression whose type is known."""
        inner = plain(base.type)
        if isinstance(inner, ListType | AnyType):
            return base
        one = list_field(inner)
        if one is None:
            self.note("E_TYPE", f"a list is wanted, found {show(base.type)}")
            return Typed(base.expr, ANY)
        written = Field(base.expr, one[0])
        self.note("W_IMPLICIT_BINDING", f"where a list is wanted, {to_text(base.expr)} is read as {to_text(written)}")
        type_: Type = optional(one[1]) if isinstance(base.type, OptionalType) else one[1]
        return Typed(written, self.environment.narrowed(written, type_))

    def _list_of(self, types: list[Type]) -> Type:
        item: Type | None = types[0] if types else ANY
        for type_ in types[1:]:
            item = None if item is None else join(item, type_)
        size = len(types)
        return ListType(item=ANY if item is None else item, bound=size, typical=size, stated=True, filled=size > 0)

    def _json_list(self, items: tuple[Expr, ...]) -> Typed:
        parts: list[Typed] = []
        for place, item in enumerate(items):
            with self.at(place):
                parts.append(self.infer(item))
        return Typed(JsonList(tuple(part.expr for part in parts)), self._list_of([part.type for part in parts]))

    def _json_record(self, entries: tuple[tuple[str, Expr], ...]) -> Typed:
        written: list[tuple[str, Expr]] = []
        fields: list[tuple[str, Type]] = []
        for key, value in entries:
            with self.at(key):
                part = self.infer(value)
            written.append((key, part.expr))
            fields.append((key, STRING if isinstance(part.type, EnumType) else signed_type(self, part.expr, part.type)))
        check_span(self, dict(written), moments=True)
        return Typed(JsonRecord(tuple(written)), RecordType(fields=tuple(fields)))

    def _text_part(self, part: Expr) -> Expr:
        if isinstance(part, Const):
            return part
        typed = self.infer(part)
        if isinstance(typed.type, OptionalType):
            self.note(
                "W_COERCED",
                f"{to_text(typed.expr)} may be null and then leaves nothing in the text",
                suggestion=f"to have a word in its place, {{{{ {to_text(typed.expr)} | default('nothing') }}}}",
            )
        elif isinstance(typed.type, ListType | RecordType):
            self.note("W_COERCED", f"{to_text(typed.expr)} is written into the text as JSON")
        return typed.expr

    def _choice(self, expr: Choice) -> Typed:
        condition = whole_condition(self, expr.condition)
        sides: list[Typed] = []
        for branch, holds in ((expr.then, True), (expr.otherwise, False)):
            facts = facts_of(condition, self.environment, holds=holds)
            with self._under(self.environment.assume(facts)):
                sides.append(self.infer(branch))
        then, otherwise = sides
        type_ = join(then.type, otherwise.type)
        if type_ is None:
            self.note("E_TYPE", f"the two sides of 'if' / 'else' differ: {show(then.type)} and {show(otherwise.type)}")
        return Typed(Choice(condition, then.expr, otherwise.expr), ANY if type_ is None else type_)


def as_number(at: Inference, expr: Expr) -> Typed:
    """The typed expression as a number; note it if it is none."""
    return _number(at, at.infer(expr))


def _number(at: Inference, typed: Typed) -> Typed:
    inner = plain(typed.type)
    if not is_numeric(inner):
        at.note(
            "E_TYPE",
            f"arithmetic works on numbers; {to_text(typed.expr)} is {show(typed.type)}",
            suggestion=_instead_of_arithmetic(inner, to_text(typed.expr)),
        )
        return Typed(typed.expr, NUMBER)
    if isinstance(typed.type, OptionalType):
        null_not_handled(at, typed, "an operand")
    return Typed(typed.expr, inner)


def arithmetic(at: Inference, expr: Arithmetic) -> Typed:
    """The written-out arithmetic; a time less a time is a duration."""
    sides = [at.infer(side) for side in (expr.left, expr.right)]
    if expr.op == "+" and not any(is_numeric(plain(side.type)) for side in sides):
        first, second = (to_text(side.expr) for side in sides)
        suggestion = _instead_of_arithmetic(plain(sides[0].type), first)
        if all(is_list(plain(side.type)) for side in sides):
            step = {"type": "aggregate", "operation": "concat_lists", "inputs": [first, second]}
            suggestion = f'{json.dumps(step)[:-1]}, "save_as": ...}}'
        at.note("E_TYPE", f"'+' adds numbers; {first} is {show(sides[0].type)}", suggestion=suggestion)
        return Typed(Arithmetic(sides[0].expr, expr.op, sides[1].expr), ANY)
    left, right = (_number(at, side) for side in sides)
    written = Arithmetic(left.expr, expr.op, right.expr)
    if expr.op in "/%":
        check_divisor(at, written)
    if SCORE in (left.type, right.type):
        return Typed(written, SCORE)
    if TIME in (left.type, right.type) and expr.op in "+-":
        both = left.type == right.type
        return Typed(written, FLOAT if both and expr.op == "-" else TIME)
    if left.type == right.type == INT and expr.op != "/":
        return Typed(written, INT)
    return Typed(written, FLOAT)


def _instead_of_arithmetic(type_: Type, text: str) -> str:
    """Suggest what counts or joins a value that is no number."""
    if is_list(type_):
        return f"for how many there are write {text} | length; the aggregate concat_lists joins lists"
    if is_text(type_):
        return 'a text is joined by writing its parts one after the other, outside of expressions: "{{ a }}{{ b }}"'
    return ""


def compare(at: Inference, expr: Compare) -> Expr:
    """The written-out comparison."""
    if expr.op in ("in", "not in"):
        return _membership(at, expr)
    left, right = at.infer(expr.left), at.infer(expr.right)
    written = Compare(left.expr, expr.op, right.expr)
    first, second = plain(left.type), plain(right.type)
    if refuse_comparison(at, written, left, right):
        return written
    if expr.op in ("==", "!="):
        _equality(at, first, second, written)
        return _not_empty(at, written, left, right)
    numbers = is_numeric(first) and is_numeric(second)
    if not numbers and not (is_text(first) and is_text(second)):
        at.note(
            "E_TYPE",
            f"{show(left.type)} and {show(right.type)} have no order",
            suggestion=_instead_of_arithmetic(first, to_text(left.expr))
            or _instead_of_arithmetic(second, to_text(right.expr)),
        )
        return written
    return _with_null(at, written, left, right)


def _with_null(at: Inference, written: Compare, left: Typed, right: Typed) -> Expr:
    """Let an uncalibrated (null) confidence pass a threshold; any other null must be handled."""
    loose = [side for side in (left, right) if isinstance(side.type, OptionalType)]
    if not loose:
        return written
    passes = written.op in (">", ">=") if loose == [left] else written.op in ("<", "<=")
    value = loose[0].expr
    if len(loose) == 1 and passes and isinstance(value, Field) and value.key == "confidence":
        lenient = Logic("or", IsNone(value, negated=False), written)
        at.note(
            "W_COERCED",
            f"{to_text(value)} is null where nobody calibrated it, and then passes the threshold",
            suggestion=f"to drop such items write {to_text(value)} | default(0)",
        )
        return lenient
    for side in loose:
        null_not_handled(at, side, "an operand of a comparison")
    return written


def _not_empty(at: Inference, written: Compare, left: Typed, right: Typed) -> Expr:
    """Write ``text != ""`` as a check that the text is neither null nor empty."""
    value = left if right.expr == Const("") else right if left.expr == Const("") else None
    if written.op != "!=" or value is None or not isinstance(value.type, OptionalType) or not is_path(value.expr):
        return written
    both = Logic("and", IsNone(value.expr, negated=True), written)
    at.note("W_COERCED", f"{to_text(value.expr)} may be null, which is no text either")
    return both


def _equality(at: Inference, first: Type, second: Type, written: Compare) -> None:
    if isinstance(first, EnumType) and isinstance(second, EnumType) and not set(first.values) & set(second.values):
        known, word = (first, second) if len(second.values) == 1 else (second, first)
        if len(known.values) > 1:
            at.note(
                "E_TYPE",
                f"{to_text(written)}: {word.values[0]!r} is not one of the values",
                suggestion=did_you_mean(word.values[0], known.values),
            )
        return
    if join(first, second) is None:
        at.note("E_TYPE", f"{to_text(written)} can never be equal: {show(first)} and {show(second)}")


def _membership(at: Inference, expr: Compare) -> Expr:
    left, right = at.infer(expr.left), at.infer(expr.right)
    holder, item = plain(right.type), plain(left.type)
    if is_text(holder):
        if not is_text(item):
            at.note("E_TYPE", f"only a string can be in a string, not {show(item)}")
        for side in (left, right):
            if isinstance(side.type, OptionalType):
                null_not_handled(at, side, "an operand of 'in'")
        return Compare(left.expr, expr.op, right.expr)
    rows = at.listed(right)
    if refuse_comparison(at, Compare(left.expr, expr.op, rows.expr), left, rows):
        return Compare(left.expr, expr.op, rows.expr)
    if isinstance(rows.type, OptionalType):
        null_not_handled(at, rows, "the list of 'in'")
    return Compare(left.expr, expr.op, rows.expr)


def filtered(at: Inference, expr: Filtered) -> Typed:
    """The written-out use of a filter, and its type."""
    match expr.name:
        case "length":
            return _length(at, expr)
        case "default":
            return _default(at, expr)
        case "min" | "max":
            return _extreme(at, expr)
        case "lower" | "upper":
            text = at.infer(expr.value)
            if isinstance(text.type, OptionalType):
                null_not_handled(at, text, f"the operand of '{expr.name}'", with_default(text, "''"))
            elif not is_text(text.type):
                at.note("E_TYPE", f"'{expr.name}' works on strings")
            return Typed(Filtered(text.expr, expr.name, ()), STRING)
    number = as_number(at, expr.value)
    arguments = tuple(as_number(at, argument).expr for argument in expr.arguments)
    written = Filtered(number.expr, expr.name, arguments)
    if expr.name == "round" and not is_score(number.type):
        return Typed(written, INT if arguments in ((), (Const(0),)) else FLOAT)
    return Typed(written, number.type)


def _length(at: Inference, expr: Filtered) -> Typed:
    value = at.infer(expr.value)
    if not is_text(plain(value.type)) or isinstance(value.type, AnyType):
        value = at.listed(value)
    if isinstance(value.type, OptionalType):
        null_not_handled(at, value, "the operand of 'length'", with_default(value, "[]"))
    return Typed(Filtered(value.expr, "length", ()), INT)


def _default(at: Inference, expr: Filtered) -> Typed:
    value, fallback = at.infer(expr.value), at.infer(expr.arguments[0])
    written = Filtered(value.expr, "default", (fallback.expr,))
    type_ = fallback.type if value.type == NULL else join(plain(value.type), fallback.type)
    if isinstance(type_, EnumType) and not isinstance(plain(value.type), EnumType):
        type_ = STRING
    if type_ is None:
        at.note("E_TYPE", f"the default is {show(fallback.type)}, the value {show(plain(value.type))}")
        return Typed(written, plain(value.type))
    return Typed(written, type_)


def _extreme(at: Inference, expr: Filtered) -> Typed:
    rows = at.as_list(expr.value)
    refuse_mixture(at, rows.expr)
    written = Filtered(rows.expr, expr.name, ())
    inner = plain(rows.type)
    if not isinstance(inner, ListType):
        return Typed(written, ANY)
    item = plain(inner.item)
    if not is_numeric(item):
        at.note(
            "E_TYPE",
            f"'{expr.name}' works on numbers, found {show(rows.type)}",
            suggestion=f'use the aggregate "{expr.name}" with a key',
        )
        return Typed(written, ANY)
    sure = inner.filled and not isinstance(inner.item, OptionalType) and not isinstance(rows.type, OptionalType)
    return Typed(written, item if sure else optional(item))
