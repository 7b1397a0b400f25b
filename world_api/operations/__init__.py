"""The sixteen atomic operations and the optional groups: each is one typed function, declared with ``@operation``.

``OPERATIONS`` holds the sixteen in their published order; ``operations_for`` adds the groups that an experiment
switches on by name; ``run`` calls an operation on a session. New operations import their argument and result types from
here.
"""

from collections import ChainMap
from collections.abc import Mapping

from world_api.operations import entities, inspection, memory, navigation  # they register operations
from world_api.operations.registry import (
    CATEGORIES as CATEGORIES,
    WITHOUT as WITHOUT,
    Operation as Operation,
    check_groups as check_groups,
    group_names as group_names,
    is_offered as is_offered,
    operation as operation,
    operations_for as operations_for,
    operations_of as operations_of,
    run as run,
)
from world_api.operations.schema import (
    MAX_QUERY_CHARACTERS as MAX_QUERY_CHARACTERS,
    MAY_BE_ABSENT as MAY_BE_ABSENT,
    Confidence as Confidence,
    Interval as Interval,
    Result as Result,
    Time as Time,
    TimeRange as TimeRange,
)

#: name -> declaration of the sixteen, in the published order: by category, then as declared.
OPERATIONS = operations_for(())
#: name -> declaration of every operation, the sixteen first, whether or not a session offers it; a view.
EVERY_OPERATION: Mapping[str, Operation] = ChainMap(OPERATIONS, operations_for(group_names()))
