"""High-level tools: documents that a model writes, compiled, priced, frozen and run on the world's operations.

``compile_document`` checks a document; ``load_library`` loads a frozen library; ``run_tool`` runs a tool; ``LibraryTools`` offers a
library to a function-calling model. Areas with a surface of their own: ``library``, ``curation``, ``domains``, ``admission``,
``inducer``. The names of ``__all__`` load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import Compilation, CompiledTool, compile_document
    from tool_induction.language.diagnostics import Diagnostic
    from tool_induction.library import Origin, ToolLibrary, freeze_library, load_library
    from tool_induction.runtime.budget import RunLimits
    from tool_induction.runtime.calls import Memo
    from tool_induction.runtime.runner import run_tool
    from tool_induction.runtime.trace import Trace
    from tool_induction.toolset import LibraryTools, ToolDeclaration
    from world_api.core.faults import ToolFault

_HOMES = {
    "Compilation": "tool_induction.compiler.compilation",
    "CompiledTool": "tool_induction.compiler.compilation",
    "Diagnostic": "tool_induction.language.diagnostics",
    "LibraryTools": "tool_induction.toolset",
    "Memo": "tool_induction.runtime.calls",
    "Origin": "tool_induction.library",
    "RunLimits": "tool_induction.runtime.budget",
    "ToolDeclaration": "tool_induction.toolset",
    "ToolFault": "world_api.core.faults",
    "ToolLibrary": "tool_induction.library",
    "Trace": "tool_induction.runtime.trace",
    "compile_document": "tool_induction.compiler.compilation",
    "freeze_library": "tool_induction.library",
    "load_library": "tool_induction.library",
    "run_tool": "tool_induction.runtime.runner",
}

__all__ = [
    "Compilation",
    "CompiledTool",
    "Diagnostic",
    "LibraryTools",
    "Memo",
    "Origin",
    "RunLimits",
    "ToolDeclaration",
    "ToolFault",
    "ToolLibrary",
    "Trace",
    "compile_document",
    "freeze_library",
    "load_library",
    "run_tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tool_induction' has no attribute {name!r}")
    return getattr(import_module(home), name)
