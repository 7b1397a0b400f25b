"""What a tool relies on in an operation, path by path, so that a difference can be named.

A signature maps each property path of an operation's parameters and result (``candidates[].start_time``) to what the
schema says there. Titles and descriptions are no part of it: wording may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from world_api.core.canonical import canonical_json, content_hash
from world_api.operations import EVERY_OPERATION

#: ``state``, and under ``parameters`` and ``result`` a text for each property path
Signature = dict[str, Any]
_WORDING = ("title", "description")
_STRUCTURE = ("properties", "items", "anyOf", "required", "$defs", "$ref", "type", *_WORDING)
#: what a tool may not do with a number, which the compiler sees to; the number is as it was
_RANK_SCORE = ("x-type", "Score")
_DEEPEST = 24


@lru_cache(maxsize=64)
def operation_hash(name: str) -> str:
    """The hash of an operation's signature."""
    return content_hash(signature_of(name))


def signature_of(name: str) -> Signature:
    """An operation's signature."""
    operation = EVERY_OPERATION[name]
    return {
        "state": operation.state,
        "parameters": paths_of(operation.parameters_schema()),
        "result": paths_of(operation.result_schema()),
    }


def paths_of(schema: Mapping[str, Any]) -> dict[str, str]:
    """A schema, flattened: property paths to what stands there."""
    found: dict[str, str] = {}
    for path, text in _walk(schema, schema, "", required=True, depth=0):
        found[path] = f"{found[path]} or {text}" if path in found else text
    return found


def _walk(node: Any, root: Mapping[str, Any], path: str, *, required: bool, depth: int) -> Iterator[tuple[str, str]]:
    node = _resolved(node, root)
    yield path or "$", _text(node, required=required)
    if depth > _DEEPEST or not isinstance(node, Mapping):
        return
    needed = node.get("required", ())
    for key, child in node.get("properties", {}).items():
        yield from _walk(child, root, f"{path}.{key}" if path else key, required=key in needed, depth=depth + 1)
    if "items" in node:
        yield from _walk(node["items"], root, f"{path}[]", required=True, depth=depth + 1)
    for branch in node.get("anyOf", ()):
        yield from _walk(branch, root, path, required=True, depth=depth + 1)


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
    """How the operations of this version differ from stored signatures, one line each; those that are alike say nothing."""
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
