"""``videoworld eval select``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eval.commands.tables.comparing import BudgetOption, DomainOption, RunArgument, WorldOption, filters_of, warned
from tool_induction.judging.options import AllowJudgeOption
from world_api.exposure.cli import JsonOption, WithOption, command_app, show

if TYPE_CHECKING:
    from eval.tables.tooling.choosing import Selected

app = command_app()


@app.command()
def select(
    run: RunArgument,
    library: Annotated[str, typer.Option("--library", metavar="L", help="The library whose tools are selected.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The new library's folder; must not be there.")],
    arm: Annotated[str | None, typer.Option("--arm", help="Which arm of hier, where several have the library.")] = None,
    sure: Annotated[
        bool, typer.Option("--sure", help="Keep a tool only where the interval of its gain lies above zero.")
    ] = False,
    name: Annotated[str | None, typer.Option("--name", help="The new library's name; by default the folder's.")] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="LIBRARY", help="Where the library lies, if not in the run.")
    ] = None,
    domain: DomainOption = None,
    world: WorldOption = None,
    budget: BudgetOption = None,
    allow_judge: AllowJudgeOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep the tools of a library that raise accuracy or lower cost on development questions.

    By arms that leave out one tool each, where the run has them; else by the questions where a tool was called, against the
    baseline, which is weaker. The result is a fork with the evidence in its manifest. Other splits are refused.
    """
    from eval.tables.arms import filtered
    from eval.tables.opening import opened_study
    from eval.tables.tooling.choosing import check_split, choose
    from eval.tables.tooling.selecting import evidence_of, library_rows
    from tool_induction.domains import load_domain, packaged_domains

    read, whole = opened_study(run)
    study = whole.with_rows(filtered(whole.rows, filters_of(domain=domain, world=world, budget=budget)))
    own = library_rows(study, library, arm)
    check_split(read, own, [load_domain(named) for named in packaged_domains()])
    found = _loaded(read.folder.libraries, source or str(own[0].library), own[0].library_hash, allow_judge, groups)
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
    record = {**selected.fork.record(), "kept": list(selected.kept), "needed": list(selected.needed)}
    record |= {
        "warning": study.warning,
        "watermark": study.watermark,
        "tools": [item.record() for item in selected.evidence],
    }
    show(record, as_json=as_json, text=lambda: warned(study, _text(selected, out, study.watermark)))


def _loaded(made_by_run: Path, named: str, hash_: str | None, allow_judge: bool, groups: list[str] | None) -> Any:
    from tool_induction.library import load_library
    from world_api.core.faults import EvalFault

    own = made_by_run / Path(named).name
    library = load_library(own if own.is_dir() else named, allow_judge=allow_judge, groups=groups or ())
    if hash_ is not None and library.hash != hash_:
        raise EvalFault(
            "other_library",
            f"the library {named[:80]!r} is not the one that the run used",
            hint="give the folder of that one with --from",
        )
    return library


def _text(selected: Selected, out: Path, watermark: str | None) -> str:
    lines = [f"({watermark})"] if watermark is not None else []
    width = max(len(item.tool) for item in selected.evidence)
    for item in selected.evidence:
        sign = "keep" if item.enters else "need" if item.tool in selected.needed else "drop"
        lines.append(item.line(sign=sign, width=width))
    weak = any(item.by == "use" and item.enters for item in selected.evidence)
    if weak:
        lines.append("by use alone: run arms that leave out one tool each before a claim rests on this selection")
    lines.append(f"{len(selected.kept)} of {len(selected.evidence)} tools, frozen in {out}")
    return "\n".join(lines)
