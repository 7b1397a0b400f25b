"""What a call gives, and what becomes of it in a loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tool_induction.checking.environment import Fact
from tool_induction.checking.expressions import Inference
from tool_induction.checking.typed import joined_field, list_field
from tool_induction.language import limits
from tool_induction.language.model import Loop
from tool_induction.language.syntax import Const, Expr
from tool_induction.language.types import (
    ANY,
    NULL,
    STRING,
    TIME,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    is_numeric,
    operation_types,
    optional,
    plain,
    with_field,
    world_types,
)

TIMES = ("start_time", "end_time", "center_time")
STATUSES = ("ok", "empty", "ambiguous", "partial", "budget_exhausted", "error")


def evidence_list() -> ListType:
    """The type of evidence lists."""
    return ListType(item=world_types()["Evidence"], bound=limits.DEFAULT_LIST_ITEMS, typical=limits.TYPICAL_LIST_ITEMS)


def operation_result(name: str, params: Mapping[str, Expr]) -> Type:
    """The record an operation gives; a constant ``top_k``, or what it declares, bounds its list. Items carry their evidence."""
    result = operation_types(name).result
    if not isinstance(result, RecordType):
        return result
    # SegmentInfo is itself called a Segment; a result record is never an item, so it loses the name.
    result = replace(result, name="")
    one = list_field(result)
    if one is None:
        return result
    key, rows = one
    asked = params.get("top_k")
    stated = isinstance(asked, Const) and isinstance(asked.value, int)
    declared = limits.DEFAULT_LIST_ITEMS if rows.bound is None else rows.bound
    bound = asked.value if isinstance(asked, Const) and isinstance(asked.value, int) else declared
    item = with_field(rows.item, "evidence", evidence_list()) if isinstance(rows.item, RecordType) else rows.item
    typical = bound if stated else min(bound, limits.TYPICAL_LIST_ITEMS)
    return with_field(result, key, ListType(item=item, bound=bound, typical=typical, stated=stated))


def tool_result(outputs: Mapping[str, Type]) -> RecordType:
    """The record a tool gives its caller: its outputs, and what the runtime adds."""
    record = RecordType(fields=tuple(outputs.items()))
    ends = [outputs[key] for key in TIMES[:2] if key in outputs and is_numeric(plain(outputs[key]))]
    if "center_time" not in outputs and len(ends) == 2:
        sure = not any(isinstance(end, OptionalType | AnyType) for end in ends)
        record = with_field(record, "center_time", TIME if sure else optional(TIME))
    for key, type_ in (("status", EnumType(STATUSES)), ("summary", STRING), ("evidence", evidence_list())):
        record = with_field(record, key, type_)
    return record


def loop_item(item: Type, result: Type) -> tuple[Type, str | None]:
    """The type of what a loop collects, and the list field that is flattened (None: results are kept whole)."""
    if isinstance(result, ListType):
        return inherit(result.item, item), ""
    one = joined_field(result)
    if one is not None:
        return inherit(one[1].item, item), one[0]
    return inherit(result, item), None


def inherit(inner: Type, item: Type) -> Type:
    """A loop's product keeps its own times; what it lacks comes from the item it was made from."""
    if isinstance(plain(inner), AnyType):
        return ANY
    made = plain(inner)
    if not isinstance(made, RecordType):
        return inner
    source = plain(item)
    sure = item == source
    start = made.get("start_time")
    for key in TIMES:
        have = source if is_numeric(source) else source.get(key) if isinstance(source, RecordType) else None
        # The times of an item are taken over together, and only where the product has no start of its own.
        if made.get(key) is None and have is not None and (start is None or start != plain(start)):
            made = with_field(made, key, have if sure and start is None else optional(have))
    if made.get("evidence") is None:
        made = with_field(made, "evidence", evidence_list())
    parent = STRING if isinstance(source, EnumType) else source
    made = with_field(made, "parent", parent if sure else optional(parent))
    return optional(made) if inner != plain(inner) else made


def flattened_size(rows: ListType, result: Type, bound: int, typical: int) -> tuple[int, int]:
    """How many items a loop collects: at most, and as a rule."""
    inner = result if isinstance(result, ListType) else (joined_field(result) or ("", None))[1]
    if inner is None:
        return bound, typical
    each = limits.DEFAULT_LIST_ITEMS if inner.bound is None else inner.bound
    usual = limits.TYPICAL_LIST_ITEMS if inner.typical is None else inner.typical
    return bound * each, typical * usual


def bounded(loop: Loop, rows: ListType, at: Inference) -> Loop:
    """The loop with its bounds; ``max_items`` is written out where only a default bounds the list."""
    if loop.max_items is None and rows.bound is None:
        if isinstance(rows.item, AnyType) and at.findings.errors:
            return replace(loop, bound=1, typical=1)  # the list's own fault has been reported
        with at.at("loop_over"):
            at.note(
                "E_UNBOUNDED",
                "nothing says how long this list can be",
                expected="max_items",
                suggestion=f'add "max_items": 20 to this step, or another number up to {limits.MAX_LOOP_ITEMS}',
            )
        return replace(loop, bound=1, typical=1)
    most = limits.MAX_LOOP_ITEMS if rows.bound is None else min(rows.bound, limits.MAX_LOOP_ITEMS)
    if loop.max_items is None and not rows.stated:
        most = min(most, limits.DEFAULT_LOOP_ITEMS)
        loop = replace(loop, max_items=most)
        at.note(
            "W_IMPLICIT_BINDING",
            f"the list has no bound of its own; the loop takes its first {most} items",
            expected=f'"max_items": {most}',
        )
    if loop.max_items is not None:
        most = min(most, loop.max_items)
    typical = limits.TYPICAL_LIST_ITEMS if rows.typical is None else rows.typical
    return replace(loop, bound=most, typical=min(typical, most), least=1 if rows.filled and loop.until is None else 0)


def known_item(item: Type, facts: frozenset[Fact], path: str = "item") -> Type:
    """What a filter's condition tells about every item it keeps: which fields are there, which lists are not empty."""
    if ("absent", path) in facts:
        return NULL
    if ("present", path) in facts:
        item = plain(item)
    if ("filled", path) in facts and isinstance(item, ListType):
        return replace(item, filled=True)
    if isinstance(item, RecordType) and any(text.startswith(f"{path}.") for _, text in facts):
        for key, type_ in item.fields:
            item = with_field(item, key, known_item(type_, facts, f"{path}.{key}"))
    return item
