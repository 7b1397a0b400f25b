"""The kinds of values under the keys of a tool document: the JSON Schema, the reader and the writer of each.

The document model (``model.py``) assigns one of these kinds to each key. The published JSON Schema, the shape check,
the reader and the writer of documents are all made from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from tool_induction import limits
from tool_induction.language import expressions as ex
from tool_induction.language.diagnostics import Findings, Path

Schema = dict[str, Any]

#: words of the expression language, and the default name of a loop's item
RESERVED = ("and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "item")
# Python lets "$" match before a last line break as well; "\Z" is not in every reader of JSON Schema.
NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_]{0,63}$(?!\n)"
TOOL_NAME_PATTERN = r"^[a-z][a-z0-9_]{0,63}$(?!\n)"

_EXPRESSIONS = get_args(ex.Expr)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of value.

    ``read`` makes the model's value from a JSON value that fits ``schema``, and notes faults of expressions; ``write``
    does the reverse.
    """

    schema: Schema
    read: Callable[[Any, Path, Findings], Any] = lambda raw, path, findings: raw
    write: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class Key:
    """A key of a document: the kind and purpose of its value, and its name if it differs from the attribute's.

    A key with its default value is omitted from the document, unless it is ``always`` written. ``keys_of`` sets
    ``attribute``, ``needed`` and ``default`` from the model.
    """

    kind: Kind
    says: str
    name: str = ""
    always: bool = False
    attribute: str = ""
    needed: bool = False
    default: Any = None


def text(*, least: int = 0, most: int | None = None) -> Kind:
    """Return the kind of a text of ``least`` to ``most`` characters."""
    bounds = ({"maxLength": most} if most is not None else {}) | ({"minLength": least} if least else {})
    return Kind(schema=bounds | {"type": "string"})


def name(pattern: str = NAME_PATTERN, *, reserved: tuple[str, ...] = RESERVED) -> Kind:
    """Return the kind of a name that matches ``pattern`` and is not a reserved word."""
    words: Schema = {"not": {"enum": list(reserved)}} if reserved else {}
    return Kind(schema=words | {"pattern": pattern, "type": "string"})


def words(choices: tuple[str, ...]) -> Kind:
    """Return the kind of a string from a closed list."""
    return Kind(schema={"enum": list(choices)})


def texts(*, least: int, most: int, each: Kind) -> Kind:
    """Return the kind of a list of ``least`` to ``most`` texts."""
    return Kind(
        schema={"items": each.schema, "maxItems": most, "minItems": least, "type": "array"},
        read=lambda raw, path, findings: tuple(raw),
        write=list,
    )


def whole_number(most: int) -> Kind:
    """Return the kind of a whole number from 1 to ``most``; 3.0 counts as 3."""
    schema = {"maximum": most, "minimum": 1, "type": "integer"}
    return Kind(schema=schema, read=lambda raw, path, findings: int(raw))


def read_expression(raw: Any, path: Path, findings: Findings) -> ex.Expr:
    """Parse one expression, with or without braces, or a list or record of expressions; note faults."""
    return _read(raw, path, findings, ex.parse_expression)


def read_value(raw: Any, path: Path, findings: Findings) -> ex.Expr:
    """Parse a value: a constant, a text with expressions, or a record or list of values; note faults."""
    return _read(raw, path, findings, ex.parse_value)


def _read(raw: Any, path: Path, findings: Findings, parse: Callable[[str], ex.Expr]) -> ex.Expr:
    if isinstance(raw, dict):
        return ex.JsonRecord(tuple((key, _read(item, (*path, key), findings, parse)) for key, item in raw.items()))
    if isinstance(raw, list):
        return ex.JsonList(tuple(_read(item, (*path, place), findings, parse) for place, item in enumerate(raw)))
    if not isinstance(raw, str):
        return ex.Const(raw)
    try:
        return parse(raw)
    except ex.ExpressionFault as fault:
        findings.add(fault.code, path, fault.message, found=fault.found or raw, suggestion=fault.suggestion)
        return ex.Broken(raw)


def write_expression(expr: ex.Expr) -> Any:
    """Return an expression as JSON, with braces (except around true and false), so that it cannot be read as text."""
    match expr:
        case ex.JsonRecord(entries):
            return {key: write_expression(value) for key, value in entries}
        case ex.JsonList(items):
            return [write_expression(item) for item in items]
        case ex.Const(bool() as value):
            return value
    return f"{{{{ {ex.to_text(expr)} }}}}"


def is_expression(value: Any) -> bool:
    """Whether a value of the document model is a parsed expression."""
    return isinstance(value, _EXPRESSIONS)


def expression(*types: str) -> Kind:
    """Return the kind of an expression given as one of some JSON types; a list or record contains expressions."""
    inside: Schema = {"array": {"items": {}}, "object": {"additionalProperties": {}}}
    schema: Schema = {key: part for type_ in types for key, part in inside.get(type_, {}).items()}
    return Kind(schema=schema | {"type": list(types)}, read=read_expression, write=write_expression)


def _read_entries(raw: Mapping[str, Any], path: Path, findings: Findings) -> tuple[tuple[str, ex.Expr], ...]:
    return tuple((key, read_value(item, (*path, key), findings)) for key, item in raw.items())


def _read_conditioned(raw: Mapping[str, Any], path: Path, findings: Findings) -> tuple[tuple[str, ex.Expr], ...]:
    entries = _read_entries({key: item for key, item in raw.items() if key != "where"}, path, findings)
    if raw.get("where") is None:
        return entries
    return (*entries, ("where", read_expression(raw["where"], (*path, "where"), findings)))


def _read_output_value(raw: Any, path: Path, findings: Findings) -> ex.Expr:
    read = read_expression if isinstance(raw, str) and "{{" not in raw else read_value
    return read(raw, path, findings)


TEXT = text()
NAME = name()
LOOP_NAME = name(reserved=tuple(word for word in RESERVED if word != "item"))
TOOL_NAME = name(TOOL_NAME_PATTERN, reserved=())
TYPE_NAME = text(most=80)
DESCRIPTION = text(most=500)
TOOL_DESCRIPTION = text(least=1, most=2000)
ANSWERS = texts(
    least=limits.MIN_ANSWERS, most=limits.MAX_ANSWERS, each=text(least=1, most=limits.MAX_ANSWER_CHARACTERS)
)
ENUM = texts(least=1, most=50, each=TEXT)
CONDITION = expression("string", "boolean")
#: a saved name or an expression; a list or a record of them
SOURCE = expression("string", "array", "object")
LOOP_SOURCE = expression("string", "array")
VALUE = Kind(schema={}, read=read_value, write=ex.to_json)
#: any single value
CONSTANT = Kind(schema={}, read=lambda raw, path, findings: ex.Const(raw), write=lambda constant: constant.value)
#: a value; a text without braces is an expression
OUTPUT_VALUE = replace(VALUE, read=_read_output_value)
#: a text in which expressions may be
TEMPLATE = replace(VALUE, schema=TEXT.schema)
VALUES = Kind(
    schema={"additionalProperties": {}, "type": "object"},
    read=_read_entries,
    write=lambda entries: {key: ex.to_json(value) for key, value in entries},
)
#: values, and a condition under ``where``
CONDITIONED_VALUES = replace(
    VALUES,
    read=_read_conditioned,
    write=lambda entries: {
        key: write_expression(value) if key == "where" else ex.to_json(value) for key, value in entries
    },
)
FIELDS = replace(
    VALUES,
    schema={
        "minProperties": 1,
        "type": "object",
        "propertyNames": {"pattern": NAME_PATTERN},
        "additionalProperties": {},
    },
)
