"""Three-valued results: what is not sure of a value, and how that follows from what it was computed from.

An item with a list ``lacks`` that is not empty is possible, any other is sure. A run computes with both. A ``Doubt``
beside a name says what is not sure of its value; a name without one has a sure value, apart from its possible items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from tool_induction.aggregates import AggregateSpec
from tool_induction.aggregates.functions import number_at
from tool_induction.language import expressions as ex
from tool_induction.language.evaluation import Json, as_text, evaluate
from tool_induction.runtime.trace import Calls, Origins

#: takes the place of words if spans were not examined
NOT_EXAMINED = "(not examined)"
#: fields that say what was not judged
_UNJUDGED = frozenset("unused_words unmatched not_judged not_examined lacks".split())


class Extent(IntEnum):
    """What of a value is in doubt. Each includes those before it, except the first."""

    BEST = -1  #: what is computed from the best hits of a search: that none of them fits is no "no"
    ITEMS = 0  #: some items of a list, which say so themselves
    MISSING = 1  #: other items may belong to the list
    VALUE = 2  #: the value may be another


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What is not sure of a value.

    ``words``: words that possible items lack, or that were not judged. ``least`` and ``most``: the bounds of a number,
    if known. ``possible``: how many items, or how much of a number, are only possible. ``is_field``: whether it is
    about a field of a candidate. ``fields``: for the record of a called tool, the doubt of each output. ``alternative``: of a
    value that was chosen among sure items, the one that would have been chosen among all; None if there is no other.
    """

    words: tuple[str, ...] = (NOT_EXAMINED,)
    extent: Extent = Extent.VALUE
    least: float | None = None
    most: float | None = None
    possible: float | None = None
    is_field: bool = False
    fields: Mapping[str, Doubt | None] | None = None
    alternative: Json = None

    def record(self, judged: Callable[[str], bool]) -> dict[str, Json]:
        """Return the doubt as a result has it; ``judged``: whether a word could be judged at all."""
        words: list[Json] = [word for word in self.words if word != NOT_EXAMINED]
        is_judged = all(judged(word) for word in self.words if word != NOT_EXAMINED)
        why = "not_judged" if not is_judged else "lacks" if words else "not_examined"
        found: dict[str, Json] = {"range": self.range, "possible": self.possible}
        found = {key: value for key, value in found.items() if value not in (None, "")}
        found |= {} if self.alternative is None else {"alternative": self.alternative}
        return found | ({"lacks": words} if words else {}) | {"why": why}

    @property
    def range(self) -> str:
        """The bounds of a number as text: ``1 to 6``, ``1 to 6 or more``, ``1 or more``; empty if they are not known."""
        if self.least is None:
            return ""
        is_open = self.most is None or math.isinf(self.most)
        most = self.least + (self.possible or 0) if is_open or self.most is None else self.most
        upper = f" to {_number(most)}" if most > self.least else ""
        return f"{_number(self.least)}{upper}{' or more' if is_open else ''}"

    def field(self, key: str) -> Doubt | None:
        """Return what is in doubt about one field of the record; all that is if it is no output."""
        return (self.fields or {}).get(key, replace(self, fields=None))


@dataclass(slots=True, eq=False)
class Scope:
    """Names, their values, and what is in doubt about these.

    ``members``: names of present items, whose own ``lacks`` are inherited by what is made from them. ``origins``: the
    calls that each value came from, None unless the run is traced.
    """

    values: dict[str, Json]
    origins: Origins | None = None
    doubts: dict[str, Doubt] = field(default_factory=dict)
    members: frozenset[str] = frozenset()

    def inside(self, name: str, value: Json, calls: Calls = frozenset()) -> Scope:
        """Return a copy of this scope with the present item as one more name, whose value came from ``calls``."""
        origins = None if self.origins is None else self.origins.inside(name, calls)
        doubts = {key: doubt for key, doubt in self.doubts.items() if key != name} if self.doubts else {}
        return Scope({**self.values, name: value}, origins, doubts, self.members | {name})

    def bind(self, name: str, value: Json, doubt: Doubt | None) -> None:
        """Give a name its value."""
        self.values[name] = value
        if doubt is not None and doubt.extent != Extent.ITEMS:
            self.doubts[name] = doubt
        elif self.doubts:
            self.doubts.pop(name, None)


def _number(value: float) -> str:
    """Return a number as text, whole ones in full, others with two decimals at most."""
    return str(int(value)) if float(value).is_integer() else f"{round(value, 2)}"


def lacked(item: Json) -> tuple[str, ...]:
    """Return the words that an item lacks; none if it is sure."""
    words = item.get("lacks") if isinstance(item, dict) else None
    return tuple(word for word in words if isinstance(word, str)) if isinstance(words, list) else ()


def with_lacks(item: Json, words: Iterable[str], *, unsure: bool = False) -> Json:
    """Return an item that lacks these words, too; ``unsure``: its fields may have other values, too."""
    words = tuple(words)
    if not words or not isinstance(item, dict):
        return item
    mark: dict[str, Json] = {"unsure": True} if unsure else {}
    return item | {"lacks": [*dict.fromkeys((*lacked(item), *words))]} | mark


def has_other_fields(item: Json) -> bool:
    """Whether the fields of a possible item may have other values."""
    return isinstance(item, dict) and bool(item.get("unsure")) and bool(lacked(item))


def joined(*doubts: Doubt | None) -> Doubt | None:
    """Return all that is in doubt together; None if nothing is. Bounds are kept only if there is one doubt."""
    found = [doubt for doubt in doubts if doubt is not None]
    found = [doubt for doubt in found if doubt.extent != Extent.BEST] or found[:1]
    if len(found) < 2:
        return found[0] if found else None
    words = tuple(dict.fromkeys(word for doubt in found for word in doubt.words))
    return Doubt(words=words, extent=max(doubt.extent for doubt in found))


def doubt_of_record(record: Json) -> Doubt | None:
    """Return what the answer of an operation says was not judged or not examined."""
    found = [_of_words(record.get(key)) for key in ("not_judged", "not_examined")] if isinstance(record, dict) else []
    doubt = joined(*found)
    return doubt and replace(doubt, extent=Extent.MISSING)


def doubt_of_hits(record: dict[str, Json], hits: Json, top_k: Json) -> Doubt | None:
    """Return what is in doubt about the hits of a search, of which only the ``top_k`` best are given.

    Nothing is (None) if it says "not found", or gave fewer hits than were asked for.
    """
    is_whole = isinstance(hits, list) and isinstance(top_k, int) and len(hits) < top_k
    return None if is_whole or record.get("not_found") else Doubt(extent=Extent.BEST)


def _of_rows(doubt: Doubt | None, rows: Sequence[Json]) -> Doubt | None:
    """Return what is in doubt about a list for what is computed from it: one sure item among the best hits is enough."""
    if doubt is None or doubt.extent != Extent.BEST:
        return doubt
    return None if any(not lacked(row) for row in rows) else doubt


def firm(doubt: Doubt | None) -> Doubt | None:
    """Return a doubt unless it is only that other hits of a search might fit, which matters where there is nothing else."""
    return None if doubt is None or doubt.extent == Extent.BEST else doubt


def _of_words(value: Json) -> Doubt | None:
    words = value if isinstance(value, list) else []
    named = tuple(dict.fromkeys(word if isinstance(word, str) else NOT_EXAMINED for word in words))
    return Doubt(words=named) if named else None


def doubt_of(expr: ex.Expr, scope: Scope) -> Doubt | None:
    """Return what is in doubt about the value of an expression; None if it is sure (Kleene's three-valued logic)."""
    match expr:
        case ex.Name() | ex.Field() | ex.Index():
            value, doubt = read(expr, scope)
            if isinstance(value, list):
                return _joined_items(_of_rows(doubt, value), value)
            doubt = firm(doubt) if isinstance(value, dict) else doubt
            return joined(doubt, as_value(doubt_of_record(value)), _of_item(expr, value, scope))
        case ex.Filtered(value, "length"):
            return _length(value, scope)
        case ex.Compare() | ex.Arithmetic():
            return _of_numbers(expr, scope)
        case ex.Logic(op, left, right):
            first = doubt_of(left, scope)
            if evaluate(left, scope.values) is (op == "or"):
                return first  # the right side is not evaluated, and need not be possible to
            second = doubt_of(right, scope)
            is_decided = second is None and evaluate(right, scope.values) is (op == "or")
            return None if is_decided else joined(first, second)
        case ex.Choice(condition, then, otherwise):
            doubt, taken = doubt_of(condition, scope), then if evaluate(condition, scope.values) else otherwise
            found = doubt_of(taken, scope)
            return found if doubt is None else as_value(joined(doubt, found))
    return as_value(joined(*(doubt_of(part, scope) for part in ex.children(expr))))


def read(expr: ex.Expr, scope: Scope) -> tuple[Json, Doubt | None]:
    """Return the value of a path and what is in doubt about it, apart from its own items and ``lacks``."""
    match expr:
        case ex.Name(name):
            return scope.values.get(name), scope.doubts.get(name)
        case ex.Field(base, key):
            record, doubt = read(base, scope)
            if not isinstance(record, dict):
                return None, doubt
            if key in _UNJUDGED:  # leaving out what lacks a word does not show that it is absent
                return record.get(key), joined(doubt, _of_words(record.get(key)))
            if doubt is not None and doubt.fields is not None:
                return record.get(key), doubt.field(key)
            own = doubt_of_record(record)
            own = own if isinstance(record.get(key), list) else as_value(own)
            found = joined(doubt, own, _of_item(base, record, scope))
            return record.get(key), found and replace(found, is_field=bool(lacked(record)), alternative=None)
        case ex.Index(base, number):
            rows, doubt = read(base, scope)
            if not isinstance(rows, list):
                return None, doubt
            deciding = rows[: number + 1] if number >= 0 else rows[number:]
            found = _joined_items(_of_rows(doubt, rows), deciding)
            return evaluate(expr, scope.values), as_value(found)
    return evaluate(expr, scope.values), doubt_of(expr, scope)


def doubt_of_list(expr: ex.Expr, scope: Scope) -> Doubt | None:
    """Return what is in doubt about a list, or lists, apart from what their possible items say themselves."""
    if isinstance(expr, ex.JsonList | ex.ListExpression | ex.JsonRecord):
        return joined(*(doubt_of_list(part, scope) for part in ex.children(expr)))
    doubt = read(expr, scope)[1]
    return None if doubt is None or doubt.extent == Extent.ITEMS else doubt


def _of_item(expr: ex.Expr, item: Json, scope: Scope) -> Doubt | None:
    """Return the doubt of a possible item; None of a present one, whose words are inherited, unless its fields vary."""
    words = lacked(item)
    is_inherited = isinstance(expr, ex.Name) and expr.name in scope.members and not has_other_fields(item)
    return Doubt(words=words) if words and not is_inherited else None


def _joined_items(doubt: Doubt | None, rows: Sequence[Json]) -> Doubt | None:
    possible = [words for row in rows if (words := lacked(row))]
    if not possible:
        return doubt
    words = tuple(dict.fromkeys(word for one in possible for word in one))
    found = joined(doubt, Doubt(words=words, extent=Extent.ITEMS))
    return found and replace(found, possible=len(possible))


def as_value(doubt: Doubt | None) -> Doubt | None:
    """Return the doubt of a value computed from one that is in doubt."""
    return doubt if doubt is None or doubt.extent == Extent.BEST else Doubt(words=doubt.words)


def _length(value: ex.Expr, scope: Scope) -> Doubt | None:
    doubt, rows = doubt_of(value, scope), evaluate(value, scope.values)
    if doubt is None or doubt.extent == Extent.BEST or not isinstance(rows, list):
        return doubt
    possible = sum(bool(lacked(row)) for row in rows)
    found = Doubt(words=doubt.words, least=len(rows) - possible, most=len(rows), possible=possible)
    return {
        Extent.ITEMS: found,
        Extent.MISSING: replace(found, most=math.inf),
        Extent.VALUE: replace(found, least=0, most=math.inf, possible=len(rows)),
    }[doubt.extent]


def _bounds(expr: ex.Expr, doubt: Doubt | None, scope: Scope) -> tuple[float, float] | None:
    if doubt is not None:
        return None if doubt.least is None or doubt.most is None else (doubt.least, doubt.most)
    value = evaluate(expr, scope.values)
    return (value, value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _of_numbers(expr: ex.Compare | ex.Arithmetic, scope: Scope) -> Doubt | None:
    """Return the doubt of a comparison, a sum or a difference, from the bounds of both sides.

    A comparison is sure if it has one result for all numbers within them.
    """
    left, right = doubt_of(expr.left, scope), doubt_of(expr.right, scope)
    found = joined(left, right)
    if found is None or found.extent == Extent.BEST:
        return found
    one, two = _bounds(expr.left, left, scope), _bounds(expr.right, right, scope)
    if one is None or two is None or expr.op in ("*", "/", "%"):
        return as_value(found)
    if expr.op in ("+", "-"):
        low, high = two if expr.op == "+" else (-two[1], -two[0])
        least = one[0] + low
        return Doubt(words=found.words, least=least if math.isfinite(least) else None, most=one[1] + high)
    if expr.op in (">", "<="):  # a > b is b < a, and a <= b is its negation
        one, two = two, one
    is_above = two[1] < one[0] if expr.op in ("==", "!=") else two[1] <= one[0]
    return None if one[1] < two[0] or is_above else as_value(found)


def of_iteration(
    rows: Sequence[Json], item: Json, doubt: Doubt | None, *, is_list: bool, judged: Json
) -> tuple[list[Json], Doubt | None]:
    """Return the entries of one iteration with what its item lacks, and what is in doubt about the list of them.

    ``doubt``: about the value of the iteration; ``is_list``: whether the entries are its items. Words that were ``judged``
    of an entry are not inherited.
    """
    words, is_unsure = lacked(item), has_other_fields(item)
    known = judged if isinstance(judged, list) and not is_unsure else []
    still = [word for word in words if word not in known]
    made = [
        with_lacks(row, still if isinstance(row, dict) and "lacks" in row else words, unsure=is_unsure) for row in rows
    ]
    if doubt is not None and doubt.extent == Extent.VALUE:
        made = [with_lacks(row, doubt.words, unsure=True) for row in made]
        bare = [row for row in made if not isinstance(row, dict)]  # these cannot say themselves what they lack
        if is_list or (bare and all(row is None for row in bare)):
            doubt = replace(doubt, extent=Extent.MISSING)  # a null, too, stands for an item that there may be
        elif not bare:
            doubt = None
    return made, joined(doubt, Doubt(words=words) if words and not all(isinstance(row, dict) for row in rows) else None)


def settled(decisive: Sequence[Json], doubt: Doubt | None) -> Doubt | None:
    """Return what is in doubt about ``any`` or ``all``, of which one of the decisive items would be enough.

    ``doubt``: about the list of these, apart from its possible items. One sure item decides; so does that there is none.
    """
    if any(not lacked(item) for item in decisive) and (doubt is None or doubt.extent < Extent.VALUE):
        return None
    return as_value(_joined_items(_of_rows(doubt, decisive), decisive))


def aggregated(
    spec: AggregateSpec, operands: Sequence[Json], params: Mapping[str, Json], lists: Doubt | None, given: Doubt | None
) -> tuple[Json, Doubt | None]:
    """Return the value of an aggregate and what is in doubt about it, by the rule ``spec.unsure``.

    Args:
        spec: The aggregate; its function gets all items, and once more the sure ones alone.
        operands: What the function takes.
        params: Its parameters.
        lists: What is in doubt about the lists, apart from their possible items.
        given: What is in doubt about the parameters.
    """
    if lists is not None and lists.extent == Extent.BEST:
        made, doubt = aggregated(spec, operands, params, None, given)
        is_list = spec.unsure in ("kept", "remade")
        return made, joined(doubt, lists if is_list else _of_rows(lists, [*_items(operands)]))
    made = spec.run(*operands, **params)
    possible = [item for item in _items(operands) if lacked(item)]
    words = tuple(dict.fromkeys(word for item in possible for word in lacked(item)))
    own = Doubt(words=words, extent=Extent.ITEMS) if words else None
    missing = joined(lists, given, own if any(map(has_other_fields, possible)) else None)
    doubt = joined(missing, own)
    if doubt is None:
        return made, None
    none_is_sure = given is not None or (lists is not None and lists.extent == Extent.VALUE)
    sure = [] if none_is_sure else [_sure(one) for one in operands]
    least = spec.run(*sure, **params) if sure else None
    match spec.unsure:
        case "counted":
            key = as_text(params.get("key")) or None
            is_signed = spec.name == "sum" and any((number_at(row, key) or 0) < 0 for row in _items(operands))
            return made, _counted(made, None if is_signed else least or 0, doubt, is_open=missing is not None)
        case "agreed":
            if missing is None and least == made:
                return made, None
            found = as_value(doubt)
            if found is not None and least not in (None, made):  # what is sure leads
                made, found = least, replace(found, alternative=made)
            return with_lacks(made, doubt.words, unsure=True), found
        case "kept" | "remade":
            if spec.name == "difference_by":
                # What is only possible of b may remove an item, and so may what is missing of it.
                made = spec.run(operands[0], _sure(operands[1]), **params)
                least = spec.run(_sure(operands[0]), operands[1], **params) if missing is None else []
            is_kept = spec.unsure == "kept"
            marked = _marked(
                made, least if is_kept or missing is None else [], doubt.words, unsure=none_is_sure or not is_kept
            )
            is_complete = missing is None and (is_kept or marked == least)
            if spec.name == "dedupe_by" and missing is None:
                # Nothing is missing if a sure item stands for each one that is left out.
                kept, known = [row for row in marked if not lacked(row)], {repr(row) for row in _items([made])}
                others = [item for item in _items(operands) if repr(item) not in known]
                is_complete = spec.run([*kept, *others], **params) == kept
            extent = Extent.VALUE if none_is_sure else Extent.MISSING
            return marked, None if is_complete else Doubt(words=doubt.words, extent=extent)
    return made, as_value(doubt)


def _items(value: Iterable[Json]) -> Iterable[Json]:
    """Yield the items of lists of items, or of lists of such lists."""
    for one in value:
        yield from _items(one) if isinstance(one, list) else (one,)


def _sure(rows: Json) -> Json:
    return [_sure(row) for row in rows if not lacked(row)] if isinstance(rows, list) else rows


def _counted(made: Json, least: Json, doubt: Doubt, *, is_open: bool) -> Doubt | None:
    """Return the doubt of a number that possible items can only raise; without ``least`` they can lower it, too."""
    if not isinstance(made, int | float) or not isinstance(least, int | float):
        return as_value(doubt)
    if made == least and not is_open:
        return None
    most = math.inf if is_open else made
    return Doubt(words=doubt.words, least=least, most=most, possible=round(made - least, 3) or None)


def _marked(made: Json, surely: Json, words: Sequence[str], *, unsure: bool) -> list[Json]:
    """Return rows made of all items, marked as possible unless the sure ones give them, too.

    ``unsure``: their fields may have other values.
    """
    known = {repr(row) for row in surely} if isinstance(surely, list) else set()
    rows = made if isinstance(made, list) else []
    return [
        row if repr(row) in known else with_lacks(row, lacked(row) or words, unsure=unsure and not lacked(row))
        for row in rows
    ]
