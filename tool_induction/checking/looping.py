"""How often a loop runs: at least, as a rule, at most. Nothing runs unbounded."""

from __future__ import annotations

from dataclasses import replace

from tool_induction.checking.inference import Inference
from tool_induction.language import limits
from tool_induction.language.model import Loop
from tool_induction.language.types import AnyType, ListType


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
                suggestion='add "max_items": 20 to this step',
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
