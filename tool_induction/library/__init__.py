"""Frozen tool libraries: loaded from a file, a folder or by name, verified against their manifest, frozen once.

A library folder holds ``library.json`` (the frozen tools) and ``manifest.json`` (hashes and origin). ``load_library`` refuses a
library whose files or whose operations differ from what was frozen; ``freeze_library`` writes one.
"""

from tool_induction.library.library import (
    Origin,
    ToolLibrary,
    carried_induction,
    check_companions,
    check_groups_on,
    file_hashes,
    find_library,
    freeze_library,
    groups_needed,
    load_library,
    operations_used,
    packaged_libraries,
)
from tool_induction.library.manifest import MANIFEST_FILE, SCHEMA_VERSION, TOOLS_FILE, operation_hash, read_bytes

__all__ = [
    "MANIFEST_FILE",
    "SCHEMA_VERSION",
    "TOOLS_FILE",
    "Origin",
    "ToolLibrary",
    "carried_induction",
    "check_companions",
    "check_groups_on",
    "file_hashes",
    "find_library",
    "freeze_library",
    "groups_needed",
    "load_library",
    "operation_hash",
    "operations_used",
    "packaged_libraries",
    "read_bytes",
]
