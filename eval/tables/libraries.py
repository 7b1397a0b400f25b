"""The tool libraries of a run: their tools and documents, what they were made of, what that cost."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from eval.runs.records import LibraryRecord
from tool_induction.libraries.manifest import MANIFEST_FILE, TOOLS_FILE, read_json
from tool_induction.library import find_library
from world_api.core.canonical import content_hash
from world_api.core.faults import VideoWorldError


@dataclass(frozen=True, kw_only=True)
class LibraryFacts:
    """A library as its manifest tells it.

    ``tools`` are the hashes of its tools' documents by name, in the library's order. ``of`` is the hash of the library that it is
    an arm of or was edited from, ``dropped`` what that edit left out; ``lineage`` are the hashes of all that it was edited from, the
    first one first. ``why`` says why nothing more is known.
    """

    name: str
    hash: str | None
    domain: str | None = None
    arm: str | None = None
    of: str | None = None
    lineage: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    induction: Mapping[str, Any] = field(default_factory=dict)
    origin: str | None = None
    why: str = ""

    @property
    def left_out(self) -> str | None:
        """The one tool that it lacks of its parent, where that is all the difference."""
        return self.dropped[0] if len(self.dropped) == 1 and not self.changed and self.of is not None else None


def library_facts(name: str, hash_: str | None, *, made_by_run: Path, told: LibraryRecord | None) -> LibraryFacts:
    """The facts of a library by name: from the run's own folder, else from where it is installed, if it is the same one.

    ``told`` is what the run's manifest says of it, which is all there is where the library itself is gone.
    """
    known = LibraryFacts(
        name=name,
        hash=hash_,
        domain=_text(told.domain) if told is not None else None,
        arm=told.arm if told is not None else None,
        why="the library is not there any more",
    )
    for source in _places(name, made_by_run):
        found = _read(source, name)
        if found is not None and (hash_ is None or found.hash == hash_):
            return found
    return known


def _places(name: str, made_by_run: Path) -> list[Traversable]:
    places: list[Traversable] = [made_by_run / Path(name).name]
    with contextlib.suppress(VideoWorldError):  # not installed: what the run's manifest says is all there is
        places.append(find_library(name))
    return [place for place in places if place.is_dir()]


def _read(folder: Traversable, name: str) -> LibraryFacts | None:
    try:
        manifest, _ = read_json(folder, MANIFEST_FILE)
        document, _ = read_json(folder, TOOLS_FILE)
    except VideoWorldError:
        return None
    if not isinstance(manifest, dict) or not isinstance(document, dict):
        return None
    tools = document.get("tools")
    documents = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    changes = _object(manifest.get("changes"))
    lineage = manifest.get("lineage")
    ancestors = lineage if isinstance(lineage, list) else []
    edited = manifest.get("origin") == "edited" and ancestors
    return LibraryFacts(
        name=name,
        hash=content_hash(document),
        domain=_text(manifest.get("domain")),
        arm=_text(manifest.get("arm")),
        of=_hash_of(ancestors[-1]) if edited else _hash_of(manifest.get("of")),
        lineage=tuple(found for item in ancestors if (found := _hash_of(item)) is not None),
        tools={str(tool.get("tool_name")): content_hash(tool) for tool in documents},
        dropped=_names(changes.get("dropped")),
        changed=_names(changes.get("changed")) + _names(changes.get("added")),
        induction=_object(manifest.get("induction")),
        origin=_text(manifest.get("origin")),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _hash_of(value: Any) -> str | None:
    """The content hash in what a manifest says of another library."""
    if isinstance(value, Mapping):
        return _text(value.get("content_hash")) or _text(value.get("hash"))
    return _text(value)
