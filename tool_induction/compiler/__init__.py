"""The compiler: turns a document into checked and priced tools, and diagnostics.

``compilation`` runs the passes: ``source`` decodes the text and locates paths in it, ``shape`` checks keys, ``names``
and ``scope`` resolve names, the checker infers types, ``price`` computes costs, ``lint`` gives advice. ``declarations``
makes the declarations of compiled tools for models and clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from tool_induction.compiler.advice import ToolPrice, fold
    from tool_induction.compiler.compilation import Compilation, compile_document
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
    from tool_induction.compiler.shape import check_shape
    from tool_induction.compiler.source import at_line, locate_all, without_secrets

__getattr__, __dir__, __all__ = lazy_names(__name__)
