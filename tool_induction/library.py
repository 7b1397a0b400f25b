"""Tool libraries: loaded from a file, a folder or by name, verified; frozen into a folder, once.

A library folder holds ``library.json`` (the frozen tools) and ``manifest.json`` (hashes and where it came from).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tool_induction.compiler.compiling import CompiledTool, compile_document
from tool_induction.compiler.decode import decode
from tool_induction.documents.credentials import holds_secret
from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings, closest
from tool_induction.language.model import Call, walk_steps
from tool_induction.runtime.values import Unfit, check_json
from world_api.core.canonical import canonical, content_hash
from world_api.core.faults import ToolFault
from world_api.core.identifiers import is_name
from world_api.operations import OPERATIONS

SCHEMA_VERSION = 1
TOOLS_FILE, MANIFEST_FILE = "library.json", "manifest.json"


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

    how: str  #: "hand-written" or "induced"
    date: str  #: ISO 8601
    domain: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)  #: model, prompt hash, examples, split, yields, cost


def load_library(named: str | Path, *, wanted: str | None = None) -> ToolLibrary:
    """Load a library by folder, by file, or by the name of a packaged one.

    Of a file that is still being written, one sound tool may be ``wanted``; faults of others are then no matter.

    Raises:
        ToolFault: ``no_such_library``, ``bad_tools``, ``bad_library``, ``other_schema_version``, ``library_changed``,
            ``other_operations``.
    """
    source = find_library(named)
    if source.is_dir():
        return _load_folder(source)
    compilation = compile_document(read_bytes(source))
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
    near = closest(str(named), packaged)
    raise ToolFault(
        "no_such_library",
        f"there is no library or file {str(named)[:200]!r}",
        hint=f"did you mean {near!r}?" if near else "give a file, a folder, or one of: " + ", ".join(packaged),
    )


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except OSError:  # a name no file system takes
        return False


def packaged_libraries() -> list[str]:
    """The names of the libraries that are installed with the product."""
    return sorted(
        entry.name
        for entry in files("toollibs").iterdir()
        if entry.is_dir() and is_name(entry.name.lower()) and (entry / MANIFEST_FILE).is_file()
    )


def read_bytes(source: Traversable) -> bytes:
    """A document's bytes; one that is far too large is not read whole.

    Raises:
        ToolFault: ``unreadable_library``.
    """
    try:
        with source.open("rb") as stream:
            return stream.read(limits.MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise ToolFault("unreadable_library", f"{source.name} cannot be read: {error.strerror}") from None


def _load_folder(folder: Traversable) -> ToolLibrary:
    manifest = _manifest(folder)
    document = _json(folder, TOOLS_FILE)
    _check_operations(manifest)
    _check_hashes(folder, manifest, document)
    if not isinstance(document, dict) or document.keys() != {"tools"} or not isinstance(document["tools"], list):
        raise ToolFault("bad_library", f'{folder.name}: {TOOLS_FILE} is not {{"tools": [...]}}')
    tools = compile_document(document).require()
    for item, stored in zip(tools.values(), document["tools"], strict=True):
        if item.frozen != stored:
            raise ToolFault(
                "library_changed",
                f"{folder.name}: this version of the compiler reads {item.name!r} differently",
                hint="freeze it again under a new name",
            )
    used = operations_used(tools)
    if used != sorted(manifest["operations"]):
        raise ToolFault(
            "bad_library",
            f"{folder.name}: {MANIFEST_FILE} vouches for {', '.join(manifest['operations']) or 'no operations'}; "
            f"the tools call {', '.join(used) or 'none'}",
        )
    return ToolLibrary(name=manifest["name"], hash=manifest["content_hash"], tools=tools, manifest=manifest)


def _check_hashes(folder: Traversable, manifest: Mapping[str, Any], document: object) -> None:
    """Tools and manifest must be what was frozen, to the letter."""
    rest = {key: value for key, value in manifest.items() if key != "manifest_hash"}
    for name, value, stored in (
        (TOOLS_FILE, document, manifest["content_hash"]),
        (MANIFEST_FILE, rest, manifest["manifest_hash"]),
    ):
        found = content_hash(value)
        if found != stored:
            raise ToolFault(
                "library_changed",
                f"{folder.name}: {name} is not what was frozen ({found[:19]}, manifest {stored[:19]})",
                hint="a frozen library is immutable; check the file by itself, or freeze it under a new name",
            )


def _manifest(folder: Traversable) -> dict[str, Any]:
    manifest = _json(folder, MANIFEST_FILE)
    if not isinstance(manifest, dict):
        raise ToolFault("bad_library", f"{folder.name}: {MANIFEST_FILE} is not a JSON object")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise ToolFault(
            "other_schema_version",
            f"{folder.name}: schema version {manifest.get('schema_version')!r}; this program reads {SCHEMA_VERSION}",
            hint="freeze the library again with this version",
        )
    wanted = {"name": str, "content_hash": str, "manifest_hash": str, "operations": dict}
    missing = [key for key, kind in wanted.items() if not isinstance(manifest.get(key), kind)]
    if missing:
        raise ToolFault("bad_library", f"{folder.name}: {MANIFEST_FILE} lacks {', '.join(missing)}")
    return manifest


def _json(folder: Traversable, name: str) -> Any:
    """A file of a library, as strictly read as any document: no key twice, every number finite, text valid."""
    findings = Findings()
    value = decode(read_bytes(folder / name), findings)
    if findings.errors:
        raise ToolFault("bad_library", f"{folder.name}/{name}: {findings.items[0].message}")
    return value


def _check_operations(manifest: Mapping[str, Any]) -> None:
    """The operations the tools call must be those they were frozen against."""
    stored: Mapping[str, str] = manifest["operations"]
    gone = [name for name in stored if name not in OPERATIONS]
    changed = [name for name in stored if name in OPERATIONS and operation_hash(name) != stored[name]]
    if gone or changed:
        differences = [f"{name} is gone" for name in gone] + [f"{name} has another schema" for name in changed]
        raise ToolFault(
            "other_operations",
            f"{manifest['name']} was frozen against other operations: " + ", ".join(differences),
            hint="check its library.json against the operations of this version and freeze it again",
        )


def operations_used(tools: Mapping[str, CompiledTool]) -> list[str]:
    """The operations that some tools call, sorted."""
    steps = (step for item in tools.values() for step in walk_steps(item.tool.steps))
    return sorted({step.target for step in steps if isinstance(step, Call) and step.kind == "api"})


@lru_cache(maxsize=64)
def operation_hash(name: str) -> str:
    """The hash of what a tool relies on: an operation's parameters, result and state, not its wording."""
    operation = OPERATIONS[name]
    schemas = [operation.parameters_schema(), operation.result_schema()]
    return content_hash([*(_without_words(schema) for schema in schemas), operation.state])


def _without_words(schema: Any, *, names: bool = False) -> Any:
    """A schema without titles and descriptions; under ``properties`` keys are names and all stay."""
    if isinstance(schema, dict):
        return {
            key: _without_words(value, names=key in ("properties", "$defs"))
            for key, value in schema.items()
            if names or key not in ("title", "description")
        }
    return [_without_words(item) for item in schema] if isinstance(schema, list) else schema


def _tools_hash(tools: Mapping[str, CompiledTool]) -> str:
    return content_hash(_document(tools))


def _document(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    return {"tools": [item.frozen for item in tools.values()]}


def freeze_library(tools: Mapping[str, CompiledTool], folder: Path, *, name: str, origin: Origin) -> ToolLibrary:
    """Write compiled tools as a library folder, the manifest last.

    Raises:
        ToolFault: ``bad_library_name``; ``bad_origin``; ``secret_in_library``; ``library_exists``: a frozen library is
            never overwritten.
    """
    if not is_name(name.lower()):
        raise ToolFault("bad_library_name", f"{name[:64]!r} cannot name a library", hint="use letters, digits, . _ -")
    if folder.exists():
        raise ToolFault("library_exists", f"{folder} is there already", hint="frozen libraries are immutable")
    document = _document(tools)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "content_hash": content_hash(document),
        "operations": {operation: operation_hash(operation) for operation in operations_used(tools)},
        "origin": origin.how,
        "date": origin.date,
        "domain": origin.domain,
    }
    manifest = _sealed(manifest, origin.details)
    folder.mkdir(parents=True)
    _write(folder / TOOLS_FILE, document)
    _write(folder / MANIFEST_FILE, manifest)
    return ToolLibrary(name=name, hash=content_hash(document), tools=tools, manifest=manifest)


def _sealed(manifest: dict[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with what an induction knows about itself, and with its own hash."""
    taken = sorted(details.keys() & {*manifest, "manifest_hash"})
    if taken:
        raise ToolFault(
            "bad_origin", f"the details of a library cannot be called {', '.join(taken)}", hint="rename them"
        )
    whole = manifest | dict(details)
    try:
        check_json(whole)
    except Unfit as why:
        raise ToolFault("bad_origin", f"the details of a library cannot be written down: {why}") from None
    if holds_secret(canonical(whole)):
        raise ToolFault("secret_in_library", "the details of a library hold what looks like a key", hint="leave it out")
    return whole | {"manifest_hash": content_hash(whole)}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
