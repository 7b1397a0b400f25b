"""Findings about endpoints, kept in a cache folder.

A finding is named by the endpoint's address, the model and our version; neither its name nor its text ever holds a key.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from world_api.backends.chat.endpoint import Endpoint
from world_api.backends.chat.probing.capabilities import Capabilities
from world_api.core.canonical import content_hash, parse_json
from world_api.core.faults import StoreFault
from world_api.version import project_version
from world_api.world.files import write_atomically

SCHEMA_VERSION = 2
CACHE_VARIABLE = "VIDEOWORLD_CACHE"
_FOLDER = "video-world-api"


def cache_folder(environment: Mapping[str, str], *, home: Path | str) -> Path:
    """Where findings are kept: ``VIDEOWORLD_CACHE``, else the platform's folder for caches."""
    named = environment.get(CACHE_VARIABLE, "").strip()
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path(home) / "Library" / "Caches" / _FOLDER
    usual = environment.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "").strip()
    return (Path(usual) if usual and Path(usual).is_absolute() else Path(home) / ".cache") / _FOLDER


def read_finding(folder: Path | str, endpoint: Endpoint, model: str) -> Capabilities | None:
    """What was found out earlier by this version; None where nothing was, or what is there cannot be read."""
    try:
        record = parse_json(_path(Path(folder), endpoint, model).read_bytes().decode())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("of") != _names(endpoint, model):
        return None
    return Capabilities.of(record.get("found"))


def keep_finding(folder: Path | str, endpoint: Endpoint, model: str, found: Capabilities) -> None:
    """Keep what was found out. A folder that cannot be written to costs asking again, and nothing else."""
    path = _path(Path(folder), endpoint, model)
    record = {"of": _names(endpoint, model), "found": found.record()}
    try:
        write_atomically(path, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())
    except (OSError, StoreFault):
        return


def _path(folder: Path, endpoint: Endpoint, model: str) -> Path:
    return folder / "endpoints" / f"{content_hash(_names(endpoint, model))[:32]}.json"


def _names(endpoint: Endpoint, model: str) -> dict[str, str | int]:
    """What a finding is about."""
    return {
        "schema_version": SCHEMA_VERSION,
        "endpoint": endpoint.address,
        "model": model,
        "version": project_version(),
    }
