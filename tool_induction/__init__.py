"""High-level tools: documents that a model writes, compiled, priced, frozen and run on the world's operations.

``compile_document`` checks a document; ``load_library`` loads a frozen library; ``run_tool`` runs a tool;
``LibraryTools`` offers a library to a function-calling model. Import other names from ``library``, ``curation``,
``domains``, ``admission`` and ``inducer``. The names of ``__all__`` are loaded at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import (
        Compilation as Compilation,
        CompiledTool as CompiledTool,
        compile_document as compile_document,
    )
    from tool_induction.language.diagnostics import Diagnostic as Diagnostic
    from tool_induction.library import (
        Origin as Origin,
        ToolLibrary as ToolLibrary,
        freeze_library as freeze_library,
        load_library as load_library,
    )
    from tool_induction.library_tools import LibraryTools as LibraryTools, ToolDeclaration as ToolDeclaration
    from tool_induction.runtime.calls import Memo as Memo
    from tool_induction.runtime.limits import RunLimits as RunLimits
    from tool_induction.runtime.runner import run_tool as run_tool
    from tool_induction.runtime.trace import Trace as Trace
    from world_api.core.faults import ToolFault as ToolFault

__getattr__, __dir__, __all__ = lazy_names(__name__)
