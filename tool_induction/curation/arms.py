"""Arms of an experiment: libraries made from an induced one, frozen like any other, with the arm in their manifest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from tool_induction import limits
from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.curation.composites import composites_like
from tool_induction.curation.fork import ancestor_of
from tool_induction.language.model import walk_steps
from tool_induction.library import Origin, ToolLibrary, carried_induction, freeze_library
from world_api.core.faults import ToolFault

#: random: random composites of operations; placebo: the same declarations, and nothing found. The others are the same tools under
#: a label: selected or unselected, written by a person, induced for the domain of the questions or for another.
ArmKind = Literal["random", "placebo", "selected", "unselected", "hand_written", "own", "other"]
ARM_KINDS: tuple[ArmKind, ...] = get_args(ArmKind)

#: Manifest keys that describe what was frozen; the rest describes the origin.
_FROZEN_KEYS = frozenset(
    {
        "schema_version", "name", "content_hash", "manifest_hash", "origin", "date", "domain", "tools", "operations",
        "key_hashes", "lineage", "arm", "of", "seed", "groups",
    }
)  # fmt: skip
#: A condition that is always false: each run ends at once, with nothing found.
_NEVER = {"type": "require", "condition": "{{ 1 > 2 }}", "status": "empty", "reason": "nothing was found"}


def make_arm(
    kind: str,
    library: ToolLibrary,
    folder: Path,
    *,
    name: str,
    date: str,
    seed: int = 1,
    allow_judge: bool = False,
    groups: Collection[str] = (),
) -> ToolLibrary:
    """Freeze the library of an arm; the tools of ``random`` follow from the library and the seed, others from the library.

    Every arm with the names and descriptions of the library keeps in its manifest what the induction saw, for the leak guard.

    Raises:
        ToolFault: ``unknown_arm``, ``already_an_arm``, ``no_composite``, ``no_placebo``; the faults of freezing.
    """
    if kind not in ARM_KINDS:
        raise ToolFault("unknown_arm", f"there is no arm {kind[:64]!r}", hint="one of: " + ", ".join(ARM_KINDS))
    if "arm" in library.manifest:
        raise ToolFault(
            "already_an_arm",
            f"{library.name} is the arm {library.manifest['arm']!r}",
            hint="make arms of the library it came from",
        )
    details: dict[str, Any] = {
        "arm": kind,
        "of": {"name": library.name, "content_hash": library.hash},
        "lineage": [*library.manifest.get("lineage", ()), ancestor_of(library)],
    }
    how, domain = str(library.manifest.get("origin", "brought")), str(library.manifest.get("domain", ""))
    document: dict[str, Any] | None = None
    if kind == "random":
        drawn = composites_like(library.tools, seed=seed, allow_judge=allow_judge, groups=groups)
        document = {"tools": [item.document for item in drawn]}
        how, domain = "random composites", ""
        details |= {"seed": seed, "composites": [item.record() for item in drawn]}
    else:
        details |= {key: value for key, value in library.manifest.items() if key not in _FROZEN_KEYS}
        details |= carried_induction(library.manifest)
    if kind == "placebo":
        document, how = placebo_of(library.tools), "placebo"
    tools = library.tools
    if document is not None:
        tools = compile_document(document, allow_judge=allow_judge, groups=groups).require()
    return freeze_library(tools, folder, name=name, origin=Origin(how=how, date=date, domain=domain, details=details))


def placebo_of(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    """Return a document of tools that find nothing and are declared to the model word for word like the real ones.

    Each keeps its name, description, inputs, outputs and steps, which never run; so its declared price is that of the real tool.

    Raises:
        ToolFault: ``no_placebo``.
    """
    return {"tools": [{**item.frozen, "steps": _ended_at_once(item)} for item in tools.values()]}


def _ended_at_once(tool: CompiledTool) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = tool.frozen["steps"]
    free = limits.MAX_TOOL_STEPS - sum(1 for _ in walk_steps(tool.tool.steps))
    if len(steps) < limits.MAX_STEPS and free >= 1:
        return [_NEVER, *steps]
    first, *rest = steps
    if first["type"] == "require":
        # Later steps may rely on what this condition guarantees, so it stays a part of the new one.
        condition = first["condition"].removeprefix("{{").removesuffix("}}").strip()
        return [{**_NEVER, "condition": f"{{{{ 1 > 2 and ({condition}) }}}}"}, *rest]
    grown = sum(1 for _ in walk_steps(tool.tool.steps[:1])) + 2
    if free < grown:
        raise ToolFault(
            "no_placebo",
            f"{tool.name!r} has {limits.MAX_TOOL_STEPS - free} steps: none can be added to end it at once",
            hint=f"make the arms of a fork without it, or of one in which it has at most {limits.MAX_TOOL_STEPS - grown} steps",
        )
    # Both branches bind what the first step binds, at the same price; the one that is taken ends before it.
    return [{"type": "if", "condition": "{{ 1 < 2 }}", "then": [_NEVER, first], "else": [first]}, *rest]
