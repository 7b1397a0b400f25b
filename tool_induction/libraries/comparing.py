"""Two libraries side by side: which tools stayed, changed, went and came, and at which places."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from tool_induction.libraries.differences import differences, tool_changes
from tool_induction.library import ToolLibrary
from tool_induction.plan import plan_lines

_MOST = 200


def compared(before: ToolLibrary, after: ToolLibrary) -> dict[str, Any]:
    """The wire form of a comparison.

    ``changes`` holds, for each changed tool, the differing ``places`` outside its steps, and its ``plan``: the lines that
    went (``- ``) and came (``+ ``).
    """
    was, now = _frozen(before), _frozen(after)
    changes = tool_changes(was, now)
    return {
        "before": {"name": before.name, "hash": before.hash},
        "after": {"name": after.name, "hash": after.hash},
        "kept": list(changes.kept),
        **changes.record(),
        "changes": {
            name: {
                "places": [
                    one.line() for one in differences(_without_steps(was[name]), _without_steps(now[name]), most=_MOST)
                ],
                "plan": _plan_changes(plan_lines(before.tools[name].tool), plan_lines(after.tools[name].tool)),
            }
            for name in changes.changed
        },
    }


def _frozen(library: ToolLibrary) -> Mapping[str, Any]:
    return {item.name: item.frozen for item in library.tools.values()}


def _without_steps(frozen: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in frozen.items() if key != "steps"}


def _plan_changes(before: list[str], after: list[str]) -> list[str]:
    lines: list[str] = []
    for what, start, end, other_start, other_end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if what != "equal":
            lines += [f"- {line}" for line in before[start:end]]
            lines += [f"+ {line}" for line in after[other_start:other_end]]
    return lines


def comparison_text(record: Mapping[str, Any]) -> str:
    """A comparison for people."""
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
