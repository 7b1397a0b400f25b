"""Naming arms on a command line: ``flat``, ``hier@hand_A``, ``hier@library=hand_A``, ``flat@world=oracle,budget=small``."""

from __future__ import annotations

from collections.abc import Sequence

from eval.tables.rows import SampleRow
from tool_induction.language.diagnostics import did_you_mean
from world_api.core.faults import EvalFault

#: What samples can be chosen by, beside the name of the arm.
FILTERS = (
    "library", "library_domain", "library_arm", "dataset", "world", "budget", "seed", "model", "domain", "kind",
    "content", "template", "system", "video", "item",
)  # fmt: skip


def chosen(rows: Sequence[SampleRow], wanted: str) -> list[SampleRow]:
    """The samples of an arm, or of a system that one arm has, with filters after ``@``.

    Raises:
        EvalFault: ``unknown_arm``, with the nearest; ``bad_filter``; ``several_arms``, where a system is named that has several.
    """
    whole = [row for row in rows if row.arm == wanted]
    name, at, filters = wanted.partition("@")
    found = whole or _of_arm(rows, name)
    if at and not whole:
        found = filtered(found, [part if "=" in part else f"library={part}" for part in filters.split(",")])
    arms = sorted({row.arm for row in found})
    if len(arms) > 1:
        raise EvalFault(
            "several_arms", f"{wanted[:80]!r} is {len(arms)} arms: {', '.join(arms[:8])}", hint="name one of them"
        )
    return found


def filtered(rows: Sequence[SampleRow], filters: Sequence[str]) -> list[SampleRow]:
    """The samples that all of the filters (``key=value``) leave.

    Raises:
        EvalFault: ``bad_filter``; ``nothing_chosen``, with the values that there are.
    """
    found = list(rows)
    for pair in filters:
        key, equals, value = pair.partition("=")
        if not equals or key not in FILTERS:
            near = did_you_mean(key, FILTERS)
            raise EvalFault("bad_filter", f"{pair[:60]!r} chooses nothing", hint=near or "keys: " + ", ".join(FILTERS))
        known = {text_of(row, key) for row in found}
        found = [row for row in found if text_of(row, key) == value]
        if not found:
            told = ", ".join(sorted(known)[:12])
            raise EvalFault("nothing_chosen", f"no sample has {key} {value[:60]!r}", hint=f"there is: {told}")
    return found


def text_of(row: SampleRow, key: str) -> str:
    """What a sample has under a filter's key, as text; ``none`` where it has nothing."""
    value = getattr(row, key)
    return "none" if value is None else str(value)


def _of_arm(rows: Sequence[SampleRow], name: str) -> list[SampleRow]:
    found = [row for row in rows if row.arm_name == name] or [row for row in rows if row.system == name]
    if not found:
        arms = sorted({row.arm for row in rows})
        near = did_you_mean(name, [*arms, *{row.arm_name for row in rows}])
        hint = near or ("arms: " + ", ".join(arms[:20]) if arms else "the run has no scored sample yet")
        raise EvalFault("unknown_arm", f"the run has no arm {name[:80]!r}", hint=hint)
    return found
