"""Two libraries side by side: which tools stayed, changed, went and came, and at which places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tool_induction.libraries.differences import differences, tool_changes
from tool_induction.library import ToolLibrary

_MOST = 200


def compared(before: ToolLibrary, after: ToolLibrary) -> dict[str, Any]:
    """The wire form of a comparison; ``places`` holds, for each changed tool, its differing paths."""
    was, now = _frozen(before), _frozen(after)
    changes = tool_changes(was, now)
    return {
        "before": {"name": before.name, "hash": before.hash},
        "after": {"name": after.name, "hash": after.hash},
        "kept": list(changes.kept),
        **changes.record(),
        "places": {
            name: [one.line() for one in differences(was[name], now[name], most=_MOST)] for name in changes.changed
        },
    }


def _frozen(library: ToolLibrary) -> Mapping[str, Any]:
    return {item.name: item.frozen for item in library.tools.values()}


def comparison_text(record: Mapping[str, Any]) -> str:
    """A comparison for people."""
    before, after = record["before"], record["after"]
    lines = [f"{before['name']} ({before['hash'][:12]}) -> {after['name']} ({after['hash'][:12]})"]
    for name in record["dropped"]:
        lines.append(f"- {name}")
    for name in record["added"]:
        lines.append(f"+ {name}")
    for name in record["changed"]:
        lines.append(f"~ {name}")
        lines.extend(f"    {place}" for place in record["places"][name])
    kept = len(record["kept"])
    lines.append(f"{kept} tool{'s' * (kept != 1)} the same")
    return "\n".join(lines)
