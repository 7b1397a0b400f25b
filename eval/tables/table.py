"""A table as plain data, from which the report, LaTeX and CSV are written.

A cell holds its value with interval, the number of samples and videos behind it, and their keys; a cell that cannot be
computed is blank and holds the reason. Shares are from 0 to 1 and differences of shares from -1 to 1; only the writers
convert to percent.

As text a table is for a terminal, LaTeX or CSV. A cell has the same text in a terminal and in LaTeX: shares in percent,
differences with their sign, blanks as a dash.
LaTeX and CSV are written by pandas (extra ``eval``; ``BackendFault`` ``extra_missing``). LaTeX uses ``booktabs``; all
text from outside is escaped. CSV (RFC 4180) has unformatted figures, shares from 0 to 1, with the ends of intervals in
columns of their own; text that a spreadsheet would read as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from eval.statistics import FEW_CLUSTERS
from world_api.core.files import not_writable, write_atomically
from world_api.core.identifiers import columns as width_of, plural
from world_api.installation import from_extra

SCHEMA_VERSION = 1

#: share: 0 to 1, shown in percent; points: a difference of shares, shown in percent points, with its sign; number: any quantity;
#: change: a difference of quantities, with its sign; count: a whole number; tokens: a mean, shown whole; money: USD.
Kind = Literal["text", "share", "points", "number", "change", "count", "tokens", "money", "seconds", "p", "yes_no"]
Value = str | float | int | bool | None
Subject_contra = TypeVar("Subject_contra", contravariant=True)


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: ``key`` is stable and names it in CSV, ``title`` is its heading, ``about`` explains it in a sentence.

    A column with ``aside`` is omitted if there is little space, as on paper and in a terminal.
    """

    key: str
    title: str
    kind: Kind = "text"
    about: str = ""
    aside: bool = False


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """One figure or word. If ``value`` is None, the cell is blank and ``why`` is the reason; unknown is never 0.

    ``low`` and ``high`` are the ends of the interval. ``n`` is the number of samples or pairs that the figure is a mean
    or share of, ``clusters`` that of the videos. ``mark`` is a remark that changes the meaning (``at least``,
    ``estimated``). ``samples`` are the keys of the samples behind it, if these are not those of its row.
    """

    value: Value = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    clusters: int | None = None
    why: str = ""
    mark: str = ""
    samples: tuple[str, ...] | None = None

    @property
    def number(self) -> float | None:
        """The value, if it is a number; else None."""
        return float(self.value) if isinstance(self.value, int | float) else None

    @property
    def is_sure(self) -> bool:
        """Whether its interval is above zero and over enough videos (over few it can be narrow by chance)."""
        return self.low is not None and self.low > 0 and (self.clusters or 0) >= FEW_CLUSTERS


@dataclass(frozen=True, kw_only=True)
class Row:
    """Cells in the order of the columns; ``samples`` are keys of samples, for cells that have none of their own."""

    cells: tuple[TableCell, ...]
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Figure(Generic[Subject_contra]):
    """A column with the function that computes its cell from the subject of a row: an arm, a pair of arms, a tool."""

    column: Column
    cell: Callable[[Subject_contra], TableCell]


#: The cells or values of a row, by the keys of their columns.
CellsByKey: TypeAlias = dict[str, TableCell | Value]
Figures: TypeAlias = tuple[Figure[Subject_contra], ...]


def figure(
    key: str,
    kind: Kind,
    value: Callable[[Subject_contra], TableCell | Value] | None = None,
    *,
    title: str | None = None,
    about: str = "",
    aside: bool = False,
) -> Figure[Subject_contra]:
    """Return a column with the function for its cells; ``value`` makes a subject's cell, or only the value in it.

    Without ``value`` it is the subject's ``cells[key]``, else its attribute ``key``, else that of its ``setting``. The
    title is ``key`` by default; ``about`` and ``aside`` are those of ``Column``.
    """

    def cell(subject: Subject_contra) -> TableCell:
        found = _held(subject, key) if value is None else value(subject)
        return found if isinstance(found, TableCell) else TableCell(value=found)

    return Figure(column=Column(key=key, title=title or key, kind=kind, about=about, aside=aside), cell=cell)


def _held(subject: Any, key: str) -> Any:
    cells = getattr(subject, "cells", {})
    return cells[key] if key in cells else getattr(subject if hasattr(subject, key) else subject.setting, key)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with the notes that belong to it.

    ``name`` is stable and names files. ``note`` explains the figures and what may be concluded from them. ``n`` and
    ``clusters`` count the samples and videos of the whole table, ``left_out`` the samples that are not in it, by
    reason. ``watermark`` must be shown.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    watermark: str | None = None
    n: int = 0
    clusters: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys = [column.key for column in self.columns]
        if len(set(keys)) < len(keys) or any(len(row.cells) != len(keys) for row in self.rows):
            raise ValueError(f"table {self.name}: its rows do not fit its columns")

    def place(self, key: str) -> int:
        """Return the index of the column with this key.

        Raises:
            KeyError: no column has that key.
        """
        places = {column.key: place for place, column in enumerate(self.columns)}
        return places[key]

    def cell(self, row: int, key: str) -> TableCell:
        """Return a cell by the index of its row and the key of its column."""
        return self.rows[row].cells[self.place(key)]

    def samples(self, row: int, key: str) -> tuple[str, ...]:
        """Return the keys of the samples behind a cell."""
        own = self.cell(row, key).samples
        return self.rows[row].samples if own is None else own

    def column(self, key: str) -> list[Value]:
        """Return the values of the column with this key, one for each row."""
        place = self.place(key)
        return [row.cells[place].value for row in self.rows]

    @property
    def footer(self) -> str:
        """The line under the table: the number of samples and videos, and what is left out."""
        parts = [f"{plural(self.n, 'sample')} of {plural(self.clusters, 'video')}"]
        parts += [f"left out: {number:,} {why}" for why, number in self.left_out.items() if number]
        return "; ".join(parts) + "."

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = ("name", "title", "note", "watermark", "n", "clusters")
        return {
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(self, name) for name in names},
            "left_out": dict(self.left_out),
            "columns": [asdict(column) for column in self.columns],
            "rows": [{"cells": [_cell_record(cell) for cell in row.cells]} for row in self.rows],
        }


def blank(why: str) -> TableCell:
    """Return a cell for a figure that cannot be computed; ``why`` is the reason."""
    return TableCell(why=why)


def _cell_record(cell: TableCell) -> dict[str, Any]:
    names = ("low", "high", "n", "clusters", "why", "mark")
    return {"value": cell.value, **{name: own for name in names if (own := getattr(cell, name)) not in (None, "")}}


BLANK = "-"
_UNITS = {"share": "%", "points": "points", "seconds": "s"}
_SIGNED = ("points", "change")


def heading(column: Column) -> str:
    """Return the title of a column, with its unit if it has one."""
    unit = _UNITS.get(column.kind, "")
    return f"{column.title}, {unit}" if unit and unit not in column.title else column.title


def cell_text(cell: TableCell, column: Column, *, interval: bool = True) -> str:
    """Return a cell as text: its value, its interval in brackets, and ``*`` if there is a remark."""
    if cell.value is None:
        return BLANK if cell.why else ""
    text = value_text(cell.value, column)
    if interval and cell.low is not None and cell.high is not None:
        text += f" [{value_text(cell.low, column)}, {value_text(cell.high, column)}]"
    return text + ("*" if cell.mark else "")


def value_text(value: str | float | int | bool, column: Column) -> str:
    """Return a value as text, in the format of its column: shares and points in percent, yes or no for a bool."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    kind, number = column.kind, 100.0 * value if column.kind in ("share", "points") else float(value)
    if kind == "p":
        return "<0.001" if number < 0.001 else f"{number:.3f}"
    # Small numbers have four decimals, large ones none.
    places = 4 if number != 0 and abs(number) < 0.1 else 2 if abs(number) < 100 else 0
    places = {"money": 4, "count": 0, "tokens": 0, "share": 1, "points": 1, "seconds": 1}.get(kind, places)
    comma = "" if kind == "money" else ","
    text = f"{number:{'+' if kind in _SIGNED else ''}{comma}.{places}f}"
    # A number that is rounded to zero has no sign: "0.0", not "-0.0".
    return text.lstrip("+-") if not text.strip("+-0.,") else text


def remarks(cell: TableCell) -> str:
    """Return why a cell is blank, or the remark on it; empty if there is neither."""
    return cell.why or cell.mark


_WIDTH = 100


def table_text(table: Table, *, only: Sequence[str] | None = None) -> str:
    """Return the table as columns of text, with its notes; ``only`` are the keys of the columns to show."""
    places = [place for place, column in enumerate(table.columns) if only is None or column.key in only]
    chosen = [table.columns[place] for place in places]
    shown = [[cell_text(row.cells[place], table.columns[place]) for place in places] for row in table.rows]
    kept = [at for at in range(len(chosen)) if any(line[at] for line in shown)] or range(len(chosen))
    lines = [[heading(chosen[at]) for at in kept], *([line[at] for at in kept] for line in shown)]
    widths = [max(map(width_of, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    padded = ["  ".join(map(_padded, line, widths)).rstrip() for line in lines]
    return "\n".join([*_title(table), *(padded if table.rows else []), "", *_text_notes(table, places)])


def fields_text(table: Table, place: int) -> str:
    """Return one row of a table (``place`` is its index) as text, one field per line, with the table's title and notes."""
    pairs = list(zip(table.columns, table.rows[place].cells, strict=True))
    width = max(width_of(heading(column)) for column, _ in pairs)
    lines = _title(table)
    for column, cell in pairs:
        text = cell_text(cell, column) if cell.value is not None else f"{BLANK} ({cell.why})"
        mark = f" ({cell.mark})" if cell.mark else ""
        if cell.value != "":
            lines.append(f"{_padded(heading(column), width)}  {text.rstrip('*')}{mark}")
    return "\n".join([*lines, "", *_text_notes(table, [])])


def _title(table: Table) -> list[str]:
    return [table.title, *([f"({table.watermark})"] if table.watermark is not None else [])]


def _text_notes(table: Table, places: Sequence[int]) -> Iterator[str]:
    yield from wrap(table.footer, _WIDTH)
    if table.note:
        yield from wrap(table.note, _WIDTH)
    said = {remarks(row.cells[place]) for row in table.rows for place in places} - {""}
    if said:
        yield from wrap("- blank, * remark: " + "; ".join(sorted(said)), _WIDTH)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


_SPECIAL = {
    **{letter: "\\" + letter for letter in "{}$&#_%"},
    **{letter: f"{{{letter}}}" for letter in "-?![]*"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
}  # fmt: skip
_WIDE = 7  #: with more columns, a table is scaled to the width of the page


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints literally, on one line. Characters that cannot be printed are removed.

    Ligatures (``--``, ``?```) are separated, and brackets are protected from being read as an argument of ``\\``.
    """
    kept = "".join(letter if letter.isprintable() else " " * letter.isspace() for letter in text)
    return "".join(_SPECIAL.get(letter, letter) for letter in " ".join(kept.split()))


def latex(table: Table) -> str:
    """Return the table as a ``table`` environment, with its notes below.

    Raises:
        BackendFault: ``extra_missing``.
    """
    with from_extra("eval"):
        import pandas as pd
    # A column is left out if it is aside, or blank in every row.
    columns = [
        (place, column)
        for place, column in enumerate(table.columns)
        if not column.aside and (not table.rows or any(row.cells[place].value not in (None, "") for row in table.rows))
    ]
    texts = [[cell_text(row.cells[place], column) for place, column in columns] for row in table.rows]
    frame = pd.DataFrame(
        [["{--}" if text == BLANK else escaped(text) for text in line] for line in texts],
        columns=[escaped(heading(column)) for _, column in columns],
    )
    alignment = "".join("l" if column.kind in ("text", "yes_no") else "r" for _, column in columns)
    tabular = frame.to_latex(index=False, column_format=alignment)
    wide = len(columns) > _WIDE
    label = re.sub("[^A-Za-z0-9:]", "-", table.name)
    said = sorted({remarks(cell) for row in table.rows for cell in row.cells if cell.value is not None} - {""})
    notes = [table.watermark or "", table.footer, table.note, "* " + "; ".join(said) if said else ""]
    lines = [
        "% needs \\usepackage{booktabs,graphicx,textcomp} and \\usepackage[T1]{fontenc}; beyond Latin script XeLaTeX or LuaLaTeX",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.title)}}}",
        rf"\label{{tab:{label}}}",
        *([r"\resizebox{\linewidth}{!}{%"] if wide else []),
        tabular.rstrip() + "}" * wide,
        "",
        r"\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize",
        *(escaped(text) + r"\par" for text in notes if text),
        r"\end{minipage}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


#: First characters of fields that spreadsheets compute, or that hide such a character.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")


def comma_separated(table: Table) -> str:
    """Return the table as CSV, with a line of headings; lines end in CR LF.

    Beside each figure are, if any row has them, its ``KEY_low``, ``KEY_high``, ``KEY_n``, ``KEY_clusters`` and
    ``KEY_remark`` (why it is blank, or a remark). The last columns are the table's ``watermark`` and ``left_out``; each
    row repeats them, so that they are not lost when rows are copied.

    Raises:
        BackendFault: ``extra_missing``.
    """
    with from_extra("eval"):
        import pandas as pd
    columns: dict[str, list[str]] = {}
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] for row in table.rows]
        columns[guarded(column.key)] = [_field(cell.value) for cell in cells]
        for name in ("low", "high", "n", "clusters"):
            if any(getattr(cell, name) is not None for cell in cells):
                columns[guarded(f"{column.key}_{name}")] = [_field(getattr(cell, name)) for cell in cells]
        if any(remarks(cell) for cell in cells):
            columns[guarded(f"{column.key}_remark")] = [guarded(remarks(cell)) for cell in cells]
    left_out = "; ".join(f"{number} {why}" for why, number in table.left_out.items() if number)
    for name, text in (("watermark", table.watermark or ""), ("left_out", left_out)):
        columns[name] = [guarded(text)] * len(table.rows)
    written: str = pd.DataFrame(columns).to_csv(index=False, lineterminator="\r\n")
    return written


def guarded(text: str) -> str:
    """Return text that no spreadsheet reads as a formula: with an apostrophe in front if needed, without NUL."""
    plain = text.encode("utf-8", errors="replace").decode().replace("\0", "")
    return "'" + plain if plain.lstrip(" ").startswith(_FORMULA) else plain


def _field(value: str | float | int | bool | None) -> str:
    """Return a value as a CSV field: decimals with 10 digits, text ``guarded``, yes or no for a bool, "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return guarded(value)
    return str(value) if isinstance(value, int) else f"{value + 0.0:.10g}"


def write_tables(tables: Iterable[Table], folder: Path | str) -> list[Path]:
    """Write each table as ``NAME.tex`` and ``NAME.csv`` into a folder; return the paths, in order.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``; BackendFault: ``extra_missing``.
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
