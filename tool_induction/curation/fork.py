"""Forks and comparisons: an edited copy of a frozen library that records its lineage; two libraries compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.compiler.source import decode
from tool_induction.curation.review import plan_lines
from tool_induction.language.diagnostics import Findings, format_path
from tool_induction.library import Origin, ToolLibrary, carried_induction, differences, freeze_library
from world_api.core.faults import ToolFault
from world_api.core.identifiers import suggestion

#: Manifest keys about the frozen tools; a fork's record of its parent has all the others.
_NOT_KEPT = ("schema_version", "tools", "operations", "key_hashes", "lineage")
_MAX_FAULTS, _MAX_PLACES = 5, 200


@dataclass(frozen=True, kw_only=True)
class Edits:
    """The changes of a fork.

    ``edit`` and ``add`` are tool documents: tools of ``edit`` replace those of the same name, which must exist; tools
    of ``add`` must have new names. ``keep`` lists the tools that remain (empty: all), ``drop`` those that are removed.
    """

    edit: bytes | None = None
    add: bytes | None = None
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Fork:
    """A fork and its parent. ``changes``: the names of the tools that are ``changed``, ``dropped`` and ``added``."""

    library: ToolLibrary
    parent: ToolLibrary
    changes: Mapping[str, list[str]]

    def record(self) -> dict[str, Any]:
        """Return a JSON record: names and hashes of fork and parent, and the changes."""
        parent = {"name": self.parent.name, "hash": self.parent.hash}
        return {"name": self.library.name, "hash": self.library.hash, "parent": parent, **self.changes}


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
    """Freeze an edited copy of a library; the parent is not changed. The manifest keeps what its induction saw.

    ``by`` (the editor), ``note`` and ``details`` are added to the manifest. ``may_be_same`` accepts edits that change
    nothing, for instance a selection of all tools.

    Raises:
        ToolFault: ``unknown_tool``, ``duplicate_tool``; ``bad_arguments``: a tool is both edited and left out;
            ``bad_tools``: a document or the result has faults, and nothing is written;
            ``same_tools``: the edits change nothing; and the faults of freezing.
    """
    before = _frozen(parent.tools)
    documents = [*_edited(before, edits).values()]
    compilation = compile_document({"tools": documents}, allow_judge=allow_judge, groups=groups)
    faults = [item for item in compilation.diagnostics if item.severity == "error"]
    if faults:
        shown = [f"{item.tool} {format_path(item.path[2:])}: {item.message} [{item.code}]" for item in faults]
        raise ToolFault(
            "bad_tools",
            f"the fork would have {len(faults)} fault{'s' * (len(faults) != 1)}: {'; '.join(shown[:_MAX_FAULTS])}",
            hint="mend the edited tools, or drop the tools that call one that is gone; nothing was written",
        )
    changes = _changes(before, _frozen(compilation.tools))
    if not any(changes.values()) and not may_be_same:
        hint = "name a tool to drop, or give an edited document"
        raise ToolFault("same_tools", "the edits change nothing", hint=hint)
    origin = Origin(
        how="edited",
        date=date,
        domain=str(parent.manifest.get("domain", "")),
        details={
            "lineage": [*parent.manifest.get("lineage", ()), ancestor_of(parent)],
            "changes": changes,
            **carried_induction(parent.manifest),
            **{key: value for key, value in (("by", by), ("note", note)) if value},
            **(details or {}),
        },
    )
    library = freeze_library(compilation.tools, folder, name=name, origin=origin)
    return Fork(library=library, parent=parent, changes=changes)


def ancestor_of(parent: ToolLibrary) -> dict[str, Any]:
    """Return the lineage entry for a library: name, hash, origin, and the manifest without the keys about its tools.

    A plain file has no manifest; its origin is ``not frozen``.
    """
    known = {"name": parent.name, "content_hash": parent.hash, "origin": "not frozen"}
    return known | {key: value for key, value in parent.manifest.items() if key not in _NOT_KEPT}


def _frozen(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    return {item.name: item.frozen for item in tools.values()}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the names of tools under ``changed``, ``dropped`` and ``added``, each in library order."""
    return {
        "changed": [name for name in before if name in after and before[name] != after[name]],
        "dropped": [name for name in before if name not in after],
        "added": [name for name in after if name not in before],
    }


def _edited(before: Mapping[str, Any], edits: Edits) -> dict[str, Any]:
    tools = dict(before)
    changed = _documents(edits.edit)
    named = [name for name, tool in changed.items() if isinstance(tool, dict) and tool.get("tool_name") == name]
    for name in (*edits.keep, *edits.drop, *named):
        if name not in before:
            hint = suggestion(name, before, "its tools: ")
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
    """Return the tools of a document by name (``tool N`` if it has none), none for None; only the JSON is checked."""
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


def compared(before: ToolLibrary, after: ToolLibrary) -> dict[str, Any]:
    """Return a comparison as JSON record: both libraries, and names of tools ``kept, changed, dropped, added``.

    ``changes`` has for each changed tool the differences outside its steps (``places``), and the lines of its ``plan``
    that were removed (``- ``) and added (``+ ``).
    """
    was, now = _frozen(before.tools), _frozen(after.tools)
    changes = _changes(was, now)
    return {
        "before": {"name": before.name, "hash": before.hash},
        "after": {"name": after.name, "hash": after.hash},
        "kept": [name for name in was if name in now and was[name] == now[name]],
        **changes,
        "changes": {
            name: {
                "places": differences(was[name] | {"steps": []}, now[name] | {"steps": []})[:_MAX_PLACES],
                "plan": _plan_changes(plan_lines(before.tools[name].tool), plan_lines(after.tools[name].tool)),
            }
            for name in changes["changed"]
        },
    }


def _plan_changes(before: list[str], after: list[str]) -> list[str]:
    lines: list[str] = []
    for what, start, end, other_start, other_end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if what != "equal":
            lines += [f"- {line}" for line in before[start:end]]
            lines += [f"+ {line}" for line in after[other_start:other_end]]
    return lines


def comparison_text(record: Mapping[str, Any]) -> str:
    """Return a comparison of two libraries, as ``compared`` returns it, as readable text."""
    before, after = record["before"], record["after"]
    lines = [f"{before['name']} ({before['hash'][:12]}) -> {after['name']} ({after['hash'][:12]})"]
    lines += [f"- {name}" for name in record["dropped"]]
    lines += [f"+ {name}" for name in record["added"]]
    for name in record["changed"]:
        change = record["changes"][name]
        lines += [f"~ {name}", *(f"    {line}" for line in (*change["places"], *change["plan"]))]
    kept = len(record["kept"])
    lines.append(f"{kept} tool{'s' * (kept != 1)} the same")
    return "\n".join(lines)
