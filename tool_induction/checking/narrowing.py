"""What a condition tells about values: that one is not null, that a list is not empty.

Facts are kept as texts of paths (``first_hit``, ``hits.candidates``). Names are bound once, so a fact stays true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tool_induction.language import limits
from tool_induction.language.syntax import (
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    Index,
    IsNone,
    Logic,
    Name,
    Not,
    names,
    to_text,
)
from tool_induction.language.types import ANY, ListType, OptionalType, Type, is_smaller

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: a list without its nulls, which is what an aggregate sees of it; nothing a document can write
KEPT = "kept"
Fact: TypeAlias = tuple[Literal["present", "filled"], str]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The types of the names in scope and what is known about their values.

    ``meanings`` holds the condition a saved boolean stands for, or the length a saved count stands for; ``tells``
    what is known once a saved boolean holds, and once it does not: worked out when it is saved, since one that is
    made of others would be unfolded again at each use. ``follows`` holds the facts that follow from a fact (the
    earliest item of a list that is not empty is there).
    """

    types: Mapping[str, Type]
    facts: frozenset[Fact] = frozenset()
    meanings: Mapping[str, Expr] = field(default_factory=dict)
    tells: Mapping[str, tuple[frozenset[Fact], frozenset[Fact]]] = field(default_factory=dict)
    follows: Mapping[Fact, frozenset[Fact]] = field(default_factory=dict)
    #: texts that were joined of the texts of a list, and are empty where that is
    joined: frozenset[str] = frozenset()
    #: computed numbers that may be below zero
    signed: frozenset[str] = frozenset()

    def is_filled(self, path: Expr) -> bool:
        """Whether it is known that a list or a joined text is not empty."""
        return ("filled", to_text(path)) in self.facts

    def bind(self, name: str, type_: Type, *, meaning: Expr | None = None) -> Environment:
        """With one more name."""
        meanings, tells = self.meanings, self.tells
        if meaning is not None:
            meanings = {**meanings, name: meaning}
            tells = {**tells, name: (facts_of(meaning, self), facts_of(meaning, self, holds=False))}
        # A record of two copies of the last record, and so on: what nobody could read is not told either.
        type_ = ANY if not is_smaller(type_, limits.MAX_TYPE_PARTS) else type_
        return replace(self, types={**self.types, name: type_}, meanings=meanings, tells=tells)

    def shadow(self, name: str, type_: Type) -> Environment:
        """With a loop variable; whatever was known about, or through, another value of that name is forgotten."""
        facts = _without(self.facts, name)
        meanings = {key: value for key, value in self.meanings.items() if key != name and name not in names(value)}
        tells = {
            key: (_without(both[0], name), _without(both[1], name)) for key, both in self.tells.items() if key != name
        }
        follows = {fact: _without(thens, name) for fact, thens in self.follows.items() if not _mentions(fact, name)}
        return replace(
            self.bind(name, type_),
            facts=facts,
            meanings=meanings,
            tells=tells,
            follows=follows,
            joined=self.joined - {name},
            signed=self.signed - {name},
        )

    def imply(self, fact: Fact, then: Fact) -> Environment:
        """With one more thing that follows from a fact."""
        return replace(self, follows={**self.follows, fact: self.follows.get(fact, frozenset()) | {then}})

    def assume(self, facts: Iterable[Fact]) -> Environment:
        """With more facts, and all that follows from them."""
        known = set(self.facts)
        queue = list(facts)
        while queue:
            fact = queue.pop()
            if fact not in known:
                known.add(fact)
                queue.extend(self.follows.get(fact, ()))
        return replace(self, facts=frozenset(known))

    def narrowed(self, path: Expr, type_: Type) -> Type:
        """A type with what is known about the value at that path."""
        if not is_path(path):
            return type_
        text = to_text(path)
        filled = ("filled", text) in self.facts
        if isinstance(type_, OptionalType) and ("present", text) in self.facts:
            type_ = type_.item
        return replace(type_, filled=True) if filled and isinstance(type_, ListType) else type_

    def type_of(self, name: str) -> Type:
        """The type of a name; unknown names have been reported and fit everywhere."""
        return self.types.get(name, ANY)


def _mentions(fact: Fact, name: str) -> bool:
    return name in _WORD.findall(fact[1])


def _without(facts: frozenset[Fact], name: str) -> frozenset[Fact]:
    return frozenset(fact for fact in facts if not _mentions(fact, name))


def is_path(expr: Expr) -> bool:
    """Whether an expression only names a value: facts are told of such."""
    while isinstance(expr, Field | Index):
        expr = expr.base
    return isinstance(expr, Name)


def facts_of(condition: Expr, environment: Environment, *, holds: bool = True) -> frozenset[Fact]:
    """What is known once the condition holds (or does not hold)."""
    match condition:
        case Name(name) if name in environment.tells:
            return environment.tells[name][0 if holds else 1]
        case Not(value):
            return facts_of(value, environment, holds=not holds)
        case Logic(op, left, right):
            both = [facts_of(part, environment, holds=holds) for part in (left, right)]
            # "a and b" that holds tells both; "a or b" that fails tells both negations; otherwise only what both say.
            return both[0] | both[1] if (op == "and") == holds else both[0] & both[1]
        case IsNone(value, negated):
            return _present(value) if negated == holds else frozenset()
        case Compare():
            return _compared(condition, environment, holds=holds)
    return frozenset()


def _present(value: Expr) -> frozenset[Fact]:
    """The value is there, and so is everything it is a part of."""
    facts: set[Fact] = set()
    while is_path(value):
        facts.add(("present", to_text(value)))
        if not isinstance(value, Field | Index):
            break
        if isinstance(value, Index):
            facts.add(("filled", to_text(value.base)))
        value = value.base
    return frozenset(facts)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _compared(condition: Compare, environment: Environment, *, holds: bool) -> frozenset[Fact]:
    left, op, right = condition.left, str(condition.op), condition.right
    if op not in _OPPOSITE:
        return frozenset()
    if isinstance(left, Const):
        left, op, right = right, _MIRRORED[op], left
    op = op if holds else _OPPOSITE[op]
    if not isinstance(right, Const):
        return frozenset()
    if isinstance(left, Name) and left.name in environment.meanings:
        left = environment.meanings[left.name]
    if isinstance(left, Filtered) and left.name == "length" and isinstance(right.value, int | float):
        if _excludes_zero(op, right.value):
            return _present(left.value) | {("filled", to_text(left.value))}
        return frozenset()
    if op == "!=" and right.value == "":
        return frozenset([("filled", to_text(left))])  # null is not "" either
    if op == "==" and right.value is not None:
        return _present(left)
    return frozenset()


def _excludes_zero(op: str, number: float) -> bool:
    """Whether ``length op number`` cannot hold for a length of zero."""
    return {
        ">": number >= 0,
        ">=": number > 0,
        "==": number != 0,
        "!=": number == 0,
    }.get(op, False)
