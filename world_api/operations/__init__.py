"""The sixteen atomic operations: each declared once, as one typed function.

``OPERATIONS`` holds the declarations in their published order; ``run`` calls one of them on a session.
"""

from world_api.operations import entities, memory, meta, navigation, perception, retrieval
from world_api.operations.declaring.registry import CATEGORIES, Operation, declared, run

#: name -> declaration, in the published order: by category, then as declared.
OPERATIONS: dict[str, Operation] = {
    item.name: item for item in sorted(declared(), key=lambda item: CATEGORIES.index(item.category))
}

__all__ = ["OPERATIONS", "Operation", "entities", "memory", "meta", "navigation", "perception", "retrieval", "run"]
