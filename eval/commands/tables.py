"""``videoworld eval compare``, ``diff``, ``transfer`` and ``select``: arms, libraries and tools of a run compared."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eval.commands import RunOrBundle
from world_api.commands.cli import AllowJudgeOption, JsonOption, WithOption, with_options
from world_api.terminal import show

if TYPE_CHECKING:
    from eval.tables import ArmComparison, Selected, Study
    from tool_induction.library import ToolLibrary

ArmArgument = Annotated[
    str, typer.Argument(metavar="A", help="An arm, with filters if need be: hier@library=hand_A,world=oracle.")
]
AgainstArgument = Annotated[str, typer.Argument(metavar="B", help="The arm it is compared with.")]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """The options of a command that choose samples of a run."""

    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="Only questions of this dataset.")
    ] = None
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="NAME", help="Only questions of this task domain.")
    ] = None
    world: Annotated[
        str | None, typer.Option("--world", metavar="NAME", help="Only samples in worlds made this way.")
    ] = None
    budget: Annotated[str | None, typer.Option("--budget", metavar="NAME", help="Only samples under this budget.")] = (
        None
    )
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="NAME", help="Only questions of this kind: interval, count ...")
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", help="Only samples of this seed.")] = None

    def texts(self) -> list[str]:
        """Return each option that was given as a filter ``key=value``, in the form that ``filtered`` reads."""
        return [f"{key}={value}" for key, value in asdict(self).items() if value is not None]


EVERYTHING = Filters()


@with_options("filters", Filters)
def compare(
    run: RunOrBundle,
    arm: ArmArgument,
    against: AgainstArgument,
    filters: Filters = EVERYTHING,
    as_json: JsonOption = False,
) -> None:
    """Compare two arms on the same questions: difference with its interval over videos, tests, costs.

    Where A and B are each in one world, budget or seed, those are what is compared.
    """
    from eval.tables import compare as compared_groups, opened_study

    _, study = opened_study(run)
    found = compared_groups(study, arm, against, filters.texts())
    record = {
        "a": found.one,
        "b": found.other,
        "differs_in": found.differs,
        "concerns": found.concerns,
        "tables": [table.record() for table in found.tables],
        "warning": study.warning,
    }
    show(record, as_json=as_json, text=lambda: warned(study, _compared_text(found)))


def warned(study: Study, text: str) -> str:
    """Return the text, with the study's warning before it if there is one."""
    if study.warning is None:
        return text
    return f"{study.warning}\n`videoworld eval run RUN` asks them again.\n\n{text}"


def _compared_text(found: ArmComparison) -> str:
    from eval.tables import fields_text, table_text

    first = found.tables[0]
    parts = [fields_text(first, place) for place in range(len(first.rows))]
    parts += [table_text(table, only=_SHORT) for table in found.tables[1:]]
    parts.append(differs_text(found.differs, found.concerns))
    return "\n\n".join(parts)


#: Columns that are shown of tables with one line per comparison.
_SHORT = "dataset world budget domain pairs videos accuracy accuracy_against difference p_holm".split()


def differs_text(differs: list[str], concerns: list[str]) -> str:
    """Return a text that lists how two groups differ, and warns of ``concerns``: differences beside the studied one."""
    if not differs:
        return "they do not differ in anything but their answers"
    warning = (
        f"\nNOT A CLEAN COMPARISON: beside one difference there is also: {', '.join(concerns)}" if concerns else ""
    )
    return f"they differ in: {', '.join(differs)}{warning}"


OnlyOption = Annotated[
    Literal["a", "b", "all"], typer.Option(metavar="a|b|all", help="Only those that A, or B, alone got right.")
]


@with_options("filters", Filters)
def diff(
    run: RunOrBundle,
    arm: ArmArgument,
    against: AgainstArgument,
    only: OnlyOption = "all",
    limit: Annotated[int, typer.Option(min=0, help="Show so many at most; 0 counts them only.")] = 10,
    skip: Annotated[int, typer.Option(min=0, help="Leave out so many at the beginning.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Whole thoughts, arguments and results.")] = False,
    width: Annotated[int | None, typer.Option(min=40, max=400, help="Columns; by default the terminal's.")] = None,
    filters: Filters = EVERYTHING,
    as_json: JsonOption = False,
) -> None:
    """List the questions whose outcome flipped between two arms, both trajectories side by side.

    In a terminal of fewer than 120 columns one is below the other.
    """
    from eval.tables import flip_text, flips_of, opened_study, paired_groups

    read, study = opened_study(run)
    found = paired_groups(study, arm, against, filters.texts())
    pairs = found.pairs
    chosen = [*(pairs.better if only != "b" else ()), *(pairs.worse if only != "a" else ())]
    flips = flips_of(read, chosen[skip : skip + limit])
    record: dict[str, Any] = {
        "a": arm,
        "b": against,
        "pairs": len(pairs.pairs),
        "only_a": len(pairs.better),
        "only_b": len(pairs.worse),
        "listed": len(flips),
        "of": len(chosen),
        "differs_in": found.differs,
        "concerns": found.concerns,
        "watermark": study.watermark,
        "warning": study.warning,
        "flips": [flip.record() for flip in flips],
    }

    def text() -> str:
        columns = width or shutil.get_terminal_size((164, 24)).columns
        shown = "no outcome flipped: where both were right or wrong, trajectories are in `videoworld eval report`"
        head = f"{len(pairs.pairs)} pairs: {len(pairs.better)} that only {arm} got right, "
        head += f"{len(pairs.worse)} that only {against} did\n"
        head += f"shown: {len(flips)} of {len(chosen)}\n" if chosen else f"{shown}\n"
        head += f"{study.watermark}\n" if study.watermark else ""
        head += differs_text(found.differs, found.concerns)
        return warned(
            study, f"\n{'=' * columns}\n".join([head, *(flip_text(flip, width=columns, full=full) for flip in flips)])
        )

    show(record, as_json=as_json, text=text)


TRANSFER = ("transfer", "transfer_difference", "own_other", "draws", "variance", "funnel")


@with_options("filters", Filters, "domain", "kind")
def transfer(
    run: RunOrBundle,
    filters: Filters = EVERYTHING,
    as_json: JsonOption = False,
) -> None:
    """The transfer matrix: tool libraries against domains; accuracy, difference to the baseline, own less other."""
    from eval.tables import filtered, opened_study, table_text, tables_of

    _, whole = opened_study(run)
    study = whole.with_rows(filtered(whole.rows, filters.texts()))
    tables = tables_of(study, TRANSFER)
    record = {"tables": [table.record() for table in tables], "warning": study.warning}

    def text() -> str:
        parts = (table_text(table, only=[c.key for c in table.columns if not c.aside]) for table in tables)
        return warned(study, "\n\n".join(parts))

    show(record, as_json=as_json, text=text)


@with_options("filters", Filters, "dataset", "kind", "seed")
def select(
    run: RunOrBundle,
    library: Annotated[str, typer.Option(metavar="LIBRARY", help="The library whose tools are selected.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The new library's folder; must not be there.")],
    arm: Annotated[
        str | None, typer.Option(metavar="ARM", help="Which arm of hier, where several have the library.")
    ] = None,
    sure: Annotated[
        bool, typer.Option("--sure", help="Keep a tool only if the interval of its gain is above zero.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The new library's name; by default the folder's.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="LIBRARY", help="Where the library is, if not in the run.")
    ] = None,
    filters: Filters = EVERYTHING,
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep the tools of a library that raise accuracy or lower cost on development questions.

    By arms that leave out one tool each, where the run has them; else by the questions where a tool was called, against the
    baseline, which is weaker. The result is a fork with the evidence in its manifest. Other splits are refused.
    """
    from eval.tables import check_split, choose, evidence_of, filtered, library_rows, opened_study
    from tool_induction.domains import load_domain, packaged_domains

    read, whole = opened_study(run)
    study = whole.with_rows(filtered(whole.rows, filters.texts()))
    own = library_rows(study, library, arm)
    check_split(read, own, [load_domain(named) for named in packaged_domains()])
    named = source or str(own[0].library)
    found = _loaded(read.folder.libraries, named, own[0].library_hash, allow_judge, groups or ())
    selected = choose(
        found,
        evidence_of(study, own, sure=sure),
        out,
        name=name or out.resolve().name,
        date=datetime.now(UTC).date().isoformat(),
        details={
            "run": read.manifest.name,
            "arm": own[0].arm,
            "sure": sure,
            "samples": len(own),
            "videos": sorted({row.video for row in own}),
            "templates": sorted({row.template for row in own if row.template is not None}),
            "watermark": study.watermark,
        },
        allow_judge=allow_judge,
        groups=groups or (),
    )
    record = {
        **selected.fork.record(),
        "kept": list(selected.kept),
        "needed": list(selected.needed),
        "warning": study.warning,
        "watermark": study.watermark,
        "tools": [item.record() for item in selected.evidence],
    }
    show(record, as_json=as_json, text=lambda: warned(study, _selected_text(selected, out, study.watermark)))


def _loaded(made_by_run: Path, named: str, hash_: str | None, allow_judge: bool, groups: Sequence[str]) -> ToolLibrary:
    from tool_induction.library import load_library
    from world_api.core.faults import EvalFault

    own = made_by_run / Path(named).name
    library = load_library(own if own.is_dir() else named, allow_judge=allow_judge, groups=groups)
    if hash_ is not None and library.hash != hash_:
        what = f"the library {named[:80]!r} is not the one that the run used"
        raise EvalFault("other_library", what, hint="give the folder of that one with --from")
    return library


def _selected_text(selected: Selected, out: Path, watermark: str | None) -> str:
    lines = [f"({watermark})"] if watermark is not None else []
    width = max(len(item.tool) for item in selected.evidence)
    for item in selected.evidence:
        sign = "keep" if item.enters else "need" if item.tool in selected.needed else "drop"
        lines.append(item.line(sign=sign, width=width))
    if any(item.by == "use" and item.enters for item in selected.evidence):
        lines.append("by use alone: run arms that leave out one tool each before a claim rests on this selection")
    lines.append(f"{len(selected.kept)} of {len(selected.evidence)} tools, frozen in {out}")
    return "\n".join(lines)
