"""Tables of questions that may abstain: what was answered against what is true, and the risk at the coverage of an arm.

A run without such questions has neither table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eval.scoring.abstention import STANCES, Stance
from eval.tables.cells import correct, counted, share
from eval.tables.rows import SampleRow
from eval.tables.study import PLACE, Group, Study, words
from eval.tables.table import Figure, Figures, Table, figure


def abstention_tables(study: Study) -> Sequence[Table]:
    """Return the confusion table and that of risk and coverage; none if no question may abstain."""
    asked = study.with_rows(row for row in study.rows if row.gold is not None)
    return (_confusion_table(asked), _risk_table(asked)) if asked.rows else ()


def _said(stance: Stance | None) -> Figure[Group]:
    about = "samples without an answer" if stance is None else ""
    return figure(
        f"said_{stance or 'nothing'}",
        "count",
        lambda group: counted([row for row in group.rows if row.said == stance]),
        title=f"said {stance or 'nothing'}",
        about=about,
    )


_CONFUSION: Figures[Group] = (
    *PLACE,
    *words("gold"),
    figure("n", "count", lambda group: counted(group.rows), about="samples: questions times seeds"),
    *map(_said, (*STANCES, None)),
    figure("accuracy", "share", lambda group: share(group.rows), title="right"),
)


def _confusion_table(study: Study) -> Table:
    def subjects() -> Iterator[Group]:
        for group in study.groups():
            for gold in STANCES:
                if rows := [row for row in group.rows if row.gold == gold]:
                    yield replace(group, rows=rows, cells={"gold": gold})

    return study.table(
        "confusion",
        "What is there, and what was answered",
        _CONFUSION,
        subjects(),
        note="Gold: what is asked about is in the video (present), is not in it (absent), or the video does not determine the "
        "answer (undeterminable), no matter what a profile perceives. An answer of the question's type says present, also a wrong "
        "one; the number 0, a no to whether something is seen, and `not_there` say absent; `cannot_be_told` says undeterminable.",
    )


def _covered(row: SampleRow) -> float:
    """Return 1.0 if the sample has an answer that does not abstain from telling, else 0.0."""
    return float(row.said in ("present", "absent"))


_RISK: Figures[Group] = (
    *PLACE,
    figure("n", "count", lambda group: counted(group.rows), about="samples: questions times seeds"),
    figure("accuracy", "share", lambda group: share(group.rows), about="over all of them, abstaining included"),
    figure("coverage", "share", lambda group: share(group.rows, measure=_covered),
           about="answered otherwise than by `cannot_be_told`"),
    figure("risk", "share", lambda group: share(list(filter(_covered, group.rows)), measure=lambda row: 1.0 - correct(row)),
           about="wrong among these"),
    figure("abstained", "count", lambda group: counted([row for row in group.rows if row.said == "undeterminable"])),
    figure("rightly", "share",
           lambda group: share([row for row in group.rows if row.said == "undeterminable"]),
           title="rightly abstained", about="of those, the video does not determine the answer"),
)  # fmt: skip


def _risk_table(study: Study) -> Table:
    return study.table(
        "risk_coverage",
        "Risk and coverage",
        _RISK,
        study.groups(),
        note="Only questions that may abstain. Each arm is one point: the share of its answers that are wrong where it does not "
        "abstain, at the share of questions that it answers. Accuracy over all questions stays the primary figure.",
    )
