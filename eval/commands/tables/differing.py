"""``videoworld eval diff``."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eval.commands.tables.comparing import (
    AgainstArgument,
    ArmArgument,
    BudgetOption,
    DatasetOption,
    DomainOption,
    KindOption,
    RunArgument,
    SeedOption,
    WorldOption,
    differs_text,
    filters_of,
    warned,
)
from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from eval.tables.flips import Which

app = command_app()

_WHICH: Mapping[str, Which] = {"all": "all", "a": "a", "b": "b"}


@app.command("diff")
def diff(
    run: RunArgument,
    arm: ArmArgument,
    against: AgainstArgument,
    only: Annotated[
        str, typer.Option("--only", metavar="a|b|all", help="Only those that A, or B, alone got right.")
    ] = "all",
    limit: Annotated[int, typer.Option("--limit", min=0, help="Show so many at most; 0 counts them only.")] = 10,
    skip: Annotated[int, typer.Option("--skip", min=0, help="Leave out so many at the beginning.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Whole thoughts, arguments and results.")] = False,
    width: Annotated[
        int | None, typer.Option("--width", min=40, max=400, help="Columns; by default the terminal's.")
    ] = None,
    dataset: DatasetOption = None,
    domain: DomainOption = None,
    world: WorldOption = None,
    budget: BudgetOption = None,
    kind: KindOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the questions whose outcome flipped between two arms, both trajectories side by side.

    In a terminal of fewer than 120 columns one stands under the other.
    """
    from eval.tables.flips import flip_text, flipped, flips_of
    from eval.tables.kinds.between import paired_groups
    from eval.tables.opening import opened_study
    from eval.tables.pairing import concerns, differing
    from world_api.core.faults import EvalFault

    which = _WHICH.get(only)
    if which is None:
        raise EvalFault("bad_filter", f"--only is a, b or all, not {only[:40]!r}", hint="a: only A was right")
    filters = filters_of(dataset=dataset, domain=domain, world=world, budget=budget, kind=kind, seed=seed)
    read, study = opened_study(run)
    pairs, across = paired_groups(study, arm, against, filters)
    chosen = flipped(pairs, which)
    flips = flips_of(read, chosen[skip : skip + limit])
    counts = {
        "pairs": len(pairs.pairs),
        "only_a": len(pairs.better),
        "only_b": len(pairs.worse),
        "listed": len(flips),
        "of": len(chosen),
    }
    differs = [*across, *differing(pairs)]
    also = concerns(pairs) if not across else differs[1:]
    record: dict[str, Any] = {
        "a": arm,
        "b": against,
        **counts,
        "differs_in": differs,
        "concerns": also,
        "watermark": study.watermark,
        "warning": study.warning,
        "flips": [flip.record() for flip in flips],
    }

    def text() -> str:
        columns = width or shutil.get_terminal_size((164, 24)).columns
        rule = "=" * columns
        head = _counted(record, arm, against) + "\n" + differs_text(differs, also)
        return warned(study, f"\n{rule}\n".join([head, *(flip_text(flip, width=columns, full=full) for flip in flips)]))

    show(record, as_json=as_json, text=text)


def _counted(record: dict[str, Any], arm: str, against: str) -> str:
    lines = [
        f"{record['pairs']} pairs: {record['only_a']} that only {arm} got right, {record['only_b']} that only {against} did",
        f"shown: {record['listed']} of {record['of']}"
        if record["of"]
        else "no outcome flipped: where both were right or wrong, trajectories are in `videoworld eval report`",
    ]
    return "\n".join([*lines, *([str(record["watermark"])] if record["watermark"] else [])])
