"""Forks: edits of a frozen library become a new one, which says what it came from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.compiler.source import decode
from tool_induction.language.diagnostics import Findings, closest, format_path
from tool_induction.libraries.beside import carried_induction
from tool_induction.libraries.differences import ToolChanges, tool_changes
from tool_induction.library import Origin, ToolLibrary, freeze_library
from world_api.core.faults import ToolFault

#: what a fork keeps of its parent's manifest: where it came from, not what was frozen
_NOT_KEPT = ("schema_version", "tools", "operations", "key_hashes", "lineage")
_MOST_FAULTS = 5


@dataclass(frozen=True, kw_only=True)
class Edits:
    """What a fork changes.

    ``edit`` and ``add`` are documents: tools of an edited document take the place of those with the same name, which
    must be there; added ones must be new. ``keep`` names the tools that stay (all where it is empty), ``drop`` those that go.
    """

    edit: bytes | None = None
    add: bytes | None = None
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Fork:
    """A fork that was made, and how it differs from its parent."""

    library: ToolLibrary
    parent: ToolLibrary
    changes: ToolChanges

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "name": self.library.name,
            "hash": self.library.hash,
            "parent": {"name": self.parent.name, "hash": self.parent.hash},
            **self.changes.record(),
        }


def fork_library(
    parent: ToolLibrary,
    edits: Edits,
    folder: Path,
    *,
    name: str,
    date: str,
    by: str = "",
    note: str = "",
    details: Mapping[str, Any] | None = None,
    may_be_same: bool = False,
    allow_judge: bool = False,
    groups: Collection[str] = (),
) -> Fork:
    """Freeze an edited copy of a library; the parent stays as it is. What an induction saw stays known of the copy.

    ``details`` are more that its manifest says; ``may_be_same`` lets edits that change nothing pass, for instance where a selection
    keeps every tool.

    Raises:
        ToolFault: ``unknown_tool``, ``duplicate_tool``, ``bad_arguments``: a tool is edited and left out;
            ``bad_tools``: a fault stops it and nothing is written;
            ``same_tools``: the edits change nothing; and what freezing raises.
    """
    before = {item.name: item.frozen for item in parent.tools.values()}
    tools = _compiled(_edited(before, edits), allow_judge=allow_judge, groups=groups)
    changes = tool_changes(before, {item.name: item.frozen for item in tools.values()})
    if changes.none and not may_be_same:
        raise ToolFault(
            "same_tools", "the edits change nothing", hint="name a tool to drop, or give an edited document"
        )
    origin = Origin(
        how="edited",
        date=date,
        domain=str(parent.manifest.get("domain", "")),
        details={
            "lineage": [*parent.manifest.get("lineage", ()), ancestor_of(parent)],
            "changes": changes.record(),
            **carried_induction(parent.manifest),
            **({"by": by} if by else {}),
            **({"note": note} if note else {}),
            **(details or {}),
        },
    )
    return Fork(library=freeze_library(tools, folder, name=name, origin=origin), parent=parent, changes=changes)


def _compiled(
    documents: Mapping[str, Any], *, allow_judge: bool, groups: Collection[str]
) -> Mapping[str, CompiledTool]:
    compilation = compile_document({"tools": [*documents.values()]}, allow_judge=allow_judge, groups=groups)
    faults = [item for item in compilation.diagnostics if item.severity == "error"]
    if faults:
        shown = "; ".join(
            f"{item.tool} {format_path(item.path[2:])}: {item.message} [{item.code}]" for item in faults[:_MOST_FAULTS]
        )
        raise ToolFault(
            "bad_tools",
            f"the fork would have {len(faults)} fault{'s' * (len(faults) != 1)}: {shown}",
            hint="mend the edited tools, or drop the tools that call one that is gone; nothing was written",
        )
    return compilation.tools


def ancestor_of(parent: ToolLibrary) -> dict[str, Any]:
    """What a fork remembers of a library it came from; a plain file has no manifest and is known by its hash."""
    known = {"name": parent.name, "content_hash": parent.hash, "origin": "not frozen"}
    return known | {key: value for key, value in parent.manifest.items() if key not in _NOT_KEPT}


def _edited(before: Mapping[str, Any], edits: Edits) -> dict[str, Any]:
    tools = dict(before)
    changed = _documents(edits.edit)
    named = [name for name, tool in changed.items() if isinstance(tool, dict) and tool.get("tool_name") == name]
    for name in (*edits.keep, *edits.drop, *named):
        if name not in before:
            near = closest(name, before)
            hint = f"did you mean {near!r}?" if near else "its tools: " + ", ".join(before)
            more = "; a tool that is new is added" if name in changed else ""
            raise ToolFault("unknown_tool", f"the library has no tool {name[:64]!r}", hint=hint + more)
    lost = sorted(name for name in changed if name in edits.drop or (edits.keep and name not in edits.keep))
    if lost:
        raise ToolFault(
            "bad_arguments", f"{lost[0]!r} is edited and left out", hint="give it as an edit, or leave it out, not both"
        )
    tools.update(changed)
    for name, document in _documents(edits.add).items():
        if name in tools:
            raise ToolFault(
                "duplicate_tool", f"the library has a tool {name!r} already", hint="give it as an edit, or rename it"
            )
        tools[name] = document
    kept = {name for name in tools if not edits.keep or name in edits.keep or name not in before}
    return {name: document for name, document in tools.items() if name in kept and name not in edits.drop}


def _documents(content: bytes | None) -> dict[str, Any]:
    """The tools of a document by name, each checked by itself as far as its JSON; the rest is the compiler's."""
    if content is None:
        return {}
    findings = Findings()
    value = decode(content, findings)
    if findings.errors:
        raise ToolFault("bad_tools", findings.items[0].message, hint="`videoworld tools check FILE` shows all faults")
    tools = value.get("tools", [value]) if isinstance(value, dict) else value
    found: dict[str, Any] = {}
    for place, tool in enumerate(tools if isinstance(tools, list) else [tools]):
        name = tool.get("tool_name") if isinstance(tool, dict) else None
        key = name if isinstance(name, str) else f"tool {place + 1}"
        if key in found:
            raise ToolFault("bad_tools", f"two tools are called {key!r}", hint="`videoworld tools check FILE`")
        found[key] = tool
    return found
