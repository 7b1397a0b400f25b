"""Making the selected library: a fork that keeps the tools that help, with the evidence in its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.runs.reading import Run
from eval.tables.rows import SampleRow
from eval.tables.tooling.selecting import Evidence
from tool_induction.domains import Domain
from tool_induction.language.model import Call, walk_steps
from tool_induction.libraries.forking import Edits, Fork, fork_library
from tool_induction.library import ToolLibrary
from world_api.core.faults import EvalFault

_SPLIT = "development"


@dataclass(frozen=True, kw_only=True)
class Selected:
    """A selection that was made: what is known of each tool, the tools that stay, and the library."""

    evidence: tuple[Evidence, ...]
    kept: tuple[str, ...]
    needed: tuple[str, ...]  #: kept only because tools that enter call them
    fork: Fork


def check_split(run: Run, rows: Iterable[SampleRow], domains: Collection[Domain]) -> None:
    """Refuse to select on anything but development questions: what tools are chosen by cannot measure them any more.

    A question is of development where it says so itself, or where it says nothing and the splits of its domain say so of its video.

    Raises:
        EvalFault: ``not_development``, with what the questions are.
    """
    named = {domain.name: domain for domain in domains}
    found: Counter[str] = Counter()
    for dataset, item_id in {(row.dataset, row.item): None for row in rows}:
        item = run.items[dataset, item_id]
        domain = named.get(item.domain or "")
        of_video = domain.split_of_video(item.video_id) if domain is not None else None
        splits: set[str] = {split for split in (item.split, of_video) if split is not None}
        found.update(splits - {_SPLIT} if splits else {"of no split"})
    if found:
        told = ", ".join(f"{number} {name}" for name, number in sorted(found.items()))
        raise EvalFault(
            "not_development",
            f"tools are selected on development questions only; this run asks others: {told}",
            hint="run the arms on a dataset with `split: development`, and select from that run",
        )


def choose(
    library: ToolLibrary,
    evidence: Sequence[Evidence],
    out: Path,
    *,
    name: str,
    date: str,
    details: Mapping[str, Any],
    allow_judge: bool = False,
    groups: Collection[str] = (),
) -> Selected:
    """Freeze the library of the tools that enter, and of those that they call.

    Raises:
        EvalFault: ``nothing_selected``.
        ToolFault: what forking raises.
    """
    entering = [item.tool for item in evidence if item.enters and item.tool in library.tools]
    if not entering:
        refused = EvalFault(
            "nothing_selected",
            f"no tool of {library.name} raises accuracy or lowers cost on these questions; no library is written",
            hint="ask more development questions, or run arms that leave out one tool each",
        )
        for item in evidence:
            refused.add_note(item.line(sign="drop", width=max(len(one.tool) for one in evidence)))
        raise refused
    wanted = with_callees(library, entering)
    kept = tuple(tool for tool in library.tools if tool in wanted)
    fork = fork_library(
        library,
        Edits(keep=kept),
        out,
        name=name,
        date=date,
        by="videoworld eval select",
        details={
            "arm": "selected",
            "of": {"name": library.name, "content_hash": library.hash},
            "selection": {**details, "tools": [item.record() for item in evidence]},
        },
        may_be_same=True,
        allow_judge=allow_judge,
        groups=groups,
    )
    needed = tuple(tool for tool in kept if tool not in entering)
    return Selected(evidence=tuple(evidence), kept=kept, needed=needed, fork=fork)


def with_callees(library: ToolLibrary, names: Iterable[str]) -> set[str]:
    """Tools with all the tools that they call, directly or through others."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name in library.tools:
            found.add(name)
            steps = walk_steps(library.tools[name].tool.steps)
            waiting += [step.target for step in steps if isinstance(step, Call) and step.kind == "tool"]
    return found
