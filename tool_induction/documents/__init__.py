"""Tool documents: the models with which a tool can be written in Python, and the JSON Schema made from them."""

from tool_induction.documents.schema import document_from_emission, emission_schema, language_schema, tool_schema
from tool_induction.language.model import (
    Aggregate,
    Block,
    CallTool,
    CallWorldApi,
    Filter,
    If,
    Input,
    JudgeStep,
    Loop,
    Output,
    Project,
    Require,
    Set,
    Tool,
)

__all__ = [
    "Aggregate",
    "Block",
    "CallTool",
    "CallWorldApi",
    "Filter",
    "If",
    "Input",
    "JudgeStep",
    "Loop",
    "Output",
    "Project",
    "Require",
    "Set",
    "Tool",
    "document_from_emission",
    "emission_schema",
    "language_schema",
    "tool_schema",
]
