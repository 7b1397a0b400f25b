"""All tables of a run, in the order of display."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from eval.runs.stored_run import Run
from eval.tables import accuracy, budgets, comparisons, ladder, tools, transfer
from eval.tables.study import Group, Study, study_of
from eval.tables.table import Figure, Figures, Table, figure
from world_api.core.faults import EvalFault

Maker = Callable[[Study], Table | Sequence[Table]]
#: The columns of a table, and the function that yields the subjects of its rows.
Subjects = tuple[Figures[Any], Callable[[Study], Iterable[Any]]]
#: What makes each table, by the names of all tables that it makes.
_MAKERS: Mapping[tuple[str, ...], Maker | Subjects] = {
    ("primary",): comparisons.primary_table,
    ("main",): (accuracy.MAIN, Study.groups),
    ("curve",): budgets.curve_table,
    ("by_domain", "by_kind", "by_content"): accuracy.by_tables,
    ("measures",): accuracy.measures_table,
    ("confusion", "risk_coverage"): accuracy.abstention_tables,
    ("comparisons",): comparisons.comparisons_table,
    ("comparisons_by_domain",): partial(comparisons.comparisons_table, by_domain=True),
    ("abstraction",): comparisons.abstraction_table,
    ("transfer", "transfer_difference", "own_other"): transfer.transfer_tables,
    ("draws", "variance"): transfer.draws_tables,
    ("funnel",): (tools.FUNNEL, tools.funnels),
    ("tool_use",): (tools.USE, lambda study: map(tools.library_use, tools.offered(study))),
    ("tools",): tools.tools_table,
    ("leave_one_out",): (tools.LEFT_OUT, tools.left_out_contrasts),
    ("yields",): tools.yields_table,
    ("break_even",): (tools.BREAK_EVEN, tools.earned),
    ("matched",): budgets.matched_table,
    ("along",): budgets.along_table,
    ("costs",): (accuracy.COSTS, Study.groups),
    ("totals",): accuracy.totals_table,
    ("ladder",): (ladder.LADDER, ladder.rungs),
    ("losses",): (ladder.LOSSES, ladder.losses),
    ("endings",): (accuracy.ENDINGS, accuracy.endings),
    ("scorers",): (accuracy.SCORERS, accuracy.scorers),
    ("baselines",): (accuracy.BASELINES, accuracy.baselines),
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
                found = study.table(names[0], make[0], make[1](study)) if isinstance(make, tuple) else make(study)
                made += [found] if isinstance(found, Table) else found
            except EvalFault as fault:
                note = f"It cannot be made: {fault.message}; {fault.hint}."
                nothing: Figure[Group] = figure("figure", "text")
                made += [
                    study.table(name, (nothing,), (), title=name.replace("_", " ").capitalize(), note=note)
                    for name in names
                ]
    return [table for table in made if only is None or table.name in only]
