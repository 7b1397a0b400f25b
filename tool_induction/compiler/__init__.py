"""The compiler: turns a document into checked and priced tools, and diagnostics.

``compilation`` runs the passes: ``source`` decodes the text and locates paths in it, ``shape`` checks keys, ``names``
and ``scope`` resolve names, the checker infers types, ``price`` computes costs, ``lint`` gives advice. ``declarations``
makes the declarations of compiled tools for models and clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import Compilation as Compilation
    from tool_induction.compiler.compilation import compile_document as compile_document
    from tool_induction.compiler.declarations import asks_judge as asks_judge
    from tool_induction.compiler.declarations import description_of as description_of
    from tool_induction.compiler.declarations import inputs_schema as inputs_schema
    from tool_induction.compiler.declarations import mcp_declaration as mcp_declaration
    from tool_induction.compiler.declarations import openai_declaration as openai_declaration
    from tool_induction.compiler.declarations import result_schema as result_schema
    from tool_induction.compiler.declarations import signature_card as signature_card
    from tool_induction.compiler.declarations import writes_of as writes_of
    from tool_induction.compiler.lint import fold as fold
    from tool_induction.compiler.price import ToolPrice as ToolPrice
    from tool_induction.compiler.shape import check_shape as check_shape
    from tool_induction.compiler.source import at_line as at_line
    from tool_induction.compiler.source import locate_all as locate_all
    from tool_induction.compiler.source import without_secrets as without_secrets

__getattr__, __dir__, __all__ = lazy_names(__name__)
