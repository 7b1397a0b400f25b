"""The manifest of a frozen library: how it is written, sealed and read, and what a broken seal says.

Beside the hashes that decide (``content_hash`` of the tools, ``manifest_hash`` of the manifest) it keeps short hashes of
every part, so that a refusal can name what was changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tool_induction import limits
from tool_induction.compiler.source import decode, holds_secret
from tool_induction.language.diagnostics import Findings
from tool_induction.runtime.values import Unfit, check_json
from world_api.core.canonical import canonical_json, content_hash
from world_api.core.faults import ToolFault
from world_api.core.files import open_regular

#: 2: signatures of the operations, hashes of the parts of tools and of the manifest's keys
SCHEMA_VERSION = 2
TOOLS_FILE, MANIFEST_FILE = "library.json", "manifest.json"
_SHORT = 16  #: characters of a hash that only says which part it was
_REFREEZE = "a packaged one: python -m tool_induction.refreeze NAME; any other: freeze it again with this version"


def written(value: object) -> str:
    """A library's file as it is written, to the letter."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def tool_parts(frozen: Mapping[str, Any]) -> dict[str, Any]:
    """Short hashes of the parts of a frozen tool: each key, and each step."""
    parts: dict[str, Any] = {key: _short(value) for key, value in frozen.items() if key != "steps"}
    return parts | {"steps": [_short(step) for step in frozen["steps"]]}


def sealed(manifest: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with what a library knows of its origin, and with its own hashes.

    Raises:
        ToolFault: ``bad_origin``: details that would change what the manifest vouches for, or are no JSON;
            ``secret_in_library``.
    """
    own = {*manifest, "key_hashes", "manifest_hash"}
    taken = sorted(details.keys() & own)
    if taken:
        raise ToolFault(
            "bad_origin", f"the details of a library cannot be called {', '.join(taken)}", hint="rename them"
        )
    whole = {**manifest, **details}
    try:
        check_json(whole)
    except Unfit as why:
        raise ToolFault("bad_origin", f"the details of a library cannot be written down: {why}") from None
    if holds_secret(canonical_json(whole)):
        raise ToolFault("secret_in_library", "the details of a library hold what looks like a key", hint="leave it out")
    whole["key_hashes"] = {key: _short(value) for key, value in whole.items()}
    return whole | {"manifest_hash": content_hash(whole)}


def read_manifest(folder: Traversable) -> dict[str, Any]:
    """The manifest of a library folder, its seal unbroken.

    Raises:
        ToolFault: ``unreadable_library``, ``bad_library``, ``other_schema_version``, ``library_changed``.
    """
    manifest, text = read_json(folder, MANIFEST_FILE)
    if not isinstance(manifest, dict):
        raise ToolFault("bad_library", f"{folder.name}: {MANIFEST_FILE} is not a JSON object")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise ToolFault(
            "other_schema_version",
            f"{folder.name}: schema version {manifest.get('schema_version')!r}; this program reads {SCHEMA_VERSION}",
            hint=_REFREEZE,
        )
    kinds = {"name": str, "content_hash": str, "manifest_hash": str, "operations": dict, "tools": dict, "origin": str}
    lacking = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if lacking:
        raise ToolFault("bad_library", f"{folder.name}: {MANIFEST_FILE} lacks {', '.join(lacking)}")
    rest = {key: value for key, value in manifest.items() if key != "manifest_hash"}
    if content_hash(rest) != manifest["manifest_hash"]:
        raise changed(folder, MANIFEST_FILE, _changed_keys(manifest))
    check_writing(folder, MANIFEST_FILE, manifest, text)
    return manifest


def _changed_keys(manifest: Mapping[str, Any]) -> str:
    hashes = manifest.get("key_hashes")
    if not isinstance(hashes, Mapping):
        return "key_hashes"
    told = {key: value for key, value in manifest.items() if key not in ("key_hashes", "manifest_hash")}
    names = [f"{key} is new" for key in told if key not in hashes]
    names += [f"{key} is gone" for key in hashes if key not in told]
    names += [key for key, value in told.items() if key in hashes and hashes[key] != _short(value)]
    return ", ".join(names) or "one of the hashes themselves"


def check_tools(folder: Traversable, manifest: Mapping[str, Any], document: object, text: str) -> None:
    """The tools must be what was frozen, to the letter.

    Raises:
        ToolFault: ``library_changed``, naming the tools and their parts.
    """
    if content_hash(document) != manifest["content_hash"]:
        raise changed(folder, TOOLS_FILE, _changed_tools(manifest["tools"], document))
    check_writing(folder, TOOLS_FILE, document, text)


def _changed_tools(stored: Mapping[str, Any], document: object) -> str:
    tools = document.get("tools") if isinstance(document, Mapping) else None
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        return 'it is not {"tools": [...]}'
    found = {str(tool.get("tool_name")): tool for tool in tools}
    lines = [f"{name} is gone" for name in stored if name not in found]
    lines += [f"{name} is new" for name in found if name not in stored]
    for name, tool in found.items():
        if name in stored:
            parts = _changed_parts(stored[name], tool)
            lines += [f"{name}: {', '.join(parts)}"] if parts else []
    more = set(document) - {"tools"} if isinstance(document, Mapping) else set()
    lines += [f"{key} is new" for key in sorted(more)]
    return "; ".join(lines) or "the order of its tools"


def _changed_parts(stored: Any, tool: Mapping[str, Any]) -> list[str]:
    if not isinstance(stored, Mapping):
        return ["the whole tool"]
    steps = tool.get("steps")
    steps, hashes = steps if isinstance(steps, list) else [], stored.get("steps", [])
    parts = [key for key in stored if key != "steps" and (key not in tool or _short(tool[key]) != stored[key])]
    parts += [f"{key} is new" for key in tool if key not in stored]
    if len(steps) != len(hashes):
        return [*parts, f"steps ({len(steps)}, frozen {len(hashes)})"]
    return parts + [f"steps[{n}]" for n, step in enumerate(steps) if _short(step) != hashes[n]]


def check_writing(folder: Traversable, name: str, value: object, text: str) -> None:
    """The file must be written as it was frozen; only line ends may be those of another system.

    Raises:
        ToolFault: ``library_changed``, naming the line.
    """
    lines, frozen = text.replace("\r\n", "\n").split("\n"), written(value).split("\n")
    for number, (line, expected) in enumerate(zip(lines, frozen, strict=False), start=1):
        if line != expected:
            raise changed(folder, name, f"line {number} says the same in another way")
    if len(lines) != len(frozen):
        raise changed(folder, name, "it ends in another way")


def changed(folder: Traversable, name: str, what: str) -> ToolFault:
    """The fault of a file that is not what was frozen."""
    return ToolFault(
        "library_changed",
        f"{folder.name}: {name} is not what was frozen; changed: {what}",
        hint="a frozen library is immutable: restore it, or make a new one with `videoworld tools fork`",
    )


def read_json(folder: Traversable, name: str) -> tuple[Any, str]:
    """A file of a library and its text, as strictly read as any document: no key twice, finite numbers, valid text.

    Raises:
        ToolFault: ``unreadable_library``, ``bad_library``.
    """
    findings = Findings()
    content = read_bytes(folder / name)
    value = decode(content, findings)
    if findings.errors:
        raise ToolFault("bad_library", f"{folder.name}/{name}: {findings.items[0].message}")
    return value, content.decode("utf-8")


def read_bytes(source: Traversable) -> bytes:
    """A document's bytes; one that is far too large is not read whole.

    Raises:
        ToolFault: ``unreadable_library``.
    """
    try:
        with open_regular(source) if isinstance(source, Path) else source.open("rb") as stream:
            return stream.read(limits.MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise ToolFault("unreadable_library", f"{source.name} cannot be read: {error.strerror}") from None


def _short(value: Any) -> str:
    return content_hash(value)[:_SHORT]
