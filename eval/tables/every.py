"""All tables of a run, in the order in which they are read."""

from __future__ import annotations

from eval.runs.reading import Run
from eval.tables.kinds.abstraction import abstraction_table
from eval.tables.kinds.baselines import baselines_table
from eval.tables.kinds.budgets import curve_table
from eval.tables.kinds.comparing import comparisons_table, primary_table
from eval.tables.kinds.failures import endings_table
from eval.tables.kinds.judging import scorers_table
from eval.tables.kinds.ladder import ladder_table
from eval.tables.kinds.main import by_tables, costs_table, main_table
from eval.tables.kinds.transfer import transfer_tables
from eval.tables.study import Study, study_of
from eval.tables.table import Table
from eval.tables.tooling.draws import draws_tables
from eval.tables.tooling.funnel import funnel_table
from eval.tables.tooling.shelves import break_even_table, yields_table
from eval.tables.tooling.tools import leave_one_out_table, tool_use_table, tools_table


def tables_of(run: Run | Study) -> list[Table]:
    """Every table of a run. One that has no rows says in its note what it would want.

    Raises:
        EvalFault: ``not_scored``, ``ambiguous_pairs``.
    """
    study = run if isinstance(run, Study) else study_of(run)
    return [
        primary_table(study),
        main_table(study),
        *by_tables(study),
        comparisons_table(study),
        comparisons_table(study, by_domain=True),
        abstraction_table(study),
        *transfer_tables(study),
        *draws_tables(study),
        funnel_table(study),
        tool_use_table(study),
        tools_table(study),
        leave_one_out_table(study),
        yields_table(study),
        break_even_table(study),
        curve_table(study),
        costs_table(study),
        ladder_table(study),
        endings_table(study),
        scorers_table(study),
        baselines_table(study),
    ]
