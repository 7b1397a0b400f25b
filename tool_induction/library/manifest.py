"""The manifest of a frozen library: written, sealed, read, and compared with the tools and operations it describes.

Beside the hashes that decide (``content_hash`` of the tools, ``manifest_hash`` of the manifest) it keeps short hashes of
every part, so that a refusal can name what was changed. Of each operation that a tool calls it keeps the signature: property
paths of parameters and result (``candidates[].start_time``) with what the schema says there, without titles and descriptions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import Any

from tool_induction import limits
from tool_induction.compiler.source import decode, holds_secret
from tool_induction.language.diagnostics import Findings, format_path
from tool_induction.language.diagnostics import Path as JsonPath
from tool_induction.runtime.values import Unfit, check_json
from world_api.core.canonical import canonical_json, content_hash
from world_api.core.faults import ToolFault
from world_api.core.files import open_regular
from world_api.operations import EVERY_OPERATION

#: 2: signatures of the operations, hashes of the parts of tools and of the manifest's keys
SCHEMA_VERSION = 2
TOOLS_FILE, MANIFEST_FILE = "library.json", "manifest.json"
_SHOWN = 60  #: characters of a value in a difference
_SHORT = 16  #: characters of a hash that only says which part it was
_REFREEZE = "a packaged one: python -m tool_induction.refreeze NAME; any other: freeze it again with this version"


def written(value: object) -> str:
    """Return the text of a library's file."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def tool_parts(frozen: Mapping[str, Any]) -> dict[str, Any]:
    """Return short hashes of the parts of a frozen tool: each key, and each step."""
    parts: dict[str, Any] = {key: _short(value) for key, value in frozen.items() if key != "steps"}
    return parts | {"steps": [_short(step) for step in frozen["steps"]]}


def sealed(manifest: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest with details of the origin and with its own hashes.

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
    """Read the manifest of a library folder and check its own hash.

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
    found = {key: value for key, value in manifest.items() if key not in ("key_hashes", "manifest_hash")}
    names = [f"{key} is new" for key in found if key not in hashes]
    names += [f"{key} is gone" for key in hashes if key not in found]
    names += [key for key, value in found.items() if key in hashes and hashes[key] != _short(value)]
    return ", ".join(names) or "one of the hashes themselves"


def check_tools(folder: Traversable, manifest: Mapping[str, Any], document: object, text: str) -> None:
    """Refuse tools that are not, character by character, what was frozen.

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
    """Refuse a file that is written differently from how it was frozen; line ends of another system are accepted.

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
    """Return the fault of a file that is not what was frozen."""
    return ToolFault(
        "library_changed",
        f"{folder.name}: {name} is not what was frozen; changed: {what}",
        hint="a frozen library is immutable: restore it, or make a new one with `videoworld tools fork`",
    )


def read_json(folder: Traversable, name: str) -> tuple[Any, str]:
    """Read a JSON file of a library strictly (no repeated keys, finite numbers, valid text); return value and text.

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
    """Return a document's bytes, at most one more than a document may have.

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


#: ``state``, and under ``parameters`` and ``result`` a text for each property path
Signature = dict[str, Any]
_WORDING = ("title", "description")
_STRUCTURE = ("properties", "items", "anyOf", "required", "$defs", "$ref", "type", *_WORDING)
#: The mark of a rank score restricts what tools do with the number, which the compiler checks; it is no part of a signature.
_RANK_SCORE = ("x-type", "Score")
_DEEPEST = 24


@lru_cache(maxsize=64)
def operation_hash(name: str) -> str:
    """Return the hash of an operation's signature."""
    return content_hash(signature_of(name))


def signature_of(name: str) -> Signature:
    """Return an operation's signature."""
    operation = EVERY_OPERATION[name]
    return {
        "state": operation.state,
        "parameters": _paths(operation.parameters_schema()),
        "result": _paths(operation.result_schema()),
    }


def _paths(schema: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a schema: property path -> description of the value."""
    found: dict[str, str] = {}
    for path, text in _walk_schema(schema, schema, "", required=True, depth=0):
        found[path] = f"{found[path]} or {text}" if path in found else text
    return found


def _walk_schema(
    node: Any, root: Mapping[str, Any], path: str, *, required: bool, depth: int
) -> Iterator[tuple[str, str]]:
    node = _resolved(node, root)
    yield path or "$", _text(node, required=required)
    if depth > _DEEPEST or not isinstance(node, Mapping):
        return
    needed = node.get("required", ())
    for key, child in node.get("properties", {}).items():
        yield from _walk_schema(child, root, f"{path}.{key}" if path else key, required=key in needed, depth=depth + 1)
    if "items" in node:
        yield from _walk_schema(node["items"], root, f"{path}[]", required=True, depth=depth + 1)
    for branch in node.get("anyOf", ()):
        yield from _walk_schema(branch, root, path, required=True, depth=depth + 1)


def _resolved(node: Any, root: Mapping[str, Any]) -> Any:
    for _ in range(_DEEPEST):
        if not isinstance(node, Mapping) or "$ref" not in node:
            break
        target = root.get("$defs", {}).get(str(node["$ref"]).rpartition("/")[2], {})
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def _text(node: Any, *, required: bool) -> str:
    if not isinstance(node, Mapping):
        return canonical_json(node)
    kind = node.get("type", "one of" if "anyOf" in node else "anything")
    words = [] if required else ["optional"]
    words.append(kind if isinstance(kind, str) else " or ".join(map(str, kind)))
    rest = {key: value for key, value in node.items() if key not in _STRUCTURE and (key, value) != _RANK_SCORE}
    return " ".join(words) + (f" {canonical_json(rest)}" if rest else "")


def operation_differences(stored: Mapping[str, Any]) -> list[str]:
    """Return how the operations of this version differ from stored signatures, one line each."""
    lines: list[str] = []
    for name, signature in stored.items():
        if name not in EVERY_OPERATION:
            lines.append(f"{name} is gone")
            continue
        current = signature_of(name)
        if current != signature:
            lines.extend(f"{name} {line}" for line in _changes(signature, current))
    return lines


def _changes(stored: Any, current: Signature) -> list[str]:
    if not isinstance(stored, Mapping):
        return ["has another schema"]
    lines: list[str] = []
    if stored.get("state") != current["state"]:
        lines.append(f"state: was {stored.get('state')}, is {current['state']}")
    for part in ("parameters", "result"):
        before, now = stored.get(part), current[part]
        if not isinstance(before, Mapping):
            lines.append(f"{part}: was not recorded")
            continue
        for path in [*before, *(path for path in now if path not in before)]:
            if path not in now:
                lines.append(f"{part} {path}: is gone (was {before[path]})")
            elif path not in before:
                lines.append(f"{part} {path}: is new ({now[path]})")
            elif before[path] != now[path]:
                lines.append(f"{part} {path}: was {before[path]}, is {now[path]}")
    return lines or ["has another schema"]


def differences(before: Any, after: Any, *, most: int = 20) -> list[str]:
    """Return the places at which two JSON values differ, one line each, in document order, at most ``most``."""
    return list(islice(_differences(before, after, ()), most))


def _differences(before: Any, after: Any, path: JsonPath) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in after:
                yield f"{format_path((*path, key))}: gone, was {_shown(before[key])}"
            elif key not in before:
                yield f"{format_path((*path, key))}: new, {_shown(after[key])}"
            else:
                yield from _differences(before[key], after[key], (*path, key))
        if list(before) != list(after) and set(before) == set(after):
            yield f"{format_path(path)}: keys {', '.join(before)} -> keys {', '.join(after)}"
    elif isinstance(before, list) and isinstance(after, list):
        yield from _differences(dict(enumerate(before)), dict(enumerate(after)), path)
    elif canonical_json(before) != canonical_json(after):
        yield f"{format_path(path)}: {_shown(before)} -> {_shown(after)}"


def _shown(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
