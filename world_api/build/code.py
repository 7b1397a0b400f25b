"""The code that makes rows, as part of what they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from world_api.core.canonical import content_hash


def hash_code(modules: Iterable[str]) -> str:
    """SHA-256 over the source of modules by name; a package stands for all its modules.

    Raises:
        ModuleNotFoundError: for a name that is no module.
    """
    return content_hash({name: _hash_module(name) for name in sorted(set(modules))})


@cache
def _hash_module(name: str) -> str:
    return content_hash({path.name: sha256(_source(path)).hexdigest() for path in _files(name)})


def _files(name: str) -> Iterator[Path]:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"there is no module {name}", name=name)
    origin = Path(spec.origin)
    yield from sorted(origin.parent.glob("*.py")) if spec.submodule_search_locations is not None else [origin]


def _source(path: Path) -> bytes:
    """The text with the same line ends on every machine."""
    return path.read_bytes().replace(b"\r\n", b"\n")
