"""``videoworld eval compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from eval.tables.kinds.between import Compared
    from eval.tables.study import Study

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or a bundle of one.")]
ArmArgument = Annotated[
    str, typer.Argument(metavar="A", help="An arm, with filters if need be: hier@library=hand_A,world=oracle.")
]
AgainstArgument = Annotated[str, typer.Argument(metavar="B", help="The arm it is compared with.")]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help="Only questions of this dataset.")]
DomainOption = Annotated[str | None, typer.Option("--domain", help="Only questions of this task domain.")]
WorldOption = Annotated[str | None, typer.Option("--world", help="Only samples in worlds made this way.")]
BudgetOption = Annotated[str | None, typer.Option("--budget", help="Only samples under this budget.")]
KindOption = Annotated[str | None, typer.Option("--kind", help="Only questions of this kind: interval, count ...")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Only samples of this seed.")]

app = command_app()


@app.command()
def compare(
    run: RunArgument,
    arm: ArmArgument,
    against: AgainstArgument,
    dataset: DatasetOption = None,
    domain: DomainOption = None,
    world: WorldOption = None,
    budget: BudgetOption = None,
    kind: KindOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two arms on the same questions: difference with its interval over videos, tests, costs.

    Where A and B are each in one world, budget or seed, those are what is compared.
    """
    from eval.tables.kinds.between import compare as compared_groups
    from eval.tables.opening import opened_study

    filters = filters_of(dataset=dataset, domain=domain, world=world, budget=budget, kind=kind, seed=seed)
    _, study = opened_study(run)
    found = compared_groups(study, arm, against, filters)
    show(
        {**_record(found), "warning": study.warning},
        as_json=as_json,
        text=lambda: warned(study, _text(found)),
    )


def filters_of(**given: str | int | None) -> list[str]:
    """The options that were given, as filters."""
    return [f"{key}={value}" for key, value in given.items() if value is not None]


def warned(study: Study, text: str) -> str:
    """The text, after what must be said before all of it."""
    if study.warning is None:
        return text
    return f"{study.warning}\n`videoworld eval run RUN` asks them again.\n\n{text}"


def _record(found: Compared) -> dict[str, Any]:
    return {
        "a": found.one,
        "b": found.other,
        "differs_in": found.differs,
        "concerns": found.concerns,
        "tables": [table.record() for table in found.tables],
    }


def _text(found: Compared) -> str:
    from eval.tables.writing.text import fields_text, table_text

    first = found.tables[0]
    parts = [fields_text(first, place) for place in range(len(first.rows))]
    parts += [table_text(table, only=SHORT) for table in found.tables[1:]]
    parts.append(differs_text(found.differs, found.concerns))
    return "\n\n".join(parts)


#: What is shown of a comparison where there is one line for it.
SHORT = (
    "dataset",
    "world",
    "budget",
    "domain",
    "pairs",
    "videos",
    "accuracy",
    "accuracy_against",
    "difference",
    "p_holm",
)


def differs_text(differs: list[str], concerns: list[str]) -> str:
    """In what two groups differ, for people."""
    if not differs:
        return "they do not differ in anything but their answers"
    told = f"they differ in: {', '.join(differs)}"
    if concerns:
        told += f"\nNOT A CLEAN COMPARISON: beside one difference there is also: {', '.join(concerns)}"
    return told
