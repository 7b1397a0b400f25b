"""Making the library of an arm: frozen like any other, its manifest says which arm it is and of which library."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.libraries.arms.composites import composites_like, document_of
from tool_induction.libraries.arms.placebo import placebo_of
from tool_induction.libraries.beside import carried_induction
from tool_induction.libraries.forking import ancestor_of
from tool_induction.library import Origin, ToolLibrary, freeze_library
from world_api.core.faults import ToolFault

#: random: composites of the operations by chance; placebo: the same declarations, and nothing found. The others are the same tools
#: under a label: selected or unselected, written by a person, induced for the domain that is asked about or for another.
ArmKind = Literal["random", "placebo", "selected", "unselected", "hand_written", "own", "other"]
ARM_KINDS: tuple[ArmKind, ...] = get_args(ArmKind)

#: what a manifest says of what was frozen; the rest tells where a library came from
_OF_THE_FREEZE = frozenset(
    {
        "schema_version", "name", "content_hash", "manifest_hash", "origin", "date", "domain", "tools", "operations",
        "key_hashes", "lineage", "arm", "of", "seed", "groups",
    }
)  # fmt: skip


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
    """Freeze the library of an arm. The tools of ``random`` follow from the library and the seed, those of others from the library.

    What a library's induction saw stays in the manifest of every arm whose names and descriptions are the library's, so that the
    guard against leaks still knows it.

    Raises:
        ToolFault: ``unknown_arm``, ``already_an_arm``, ``no_composite``; what freezing raises.
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
    tools: Mapping[str, CompiledTool] = library.tools
    how, domain = str(library.manifest.get("origin", "brought")), str(library.manifest.get("domain", ""))
    if kind == "random":
        drawn = composites_like(library.tools, seed=seed, allow_judge=allow_judge, groups=groups)
        tools = compile_document(document_of(drawn), allow_judge=allow_judge, groups=groups).require()
        how, domain = "random composites", ""
        details |= {"seed": seed, "composites": [item.record() for item in drawn]}
    else:
        details |= {
            key: value for key, value in library.manifest.items() if key not in _OF_THE_FREEZE
        } | carried_induction(library.manifest)
    if kind == "placebo":
        tools, how = (
            compile_document(placebo_of(library.tools), allow_judge=allow_judge, groups=groups).require(),
            "placebo",
        )
    return freeze_library(tools, folder, name=name, origin=Origin(how=how, date=date, domain=domain, details=details))
