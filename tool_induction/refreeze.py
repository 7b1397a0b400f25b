"""Freeze a packaged library again after the schemas of its operations have changed.

``python -m tool_induction.refreeze hand_A`` at the root of a checkout. The tools must compile without faults; the
manifest keeps their origin.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from tool_induction.compiler.compilation import compile_document
from tool_induction.library import FROZEN_KEYS, MANIFEST_FILE, TOOLS_FILE, Origin, freeze_library
from world_api.operations import group_names


def refreeze(folder: Path) -> None:
    """Freeze the library in a folder again, against the operations of this version."""
    tools = compile_document((folder / TOOLS_FILE).read_bytes(), allow_judge=True, groups=group_names()).require()
    manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    details = {key: value for key, value in manifest.items() if key not in FROZEN_KEYS}
    origin = Origin(how=manifest["origin"], date=manifest["date"], domain=manifest["domain"], details=details)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / folder.name
        freeze_library(tools, made, name=manifest["name"], origin=origin)
        for name in (TOOLS_FILE, MANIFEST_FILE):
            shutil.copyfile(made / name, folder / name)


if __name__ == "__main__":
    for library in sys.argv[1:]:
        refreeze(Path("toollibs") / library)
