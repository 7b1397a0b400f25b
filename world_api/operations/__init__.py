"""The sixteen atomic operations, and the optional groups beyond them: each declared once, as one typed function.

``OPERATIONS`` holds the sixteen in their published order; ``operations_for`` adds the groups that an experiment switches
on by name; ``run`` calls one of them on a session.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping

from world_api.operations import entities, inspecting, memory, meta, navigation, perception, retrieval
from world_api.operations.registry import ALWAYS, CATEGORIES, Operation, check_groups, declared, group_names, run

#: name -> declaration of the sixteen, in the published order: by category, then as declared.
OPERATIONS: dict[str, Operation] = {
    item.name: item
    for item in sorted(declared(), key=lambda item: CATEGORIES.index(item.category))
    if item.group == ALWAYS
}
_OPTIONAL: dict[str, Operation] = {item.name: item for item in declared() if item.group != ALWAYS}
#: name -> declaration of everything that there is, the sixteen first: for looking up what is known to be meant.
EVERY_OPERATION: Mapping[str, Operation] = ChainMap(_OPTIONAL, OPERATIONS)


def operations_for(groups: Iterable[str]) -> Mapping[str, Operation]:
    """What a session with these groups switched on offers: the sixteen, then the groups in their declared order.

    Raises:
        OperationFault: ``unknown_group``.
    """
    wanted = check_groups(groups)
    return {**OPERATIONS, **{name: item for name, item in _OPTIONAL.items() if item.group in wanted}}


def operations_of(group: str) -> Mapping[str, Operation]:
    """The operations of one optional group, in their declared order.

    Raises:
        OperationFault: ``unknown_group``.
    """
    check_groups([group])
    return {name: item for name, item in _OPTIONAL.items() if item.group == group}


__all__ = [
    "EVERY_OPERATION",
    "OPERATIONS",
    "Operation",
    "check_groups",
    "entities",
    "group_names",
    "inspecting",
    "memory",
    "meta",
    "navigation",
    "operations_for",
    "operations_of",
    "perception",
    "retrieval",
    "run",
]
