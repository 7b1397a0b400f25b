"""All tables of a run, in the order of display."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from eval.runs.stored_run import Run
from eval.tables import accuracy, budgets, comparisons, ladder, tools, transfer
from eval.tables.study import Group, Study, study_of
from eval.tables.table import Figure, Table, figure
from world_api.core.faults import EvalFault

Maker = Callable[[Study], Table | Sequence[Table]]
#: The function that makes each table, by the names of all tables that it makes.
_MAKERS: Mapping[tuple[str, ...], Maker] = {
    ("primary",): comparisons.primary_table,
    ("main",): accuracy.main_table,
    ("curve",): budgets.curve_table,
    ("by_domain", "by_kind", "by_content"): accuracy.by_tables,
    ("measures",): accuracy.measures_table,
    ("confusion", "risk_coverage"): accuracy.abstention_tables,
    ("comparisons",): comparisons.comparisons_table,
    ("comparisons_by_domain",): partial(comparisons.comparisons_table, by_domain=True),
    ("abstraction",): comparisons.abstraction_table,
    ("transfer", "transfer_difference", "own_other"): transfer.transfer_tables,
    ("draws", "variance"): transfer.draws_tables,
    ("funnel",): tools.funnel_table,
    ("tool_use",): tools.tool_use_table,
    ("tools",): tools.tools_table,
    ("leave_one_out",): tools.leave_one_out_table,
    ("yields",): tools.yields_table,
    ("break_even",): tools.break_even_table,
    ("matched",): budgets.matched_table,
    ("along",): budgets.along_table,
    ("costs",): accuracy.costs_table,
    ("totals",): accuracy.totals_table,
    ("ladder",): ladder.ladder_table,
    ("losses",): ladder.losses_table,
    ("endings",): accuracy.endings_table,
    ("scorers",): accuracy.scorers_table,
    ("baselines",): accuracy.baselines_table,
}


def tables_of(run: Run | Study, only: Collection[str] | None = None) -> list[Table]:
    """Return every table of a run, or only the tables named in ``only``.

    The note of a table without rows states what the table needs, or why it cannot be made.

    Raises:
        EvalFault: ``not_scored``.
    """
    study = run if isinstance(run, Study) else study_of(run)
    made: list[Table] = []
    for names, make in _MAKERS.items():
        if only is None or not set(names).isdisjoint(only):
            try:
                found = make(study)
                made += [found] if isinstance(found, Table) else found
            except EvalFault as fault:
                note = f"It cannot be made: {fault.message}; {fault.hint}."
                nothing: Figure[Group] = figure("figure", "text")
                made += [
                    study.table(name, (nothing,), (), title=name.replace("_", " ").capitalize(), note=note)
                    for name in names
                ]
    return [table for table in made if only is None or table.name in only]
