"""The compiler: a document in, checked and priced tools and diagnostics out.

``compilation`` runs the passes: ``source`` decodes the text and finds places in it, ``shape`` checks keys, ``names`` and ``scope``
resolve names, the checker types the steps, ``price`` adds up, ``lint`` advises. ``declarations`` declares compiled tools to
models and clients.
"""

from tool_induction.compiler.compilation import Compilation, CompiledTool, compile_document
from tool_induction.compiler.declarations import (
    asks_judge,
    description_of,
    inputs_schema,
    mcp_declaration,
    openai_declaration,
    result_schema,
    signature_card,
    writes_of,
)
from tool_induction.compiler.lint import fold
from tool_induction.compiler.price import ToolPrice
from tool_induction.compiler.shape import check_shape
from tool_induction.compiler.source import REDACTED, Position, at_line, locate, locate_all, without_secrets

__all__ = [
    "REDACTED",
    "Compilation",
    "CompiledTool",
    "Position",
    "ToolPrice",
    "asks_judge",
    "at_line",
    "check_shape",
    "compile_document",
    "description_of",
    "fold",
    "inputs_schema",
    "locate",
    "locate_all",
    "mcp_declaration",
    "openai_declaration",
    "result_schema",
    "signature_card",
    "without_secrets",
    "writes_of",
]
