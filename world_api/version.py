"""Which version of the project this is, installed or run from its source."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "video-world-api"


@cache
def project_version() -> str:
    """The installed version; ``1.2.3+source`` where the project is run from its source; else ``unknown``."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return version_of_source(Path(__file__).parents[1])


def version_of_source(folder: Path) -> str:
    """What the project's own ``pyproject.toml`` says, if it is there."""
    import tomllib

    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return f"{project['version']}+source" if project["name"] == DISTRIBUTION else "unknown"
    except (OSError, ValueError, KeyError, TypeError):
        return "unknown"
