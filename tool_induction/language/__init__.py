"""The tool language: documents, their steps, expressions and types, and the diagnostics about them.

``model`` has the classes of a document, ``keys`` what may be under each of its keys; ``expressions`` parses what is between
braces, ``evaluation`` computes it; ``types`` says which value fits where; ``diagnostics`` has the codes and suggestions.
"""

from tool_induction.language.diagnostics import (
    CODES,
    Code,
    ErrorCode,
    Findings,
    LintCode,
    WarningCode,
    closest,
    format_path,
)
from tool_induction.language.evaluation import evaluate
from tool_induction.language.expressions import (
    FILTERS,
    RESERVED_TOOL_NAMES,
    Const,
    ExpressionFault,
    Text,
    parse_expression,
    parse_value,
    to_json,
)
from tool_induction.language.model import STEP_MODELS, Tool, read_tool, walk_steps
from tool_induction.language.types import (
    ANY,
    FLOAT,
    INT,
    INTERVAL,
    NUMBER,
    STRING,
    TIME,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    fit,
    known_types,
    operation_types,
    optional,
)

__all__ = [
    "ANY",
    "CODES",
    "FILTERS",
    "FLOAT",
    "INT",
    "INTERVAL",
    "NUMBER",
    "RESERVED_TOOL_NAMES",
    "STEP_MODELS",
    "STRING",
    "TIME",
    "Code",
    "Const",
    "EnumType",
    "ErrorCode",
    "ExpressionFault",
    "Findings",
    "LintCode",
    "ListType",
    "OptionalType",
    "RecordType",
    "Text",
    "Tool",
    "WarningCode",
    "closest",
    "evaluate",
    "fit",
    "format_path",
    "known_types",
    "operation_types",
    "optional",
    "parse_expression",
    "parse_value",
    "read_tool",
    "to_json",
    "walk_steps",
]
