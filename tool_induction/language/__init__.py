"""The tool language: documents, their steps, expressions and types, and the diagnostics about them.

``model`` has the classes of a document, ``keys`` the kinds of values under its keys; ``expressions`` parses expressions
(in braces), ``evaluation`` computes them; ``types`` has the types and which value fits which; ``diagnostics`` has the
codes and suggestions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from tool_induction.language.diagnostics import CODES as CODES
    from tool_induction.language.diagnostics import Code as Code
    from tool_induction.language.diagnostics import ErrorCode as ErrorCode
    from tool_induction.language.diagnostics import Findings as Findings
    from tool_induction.language.diagnostics import LintCode as LintCode
    from tool_induction.language.diagnostics import WarningCode as WarningCode
    from tool_induction.language.diagnostics import closest as closest
    from tool_induction.language.diagnostics import format_path as format_path
    from tool_induction.language.evaluation import evaluate as evaluate
    from tool_induction.language.expressions import FILTERS as FILTERS
    from tool_induction.language.expressions import RESERVED_TOOL_NAMES as RESERVED_TOOL_NAMES
    from tool_induction.language.expressions import Const as Const
    from tool_induction.language.expressions import ExpressionFault as ExpressionFault
    from tool_induction.language.expressions import Text as Text
    from tool_induction.language.expressions import parse_expression as parse_expression
    from tool_induction.language.expressions import parse_value as parse_value
    from tool_induction.language.expressions import to_json as to_json
    from tool_induction.language.model import STEP_MODELS as STEP_MODELS
    from tool_induction.language.model import Tool as Tool
    from tool_induction.language.model import read_tool as read_tool
    from tool_induction.language.model import walk_steps as walk_steps
    from tool_induction.language.types import ANY as ANY
    from tool_induction.language.types import FLOAT as FLOAT
    from tool_induction.language.types import INT as INT
    from tool_induction.language.types import INTERVAL as INTERVAL
    from tool_induction.language.types import NUMBER as NUMBER
    from tool_induction.language.types import STRING as STRING
    from tool_induction.language.types import TIME as TIME
    from tool_induction.language.types import EnumType as EnumType
    from tool_induction.language.types import ListType as ListType
    from tool_induction.language.types import OptionalType as OptionalType
    from tool_induction.language.types import RecordType as RecordType
    from tool_induction.language.types import fit as fit
    from tool_induction.language.types import known_types as known_types
    from tool_induction.language.types import operation_types as operation_types
    from tool_induction.language.types import optional as optional

__getattr__, __dir__, __all__ = lazy_names(__name__)
