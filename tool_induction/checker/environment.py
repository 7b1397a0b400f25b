"""The names in scope: their types, and the facts that are known about their values.

A fact (a value is null or not, a list is empty or not, or has an item at an index) refers to its value by the text of a
path, such as ``first_hit`` or ``hits.candidates``. Names are bound once, so a fact remains true.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from tool_induction import limits
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.evaluation import COMPUTED, Json, evaluate
from world_api.core.faults import ToolFault

#: the longest minimum length that is tracked; items further back need a check of their own
PLACES = 20
HasItem: TypeAlias = tuple[Literal["has_item"], str]


def least_length(op: str, number: float) -> int:
    """Return the smallest length for which ``length op number`` can hold; 0 for an unknown operator."""
    match op:
        case ">":
            return max(0, math.floor(number) + 1)
        case ">=" | "==":
            return max(0, math.ceil(number))
        case "!=":
            return 1 if number == 0 else 0
    return 0


def _place(rows: str, place: int) -> HasItem:
    return ("has_item", f"{rows}[{place}]")


def shifted(left: ex.Expr, number: float) -> tuple[ex.Expr, float]:
    """Move added constants to the other side of a comparison: ``x - 1 > 0`` becomes ``x > 1``. Return the new sides."""
    while isinstance(left, ex.Arithmetic) and left.op in ("+", "-"):
        added = left.right
        if not isinstance(added, ex.Const) or isinstance(added.value, bool) or not isinstance(added.value, int | float):
            break
        number += -added.value if left.op == "+" else added.value
        left = left.left
    return left, number


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: internal filter: a list without its nulls, as an aggregate reads it; documents cannot use it
KEPT = "kept"
#: internal filter: the different values of a list, as ``count_distinct`` counts them; documents cannot use it
DISTINCT = "distinct"
#: present, absent: a value is not null, or is; filled, empty: a list or text is not empty, or a list is; has_item: a
#: list has an item at that index; nonzero: a number is not 0; joined: a text was joined from a list, and is empty if
#: the list is; signed: a computed number may be negative
Fact: TypeAlias = tuple[Literal["present", "absent", "filled", "empty", "has_item", "nonzero", "joined", "signed"], str]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The types of the names in scope and what is known about their values."""

    types: Mapping[str, ty.Type]
    facts: frozenset[Fact] = frozenset()
    #: the condition that a saved boolean was computed from, or the length behind a saved count
    meanings: Mapping[str, ex.Expr] = field(default_factory=dict)
    #: the facts if a saved boolean is true, and if it is false; computed once, when it is saved
    tells: Mapping[str, tuple[frozenset[Fact], frozenset[Fact]]] = field(default_factory=dict)
    #: facts that follow from a fact: if a list is not empty, its earliest item is present
    follows: Mapping[Fact, frozenset[Fact]] = field(default_factory=dict)
    #: lists that were sorted or mapped from another list -> the list that is exactly as long
    as_long: Mapping[str, str] = field(default_factory=dict)
    #: variables -> the list whose items they are
    walked: Mapping[str, ex.Expr] = field(default_factory=dict)
    #: the names bound before the outermost loop; None outside of loops
    outside: frozenset[str] | None = None
    #: the values of names where a caller gives no optional input, if they do not depend on the video
    defaults: Mapping[str, Json] = field(default_factory=dict)
    #: names of lists, words and conditions that depend on optional inputs, and of what is computed from them
    varying: frozenset[str] = frozenset()
    #: whether a condition before this place is faulty or reads what a faulty step saves: what it rules out is unknown
    is_unsure: bool = False

    def by_default(self, expr: ex.Expr) -> Json:
        """Return the value of an expression if all optional inputs have their defaults; None if that is unknown, or null."""
        if not ex.names(expr) <= self.defaults.keys():
            return None
        try:
            return evaluate(expr, self.defaults)
        except ToolFault:
            return None

    def depends_on_defaults(self, names: Iterable[str]) -> bool:
        """Whether one of these names is in ``defaults`` or ``varying``: its value may depend on optional inputs."""
        return not (self.defaults.keys() | self.varying).isdisjoint(names)

    def vary(self, names: Iterable[str], given: Iterable[str]) -> Environment:
        """Return the environment after ``names`` were bound to what is computed from the names ``given``.

        They are added to ``varying`` if a name of ``given`` is in it. If a name of ``given`` is in ``defaults``, those
        of ``names`` that are no numbers are added: a list or word that a default picks decides more than a number.
        """
        given = set(given)
        varies = not self.varying.isdisjoint(given)
        picked = not self.defaults.keys().isdisjoint(given)
        found = {name for name in names if varies or (picked and not ty.is_numeric(ty.plain(self.type_of(name))))}
        return replace(self, varying=self.varying | found) if found else self

    def under(self, condition: ex.Expr, *, holds: bool, always: bool) -> Environment:
        """Return the environment of the steps that run if a condition holds (with ``holds`` false: if it does not).

        ``defaults`` is emptied where a run without optional inputs may never execute these steps. With ``always``
        (steps after a ``require``) it stays if the condition depends on no optional input and is unknown before the run.
        """
        usual = self.by_default(condition)
        comes = usual is holds or (always and usual is None and not self.depends_on_defaults(ex.names(condition)))
        known = self.assume(facts_of(condition, self, holds=holds))
        return known if comes else replace(known, defaults={})

    def is_filled(self, path: ex.Expr) -> bool:
        """Whether a list, or a text joined from one, is known not to be empty."""
        return ("filled", ex.to_text(path)) in self.facts

    def is_absent(self, path: ex.Expr) -> bool:
        """Whether a value is known to be null, or to be an item of an empty list (which is null)."""
        held = isinstance(path, ex.Index) and ("empty", ex.to_text(path.base)) in self.facts
        return held or ("absent", ex.to_text(path)) in self.facts

    def has_place(self, rows: ex.Expr, number: int) -> bool:
        """Whether a list is known to have an item at an index; negative indexes count from the end."""
        return _place(self._measured(rows), number if number >= 0 else -number - 1) in self.facts

    def least_length(self, rows: ex.Expr) -> int:
        """Return how many items a list is known to have at least."""
        text = self._measured(rows)
        known = next((place for place in range(PLACES) if _place(text, place) not in self.facts), PLACES)
        return max(known, int(self.is_filled(rows)))

    def length_facts(self, rows: ex.Expr, least: int) -> frozenset[Fact]:
        """Return the facts that the list ``rows`` has an item at each index below ``least``, for the first few indices."""
        text = self._measured(rows)
        return frozenset(_place(text, place) for place in range(min(least, PLACES)))

    def measure(self, name: str, rows: ex.Expr) -> Environment:
        """Return the environment with the fact that the list ``name`` is exactly as long as ``rows``."""
        return replace(self, as_long={**self.as_long, name: self._measured(rows)})

    def _measured(self, rows: ex.Expr) -> str:
        text = ex.to_text(rows)
        return self.as_long.get(text, text)

    def bind(self, name: str, type_: ty.Type, *, meaning: ex.Expr | None = None) -> Environment:
        """Return the environment with one more name. ``meaning``: the expression that its value was computed from."""
        meanings, tells = self.meanings, self.tells
        if meaning is not None:
            meanings = {**meanings, name: meaning}
            tells = {**tells, name: (facts_of(meaning, self), facts_of(meaning, self, holds=False))}
        # A record of two copies of the last record, and so on, would double with every step.
        type_ = ty.ANY if not ty.is_smaller(type_, limits.MAX_TYPE_PARTS) else type_
        return replace(self, types={**self.types, name: type_}, meanings=meanings, tells=tells)

    def walk(self, name: str, type_: ty.Type, rows: ex.Expr, *, loop: bool = False) -> Environment:
        """Return the environment with a variable for the items of a list. ``loop``: a loop step binds it, not a filter or the like.

        Facts about another value of that name are dropped.
        """
        outside = frozenset(self.types) if loop and self.outside is None else self.outside
        may_be_empty = self.depends_on_defaults(ex.names(rows))  # where a caller gives no optional input
        return replace(
            self.bind(name, type_),
            facts=_without(self.facts, name),
            meanings={key: value for key, value in self.meanings.items() if name not in {key, *ex.names(value)}},
            tells={
                key: (_without(holds, name), _without(fails, name))
                for key, (holds, fails) in self.tells.items()
                if key != name
            },
            follows={fact: _without(then, name) for fact, then in self.follows.items() if not _mentions(fact, name)},
            as_long={key: rows for key, rows in self.as_long.items() if name not in _WORD.findall(f"{key} {rows}")},
            walked={**self.walked, name: rows},
            outside=None if outside is None else outside - {name},
            defaults={key: value for key, value in self.defaults.items() if key != name and not may_be_empty},
        )

    def imply(self, fact: Fact, then: Fact) -> Environment:
        """Return the environment with one more implication: if ``fact`` holds, so does ``then``."""
        return replace(self, follows={**self.follows, fact: self.follows.get(fact, frozenset()) | {then}})

    def assume(self, facts: Iterable[Fact]) -> Environment:
        """Return the environment with more facts and everything that follows from them."""
        known = set(self.facts)
        queue = list(facts)
        while queue:
            fact = queue.pop()
            if fact not in known:
                known.add(fact)
                queue.extend(self.follows.get(fact, ()))
        return replace(self, facts=frozenset(known))

    def narrowed(self, path: ex.Expr, type_: ty.Type) -> ty.Type:
        """Return the type of the value at a path, narrowed by facts: without null, or as a list that is not empty."""
        if not is_path(path):
            return type_
        text = ex.to_text(path)
        filled = ("filled", text) in self.facts
        if isinstance(type_, ty.OptionalType) and ("present", text) in self.facts:
            type_ = type_.item
        return replace(type_, filled=True) if filled and isinstance(type_, ty.ListType) else type_

    def type_of(self, name: str) -> ty.Type:
        """Return the type of a name; ``any`` for an unknown name, which has been reported."""
        return self.types.get(name, ty.ANY)


def _mentions(fact: Fact, name: str) -> bool:
    return name in _WORD.findall(fact[1])


def _without(facts: frozenset[Fact], name: str) -> frozenset[Fact]:
    return frozenset(fact for fact in facts if not _mentions(fact, name))


def is_path(expr: ex.Expr) -> bool:
    """Whether an expression is a name with any fields and indexes after it; facts are recorded for these only."""
    while isinstance(expr, ex.Field | ex.Index):
        expr = expr.base
    return isinstance(expr, ex.Name)


def facts_of(condition: ex.Expr, environment: Environment, *, holds: bool = True) -> frozenset[Fact]:
    """Return the facts that follow if a condition holds (or, with ``holds=False``, if it does not)."""
    match condition:
        case ex.Name(name) if name in environment.tells:
            return environment.tells[name][0 if holds else 1]
        case ex.Not(value):
            return facts_of(value, environment, holds=not holds)
        case ex.Logic(op, left, right):
            both = [facts_of(part, environment, holds=holds) for part in (left, right)]
            # "a and b" that holds implies both; "a or b" that fails implies both negations; otherwise only what both imply.
            return both[0] | both[1] if (op == "and") == holds else both[0] & both[1]
        case ex.IsNone(value, negated):
            if negated == holds:
                return _present(value, environment)
            return frozenset([("absent", ex.to_text(value))] if is_path(value) else ())
        case ex.Compare():
            return _compared(condition, environment, holds=holds)
    return frozenset()


def _present(value: ex.Expr, environment: Environment) -> frozenset[Fact]:
    """Return the facts that a value, and everything that it is a part of, is not null."""
    facts: set[Fact] = set()
    while is_path(value):
        facts.add(("present", ex.to_text(value)))
        if isinstance(value, ex.Index):
            facts.add(("filled", ex.to_text(value.base)))
            facts |= environment.length_facts(value.base, value.number + 1 if value.number >= 0 else -value.number)
        if not isinstance(value, ex.Field | ex.Index):
            break
        value = value.base
    return frozenset(facts)


MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _compared(condition: ex.Compare, environment: Environment, *, holds: bool) -> frozenset[Fact]:
    left, op, right = condition.left, str(condition.op), condition.right
    if op not in OPPOSITE:
        return frozenset()
    if isinstance(left, ex.Const):
        left, op, right = right, MIRRORED[op], left
    op = op if holds else OPPOSITE[op]
    if not isinstance(right, ex.Const):
        return frozenset()
    if isinstance(right.value, int | float) and not isinstance(right.value, bool):
        return _measured(left, op, right.value, environment)
    if op == "!=" and right.value == "":
        return frozenset([("filled", ex.to_text(left))])  # null is not "" either
    if op == "==" and right.value is not None:
        return _present(left, environment)
    return frozenset()


def _measured(left: ex.Expr, op: str, number: float, environment: Environment) -> frozenset[Fact]:
    """Return what follows from ``left op number``: a list's minimum length, that it is empty, that a value is not zero or null."""
    facts: set[Fact] = set()
    if not COMPUTED[op](0, number):
        facts.add(("nonzero", ex.to_text(left)))
    if op == "==":
        facts |= _present(left, environment)
    left, number = shifted(left, number)
    if isinstance(left, ex.Name) and left.name in environment.meanings:
        left = environment.meanings[left.name]
    if isinstance(left, ex.Filtered) and left.name == "length":
        least = least_length(op, number)
        if (op == "<" and 0 < number <= 1) or (op in ("<=", "==") and 0 <= number < 1):  # of the empty list alone
            facts.add(("empty", ex.to_text(left.value)))
        if least:
            facts |= _present(left.value, environment) | {("filled", ex.to_text(left.value))}
            facts |= environment.length_facts(left.value, least)
    return frozenset(facts)


class Typed(NamedTuple):
    """An expression with defaults and conversions made explicit, and its type."""

    expr: ex.Expr
    type: ty.Type


class TypedList(NamedTuple):
    """An expression whose value is a list, and its type."""

    expr: ex.Expr
    type: ty.ListType


def list_field(type_: ty.Type) -> tuple[str, ty.ListType] | None:
    """Return key and type of the only list (``BOOKKEEPING`` aside) of a record without a type name; None for other types."""
    if not isinstance(type_, ty.RecordType):
        return None
    found = [
        (key, inner)
        for key, value in type_.fields
        if key not in ty.BOOKKEEPING and isinstance(inner := ty.plain(value), ty.ListType) and inner.name == ""
    ]
    # A record with a name (a memory with its parts) is an item, not a list of its parts.
    return found[0] if len(found) == 1 and not type_.name else None


def is_list(type_: ty.Type) -> bool:
    """Whether a type is a list, or a record that is read as its one list."""
    return isinstance(type_, ty.ListType) or list_field(type_) is not None


#: what a loop makes of the results of its items, in words; ``joined_field`` is the rule itself
JOINING = (
    "In a loop, results that say nothing but one list are joined into one list; any other result stays a record, one for "
    "each item, even if it holds a list."
)


def joined_field(type_: ty.Type) -> tuple[str, ty.ListType] | None:
    """Return key and type of a list that is a record's only field (``BOOKKEEPING`` aside), so that a loop joins it; else None."""
    one = list_field(type_)
    if one is None or not isinstance(type_, ty.RecordType):
        return None
    return one if all(key in ty.BOOKKEEPING or key == one[0] for key in type_.keys) else None


def value_field(type_: ty.Type, wanted: ty.Type) -> tuple[str, ty.Type] | None:
    """Return key and type of a record's only field (``BOOKKEEPING`` aside) if it fits a scalar ``wanted``, or None."""
    if not isinstance(type_, ty.RecordType) or isinstance(wanted, ty.ListType | ty.RecordType | ty.AnyType):
        return None
    found = [(key, value) for key, value in type_.fields if key not in ty.BOOKKEEPING]
    if len(found) != 1 or isinstance(ty.plain(found[0][1]), ty.ListType | ty.RecordType):
        return None
    return found[0] if ty.fit(found[0][1], wanted).how in ("yes", "optional") else None
