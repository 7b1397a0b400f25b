"""What the models of a document are made of: names, values, conditions, and the rules all of them keep.

These models are the one source of the language's shape: the JSON Schema, the reference page and the compiler's own check
are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_serializer,
    model_validator,
)
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from tool_induction.language import limits

#: words of the expression language, and the loop's own name
RESERVED = ("and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "item")
# Python lets "$" stand before a last line break as well; "\Z" is not in every reader of JSON Schema.
NAME = r"^[A-Za-z][A-Za-z0-9_]{0,63}$(?!\n)"
TOOL_NAME = r"^[a-z][a-z0-9_]{0,63}$(?!\n)"


class Part(BaseModel):
    """A part of a document: no unknown key, no conversion, no null for a key that is left out."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        regex_engine="python-re",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _no_null(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            for name, field in cls.model_fields.items():
                for key in (name, field.alias or name):
                    if key in given and given[key] is None and key not in cls.takes_null():
                        raise ValueError(f"{key!r} is null; leave the key out instead")
        return given

    @classmethod
    def takes_null(cls) -> frozenset[str]:
        """The keys for which null is a value."""
        return frozenset()

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A key that was left out is left out."""
        whole: dict[str, Any] = handler(self)
        aliases = {field.alias or name: name for name, field in type(self).model_fields.items()}
        kept = {
            key: value
            for key, value in whole.items()
            if value is not None or aliases.get(key, key) in self.model_fields_set
        }
        return {"type": kept["type"], **kept} if "type" in kept else kept


def _not_reserved(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"{name!r} is a word of the language")
    return name


def _not_reserved_but_item(name: str) -> str:
    return name if name == "item" else _not_reserved(name)


def whole(number: object) -> object:
    """JSON does not tell 3.0 from 3."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _name_schema(*, words: tuple[str, ...]) -> dict[str, Any]:
    return {"not": {"enum": list(words)}}


Name = Annotated[
    str,
    StringConstraints(pattern=NAME),
    AfterValidator(_not_reserved),
    Field(json_schema_extra=_name_schema(words=RESERVED)),
]
LoopName = Annotated[
    str,
    StringConstraints(pattern=NAME),
    AfterValidator(_not_reserved_but_item),
    Field(json_schema_extra=_name_schema(words=tuple(word for word in RESERVED if word != "item"))),
]
FieldName = Annotated[str, StringConstraints(pattern=NAME)]
TypeName = Annotated[str, StringConstraints(max_length=80)]
Condition = str | bool
#: a saved name or an expression; a list or a record of them
Source = str | list[JsonValue] | dict[str, JsonValue]
Values = dict[str, JsonValue]
MaxItems = Annotated[int, Field(ge=1, le=limits.MAX_LOOP_ITEMS), BeforeValidator(whole)]
