"""Calls made wrong on purpose: one value of a right call in another JSON type, left out, made up, or not in its enum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.function_calling.declarations import TYPE_WORDS

Json = dict[str, Any]

#: A value of each JSON type, and the types of JSON Schema it is of.
_SAMPLES: tuple[tuple[Any, frozenset[str]], ...] = (
    ("7", frozenset({"string"})),
    (7, frozenset({"integer", "number"})),
    (7.5, frozenset({"number"})),
    (True, frozenset({"boolean"})),
    (None, frozenset({"null"})),
    ({"a": 1}, frozenset({"object"})),
    ([1], frozenset({"array"})),
)
_MADE_UP = "a_parameter_nobody_declared"


def variants(arguments: Json, parameters: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Wrong variants of a right call, each with what is wrong about it. ``parameters`` is the leaderboard's declaration."""
    required = parameters.get("required", ())
    for name, declared in parameters["properties"].items():
        if name in arguments:
            for what, value in _wrong(arguments[name], declared, nullable=name not in required):
                yield f"{name}: {what}", {**arguments, name: value}
        if name in arguments and name in required:
            yield f"{name}: left out", {key: value for key, value in arguments.items() if key != name}
    yield f"{_MADE_UP}: made up", {**arguments, _MADE_UP: 1}


def _wrong(right: Any, declared: Mapping[str, Any], *, nullable: bool) -> Iterator[tuple[str, Any]]:
    kind = TYPE_WORDS[declared["type"]]
    if not kind:
        return
    for value, kinds in _SAMPLES:
        # Where a parameter may be left out, strict mode says null for that.
        if kind not in kinds and not (value is None and nullable):
            yield f"{value!r} for {declared['type']}", value
    if "enum" in declared:
        yield "not in the enum", "none of these"
    if kind == "array" and "items" in declared and isinstance(right, list) and right:
        for what, value in _wrong(right[0], declared["items"], nullable=False):
            yield f"[0]: {what}", [value, *right[1:]]
    if kind == "object" and isinstance(right, dict):
        needed = declared.get("required", ())
        for name, inner in declared.get("properties", {}).items():
            if name in right:
                for what, value in _wrong(right[name], inner, nullable=name not in needed):
                    yield f"{name}: {what}", {**right, name: value}
