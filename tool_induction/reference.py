"""The reference of the tool language as a page: keys, types, aggregates, operations and limits, from their definitions.

``python -m tool_induction.reference docs`` writes the generated pages about the language to a folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tool_induction import limits
from tool_induction.aggregates import AGGREGATES, AggregateSpec, spellings
from tool_induction.checker.environment import JOINING
from tool_induction.documents import language_schema, step_keys
from tool_induction.language import model, types
from tool_induction.language.expressions import COMPARATORS, FILTERS, FORBIDDEN, OPERATORS
from world_api.operations import OPERATIONS

_TEMPLATE = "reference.md.jinja"


def language_page() -> str:
    """Return the reference of the tool language as Markdown."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"cell": _cell, "code": code, "fields": _fields, "kind": _kind, "params": _params}
    environment.filters["number"] = lambda value: f"{value:,.15g}"
    return environment.from_string((files(__package__) / _TEMPLATE).read_text(encoding="utf-8")).render(
        parts=language_schema()["$defs"],
        step_keys=step_keys,
        model=model,
        types=types,
        spellings=spellings,
        joining=JOINING,
        aggregates=AGGREGATES.values(),
        operators=[*COMPARATORS.values(), "is none", "is not none", "and", "or", "not", *OPERATORS.values()],
        filters=[name + ("(...)" if most else "") for name, (_, most) in FILTERS.items()],
        forbidden=FORBIDDEN.values(),
        operations=_operations(),
        limits=limits,
    )


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return "list of steps"
    if "enum" in schema:
        return ", ".join(code(word) for word in schema["enum"])
    kinds = schema.get("type", "any")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)


def _fields(type_: types.Type, without: Sequence[str] = ()) -> str:
    fields = type_.fields if isinstance(type_, types.RecordType) else ()
    return ", ".join(code(f"{key}: {types.show(value)}") for key, value in fields if key not in without)


def _params(spec: AggregateSpec) -> str:
    kinds = {"key": "field", "number_key": "field, a number", "text_key": "field, a text", "condition": "condition"}
    shown = []
    for name, parameter in spec.params.items():
        kind = kinds.get(parameter.role) or code(types.show(parameter.type))
        shown.append(f"{f'**{name}**' if parameter.required else name} ({kind})")
    return ", ".join(shown)


def _operations() -> Iterator[tuple[str, str, str, str]]:
    """Yield of each operation its name, its parameters and result fields as Markdown, and "reads" or "writes"."""
    for name, operation in OPERATIONS.items():
        typed = types.operation_types(name)
        params = (
            code(f"{key}{'' if key in typed.required else '?'}: {types.show(type_)}")
            for key, type_ in typed.parameters.items()
        )
        yield name, ", ".join(params), _fields(typed.result, without=("evidence", "hint")), operation.state


def code(text: str) -> str:
    """Return a text as Markdown code; an empty text is unchanged."""
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def pages() -> dict[str, str]:
    """Return the generated pages about the language by file name."""
    schema = json.dumps(language_schema(), indent=2, ensure_ascii=False) + "\n"
    return {"tool-language-reference.md": language_page(), "tool-language.schema.json": schema}


if __name__ == "__main__":
    for name, text in pages().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8", newline="\n")
