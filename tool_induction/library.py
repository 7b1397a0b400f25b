"""Tool libraries: loaded from a file, a folder or by name, verified; frozen into a folder, once.

A library folder holds ``library.json`` (the frozen tools) and ``manifest.json`` (hashes and where it came from).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.groups import check_switched_on, groups_needed, operations_used
from tool_induction.language.diagnostics import closest
from tool_induction.libraries.differences import differences
from tool_induction.libraries.manifest import (
    MANIFEST_FILE,
    SCHEMA_VERSION,
    TOOLS_FILE,
    check_tools,
    read_bytes,
    read_json,
    read_manifest,
    sealed,
    tool_parts,
    written,
)
from tool_induction.libraries.signatures import operation_differences, operation_hash, signature_of
from world_api.core.canonical import content_hash
from world_api.core.faults import ToolFault
from world_api.core.identifiers import is_name

__all__ = [
    "MANIFEST_FILE",
    "SCHEMA_VERSION",
    "TOOLS_FILE",
    "Origin",
    "ToolLibrary",
    "find_library",
    "freeze_library",
    "load_library",
    "operation_hash",
    "operations_used",
    "packaged_libraries",
    "read_bytes",
]

_MOST_DIFFERENCES = 8


@dataclass(frozen=True, kw_only=True)
class ToolLibrary:
    """Tools that may run, under a name and a content hash. ``manifest`` is empty for a plain file."""

    name: str
    hash: str
    tools: Mapping[str, CompiledTool]
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a library came from; what an induction knows about itself."""

    how: str  #: "hand-written", "induced", "brought" (written elsewhere; ", mended by M") or "edited"
    date: str  #: ISO 8601
    domain: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)  #: model, prompt hash, examples, split, yields, cost


def load_library(
    named: str | Path, *, wanted: str | None = None, allow_judge: bool = False, groups: Collection[str] = ()
) -> ToolLibrary:
    """Load a library by folder, by file, or by the name of a packaged one.

    Of a file that is still being written, one sound tool may be ``wanted``; faults of others are then no matter.

    A library with judge steps loads only where they are allowed, and one that calls operations of an optional group only
    where that is among ``groups``.

    Raises:
        ToolFault: ``no_such_library``, ``bad_tools``, ``bad_library``, ``other_schema_version``, ``library_changed``,
            ``other_operations``, ``operations_off``.
    """
    source = find_library(named)
    if source.is_dir():
        return _load_folder(source, allow_judge=allow_judge, groups=groups)
    compilation = compile_document(read_bytes(source), allow_judge=allow_judge, groups=groups)
    tools = compilation.tools if wanted in compilation.tools else compilation.require()
    return ToolLibrary(name=Path(source.name).stem, hash=_tools_hash(tools), tools=tools)


def find_library(named: str | Path) -> Traversable:
    """The file or folder that a path, or the name of a packaged library, means.

    Raises:
        ToolFault: ``no_such_library``.
    """
    path = Path(named)
    if str(named).strip() and _is_there(path):
        return path
    packaged = packaged_libraries()
    if str(named) in packaged:
        return files("toollibs") / str(named)
    same = [name for name in packaged if name.lower() == str(named).lower()]
    near = same[0] if same else closest(str(named), packaged)
    raise ToolFault(
        "no_such_library",
        f"there is no library or file {str(named)[:200]!r}",
        hint=f"did you mean {near!r}?" if near else "give a file, a folder, or one of: " + ", ".join(packaged),
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name no file system takes
        return False


def packaged_libraries() -> list[str]:
    """The names of the libraries that are installed with the product."""
    return sorted(
        entry.name
        for entry in files("toollibs").iterdir()
        if entry.is_dir() and is_name(entry.name.lower()) and (entry / MANIFEST_FILE).is_file()
    )


def _load_folder(folder: Traversable, *, allow_judge: bool, groups: Collection[str]) -> ToolLibrary:
    manifest = read_manifest(folder)
    _check_operations(manifest)
    check_switched_on(manifest["name"], groups_needed(manifest["operations"]), groups)
    document, text = read_json(folder, TOOLS_FILE)
    check_tools(folder, manifest, document, text)
    if not isinstance(document, dict) or document.keys() != {"tools"} or not isinstance(document["tools"], list):
        raise ToolFault("bad_library", f'{folder.name}: {TOOLS_FILE} is not {{"tools": [...]}}')
    tools = compile_document(document, allow_judge=allow_judge, groups=groups).require()
    _check_reading(folder, tools, document["tools"])
    _check_vouched(folder, tools, manifest)
    return ToolLibrary(name=manifest["name"], hash=manifest["content_hash"], tools=tools, manifest=manifest)


def _check_reading(folder: Traversable, tools: Mapping[str, CompiledTool], stored: list[Any]) -> None:
    """This version of the compiler must read the tools as the one did that froze them."""
    for item, was in zip(tools.values(), stored, strict=True):
        found = differences(was, item.frozen, most=_MOST_DIFFERENCES)
        if found:
            raise ToolFault(
                "library_changed",
                f"{folder.name}: this version of the compiler reads {item.name!r} differently: "
                + "; ".join(one.line() for one in found),
                hint="freeze it again under a new name",
            )


def _check_vouched(folder: Traversable, tools: Mapping[str, CompiledTool], manifest: Mapping[str, Any]) -> None:
    """The manifest must vouch for these tools and for what they call, no more and no less."""
    for what, found, stored in (
        ("call", operations_used(tools), sorted(manifest["operations"])),
        ("need the groups", groups_needed(operations_used(tools)), manifest.get("groups", [])),
        ("are", list(tools), list(manifest["tools"])),
    ):
        if found != stored:
            raise ToolFault(
                "bad_library",
                f"{folder.name}: {MANIFEST_FILE} vouches for {', '.join(stored) or 'nothing'}; "
                f"the tools {what} {', '.join(found) or 'nothing'}",
            )


def _check_operations(manifest: Mapping[str, Any]) -> None:
    """The operations the tools call must be those they were frozen against."""
    found = operation_differences(manifest["operations"])
    if found:
        more = f"; and {len(found) - _MOST_DIFFERENCES} differences more" if len(found) > _MOST_DIFFERENCES else ""
        raise ToolFault(
            "other_operations",
            f"{manifest['name']} was frozen against other operations: " + "; ".join(found[:_MOST_DIFFERENCES]) + more,
            hint="check its library.json against the operations of this version and freeze it again",
        )


def _tools_hash(tools: Mapping[str, CompiledTool]) -> str:
    return content_hash(_document(tools))


def _document(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    return {"tools": [item.frozen for item in tools.values()]}


def freeze_library(tools: Mapping[str, CompiledTool], folder: Path | str, *, name: str, origin: Origin) -> ToolLibrary:
    """Write compiled tools as a library folder, the manifest last.

    Raises:
        ToolFault: ``bad_library_name``; ``bad_origin``; ``secret_in_library``; ``library_exists``: a frozen library is
            never overwritten.
    """
    folder = Path(folder)
    if folder.exists() or folder.is_symlink():
        raise ToolFault("library_exists", f"{folder} is there already", hint="frozen libraries are immutable")
    if not is_name(name.lower()):
        raise ToolFault("bad_library_name", f"{name[:64]!r} cannot name a library", hint="use letters, digits, . _ -")
    document = _document(tools)
    needed = groups_needed(operations_used(tools))
    manifest = sealed(
        {
            "schema_version": SCHEMA_VERSION,
            "name": name,
            "content_hash": content_hash(document),
            "origin": origin.how,
            "date": origin.date,
            "domain": origin.domain,
            "tools": {item.name: tool_parts(item.frozen) for item in tools.values()},
            "operations": {operation: signature_of(operation) for operation in operations_used(tools)},
            **({"groups": needed} if needed else {}),
        },
        origin.details,
    )
    folder.mkdir(parents=True)
    _write(folder / TOOLS_FILE, document)
    _write(folder / MANIFEST_FILE, manifest)
    return ToolLibrary(name=name, hash=content_hash(document), tools=tools, manifest=manifest)


def _write(path: Path, value: object) -> None:
    path.write_bytes(written(value).encode("utf-8"))
