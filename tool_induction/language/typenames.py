"""Type names as documents spell them: ``list<Segment>``, ``number?``, ``optional<Time>``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tool_induction.language.diagnostics import did_you_mean
from tool_induction.language.schemas import type_from_schema
from tool_induction.language.types import (
    ANY,
    BOOL,
    BOX,
    FLOAT,
    INT,
    LONG_INTERVAL,
    NUMBER,
    STRING,
    TIME,
    ListType,
    RecordType,
    Type,
    optional,
)
from world_api.operations import OPERATIONS

_SIMPLE: dict[str, Type] = {
    "bool": BOOL,
    "int": INT,
    "float": FLOAT,
    "number": NUMBER,
    "string": STRING,
    "Time": TIME,
    "Box": BOX,
    "Interval": LONG_INTERVAL,
    "any": ANY,
    "record": RecordType(fields=(), is_open=True),
    "list": ListType(item=ANY),
}
#: other spellings of types -> ours
TYPE_ALIASES: dict[str, str] = {
    "boolean": "bool",
    "integer": "int",
    "double": "float",
    "str": "string",
    "text": "string",
    "time": "Time",
    "seconds": "Time",
    "timestamp": "Time",
    "interval": "Interval",
    "TimeRange": "Interval",
    "object": "record",
    "dict": "record",
    "array": "list",
}
_WRAPPED = re.compile(r"(?P<outer>list|array|optional)\s*[<\[]\s*(?P<inner>.+?)\s*[>\]]")


@dataclass(frozen=True, kw_only=True)
class TypeName:
    """A type name that was read. ``canonical`` differs from what stood there where ``aliased``."""

    type: Type
    canonical: str
    aliased: bool


class UnknownType(Exception):
    """There is no such type; the message says which word and what was probably meant."""

    def __init__(self, word: str, suggestion: str) -> None:
        super().__init__(f"there is no type {word!r}")
        self.word = word
        self.suggestion = suggestion


@lru_cache(maxsize=1)
def world_types() -> Mapping[str, Type]:
    """The named records of the operations' results: Segment, Detection, Memory, Evidence ..."""
    found: dict[str, Type] = {}
    for operation in OPERATIONS.values():
        schema = operation.result_schema()
        # Nested definitions first: where a whole result and an item of it share a name, the item is meant.
        for definition in [*schema.get("$defs", {}).values(), schema]:
            name = definition.get("x-type")
            if name and name not in _SIMPLE and definition.get("type") == "object":
                found.setdefault(name, type_from_schema(definition, schema))
    segment = next(
        type_from_schema(definition, schema)
        for schema in (OPERATIONS["search_segments_by_text"].result_schema(),)
        for definition in schema["$defs"].values()
        if definition.get("x-type") == "Segment"
    )
    return found | {"Segment": segment}


def known_types() -> list[str]:
    """Every simple type name, for messages and prompts."""
    return [*_SIMPLE, *sorted(world_types())]


def parse_type(text: str) -> TypeName:
    """Read a type name.

    Raises:
        UnknownType: for a word that is neither a type nor an accepted other spelling of one.
    """
    word = text.strip()
    if word.endswith("?"):
        inner = parse_type(word[:-1])
        return TypeName(type=optional(inner.type), canonical=f"optional<{inner.canonical}>", aliased=inner.aliased)
    match = _WRAPPED.fullmatch(word)
    if match is not None:
        inner = parse_type(match["inner"])
        outer = "optional" if match["outer"] == "optional" else "list"
        type_ = optional(inner.type) if outer == "optional" else ListType(item=inner.type)
        aliased = inner.aliased or "[" in word or match["outer"] == "array"
        return TypeName(type=type_, canonical=f"{outer}<{inner.canonical}>", aliased=aliased)
    name = TYPE_ALIASES.get(word, word)
    found = _SIMPLE.get(name) or world_types().get(name)
    if found is None:
        raise UnknownType(word, did_you_mean(word, [*known_types(), *TYPE_ALIASES]))
    return TypeName(type=found, canonical=name, aliased=name != word)
