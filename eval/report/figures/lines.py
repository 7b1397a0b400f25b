"""A row of a table as charts read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.report.charts.estimates import Estimate
from eval.report.index import Sets
from eval.tables.table import Cell, Table
from eval.tables.writing import cell_text

PLACE = ("dataset", "world", "budget")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of a table, by its columns' keys."""

    table: Table
    number: int
    sets: Sets
    primary: frozenset[tuple[str, str, str]] = frozenset()  #: arm, world and budget that were named before the run

    def has(self, key: str) -> bool:
        """Whether there is a figure or a word under a key."""
        return any(column.key == key for column in self.table.columns) and self.cell(key).value is not None

    def cell(self, key: str) -> Cell:
        """The cell under a key."""
        return self.table.cell(self.number, key)

    def number_at(self, key: str) -> float:
        """The figure under a key; 0 where there is none."""
        value = self.cell(key).value if self.has(key) else None
        return float(value) if isinstance(value, int | float) else 0.0

    def word(self, key: str) -> str:
        """What stands under a key, as a word; empty where nothing does."""
        return str(self.cell(key).value) if self.has(key) else ""

    def shown(self, key: str) -> str:
        """The cell as the table shows it."""
        return cell_text(self.cell(key), self.table.columns[self.table.place(key)])

    def estimate(self, key: str) -> Estimate:
        """The figure with its interval."""
        cell = self.cell(key)
        return Estimate(value=self.number_at(key), low=cell.low, high=cell.high)

    @property
    def is_primary(self) -> bool:
        """Whether it is about a point that was named before the run."""
        return (self.word("arm"), self.word("world"), self.word("budget")) in self.primary

    def samples(self, key: str) -> int | None:
        """The number of the set of samples behind a cell."""
        return self.sets.number(self.table.samples(self.number, key))

    def place(self, keys: Sequence[str]) -> str:
        """The words under some keys, those left out that are the same in the whole table."""
        told = [self.word(key) for key in keys if self.has(key) and len(set(self.table.column(key))) > 1]
        return " · ".join(told)
