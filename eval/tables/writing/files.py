"""Writing tables into a folder: ``NAME.tex`` and ``NAME.csv``, the same bytes for the same tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from eval.tables.table import Table
from eval.tables.writing.comma import comma_separated
from eval.tables.writing.latex import latex
from world_api.world.files import not_writable, write_atomically


def write_tables(tables: Iterable[Table], folder: Path | str) -> list[Path]:
    """Write each table as LaTeX and as CSV; the files, in order. Names are those of the tables.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(folder, error) from error
    written = []
    for table in tables:
        for suffix, text in ((".tex", latex(table)), (".csv", comma_separated(table))):
            path = folder / (table.name + suffix)
            write_atomically(path, text.encode("utf-8"))
            written.append(path)
    return written
