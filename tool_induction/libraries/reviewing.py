"""What a person needs to judge a library by: each tool with its plan, its price, notes, and an example run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tool_induction.compiler.compilation import CompiledTool
from tool_induction.compiler.faces import signature_card
from tool_induction.language.diagnostics import Diagnostic
from tool_induction.language.expressions import to_json
from tool_induction.libraries.examples import Example, ExampleRuns
from tool_induction.library import ToolLibrary
from tool_induction.plan import plan_lines, written

#: keys of a manifest that say what was frozen, not where it came from
_SEALS = ("schema_version", "name", "tools", "operations", "key_hashes", "manifest_hash", "content_hash")


@dataclass(frozen=True, kw_only=True)
class Port:
    """An input or an output. ``source`` is what an output is bound to, ``default`` what an input is if it is not given."""

    name: str
    type: str
    description: str
    required: bool = True
    default: Any = None
    source: str = ""

    def record(self) -> dict[str, Any]:
        """The wire form."""
        record: dict[str, Any] = {"name": self.name, "type": self.type, "description": self.description}
        if self.source:
            return record | {"from": self.source}
        return record | {"required": self.required} | ({} if self.required else {"default": self.default})


@dataclass(frozen=True, kw_only=True)
class ToolReview:
    """One tool as it is shown."""

    name: str
    description: str
    card: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    plan: tuple[str, ...]
    price: Mapping[str, Mapping[str, float]]
    notes: tuple[Diagnostic, ...]
    example: Example

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "name": self.name,
            "description": self.description,
            "card": self.card,
            "inputs": [port.record() for port in self.inputs],
            "outputs": [port.record() for port in self.outputs],
            "plan": list(self.plan),
            "price": {key: dict(value) for key, value in self.price.items()},
            "notes": [note.record() for note in self.notes],
            "example": self.example.record(),
        }


@dataclass(frozen=True, kw_only=True)
class LibraryReview:
    """A library as it is shown. ``origin`` is what its manifest says; empty for a plain file."""

    name: str
    hash: str
    origin: Mapping[str, Any]
    operations: tuple[str, ...]
    tools: tuple[ToolReview, ...]

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "name": self.name,
            "hash": self.hash,
            "origin": dict(self.origin),
            "operations": list(self.operations),
            "tools": [tool.record() for tool in self.tools],
        }


def review_library(library: ToolLibrary, diagnostics: tuple[Diagnostic, ...], examples: ExampleRuns) -> LibraryReview:
    """Everything there is to show of a library; runs one example of each tool."""
    from tool_induction.library import operations_used

    return LibraryReview(
        name=library.name,
        hash=library.hash,
        origin={key: value for key, value in library.manifest.items() if key not in _SEALS},
        operations=tuple(operations_used(library.tools)),
        tools=tuple(
            _tool(item, tuple(note for note in diagnostics if note.tool == name), examples.of(library.tools, name))
            for name, item in library.tools.items()
        ),
    )


def _tool(item: CompiledTool, notes: tuple[Diagnostic, ...], example: Example) -> ToolReview:
    tool = item.tool
    return ToolReview(
        name=tool.name,
        description=tool.description,
        card=signature_card(item),
        inputs=tuple(
            Port(
                name=one.name,
                type=one.type_name,
                description=one.description,
                required=one.required,
                default=None if one.default is None else to_json(one.default),
            )
            for one in tool.inputs
        ),
        outputs=tuple(
            Port(
                name=one.name,
                type=one.type_name,
                description=one.description,
                source="" if one.source is None else written(one.source),
            )
            for one in tool.outputs
        ),
        plan=tuple(plan_lines(tool)),
        price=item.price.record(),
        notes=notes,
        example=example,
    )
