"""Loading, verifying and freezing tool libraries, and the files that an induction leaves beside its library.

Loading a library does not look at those files; checking or reviewing one does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.language.diagnostics import closest
from tool_induction.language.model import Call, walk_steps
from tool_induction.library.manifest import (
    MANIFEST_FILE,
    SCHEMA_VERSION,
    TOOLS_FILE,
    changed,
    check_tools,
    differences,
    operation_differences,
    read_bytes,
    read_json,
    read_manifest,
    sealed,
    signature_of,
    tool_parts,
    written,
)
from world_api.core.canonical import content_hash
from world_api.core.faults import ToolFault
from world_api.core.identifiers import is_name
from world_api.operations import EVERY_OPERATION

_MOST_DIFFERENCES = 8


@dataclass(frozen=True, kw_only=True)
class ToolLibrary:
    """Compiled tools under a name and a content hash. ``manifest`` is empty for a plain file."""

    name: str
    hash: str
    tools: Mapping[str, CompiledTool]
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The origin of a library, written to its manifest."""

    how: str  #: "hand-written", "induced", "brought" (written elsewhere; ", mended by M") or "edited"
    date: str  #: ISO 8601
    domain: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)  #: model, prompt hash, examples, split, yields, cost


def load_library(
    named: str | Path, *, wanted: str | None = None, allow_judge: bool = False, groups: Collection[str] = ()
) -> ToolLibrary:
    """Load a library and verify it against its manifest.

    Args:
        named: A folder, a file, or the name of a packaged library.
        wanted: Load a file although other tools than this one have faults.
        allow_judge: Accept tools with judge steps.
        groups: Optional groups of operations that the tools may call.

    Raises:
        ToolFault: ``no_such_library``, ``bad_tools``, ``bad_library``, ``other_schema_version``, ``library_changed``,
            ``other_operations``, ``operations_off``.
    """
    source = find_library(named)
    if source.is_dir():
        return _load_folder(source, allow_judge=allow_judge, groups=groups)
    compilation = compile_document(read_bytes(source), allow_judge=allow_judge, groups=groups)
    tools = compilation.tools if wanted in compilation.tools else compilation.require()
    return ToolLibrary(name=Path(source.name).stem, hash=content_hash(_document(tools)), tools=tools)


def find_library(named: str | Path) -> Traversable:
    """Return the file or folder of a library given by path or by the name of a packaged one.

    Raises:
        ToolFault: ``no_such_library``.
    """
    path = Path(named)
    try:
        if str(named).strip() and path.exists():
            return path
    except OSError:  # a name that no file system accepts
        pass
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


def packaged_libraries() -> list[str]:
    """Return the names of the libraries that are installed with the product."""
    return sorted(
        entry.name
        for entry in files("toollibs").iterdir()
        if entry.is_dir() and is_name(entry.name.lower()) and (entry / MANIFEST_FILE).is_file()
    )


def _load_folder(folder: Traversable, *, allow_judge: bool, groups: Collection[str]) -> ToolLibrary:
    manifest = read_manifest(folder)
    _check_operations(manifest)
    check_groups_on(manifest["name"], groups_needed(manifest["operations"]), groups)
    document, text = read_json(folder, TOOLS_FILE)
    check_tools(folder, manifest, document, text)
    if not isinstance(document, dict) or document.keys() != {"tools"} or not isinstance(document["tools"], list):
        raise ToolFault("bad_library", f'{folder.name}: {TOOLS_FILE} is not {{"tools": [...]}}')
    tools = compile_document(document, allow_judge=allow_judge, groups=groups).require()
    _check_reading(folder, tools, document["tools"])
    _check_vouched(folder, tools, manifest)
    return ToolLibrary(name=manifest["name"], hash=manifest["content_hash"], tools=tools, manifest=manifest)


def _check_reading(folder: Traversable, tools: Mapping[str, CompiledTool], stored: list[Any]) -> None:
    """Refuse tools that this version of the compiler reads differently from the one that froze them."""
    for item, was in zip(tools.values(), stored, strict=True):
        found = differences(was, item.frozen, most=_MOST_DIFFERENCES)
        if found:
            raise ToolFault(
                "library_changed",
                f"{folder.name}: this version of the compiler reads {item.name!r} differently: " + "; ".join(found),
                hint="freeze it again under a new name",
            )


def _check_vouched(folder: Traversable, tools: Mapping[str, CompiledTool], manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that does not list exactly these tools, their operations and their groups."""
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
    """Refuse a library whose operations have changed since it was frozen."""
    found = operation_differences(manifest["operations"])
    if found:
        more = f"; and {len(found) - _MOST_DIFFERENCES} differences more" if len(found) > _MOST_DIFFERENCES else ""
        raise ToolFault(
            "other_operations",
            f"{manifest['name']} was frozen against other operations: " + "; ".join(found[:_MOST_DIFFERENCES]) + more,
            hint="check its library.json against the operations of this version and freeze it again",
        )


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
    for file, value in ((TOOLS_FILE, document), (MANIFEST_FILE, manifest)):
        (folder / file).write_bytes(written(value).encode("utf-8"))
    return ToolLibrary(name=name, hash=content_hash(document), tools=tools, manifest=manifest)


def operations_used(tools: Mapping[str, CompiledTool]) -> list[str]:
    """Return the operations that the tools call, sorted."""
    steps = (step for item in tools.values() for step in walk_steps(item.tool.steps))
    return sorted({step.target for step in steps if isinstance(step, Call) and step.kind == "api"})


def groups_needed(operations: Collection[str]) -> list[str]:
    """Return the optional groups that the operations belong to, sorted; unknown operations are ignored."""
    found = {EVERY_OPERATION[name].group for name in operations if name in EVERY_OPERATION}
    return sorted(found - {""})


def check_groups_on(name: str, needed: Collection[str], groups: Collection[str]) -> None:
    """Refuse tools that call operations of groups that are not switched on.

    Raises:
        ToolFault: ``operations_off``.
    """
    off = sorted(set(needed) - set(groups))
    if off:
        raise ToolFault(
            "operations_off",
            f"{name} calls operations of the optional group {', '.join(map(repr, off))}, which is off",
            hint="switch it on for all systems that are compared: " + " ".join(f"--with {group}" for group in off),
        )


UNPRUNED, LOG = "unpruned", "log.jsonl"
#: Manifest keys about files beside an induced library; a library made from it does not have them.
_BESIDE = frozenset({"log_sha256", "files", "unpruned_hash"})


def carried_induction(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a library made from another one keeps of its induction: what it saw, without the files beside it.

    The result is ``{"induction": {...}}``, or empty if neither the library nor one of its lineage was induced.
    """
    lineage = manifest.get("lineage")
    for known in (manifest, *reversed(lineage if isinstance(lineage, list) else [])):
        found = _induction(known) if isinstance(known, Mapping) else {}
        if found:
            return {"induction": {key: value for key, value in found.items() if key not in _BESIDE}}
    return {}


def file_hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each of the files that exists.

    Raises:
        OSError: one cannot be read.
    """
    return {name: _sha256(folder / name) for name in names if (folder / name).is_file()}


def check_companions(
    folder: Traversable, manifest: Mapping[str, Any], *, allow_judge: bool = False, groups: Collection[str] = ()
) -> list[str]:
    """Compare the files beside a library with its manifest; return the names of those that are missing.

    Raises:
        ToolFault: ``library_changed``, naming the file; ``unreadable_library``; what loading the unpruned library raises.
    """
    missing = []
    for name, stored in _vouched(manifest).items():
        if not (folder / name).is_file():
            missing.append(name)
        elif _hash_or_fault(folder, name) != stored:
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
        return {}  # its files are beside the pruned library, whose manifest lists them
    log = {LOG: induction["log_sha256"]} if "log_sha256" in induction else {}
    files = induction.get("files")
    return log | (dict(files) if isinstance(files, Mapping) else {})


def _induction(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    found = manifest.get("induction")
    return found if isinstance(found, Mapping) else {}


def _hash_or_fault(folder: Traversable, name: str) -> str:
    try:
        return _sha256(folder / name)
    except OSError as error:
        raise ToolFault("unreadable_library", f"{name} cannot be read: {error.strerror}") from None


def _sha256(file: Traversable) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
