"""Figures of tables as words on the page."""

from __future__ import annotations

from eval.tables.table import Cell, Column, Kind, Table

_TIMES_100: frozenset[Kind] = frozenset({"share", "points"})
_SIGNED: frozenset[Kind] = frozenset({"points", "change"})


def cell_text(cell: Cell, kind: Kind) -> str:
    """The figure of a cell, without its interval; a dash where it is blank."""
    return "–" if cell.value is None else figure_text(cell.value, kind) + (f" {cell.mark}" if cell.mark else "")


def interval_text(cell: Cell, kind: Kind) -> str:
    """The interval, where there is one."""
    if cell.low is None or cell.high is None:
        return ""
    return f"[{figure_text(cell.low, kind, bare=True)}, {figure_text(cell.high, kind, bare=True)}]"


def figure_text(value: str | float | int | bool, kind: Kind, *, bare: bool = False) -> str:
    """A figure as its kind is written; ``bare`` leaves units to the one before."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    sign = "+" if kind in _SIGNED else ""
    if kind in _TIMES_100:
        unit = "" if bare else "%" if kind == "share" else " pp"
        return f"{100 * value:{sign}.1f}{unit}"
    if kind == "money":
        return f"{'' if bare else '$'}{value:.4f}"
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if kind in {"count", "tokens"}:
        return f"{value:{sign},.0f}"
    if kind == "seconds":
        return f"{value:,.1f}{'' if bare else ' s'}"
    return f"{value:{sign},.0f}" if float(value).is_integer() and abs(value) >= 100 else f"{value:{sign},.2f}"


def behind_text(table: Table, row: int, column: Column) -> str:
    """What a cell's button says to those who cannot see the table."""
    cell = table.cell(row, column.key)
    told = [cell_text(cell, column.kind), interval_text(cell, column.kind)]
    if cell.n is not None:
        told.append(f"n={cell.n:,}" + (f", {cell.clusters:,} videos" if cell.clusters is not None else ""))
    return " ".join(part for part in (f"{column.title}:", *told) if part)
