"""Tables of almost nothing: every one is made and written, and none makes a figure up."""

from __future__ import annotations

import pytest

from eval.tables import SampleRow, Study, comma_separated, latex, table_text, tables_of
from tests.support.sample_rows import hier_row, sample_row

NONE = {"outcome": "failed", "reason": "endpoint_unreachable", "spend": {}, "rounds": 0, "calls": 0}
PRIMARY = {"arm": "hier", "against": "flat", "budget": "usual", "world": "oracle"}


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [sample_row()],
        [hier_row()],
        [sample_row("flat", f"q{number}", **NONE) for number in range(3)] + [hier_row("q1", **NONE)],
        [sample_row(domain=None, content=None, template=None), hier_row(domain=None, template=None)],
        [sample_row("flat", "q1"), hier_row("q2")],
    ],
    ids=["nothing", "one sample", "no baseline", "all failed", "nothing known of questions", "nothing in common"],
)
def test_little_is_no_fault(rows: list[SampleRow]) -> None:
    for table in tables_of(Study(rows=tuple(rows), primary=PRIMARY)):
        assert latex(table).count(r"\begin{tabular}") == 1
        assert comma_separated(table).endswith("\r\n")
        assert table.title in table_text(table)
        assert all(cell.value is not None or cell.why for row in table.rows for cell in row.cells), table.name


def test_one_video_has_a_difference_and_no_interval() -> None:
    rows = [sample_row("flat", f"q{number}", correct=True) for number in range(4)]
    rows += [hier_row(f"q{number}") for number in range(4)]
    table = next(table for table in tables_of(Study(rows=tuple(rows))) if table.name == "comparisons")
    cell = table.cell(0, "difference")
    assert (cell.value, cell.low, cell.high) == (-1.0, None, None)
    assert "no interval" in cell.mark
    assert table.cell(0, "p_clustered").why == "one video"


def test_no_interval_leaves_what_its_figure_can_be() -> None:
    rows = [
        sample_row(arm, f"{video}-{number}", video=video, score=score, kind=kind, details=details)
        for arm in ("flat", "other")
        for video, score, tau in (("v1", 0.05, 1.0), ("v2", 0.9, -0.9))
        for number, (kind, details) in enumerate(
            [
                ("interval", {"iou": score}),
                ("order", {"exact": False, "tau": tau}),
                ("count", {"absolute_error": score}),
            ]
        )
    ]
    least = {"iou": 0.0, "tau": -1.0, "absolute_error": 0.0}
    for table in tables_of(Study(rows=tuple(rows))):
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell.low is not None and cell.high is not None:
                    if column.kind == "share":
                        assert 0 <= cell.low <= cell.high <= 1, (table.name, column.key)
                    if column.key in least:
                        assert least[column.key] <= cell.low, (table.name, column.key)
                    if column.key == "tau":
                        assert cell.high <= 1
    main = next(table for table in tables_of(Study(rows=tuple(rows))) if table.name == "main")
    assert main.cell(0, "score").low == 0.0
