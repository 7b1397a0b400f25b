"""The sixteen atomic operations and the optional groups: each is one typed function, declared with ``@operation``.

``OPERATIONS`` holds the sixteen in their published order; ``operations_for`` adds the groups that an experiment
switches on by name; ``run`` calls an operation on a session. New operations import their argument and result types from
here.
"""

from collections import ChainMap
from collections.abc import Mapping

from world_api.operations import entities, inspection, memory, navigation, perception  # they register operations
from world_api.operations.registry import (
    Operation,
    check_groups,
    group_names,
    operation,
    operations_for,
    operations_of,
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
OPERATIONS = operations_for(())
#: name -> declaration of every operation, the sixteen first, whether or not a session offers it; a view.
EVERY_OPERATION: Mapping[str, Operation] = ChainMap(OPERATIONS, operations_for(group_names()))

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
