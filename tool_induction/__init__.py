"""High-level tools: documents that a model writes, compiled, priced, frozen and run on the world's operations.

``compile_document`` checks a document; ``load_library`` loads a frozen library; ``run_tool`` runs a tool;
``LibraryTools`` offers a library to a function-calling model. Import other names from ``library``, ``curation``,
``domains``, ``admission`` and ``inducer``. The names of ``__all__`` are loaded at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import Compilation, CompiledTool, compile_document
    from tool_induction.language.diagnostics import Diagnostic
    from tool_induction.library import Origin, ToolLibrary, freeze_library, load_library
    from tool_induction.library_tools import LibraryTools, ToolDeclaration
    from tool_induction.runtime.budget import RunLimits
    from tool_induction.runtime.calls import Memo
    from tool_induction.runtime.runner import run_tool
    from tool_induction.runtime.trace import Trace
    from world_api.core.faults import ToolFault

__getattr__, __dir__, __all__ = lazy_names(__name__)
