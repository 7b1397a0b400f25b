"""Which operations a step of the ladder takes from the truth: one, several joined by ``+``, or a category of them."""

from __future__ import annotations

from world_api.core.faults import EvalFault
from world_api.operations import OPERATIONS, Operation

EVERYTHING = "all"
JOINT = "+"
#: What is remembered is the caller's own, and no world's: there is no truth of it.
_OF_THE_CALLER = "memory"


def operations_on(step: str) -> tuple[str, ...]:
    """The operations that a step names, in their published order: ``detect_objects``, ``perception``, ``entities+meta``, ``all``.

    Raises:
        EvalFault: ``unknown_rung``.
    """
    offered = {name: item for name, item in OPERATIONS.items() if item.category != _OF_THE_CALLER}
    wanted: set[str] = set()
    for part in step.split(JOINT):
        named = {name for name, item in offered.items() if _is_named(part, name, item)}
        if not named:
            categories = list(dict.fromkeys(item.category for item in offered.values()))
            raise EvalFault(
                "unknown_rung",
                f"no operation is answered from the truth as {part[:60]!r}",
                hint=f"one of: {EVERYTHING}, {', '.join(categories)}, {', '.join(offered)}; several joined by {JOINT}",
            )
        wanted |= named
    return tuple(name for name in offered if name in wanted)


def _is_named(part: str, name: str, operation: Operation) -> bool:
    return part in (name, operation.category, EVERYTHING)
