"""The sixteen atomic operations and the optional groups: each is one typed function, declared with ``@operation``.

``OPERATIONS`` holds the sixteen in their published order; ``operations_for`` adds the groups that an experiment
switches on by name; ``run`` calls an operation on a session. New operations import their argument and result types from
here.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping

from world_api.operations import entities, inspection, memory, navigation, perception  # they register operations
from world_api.operations.registry import (
    ALWAYS,
    CATEGORIES,
    Operation,
    check_groups,
    declared,
    group_names,
    operation,
    run,
)
from world_api.operations.schema import (
    MAX_MATCHES,
    MAX_QUERY_CHARACTERS,
    Confidence,
    Interval,
    Result,
    Time,
    TimeRange,
)

#: name -> declaration of the sixteen, in the published order: by category, then as declared.
OPERATIONS: dict[str, Operation] = {
    item.name: item
    for item in sorted(declared(), key=lambda item: CATEGORIES.index(item.category))
    if item.group == ALWAYS
}
_OPTIONAL: dict[str, Operation] = {item.name: item for item in declared() if item.group != ALWAYS}
#: name -> declaration of every operation, the sixteen first, whether or not a session offers it.
EVERY_OPERATION: Mapping[str, Operation] = ChainMap(_OPTIONAL, OPERATIONS)


def operations_for(groups: Iterable[str]) -> Mapping[str, Operation]:
    """Return the operations that a session with these optional groups offers, by name.

    The sixteen come first, then those of the groups, in the order of their declaration.

    Raises OperationFault: ``unknown_group``.
    """
    wanted = check_groups(groups)
    return {**OPERATIONS, **{name: item for name, item in _OPTIONAL.items() if item.group in wanted}}


def operations_of(group: str) -> Mapping[str, Operation]:
    """Return the operations of one optional group by name, in the order of their declaration.

    Raises OperationFault: ``unknown_group``.
    """
    check_groups([group])
    return {name: item for name, item in _OPTIONAL.items() if item.group == group}


__all__ = [
    "EVERY_OPERATION",
    "MAX_MATCHES",
    "MAX_QUERY_CHARACTERS",
    "OPERATIONS",
    "Confidence",
    "Interval",
    "Operation",
    "Result",
    "Time",
    "TimeRange",
    "check_groups",
    "group_names",
    "operation",
    "operations_for",
    "operations_of",
    "run",
]
