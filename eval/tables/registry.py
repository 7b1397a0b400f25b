"""All tables of a run, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from eval.runs.stored_run import Run
from eval.tables.accuracy import (
    baselines_table,
    by_tables,
    costs_table,
    endings_table,
    main_table,
    measures_table,
    scorers_table,
)
from eval.tables.budgets import along_table, curve_table, matched_table
from eval.tables.comparisons import abstraction_table, comparisons_table, primary_table
from eval.tables.ladder import ladder_table, losses_table
from eval.tables.study import Group, Study, study_of
from eval.tables.table import Figure, Table, figure
from eval.tables.tools import (
    break_even_table,
    funnel_table,
    leave_one_out_table,
    tool_use_table,
    tools_table,
    yields_table,
)
from eval.tables.transfer import draws_tables, transfer_tables
from world_api.core.faults import EvalFault

Maker = Callable[[Study], Table | Sequence[Table]]
#: The function that makes each table, by its name; tables that are made together have one function.
_MAKERS: Mapping[tuple[str, ...], Maker] = {
    ("primary",): primary_table,
    ("main",): main_table,
    ("curve",): curve_table,
    ("by_domain", "by_kind", "by_content"): by_tables,
    ("measures",): measures_table,
    ("comparisons",): comparisons_table,
    ("comparisons_by_domain",): partial(comparisons_table, by_domain=True),
    ("abstraction",): abstraction_table,
    ("transfer", "transfer_difference", "own_other"): transfer_tables,
    ("draws", "variance"): draws_tables,
    ("funnel",): funnel_table,
    ("tool_use",): tool_use_table,
    ("tools",): tools_table,
    ("leave_one_out",): leave_one_out_table,
    ("yields",): yields_table,
    ("break_even",): break_even_table,
    ("matched",): matched_table,
    ("along",): along_table,
    ("costs",): costs_table,
    ("ladder",): ladder_table,
    ("losses",): losses_table,
    ("endings",): endings_table,
    ("scorers",): scorers_table,
    ("baselines",): baselines_table,
}


def tables_of(run: Run | Study, only: Collection[str] | None = None) -> list[Table]:
    """Every table of a run, or ``only`` those. One without rows says in its note what it needs, or why it cannot be made.

    Raises:
        EvalFault: ``not_scored``.
    """
    study = run if isinstance(run, Study) else study_of(run)
    made: list[Table] = []
    for names, make in _MAKERS.items():
        if only is None or not set(names).isdisjoint(only):
            try:
                made += _made(make, study)
            except EvalFault as fault:
                note = f"It cannot be made: {fault.message}; {fault.hint}."
                nothing: Figure[Group] = figure("figure", "text")
                made += [
                    study.table(name, name.replace("_", " ").capitalize(), (nothing,), (), note=note) for name in names
                ]
    return [table for table in made if only is None or table.name in only]


def table_of(study: Study, name: str) -> Table:
    """One table by its name.

    Raises:
        EvalFault: ``ambiguous_pairs``: samples cannot be paired.
        KeyError: there is no table of that name.
    """
    make = next((make for names, make in _MAKERS.items() if name in names), None)
    if make is None:
        raise KeyError(name)
    return next(table for table in _made(make, study) if table.name == name)


def _made(make: Maker, study: Study) -> Sequence[Table]:
    made = make(study)
    return [made] if isinstance(made, Table) else made
