"""The tool language: documents, their steps, expressions and types, and the diagnostics about them.

``model`` has the classes of a document, ``keys`` the kinds of values under its keys; ``expressions`` parses expressions
(in braces), ``evaluation`` computes them; ``types`` has the types and which value fits which; ``diagnostics`` has the
codes and suggestions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from tool_induction.language.diagnostics import CODES, Code, ErrorCode, Findings, LintCode, WarningCode, format_path
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

__getattr__, __dir__, __all__ = lazy_names(__name__)
