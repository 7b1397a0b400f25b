"""The installation: the project's version, optional libraries, and the extensions that other packages add by entry points."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from world_api.core.faults import BackendFault, VideoWorldError

if TYPE_CHECKING:
    from importlib import metadata

    import pandas as pd

DISTRIBUTION, PROGRAM = "video-world-api", "videoworld"
UNKNOWN = "unknown"  #: the version, where none is known
CACHE_VARIABLE, MODELS_VARIABLE = "VIDEOWORLD_CACHE", "VIDEOWORLD_MODELS"

#: Makes the fault of an entry point that cannot be used; the text is the reason.
Refusal = Callable[["metadata.EntryPoint", str], VideoWorldError]


def installed(distribution: str) -> str | None:
    """Return the installed version of a distribution, which is not imported; None if it is not installed."""
    from importlib import metadata  # with what it imports, too slow for `--help`

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@cache
def project_version() -> str:
    """Return the installed version; ``1.2.3+source`` if the project runs from its source; else ``unknown``."""
    return installed(DISTRIBUTION) or version_of_source(Path(__file__).parents[1])


def version_of_source(folder: Path) -> str:
    """Return the version in the ``pyproject.toml`` of the project, with ``+source``; ``unknown`` if it is not there."""
    import tomllib

    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return f"{project['version']}+source" if project["name"] == DISTRIBUTION else UNKNOWN
    except (OSError, ValueError, KeyError, TypeError):
        return UNKNOWN


def install_command(extra: str = "") -> str:
    """Return the command that installs the project, with an extra: from the index, or from the checkout that is running."""
    source = Path(__file__).parents[1]
    if version_of_source(source) == UNKNOWN:
        what = f'"{DISTRIBUTION}[{extra}]"' if extra else DISTRIBUTION
    else:
        what = f'-e "{"." if Path.cwd() == source else source}{f"[{extra}]" if extra else ""}"'
    found, own = shutil.which("pip"), Path(sys.executable)
    pip = "pip" if found and Path(found).parent == own.parent else f"{shlex.quote(str(own))} -m pip"
    return f"{pip} install {what}"


def program_name() -> str:
    """Return the command as it can be typed here: ``videoworld``, or the path it was started by if it is not on the PATH."""
    started, found = Path(sys.argv[0]), shutil.which(PROGRAM)
    if started.name != PROGRAM or (found is not None and Path(found).resolve() == started.resolve()):
        return PROGRAM
    return shlex.quote(str(started))


def cache_folder(environment: Mapping[str, str], *, home: Path | str) -> Path:
    """Return the folder of probe results: ``VIDEOWORLD_CACHE``, else ``video-world-api`` in the platform's cache folder."""
    named = environment.get(CACHE_VARIABLE, "").strip()
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path(home) / "Library" / "Caches" / DISTRIBUTION
    usual = environment.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "").strip()
    return (Path(usual) if usual and Path(usual).is_absolute() else Path(home) / ".cache") / DISTRIBUTION


def models_folder(environment: Mapping[str, str], *, home: Path | str) -> Path:
    """Return the folder of model files: ``VIDEOWORLD_MODELS``, else ``models`` in the cache folder."""
    named = environment.get(MODELS_VARIABLE, "").strip()
    return Path(named).expanduser() if named else cache_folder(environment, home=home) / "models"


def added(group: str, *, own: Container[str]) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a group by name, except names in ``own``: the project's own cannot be overridden."""
    from importlib import metadata

    return {item.name: item for item in metadata.entry_points(group=group) if item.name not in own}


def load_added(point: metadata.EntryPoint, refusal: Refusal) -> Callable[..., Any]:
    """Import and return the callable object that an entry point names.

    Raises VideoWorldError: the fault that ``refusal`` makes, if the object cannot be imported or is not callable.
    """
    try:
        loaded: object = point.load()
    except Exception as error:  # another package may raise anything when it is imported
        raise refusal(point, f"{type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise refusal(point, "it is not callable")
    return loaded


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Turn a failed import inside the block into a fault that names the extra to install.

    Raises BackendFault: ``extra_missing``.
    """
    try:
        yield
    except ImportError as error:
        raise BackendFault(
            "extra_missing",
            f"this needs the extra `{extra}`, which is not installed ({error})",
            hint=install_command(extra),
        ) from None


def data_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a table. Raises BackendFault: ``extra_missing``, if pandas is not installed."""
    with from_extra("eval"):
        import pandas as pd

    return pd.DataFrame(list(rows))
