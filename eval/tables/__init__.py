"""Tables of a run: accuracy and cost, paired comparisons, transfer of libraries, use of tools, the oracle ladder.

A run is read into a ``Study``, one ``SampleRow`` per sample. ``tables_of`` makes all tables or the named ones. A table
is a list of figures (a column and the function that computes its cells), applied to the subject of each row: an arm, a
pair or a tool. ``compare`` compares two arms by name, ``flips_of`` shows the questions on which only one of them is
right, and ``choose`` writes a library of the tools that help. Tables are written as text, LaTeX and CSV (pandas, extra
``eval``).
"""

from eval.tables.comparisons import (
    CONTROLS,
    ArmComparison,
    compare,
    concerns,
    flip_text,
    flips_of,
    paired_groups,
    pairs_of,
)
from eval.tables.ladder import ladder_of
from eval.tables.registry import tables_of
from eval.tables.rows import LibraryFacts, SampleRow, ToolUse, read_rows
from eval.tables.selection import Selected, check_split, choose, evidence_of, library_rows
from eval.tables.study import Labels, Study, chosen, filtered, grouped, independent, opened_study, study_of
from eval.tables.table import (
    Column,
    Kind,
    Row,
    Table,
    TableCell,
    cell_text,
    comma_separated,
    fields_text,
    latex,
    table_text,
    write_tables,
)
