"""What lies beside an induced library: its log, report and recording, and the unpruned library.

Running a library needs none of it, so that loading does not look at it; whoever checks or reviews one does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tool_induction.libraries.manifest import changed
from tool_induction.library import load_library
from world_api.core.faults import ToolFault

UNPRUNED, LOG = "unpruned", "log.jsonl"
#: what an induced library's manifest says of files that lie beside it, and not beside what is made of it
_BESIDE = frozenset({"log_sha256", "files", "unpruned_hash"})


def carried_induction(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a library that is made of another one says of its induction: what that saw, without the files that lie beside it.

    ``{"induction": {...}}``, or nothing where no model was asked for it or for one that it came from.
    """
    lineage = manifest.get("lineage")
    for known in (manifest, *reversed(lineage if isinstance(lineage, list) else [])):
        found = _induction(known) if isinstance(known, Mapping) else {}
        if found:
            return {"induction": {key: value for key, value in found.items() if key not in _BESIDE}}
    return {}


def file_hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of those of some files that are there.

    Raises:
        OSError: one cannot be read.
    """
    return {name: _sha256(folder / name) for name in names if (folder / name).is_file()}


def check_beside(
    folder: Traversable, manifest: Mapping[str, Any], *, allow_judge: bool = False, groups: Collection[str] = ()
) -> list[str]:
    """Compare what lies beside a library with what its manifest says; the names of what is not there any more.

    Raises:
        ToolFault: ``library_changed``, naming the file; ``unreadable_library``; what loading the unpruned library raises.
    """
    missing = []
    for name, stored in _vouched(manifest).items():
        if not (folder / name).is_file():
            missing.append(name)
        elif _read(folder, name) != stored:
            raise changed(folder, name, "its SHA-256")
    unpruned = _induction(manifest).get("unpruned_hash")
    if unpruned is not None:
        if not (folder / UNPRUNED).is_dir():
            missing.append(UNPRUNED)
        elif load_library(Path(str(folder / UNPRUNED)), allow_judge=allow_judge, groups=groups).hash != unpruned:
            raise changed(folder, UNPRUNED, "its content hash")
    return missing


def _vouched(manifest: Mapping[str, Any]) -> dict[str, str]:
    induction = _induction(manifest)
    if induction.get("arm") == UNPRUNED:
        return {}  # its files lie with the pruned one, which vouches for them
    log = {LOG: induction["log_sha256"]} if "log_sha256" in induction else {}
    files = induction.get("files")
    return log | (dict(files) if isinstance(files, Mapping) else {})


def _induction(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    found = manifest.get("induction")
    return found if isinstance(found, Mapping) else {}


def _read(folder: Traversable, name: str) -> str:
    try:
        return _sha256(folder / name)
    except OSError as error:
        raise ToolFault("unreadable_library", f"{name} cannot be read: {error.strerror}") from None


def _sha256(file: Traversable) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()
