"""Pass 4a: the type of an expression, and the expression with everything implicit written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tool_induction.checking.expressions.arithmetic import arithmetic, as_number
from tool_induction.checking.expressions.comparing import compare, filtered
from tool_induction.checking.expressions.conditions import Demand, as_condition
from tool_induction.checking.expressions.typed import Typed
from tool_induction.checking.expressions.unwrapping import is_list, list_field
from tool_induction.checking.known.constant import whole_condition
from tool_induction.checking.known.hints import own_lists
from tool_induction.checking.known.narrowing import Environment, Fact, facts_of
from tool_induction.checking.known.ranges import signed_type
from tool_induction.checking.known.stretches import check_stretch
from tool_induction.language.diagnostics import Code, Findings, Path, Suggestion
from tool_induction.language.parsing import OTHER_FILTERS
from tool_induction.language.syntax import (
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
    STRING,
    TIME,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    constant_type,
    join,
    optional,
    plain,
    show,
)


class Inference:
    """Types expressions at one place of a document; notes what does not go together."""

    def __init__(self, environment: Environment, findings: Findings, path: Path) -> None:
        self.environment = environment
        self.findings = findings
        self.path = path
        #: what must be there for this place to make sense, where the checker may ask for it; None: it may not
        self.demands: list[Demand] | None = None
        #: the condition being looked at, as a whole
        self.condition: Expr | None = None
        #: the names the step binds
        self.binds: tuple[str, ...] = ()
        #: whether the place is a parameter of a call, which may be done for each item of a list
        self.in_call = False

    def note(
        self,
        code: Code,
        message: str,
        *,
        found: str = "",
        expected: str = "",
        suggestion: str | Suggestion = "",
    ) -> None:
        """Note a finding at the place being looked at."""
        self.findings.add(code, self.path, message, found=found, expected=expected, suggestion=suggestion)

    def knowing(self, facts: Iterable[Fact]) -> Inference:
        """The same place, where more is known; what is found there has been told already."""
        return Inference(self.environment.assume(facts), Findings(), self.path)

    @contextmanager
    def _under(self, environment: Environment) -> Iterator[None]:
        """Look at what is only sometimes looked at: nothing in it can be demanded."""
        before, self.environment = self.environment, environment
        demands, self.demands = self.demands, None
        yield
        self.environment, self.demands = before, demands

    @contextmanager
    def asking(self, condition: Expr) -> Iterator[None]:
        """Look at a condition, or at a part of one."""
        before, self.condition = self.condition, self.condition or condition
        yield
        self.condition = before

    @contextmanager
    def at(self, *parts: str | int) -> Iterator[None]:
        """Look at a part of the present place."""
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
        """A field of what the conditions before it say is null: they were probably meant the other way round."""
        base = to_text(expr.base)
        self.note(
            "E_OPTIONAL",
            f"{base} is always null here, so it has no {expr.key!r}",
            found=to_text(expr),
            expected=f"a place where {base} is there",
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
                joined = own_lists(walked, inner, self.environment.taken, having=(expr.key,))
                suggestion = f"{suggestion}; or {joined}" if joined else suggestion
        elif is_list(inner) and OTHER_FILTERS.get(expr.key, expr.key) == "length":
            suggestion = f"for how many there are write {base} | length"
        else:
            keys = inner.keys if isinstance(inner, RecordType) else ()
            suggestion = self.findings.near(expr.key, keys) or (f"its fields are {', '.join(keys)}" if keys else "")
        expected = ", ".join(inner.keys) if isinstance(inner, RecordType) else "a record"
        self.note(
            "E_TYPE",
            f"{base} is {show(inner)} and has no field {expr.key!r}",
            found=show(inner),
            expected=expected,
            suggestion=suggestion,
        )

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
        """The expression where a list is wanted: a record with one list field stands for that field."""
        return self.listed(self.infer(expr))

    def listed(self, base: Typed) -> Typed:
        """As ``as_list``, of an expression whose type is known."""
        inner = plain(base.type)
        if isinstance(inner, ListType | AnyType):
            return base
        one = list_field(inner)
        if one is None:
            self.note("E_TYPE", f"a list is wanted, found {show(base.type)}", found=show(base.type), expected="a list")
            return Typed(base.expr, ANY)
        written = Field(base.expr, one[0])
        self.note(
            "W_IMPLICIT_BINDING",
            f"where a list is wanted, {to_text(base.expr)} is read as {to_text(written)}",
            found=to_text(base.expr),
            expected=to_text(written),
        )
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
        check_stretch(self, dict(written), moments=True)
        return Typed(JsonRecord(tuple(written)), RecordType(fields=tuple(fields)))

    def _text_part(self, part: Expr) -> Expr:
        if isinstance(part, Const):
            return part
        typed = self.infer(part)
        if isinstance(typed.type, OptionalType):
            self.note(
                "W_COERCED",
                f"{to_text(typed.expr)} may be null and then leaves nothing in the text",
                found=show(typed.type),
                expected="string",
                suggestion=f"to have a word in its place, {{{{ {to_text(typed.expr)} | default('nothing') }}}}",
            )
        elif isinstance(typed.type, ListType | RecordType):
            self.note("W_COERCED", f"{to_text(typed.expr)} is written into the text as JSON", found=show(typed.type))
        return typed.expr

    def _choice(self, expr: Choice) -> Typed:
        whole = to_text(expr)
        taken = {True: to_text(expr.then), False: to_text(expr.otherwise)}
        instead = {holds: f"put {side} in place of {whole}" for holds, side in taken.items()}
        condition = whole_condition(self, expr.condition, instead)
        sides: list[Typed] = []
        for branch, holds in ((expr.then, True), (expr.otherwise, False)):
            facts = facts_of(condition, self.environment, holds=holds)
            with self._under(self.environment.assume(facts)):
                sides.append(self.infer(branch))
        then, otherwise = sides
        type_ = join(then.type, otherwise.type)
        if type_ is None:
            self.note(
                "E_TYPE",
                f"the two sides of 'if' / 'else' differ: {show(then.type)} and {show(otherwise.type)}",
                found=show(otherwise.type),
                expected=show(then.type),
            )
        return Typed(Choice(condition, then.expr, otherwise.expr), ANY if type_ is None else type_)
