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
    from tool_induction.library_tools import LibraryTools, ToolDeclaration
    from tool_induction.runtime.budget import RunLimits
    from tool_induction.runtime.calls import Memo
    from tool_induction.runtime.runner import run_tool
    from tool_induction.runtime.trace import Trace
    from world_api.core.faults import ToolFault

_NAMES = {
    "tool_induction.compiler.compilation": "Compilation CompiledTool compile_document",
    "tool_induction.language.diagnostics": "Diagnostic",
    "tool_induction.library": "Origin ToolLibrary freeze_library load_library",
    "tool_induction.library_tools": "LibraryTools ToolDeclaration",
    "tool_induction.runtime.budget": "RunLimits",
    "tool_induction.runtime.calls": "Memo",
    "tool_induction.runtime.runner": "run_tool",
    "tool_induction.runtime.trace": "Trace",
    "world_api.core.faults": "ToolFault",
}

__all__ = [
    "Compilation", "CompiledTool", "Diagnostic", "LibraryTools", "Memo", "Origin", "RunLimits", "ToolDeclaration", "ToolFault",
    "ToolLibrary", "Trace", "compile_document", "freeze_library", "load_library", "run_tool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _NAMES.items() if name in names.split()), None)
    if module is None:
        raise AttributeError(f"module 'tool_induction' has no attribute {name!r}")
    return getattr(import_module(module), name)
