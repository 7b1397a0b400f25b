"""``videoworld eval transfer``."""

from __future__ import annotations

from eval.commands.tables.comparing import (
    BudgetOption,
    DatasetOption,
    RunArgument,
    SeedOption,
    WorldOption,
    filters_of,
    warned,
)
from world_api.exposure.cli import JsonOption, command_app, show

app = command_app()


@app.command()
def transfer(
    run: RunArgument,
    dataset: DatasetOption = None,
    world: WorldOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """The transfer matrix: tool libraries against domains; accuracy, difference to the baseline, own less other."""
    from eval.tables.arms import filtered
    from eval.tables.kinds.transfer import transfer_tables
    from eval.tables.opening import opened_study
    from eval.tables.tooling.draws import draws_tables
    from eval.tables.tooling.funnel import funnel_table
    from eval.tables.writing.text import table_text

    filters = filters_of(dataset=dataset, world=world, budget=budget, seed=seed)
    _, whole = opened_study(run)
    study = whole.with_rows(filtered(whole.rows, filters))
    tables = [*transfer_tables(study), *draws_tables(study), funnel_table(study)]
    show(
        {"tables": [table.record() for table in tables], "warning": study.warning},
        as_json=as_json,
        text=lambda: warned(
            study,
            "\n\n".join(
                table_text(table, only=[column.key for column in table.columns if not column.aside]) for table in tables
            ),
        ),
    )
