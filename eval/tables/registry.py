"""All tables of a run, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from eval.runs.run import Run
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
from eval.tables.study import Study, study_of
from eval.tables.table import Column, Table
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

_NOTHING = (Column(key="figure", title="figure"),)
#: What makes each table, by its name; of several tables that are made together, by their names.
_MAKERS: Mapping[tuple[str, ...], Callable[[Study], Table | Sequence[Table]]] = {
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


def tables_of(run: Run | Study) -> list[Table]:
    """Every table of a run. One that has no rows says in its note what it would want, or why it cannot be made.

    Raises:
        EvalFault: ``not_scored``.
    """
    study = run if isinstance(run, Study) else study_of(run)
    return [table for names, make in _MAKERS.items() for table in _made(study, names, make)]


def _made(study: Study, names: Sequence[str], make: Callable[[Study], Table | Sequence[Table]]) -> Iterator[Table]:
    try:
        made = make(study)
    except EvalFault as fault:
        note = f"It cannot be made: {fault.message}; {fault.hint}."
        for name in names:
            yield study.table(name, name.replace("_", " ").capitalize(), _NOTHING, (), of=(), note=note)
        return
    yield from [made] if isinstance(made, Table) else made
