"""A table as plain data, from which the report, LaTeX and CSV are written.

A cell holds its value with interval, the number of samples and videos behind it, and their keys; a cell that cannot be
computed is blank and holds the reason. Shares are from 0 to 1 and differences of shares from -1 to 1; only the writers
convert to percent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from eval.statistics import FEW_CLUSTERS
from world_api.core.identifiers import plural

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
