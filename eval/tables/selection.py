"""The selected library: which tools help on development questions, and a fork of the library that keeps only these.

A tool enters if it raises accuracy or lowers cost. There are two kinds of evidence. *Left out*: the library is compared
with the same library without the tool, paired; this measures the effect of the tool. *Use*: on the questions whose
episodes called the tool, the library is compared with the baseline, paired; this is weaker, because the model chooses
when to call a tool, and the effects of several tools in one episode cannot be separated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eval.runs.stored_run import Run
from eval.statistics import FEW_CLUSTERS
from eval.tables.cells import POINTS, correct, interval, tokens
from eval.tables.comparisons import Pair, Pairs, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import Rows, Study
from eval.tables.table import TableCell
from eval.tables.tools import left_out_contrasts, library_uses
from tool_induction.curation.fork import Edits, Fork, fork_library
from tool_induction.domains import Domain
from tool_induction.language.model import Call, walk_steps
from tool_induction.library import ToolLibrary
from world_api.core.faults import EvalFault
from world_api.core.identifiers import did_you_mean

By = Literal["left_out", "use", "nothing"]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence on one tool: its gain in accuracy, the tokens it saves per question, and whether it is selected (``enters``).

    ``by``: against the library without it (``left_out``), against the baseline where it was called (``use``), or ``nothing``.
    """

    tool: str
    by: By
    pairs: int
    accuracy: TableCell
    saved: TableCell
    enters: bool
    why: str

    def record(self) -> dict[str, Any]:
        """Return the JSON form, for the manifest of the selected library."""
        return {
            "tool": self.tool,
            "by": self.by,
            "pairs": self.pairs,
            "videos": self.accuracy.clusters or 0,
            "accuracy": _ends(self.accuracy),
            "tokens_saved": _ends(self.saved),
            "enters": self.enters,
            "why": self.why,
        }

    def line(self, *, sign: str, width: int) -> str:
        """Return the evidence as one line of text; ``sign`` comes first, ``width`` is that of the tool's name."""
        gain, saved = self.accuracy.number, self.saved.number
        figures = "accuracy unknown" if gain is None else f"accuracy {100 * gain:+.1f} points"
        figures += "" if saved is None else f", {saved:,.0f} tokens saved"
        by = {"left_out": "leaving it out", "use": "its use", "nothing": "nothing"}[self.by]
        return f"{sign}  {self.tool:{width}}  {figures}, {self.pairs} pairs, by {by}: {self.why}"


def library_rows(study: Study, library: str, arm: str | None) -> list[SampleRow]:
    """Return the samples of ``hier`` with a library (its name in the run, or hash), of ``arm`` only if that is given.

    Raises:
        EvalFault: ``unknown_library``; ``several_arms``: they are not all of one arm.
    """
    known = [row for row in study.rows if row.system == "hier" and row.library]
    rows = [row for row in known if library in (row.library, row.library_hash)]
    if not rows:
        names = list(dict.fromkeys(str(row.library) for row in known))
        hint = did_you_mean(library, names) or f"it has: {', '.join(names) or 'none'}"
        raise EvalFault("unknown_library", f"no arm of hier has a library {library[:80]!r} in this run", hint=hint)
    chosen = [row for row in rows if arm in (None, row.arm_name, row.arm)]
    arms = sorted({row.arm for row in chosen})
    if len(arms) != 1:
        named = sorted({row.arm for row in rows})
        raise EvalFault("several_arms", f"arms with this library: {', '.join(named)}", hint="choose one with --arm")
    return chosen


def evidence_of(study: Study, own: Rows, *, sure: bool = False) -> list[Evidence]:
    """Return the evidence on each tool that the arm could call; ``own`` are the arm's samples.

    ``sure``: a tool enters only if the whole interval of its effect is above zero, over ten videos or more.
    """
    left_out: dict[str, list[Pair]] = {}
    for item in left_out_contrasts(study):
        if item.arm == own[0].arm:
            left_out.setdefault(item.name, []).extend(item.pairs.pairs)
    against = [
        pair
        for group, baseline in study.beside_baseline()
        if group.arm == own[0].arm and baseline is not None
        for pair in pairs_of(group.rows, baseline.rows).pairs
    ]
    found = []
    for tool in dict.fromkeys(name for row in own for name in row.offered):
        by: By = "left_out"
        pairs = left_out.get(tool)
        if pairs is None:
            called = {row.sample for row in own if any(use.name == tool for use in library_uses(row))}
            pairs = [pair for pair in against if pair[0].sample in called]
            by = "use" if pairs else "nothing"
        found.append(_judged(tool, by, Pairs(pairs=tuple(pairs)), sure=sure))
    return found


def _judged(tool: str, by: By, pairs: Pairs, *, sure: bool) -> Evidence:
    none = "never called, or not beside a baseline"
    accuracy = interval(pairs.differences(correct), within=POINTS, why=none)
    saved = interval(pairs.swapped.differences(tokens), why="no pair with episodes")
    enters, why = _verdict(accuracy, saved, sure=sure)
    return Evidence(
        tool=tool, by=by, pairs=len(pairs.pairs), accuracy=accuracy, saved=saved, enters=enters, why=accuracy.why or why
    )


def _verdict(accuracy: TableCell, saved: TableCell, *, sure: bool) -> tuple[bool, str]:
    raises, saves = (cell.is_sure if sure else (cell.number or 0.0) > 0 for cell in (accuracy, saved))
    if accuracy.number is None:
        return False, "nothing is known of it"
    if raises:
        return True, "it raises accuracy"
    if accuracy.number >= 0 and saves:
        return True, "it lowers cost at no loss of accuracy"
    why = "it neither raises accuracy nor lowers cost" + ", as far as is sure" * sure
    few = sure and (accuracy.clusters or 0) < FEW_CLUSTERS
    return False, why + f" with fewer than {FEW_CLUSTERS} videos" * few


def _ends(cell: TableCell) -> Mapping[str, float | None]:
    return {"estimate": cell.number, "low": cell.low, "high": cell.high}


@dataclass(frozen=True, kw_only=True)
class Selected:
    """A selection: the evidence on each tool, the names of the tools that are kept, and the new library (``fork``)."""

    evidence: tuple[Evidence, ...]
    kept: tuple[str, ...]
    needed: tuple[str, ...]  #: kept only because tools that enter call them
    fork: Fork


def check_split(run: Run, rows: Iterable[SampleRow], domains: Collection[Domain]) -> None:
    """Check that all questions are development questions: those that select the tools cannot evaluate them.

    A question's split is its own and the one that its domain gives its video. One must be known; each known one must be
    ``development``.

    Raises:
        EvalFault: ``not_development``, with the number of other questions by split.
    """
    named = {domain.name: domain for domain in domains}
    found: Counter[str] = Counter()
    for item in {(row.dataset, row.item): run.items[row.dataset, row.item] for row in rows}.values():
        domain = named.get(item.domain or "")
        of_video = domain.split_of_video(item.video_id) if domain is not None else None
        splits: set[str] = {split for split in (item.split, of_video) if split is not None}
        found.update(splits - {"development"} if splits else {"of no split"})
    if found:
        others = ", ".join(f"{number} {name}" for name, number in sorted(found.items()))
        raise EvalFault(
            "not_development",
            f"tools are selected on development questions only; this run asks others: {others}",
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
    """Write the tools that enter, and those they call, as a library into ``out``; ``details`` are for its manifest.

    Raises:
        EvalFault: ``nothing_selected``.
        ToolFault: the faults of forking a library.
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
    """Return tools together with all the library's tools that they call, directly or through others."""
    found: set[str] = set()
    waiting = [name for name in names if name in library.tools]
    while waiting:
        name = waiting.pop()
        found.add(name)
        called = {step.target for step in walk_steps(library.tools[name].tool.steps) if isinstance(step, Call)}
        waiting += (called & set(library.tools)) - found
    return found
